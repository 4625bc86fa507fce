"""Statements about rooms."""

from __future__ import annotations

from collections.abc import Iterable

import duckdb

from dvergr_nb.records.room import Room
from dvergr_nb.store.table import Row, Table

ROOMS = Table("dv.rooms", ("tenant_id", "name", "title", "created_at"))

_ALL = "SELECT tenant_id, name, title, created_at FROM dv.rooms"


def row(room: Room) -> Row:
    """As it is stored."""
    return (room.tenant_id, room.name, room.title, room.created_at)


def stored(con: duckdb.DuckDBPyConnection) -> Iterable[Room]:
    """Every room of every tenant."""
    return [
        Room(tenant_id=tenant, name=name, title=title, created_at=at)
        for tenant, name, title, at in con.execute(_ALL).fetchall()
    ]
