"""Statements about rooms and about who is in them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import duckdb

from dvergr_nb.records.room import Member, Room
from dvergr_nb.store.table import Row, Table

ROOMS = Table("dv.rooms", ("tenant_id", "name", "title", "created_at", "parent", "exclusive_threads"))
MEMBERS = Table("dv.members", ("tenant_id", "room", "actor", "program", "joined_at", "left_at"))

_ALL = "SELECT tenant_id, name, title, created_at, parent, exclusive_threads FROM dv.rooms"
_OPEN = "SELECT tenant_id, room, actor, program, joined_at, left_at FROM dv.members WHERE left_at IS NULL"
_JOINED_THEN = "SELECT count(*) FROM dv.members WHERE tenant_id = ? AND room = ? AND actor = ? AND joined_at = ?"
_LEFT_THEN = "SELECT count(*) FROM dv.members WHERE tenant_id = ? AND room = ? AND actor = ? AND left_at = ?"
_CHANGE = """
UPDATE dv.members SET program = ?, left_at = ?
WHERE tenant_id = ? AND room = ? AND actor = ? AND left_at IS NULL
"""
_CHANGE_MANY = """
UPDATE dv.members AS m SET program = u.program, left_at = u.left_at
FROM (
    SELECT
        unnest(CAST(? AS VARCHAR[])) AS program, unnest(CAST(? AS TIMESTAMPTZ[])) AS left_at,
        unnest(CAST(? AS VARCHAR[])) AS tenant_id, unnest(CAST(? AS VARCHAR[])) AS room, unnest(CAST(? AS VARCHAR[])) AS actor
) AS u
WHERE m.tenant_id = u.tenant_id AND m.room = u.room AND m.actor = u.actor AND m.left_at IS NULL
"""
FEW = 2
"""Up to so many stays are changed by a statement each."""


class Seat(NamedTuple):
    """An actor in a room: at most one of its stays is open."""

    tenant_id: str
    room: str
    actor: str


def row(room: Room) -> Row:
    """As it is stored."""
    return (room.tenant_id, room.name, room.title, room.created_at, room.parent, room.exclusive_threads)


def from_row(found: Sequence[Any]) -> Room:
    """The room of a row of all columns."""
    tenant, name, title, at, parent, is_exclusive = found
    return Room(tenant_id=tenant, name=name, title=title, created_at=at, parent=parent, exclusive_threads=is_exclusive)


def stored(con: duckdb.DuckDBPyConnection) -> Iterable[Room]:
    """Every room of every tenant."""
    return [from_row(found) for found in con.execute(_ALL).fetchall()]


def seat(member: Member) -> Seat:
    """Where the member is."""
    return Seat(member.tenant_id, member.room, member.actor)


def member_row(member: Member) -> Row:
    """As it is stored."""
    return (member.tenant_id, member.room, member.actor, member.program, member.joined_at, member.left_at)


def member_from_row(found: Sequence[Any]) -> Member:
    """The stay of a row of all columns."""
    tenant, room, actor, program, joined, left = found
    return Member(tenant_id=tenant, room=room, actor=actor, program=program, joined_at=joined, left_at=left)


def open_stays(con: duckdb.DuckDBPyConnection) -> Mapping[Seat, Member]:
    """Everybody of every tenant who has not left."""
    return {seat(member): member for member in map(member_from_row, con.execute(_OPEN).fetchall())}


def joined_then(con: duckdb.DuckDBPyConnection, at_seat: Seat, at: dt.datetime) -> bool:
    """Whether a stay that began at this time is stored."""
    return bool(con.execute(_JOINED_THEN, [*at_seat, at]).fetchall()[0][0])


def left_then(con: duckdb.DuckDBPyConnection, at_seat: Seat, at: dt.datetime) -> bool:
    """Whether a stay that ended at this time is stored."""
    return bool(con.execute(_LEFT_THEN, [*at_seat, at]).fetchall()[0][0])


def changed(con: duckdb.DuckDBPyConnection, members: Mapping[Seat, Member]) -> int:
    """Writes program and end of the open stays at these seats; how many rows were hit."""
    values = [(member.program, member.left_at, *at_seat) for at_seat, member in members.items()]
    if len(values) <= FEW:
        return sum(_count(con, _CHANGE, one) for one in values)
    return _count(con, _CHANGE_MANY, [list(column) for column in zip(*values, strict=True)])


def _count(con: duckdb.DuckDBPyConnection, statement: str, values: Row) -> int:
    count: int = con.execute(statement, values).fetchall()[0][0]
    return count
