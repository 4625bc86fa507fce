"""Makes what costs money, and asks what is left of it."""

from __future__ import annotations

import dataclasses
from typing import Any

from dvergr_nb.records.money import Grant, Spend, Usage, room_wallet
from dvergr_nb.records.operation import Admit, Charge, Fund
from dvergr_nb.records.run import Run
from dvergr_nb.store.store import Store
from tests.store.making import admit, ids, message, now

MAIN = room_wallet("t", "main")

SUMS = """
    SELECT
        coalesce(sum(amount) FILTER (kind = 'mint'), 0) - coalesce(sum(amount) FILTER (kind = 'consume'), 0),
        coalesce(sum(amount) FILTER (target IS NOT NULL), 0) - coalesce(sum(amount) FILTER (source IS NOT NULL), 0)
    FROM dv.transfers
"""
BALANCES = """
    SELECT CAST(wallet AS VARCHAR), CAST(sum(amount) AS BIGINT) FROM (
        SELECT target AS wallet, amount FROM dv.transfers WHERE target IS NOT NULL
        UNION ALL SELECT source, -amount FROM dv.transfers WHERE source IS NOT NULL
    ) GROUP BY wallet
"""


def fund(amount: int, room: str = "main", **facts: Any) -> Fund:
    """Money for a room."""
    known: dict[str, Any] = {
        "id": ids.message(),
        "tenant_id": "t",
        "user_id": "u",
        "room": room,
        "amount": amount,
        "at": now(),
    }
    return Fund(**(known | facts))


def paid(amount: int, *, room: str = "main", mints: bool = False, takes_what_is_there: bool = False, **facts: Any) -> Admit:
    """A Run that is to be given money."""
    grant = Grant(amount=amount, mints=mints, takes_what_is_there=takes_what_is_there)
    return dataclasses.replace(admit(message(room=room), **facts), grant=grant)


def charge(of: Run, cost: int | None, **facts: Any) -> Charge:
    """A call of a model by the Run."""
    usage = Usage(**({"model": "small", "cost": cost, "input_tokens": 10, "output_tokens": 2} | facts.pop("usage", {})))
    known: dict[str, Any] = {
        "id": ids.message(),
        "tenant_id": of.tenant_id,
        "user_id": of.user_id,
        "room": of.room,
        "run_id": of.id,
        "actor": of.actor,
        "round": 0,
        "usage": usage,
        "at": now(),
    }
    return Charge(spend=Spend(**(known | facts)))


def check_conserved(store: Store) -> None:
    """Law 11, by memory and by SQL: no wallet is below nothing, and all together hold what was minted less what was spent."""
    ((expected, held),) = store.read(lambda con: con.execute(SUMS).fetchall())
    balances = dict(store.read(lambda con: con.execute(BALANCES).fetchall()))
    assert held == expected == sum(balances.values())
    assert min(balances.values(), default=0) >= 0
    known = store._writer.known
    assert {wallet: amount for wallet, amount in known.wallets.items() if amount} == {
        wallet: amount for wallet, amount in balances.items() if amount
    }
    assert sum(known.wallets.values()) == expected
