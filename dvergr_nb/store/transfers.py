"""Statements about money: transfers between wallets, and the calls of models that were paid with them."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from typing import Any, NamedTuple

import duckdb

from dvergr_nb.ids import RunId
from dvergr_nb.records.money import Spend, Transfer, Usage, return_id, room_wallet
from dvergr_nb.store.table import Row

_BY_ID = """
SELECT
    CAST(id AS VARCHAR), tenant_id, user_id, room, CAST(run_id AS VARCHAR), kind, CAST(source AS VARCHAR),
    CAST(target AS VARCHAR), amount, created_at
FROM dv.transfers WHERE id = CAST(? AS UUID)
"""
_SPEND = "SELECT * EXCLUDE (key, run_key) FROM dv.spend_rows WHERE key = CAST(? AS UUID)"
# A Run that was orphaned gives what it has left to the Run that contains it, where that is open and has a wallet.
_LEFT_BY = """
WITH gone AS (SELECT unnest(CAST(? AS UUID[])) AS id),
flows AS (
    SELECT target AS wallet, amount FROM dv.transfers WHERE target IN (FROM gone)
    UNION ALL
    SELECT source, -amount FROM dv.transfers WHERE source IN (FROM gone)
),
left_over AS (SELECT wallet, sum(amount) AS amount FROM flows GROUP BY wallet HAVING sum(amount) > 0)
SELECT
    CAST(r.id AS VARCHAR), r.tenant_id, r.user_id, r.room, CAST(parent.id AS VARCHAR), left_over.amount
FROM left_over JOIN dv.runs AS r ON r.id = left_over.wallet
LEFT JOIN dv.runs AS parent
  ON parent.id = r.parent AND parent.status IN ('running', 'waiting')
 AND parent.id IN (SELECT target FROM dv.transfers WHERE kind = 'grant')
"""
_PUT = """
INSERT INTO dv.transfers
SELECT
    unnest(CAST(? AS UUID[])), unnest(CAST(? AS VARCHAR[])), unnest(CAST(? AS VARCHAR[])), unnest(CAST(? AS VARCHAR[])),
    unnest(CAST(? AS UUID[])), unnest(CAST(? AS VARCHAR[])), unnest(CAST(? AS UUID[])), unnest(CAST(? AS UUID[])),
    unnest(CAST(? AS BIGINT[])), unnest(CAST(? AS TIMESTAMPTZ[]))
"""


class Paid(NamedTuple):
    """A call on record, and what was taken for it, in micro-dollars."""

    spend: Spend
    taken: int


def row(transfer: Transfer) -> Row:
    """As it is stored."""
    return (
        transfer.id,
        transfer.tenant_id,
        transfer.user_id,
        transfer.room,
        transfer.run_id,
        transfer.kind,
        transfer.source,
        transfer.target,
        transfer.amount,
        transfer.at,
    )


def spend_row(spend: Spend, taken: int) -> Row:
    """A call as it is stored."""
    usage = spend.usage
    return (
        spend.id,
        spend.tenant_id,
        spend.user_id,
        spend.room,
        spend.run_id,
        spend.actor,
        spend.round,
        usage.model,
        usage.answered_as,
        usage.provider,
        usage.input_tokens,
        usage.output_tokens,
        usage.cache_read_tokens,
        usage.cache_write_tokens,
        usage.cost,
        usage.is_measured,
        usage.outcome,
        taken,
        (usage.cost or 0) - taken,
        spend.at,
    )


def spend_from_row(found: Sequence[Any]) -> Paid:
    """The call of a row of the view `dv.spend_rows`."""
    spend_id, tenant, user, room, run_id, actor, number, *used, taken, at = found
    model, answered_as, provider, given, got, cache_read, cache_write, cost, is_measured, outcome = used
    usage = Usage(
        model=model,
        answered_as=answered_as,
        provider=provider,
        input_tokens=given,
        output_tokens=got,
        cache_read_tokens=cache_read,
        cache_write_tokens=cache_write,
        cost=cost,
        is_measured=is_measured,
        outcome=outcome,
    )
    spend = Spend(
        id=spend_id,
        tenant_id=tenant,
        user_id=user,
        room=room,
        run_id=run_id,
        actor=actor,
        round=number,
        usage=usage,
        at=at,
    )
    return Paid(spend, taken)


def by_id(con: duckdb.DuckDBPyConnection, transfer_id: str) -> Transfer | None:
    """The transfer, of whatever tenant."""
    found = con.execute(_BY_ID, [transfer_id]).fetchall()
    if not found:
        return None
    an_id, tenant, user, room, run_id, kind, source, target, amount, at = found[0]
    return Transfer(
        id=an_id,
        tenant_id=tenant,
        user_id=user,
        room=room,
        run_id=run_id,
        kind=kind,
        source=source,
        target=target,
        amount=amount,
        at=at,
    )


def spend_by_id(con: duckdb.DuckDBPyConnection, spend_id: str) -> Paid | None:
    """The call, of whatever tenant."""
    found = con.execute(_SPEND, [spend_id]).fetchall()
    return spend_from_row(found[0]) if found else None


def given_back(con: duckdb.DuckDBPyConnection, runs: Sequence[RunId], now: dt.datetime) -> None:
    """Empties the wallets of Runs that have ended without having done so themselves."""
    rows = [row(_return(found, now)) for found in con.execute(_LEFT_BY, [list(runs)]).fetchall()]
    if rows:
        con.execute(_PUT, [list(column) for column in zip(*rows, strict=True)])


def _return(found: Sequence[Any], now: dt.datetime) -> Transfer:
    run_id, tenant, user, room, parent, amount = found
    return Transfer(
        id=return_id(run_id),
        tenant_id=tenant,
        user_id=user,
        room=room,
        run_id=run_id,
        kind="return",
        source=run_id,
        target=parent or room_wallet(tenant, room),
        amount=amount,
        at=now,
    )
