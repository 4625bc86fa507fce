"""Kernel lives: which one owns a Run, and what becomes of the Runs and stays of one that is gone."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence

import duckdb

from dvergr_nb.ids import RunId
from dvergr_nb.store import slots, wallets
from dvergr_nb.store.lock import Holder
from dvergr_nb.store.transaction import transaction

_COUNT = "SELECT count(*) FROM dv.lives"
_BEGIN = """
INSERT INTO dv.lives (boot_id, n, tenant_id, user_id, host, pid, holder, started_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
"""
_CLOSE_OLD = "UPDATE dv.lives SET ended_at = ? WHERE ended_at IS NULL"
_END = "UPDATE dv.lives SET ended_at = ? WHERE n = ?"
# Nobody listens any more who took part in a life that is gone. It was there for what was said until then; what is said from
# now on is not for it.
_END_STAYS = """
UPDATE dv.members AS stay SET left_at = greatest(stay.joined_at, coalesce((
    SELECT max(said.created_at) FROM dv.messages AS said WHERE said.tenant_id = stay.tenant_id AND said.room = stay.room
), stay.joined_at))
WHERE stay.left_at IS NULL
"""
_ORPHAN = """
UPDATE dv.runs
SET status = 'failed', reason = 'orphaned', ended_at = ?, updated_at = ?, revision = revision + 1
WHERE status = 'running' AND (? IS NULL OR boot_id <> ?)
RETURNING CAST(id AS VARCHAR)
"""


def begin(
    con: duckdb.DuckDBPyConnection, me: Holder, *, tenant_id: str, user_id: str, now: dt.datetime
) -> tuple[int, Sequence[RunId]]:
    """Ends what is left of the lives before and begins this one: how many there were, and the Runs that were orphaned.

    The lock proves that every other life is gone, so this holds for the Runs of every tenant.
    """
    with transaction(con):
        life = con.execute(_COUNT).fetchall()[0][0]
        orphans = _orphaned(con, None, now)
        con.execute(_END_STAYS)
        con.execute(_CLOSE_OLD, [now])
        con.execute(_BEGIN, [me.boot_id, life + 1, tenant_id, user_id, me.host, me.pid, me.holder, now])
    return life, orphans


def reconciled(con: duckdb.DuckDBPyConnection, boot_id: str, now: dt.datetime) -> Sequence[RunId]:
    """Fails the running Runs of every other life."""
    with transaction(con):
        return _orphaned(con, boot_id, now)


def _orphaned(con: duckdb.DuckDBPyConnection, but: str | None, now: dt.datetime) -> Sequence[RunId]:
    found = [row[0] for row in con.execute(_ORPHAN, [now, now, but, but]).fetchall()]
    if found:
        slots.freed(con, found)
        wallets.settled(con, found, now)
    return sorted(found)


def end(con: duckdb.DuckDBPyConnection, life: int, now: dt.datetime) -> None:
    """Notes that this life has closed the store itself."""
    with transaction(con):
        con.execute(_END, [now, life + 1])
