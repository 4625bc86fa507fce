"""Statements about what wallets hold and what Runs have spent, as the writer needs them: without loading what money is."""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import duckdb

from dvergr_nb.ids import RunId
from dvergr_nb.store.table import Table

TRANSFERS = Table(
    "dv.transfers",
    ("id", "tenant_id", "user_id", "room", "run_id", "kind", "source", "target", "amount", "created_at"),
)
SPENDS = Table(
    "dv.spends",
    (
        "id",
        "tenant_id",
        "user_id",
        "room",
        "run_id",
        "actor",
        "round",
        "model",
        "answered_as",
        "provider",
        "input_tokens",
        "output_tokens",
        "cache_read_tokens",
        "cache_write_tokens",
        "cost",
        "is_measured",
        "outcome",
        "taken",
        "overrun",
        "created_at",
    ),
)

# Of Runs only those that have not ended: what is no Run's is a room's.
_HELD = """
WITH flows AS (
    SELECT target AS wallet, amount FROM dv.transfers WHERE target IS NOT NULL
    UNION ALL
    SELECT source, -amount FROM dv.transfers WHERE source IS NOT NULL
)
SELECT CAST(wallet AS VARCHAR), CAST(sum(amount) AS BIGINT)
FROM flows LEFT JOIN dv.runs AS r ON r.id = wallet
WHERE r.id IS NULL OR r.status IN ('running', 'waiting')
GROUP BY wallet
"""
_SPENT = """
SELECT CAST(run_id AS VARCHAR), CAST(coalesce(sum(cost), 0) AS BIGINT), count(*) FILTER (cost IS NULL)
FROM dv.spends SEMI JOIN (SELECT id FROM dv.runs WHERE status IN ('running', 'waiting')) AS r ON r.id = run_id
GROUP BY run_id
"""
_SUM_UP = """
UPDATE dv.runs AS r SET cost = s.cost, unpriced = s.unpriced
FROM (
    SELECT run_id, CAST(coalesce(sum(cost), 0) AS BIGINT) AS cost, CAST(count(*) FILTER (cost IS NULL) AS INTEGER) AS unpriced
    FROM dv.spends WHERE run_id IN (SELECT unnest(CAST(? AS UUID[]))) GROUP BY run_id
) AS s
WHERE r.id = s.run_id
"""
_HAS_ANY = "SELECT count(*) > 0 FROM (SELECT 1 FROM dv.transfers LIMIT 1)"


class Spent(NamedTuple):
    """What the calls of a Run have come to."""

    cost: int = 0
    """Micro-dollars, as far as prices are known."""
    unpriced: int = 0
    """Calls without a known cost."""


def held(con: duckdb.DuckDBPyConnection) -> Mapping[str, int]:
    """What every wallet holds that is open, of every tenant."""
    return dict(con.execute(_HELD).fetchall())


def spent(con: duckdb.DuckDBPyConnection) -> Mapping[RunId, Spent]:
    """What every Run has spent that has not ended, of every tenant."""
    return {run_id: Spent(cost, unpriced) for run_id, cost, unpriced in con.execute(_SPENT).fetchall()}


def settled(con: duckdb.DuckDBPyConnection, runs: Sequence[RunId], now: dt.datetime) -> None:
    """Does for Runs that were found dead what their end would have done: sums up what they spent, gives the rest back."""
    con.execute(_SUM_UP, [list(runs)])
    if con.execute(_HAS_ANY).fetchall()[0][0]:
        from dvergr_nb.store.transfers import given_back

        given_back(con, runs, now)
