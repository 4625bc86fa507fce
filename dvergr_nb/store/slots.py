"""Statements about open slots and keys: what only one Run may have."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

import duckdb

from dvergr_nb.ids import MessageId, RunId
from dvergr_nb.store.table import Table

SLOTS = Table("dv.open_slots", ("tenant_id", "room", "thread_root_id", "actor", "run_id"))
KEYS = Table("dv.keys", ("tenant_id", "room", "key", "run_id"))

_HELD = """
SELECT tenant_id, room, CAST(thread_root_id AS VARCHAR), actor, CAST(run_id AS VARCHAR)
FROM dv.open_slots WHERE run_id IS NOT NULL
"""
_SET = """
UPDATE dv.open_slots SET run_id = CAST(? AS UUID)
WHERE tenant_id = ? AND room = ? AND thread_root_id = CAST(? AS UUID) AND actor = ?
RETURNING tenant_id, room, CAST(thread_root_id AS VARCHAR), actor
"""
_SET_MANY = """
UPDATE dv.open_slots AS s SET run_id = u.run_id
FROM (
    SELECT
        unnest(CAST(? AS UUID[])) AS run_id, unnest(CAST(? AS VARCHAR[])) AS tenant_id, unnest(CAST(? AS VARCHAR[])) AS room,
        unnest(CAST(? AS UUID[])) AS thread_root_id, unnest(CAST(? AS VARCHAR[])) AS actor
) AS u
WHERE s.tenant_id = u.tenant_id AND s.room = u.room AND s.thread_root_id = u.thread_root_id AND s.actor = u.actor
RETURNING s.tenant_id, s.room, CAST(s.thread_root_id AS VARCHAR), s.actor
"""
FEW = 2
"""Up to so many slots are written by a statement each."""
_FREE = "UPDATE dv.open_slots SET run_id = NULL WHERE run_id IN (SELECT unnest(CAST(? AS UUID[])))"
_KEY = "SELECT CAST(run_id AS VARCHAR) FROM dv.keys WHERE tenant_id = ? AND room = ? AND key = ?"


NOBODY: Final = ""
"""The actor of a slot that is that of room and thread."""


class Slot(NamedTuple):
    """The right to work on a thread."""

    tenant_id: str
    room: str
    thread_root_id: MessageId
    actor: str


class Key(NamedTuple):
    """A caller's own name for a Run, within a room."""

    tenant_id: str
    room: str
    key: str


def held(con: duckdb.DuckDBPyConnection) -> Mapping[Slot, RunId]:
    """Every slot that is taken, of every tenant."""
    return {Slot(*found[:4]): found[4] for found in con.execute(_HELD).fetchall()}


def placed(con: duckdb.DuckDBPyConnection, wanted: Mapping[Slot, RunId | None]) -> frozenset[Slot]:
    """Writes who has each slot into its row, None for nobody; the slots that have a row."""
    values = [(holder, *slot) for slot, holder in wanted.items()]
    if len(values) <= FEW:
        hit = [found for one in values for found in con.execute(_SET, one).fetchall()]
    else:
        hit = con.execute(_SET_MANY, [list(column) for column in zip(*values, strict=True)]).fetchall()
    return frozenset(Slot(*found) for found in hit)


def freed(con: duckdb.DuckDBPyConnection, runs: Sequence[RunId]) -> None:
    """Frees whatever these Runs hold."""
    con.execute(_FREE, [list(runs)])


def holder_of_key(con: duckdb.DuckDBPyConnection, key: Key) -> RunId | None:
    """The Run that used the key first."""
    found = con.execute(_KEY, list(key)).fetchall()
    return found[0][0] if found else None
