"""Reads about agents: their profiles, what they have spent, what their tools did and what they cited."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import duckdb

from dvergr_nb.ids import RunId
from dvergr_nb.store import profiles, uses
from dvergr_nb.store.reads import sendable

if TYPE_CHECKING:
    from dvergr_nb.records.money import Spend
    from dvergr_nb.records.profile import Profile
    from dvergr_nb.records.tool_use import Citation, ToolUse

_PROFILE = """
SELECT content, version, created_at FROM dv.my_profiles
WHERE id = $id AND ($version IS NULL OR version = $version)
ORDER BY version DESC LIMIT 1
"""
_PROFILES = """
SELECT content, version, created_at FROM dv.my_profiles
QUALIFY row_number() OVER (PARTITION BY id ORDER BY version DESC) = 1
ORDER BY id
"""
_BALANCE = """
SELECT CAST(coalesce(sum(CASE WHEN target = wallet.id THEN amount ELSE -amount END), 0) AS BIGINT)
FROM (SELECT TRY_CAST(? AS UUID) AS id) AS wallet
JOIN dv.my_transfers ON source = wallet.id OR target = wallet.id
"""
_SPENT = "SELECT CAST(coalesce(sum(cost), 0) AS BIGINT) FROM dv.my_spends WHERE room = ? AND actor = ?"
_SPENDS = """
SELECT * EXCLUDE (key, run_key) FROM dv.my_spend_rows WHERE run_key = TRY_CAST(? AS UUID) ORDER BY created_at, round, key
"""
_USES = """
SELECT
    CAST(id AS VARCHAR), tenant_id, room, CAST(run_id AS VARCHAR), round, name, tool_use_id, arguments, result, status, blobs,
    started_at, ended_at
FROM dv.my_tool_uses WHERE run_id = TRY_CAST(? AS UUID) ORDER BY ended_at, id
"""
_CITATIONS = """
SELECT CAST(run_id AS VARCHAR), round, chunk_id, tenant_id, room, title, created_at
FROM dv.my_citations WHERE run_id = TRY_CAST(? AS UUID) ORDER BY round, created_at, place
"""


def profile(con: duckdb.DuckDBPyConnection, profile_id: str, version: int | None) -> Profile | None:
    """That version of a profile, the latest unless told otherwise."""
    found = con.execute(_PROFILE, sendable({"id": profile_id, "version": version})).fetchall()
    return profiles.from_row(found[0]) if found else None


def all_profiles(con: duckdb.DuckDBPyConnection) -> Sequence[Profile]:
    """The latest version of each, by id."""
    return [profiles.from_row(found) for found in con.execute(_PROFILES).fetchall()]


def balance(con: duckdb.DuckDBPyConnection, wallet: str) -> int:
    """What a wallet holds, in micro-dollars; 0 for one that never held anything."""
    held: int = con.execute(_BALANCE, sendable([wallet])).fetchall()[0][0]
    return held


def spent(con: duckdb.DuckDBPyConnection, room: str, actor: str) -> int:
    """What an actor's calls have cost in a room, in micro-dollars, as far as prices are known."""
    cost: int = con.execute(_SPENT, sendable([room, actor])).fetchall()[0][0]
    return cost


def spends(con: duckdb.DuckDBPyConnection, run_id: RunId) -> Sequence[Spend]:
    """The calls of models of a Run, in order."""
    found = con.execute(_SPENDS, sendable([run_id])).fetchall()
    if not found:
        return []
    from dvergr_nb.store.transfers import spend_from_row

    return [spend_from_row(each).spend for each in found]


def tool_uses(con: duckdb.DuckDBPyConnection, run_id: RunId) -> Sequence[ToolUse]:
    """What its tools were given and gave, in the order of their ends."""
    return [uses.from_row(found) for found in con.execute(_USES, sendable([run_id])).fetchall()]


def citations(con: duckdb.DuckDBPyConnection, run_id: RunId) -> Sequence[Citation]:
    """The chunks it has used, in order."""
    return [uses.citation_from_row(found) for found in con.execute(_CITATIONS, sendable([run_id])).fetchall()]
