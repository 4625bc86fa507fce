"""What the units about money mean, and what money moves when a Run begins and ends.

Each transfer has the id of what it is for, so that a unit that is sent again moves nothing.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Mapping
from typing import Any, NamedTuple

from dvergr_nb.errors import BadInput
from dvergr_nb.ids import is_id, short
from dvergr_nb.records.money import (
    MICRO,
    MOST_USD,
    Grant,
    Spend,
    Transfer,
    TransferKind,
    grant_id,
    mint_id,
    return_id,
    room_wallet,
)
from dvergr_nb.records.operation import Charge, Charged, Fund, Funded
from dvergr_nb.records.run import WORD_LIMIT, Run, checked_word
from dvergr_nb.records.text import clipped, mended, shown
from dvergr_nb.store.belonging import run_in_room
from dvergr_nb.store.draft import Draft

MOST = MOST_USD * MICRO
"""The most of anything countable that one row holds: a million dollars, as many tokens. Sums of it fit a column by far."""


class Given(NamedTuple):
    """What a Run was given: the wallets it has changed, and what there was where that was not enough."""

    balances: Mapping[str, int]
    lacking: int | None = None


def funded(draft: Draft, unit: Fund) -> Funded:
    """Mints money into a room's wallet. Raises `BadInput` for an amount or an id that cannot be."""
    _check_amount(unit.amount, "what a room is given")
    if not is_id(unit.id):
        raise BadInput(f"the id of a transfer is a UUID, not {shown(unit.id)}")
    room = checked_word(unit.room, "room")
    wallet = room_wallet(unit.tenant_id, room)
    there = draft.till.same_transfer(unit.id.lower(), careful=draft.careful)
    if there is not None:
        if (there.kind, there.target) != ("mint", wallet):
            raise BadInput(f"the id {short(unit.id)} is that of another transfer; make a new one")
        return Funded(balances=draft.till.balances(wallet))
    draft.need_room(unit.tenant_id, room, unit.at)
    draft.till.move(
        Transfer(
            id=unit.id.lower(),
            tenant_id=unit.tenant_id,
            user_id=mended(unit.user_id),
            room=room,
            run_id=None,
            kind="mint",
            source=None,
            target=wallet,
            amount=unit.amount,
            at=unit.at,
        )
    )
    return Funded(balances=draft.till.balances(wallet))


def charged(draft: Draft, unit: Charge) -> Charged:
    """Notes a call of a model and takes what it cost, as far as the wallet reaches that pays for its Run."""
    spend = _sound(unit.spend)
    run = run_in_room(draft, spend.run_id, spend.tenant_id, spend.room, "a call of a model")
    there = draft.till.same_spend(spend.id, careful=draft.careful)
    if there is not None:
        if (there.spend.tenant_id, there.spend.run_id) != (spend.tenant_id, spend.run_id):
            raise BadInput(f"the id {short(spend.id)} is that of another call; make a new one")
        return Charged(inserted=False, taken=there.taken, balances=draft.till.balances(_payer(draft, run)))
    wallet = _payer(draft, run)
    taken = 0 if wallet is None else min(spend.usage.cost or 0, draft.till.holds(wallet) or 0)
    if taken:
        draft.till.move(_transfer(run, "consume", spend.id, source=wallet, amount=taken, at=spend.at))
    draft.till.pay(spend, run, taken)
    return Charged(inserted=True, taken=taken, balances=draft.till.balances(wallet))


def _payer(draft: Draft, run: Run) -> str | None:
    """The wallet of the Run, else of the nearest Run above it that has one; None where nobody's is."""
    return run.id if draft.till.holds(run.id) is not None else _above(draft, run)


def _above(draft: Draft, run: Run) -> str | None:
    """The wallet of the nearest Run that contains it and has one that is open."""
    while run.parent is not None:
        if draft.till.holds(run.parent) is not None:
            return run.parent
        above = draft.run(run.parent)
        if above is None:
            return None
        run = above
    return None


def _sound(spend: Spend) -> Spend:
    """The call with its text mended. Raises `BadInput` for what no row can hold."""
    usage = spend.usage
    for name in ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "cost"):
        if (getattr(usage, name) or 0) > MOST:
            raise BadInput(f"{name} of a call is at most {MOST:,}, not {shown(getattr(usage, name))}")
    if not is_id(spend.id) or not is_id(spend.run_id):
        raise BadInput(f"the ids of a call and of its Run are UUIDs, not {shown(spend.id)} and {shown(spend.run_id)}")
    words = {name: getattr(usage, name) for name in ("model", "answered_as", "provider", "outcome")}
    sound: dict[str, Any] = {name: word and clipped(mended(word), WORD_LIMIT) for name, word in words.items()}
    return dataclasses.replace(spend, id=spend.id.lower(), actor=mended(spend.actor), usage=dataclasses.replace(usage, **sound))


def check_grant(grant: Grant) -> None:
    """Raises `BadInput` for more than a wallet may hold."""
    _check_amount(grant.amount, "a grant")


def _check_amount(amount: object, what: str) -> None:
    if not isinstance(amount, int) or isinstance(amount, bool) or not 0 < amount <= MOST:
        raise BadInput(f"{what} is a whole number of micro-dollars from 1 to {MOST:,}, not {shown(amount)}")


def given(draft: Draft, run: Run, grant: Grant) -> Given:
    """Gives a Run that begins its wallet. Nothing moves where the source does not hold enough."""
    source, is_parents = _source(draft, run)
    there = draft.till.holds(source) or 0
    lacks = grant.amount - there
    if lacks > 0 and grant.mints and not is_parents:
        draft.till.move(_transfer(run, "mint", mint_id(run.id), target=source, amount=lacks, at=run.started_at))
        there = grant.amount
    amount = min(grant.amount, there) if grant.takes_what_is_there else grant.amount
    if amount > there or not amount:
        return Given({}, there)
    draft.till.move(_transfer(run, "grant", grant_id(run.id), source=source, target=run.id, amount=amount, at=run.started_at))
    return Given(draft.till.balances(source, run.id))


def given_before(draft: Draft, run: Run) -> Given:
    """What a Run was given that is there already, as its wallets stand now."""
    made = draft.till.transfer(grant_id(run.id))
    if made is None:
        source, _ = _source(draft, run)
        return Given({}, draft.till.holds(source) or 0)
    return Given(draft.till.balances(made.source, made.target))


def given_back(draft: Draft, run: Run) -> Mapping[str, int]:
    """Empties the wallet of a Run that ends for good; what the wallets that changed hold now."""
    left = draft.till.holds(run.id)
    target, _ = _source(draft, run)
    if left:
        draft.till.move(
            _transfer(run, "return", return_id(run.id), source=run.id, target=target, amount=left, at=run.updated_at)
        )
    draft.till.close(run.id)
    if not left:
        return {}
    return draft.till.balances(run.id, target)


def given_back_before(draft: Draft, run: Run) -> Mapping[str, int]:
    """The wallets that the end of a Run has changed, as they stand now."""
    made = draft.till.transfer(return_id(run.id))
    return {} if made is None else draft.till.balances(made.source, made.target)


def _source(draft: Draft, run: Run) -> tuple[str, bool]:
    """Where the money of a Run comes from and goes back to, and whether that is the wallet of a Run that contains it."""
    above = _above(draft, run)
    return (room_wallet(run.tenant_id, run.room), False) if above is None else (above, True)


def _transfer(
    run: Run,
    kind: TransferKind,
    an_id: str,
    *,
    source: str | None = None,
    target: str | None = None,
    amount: int,
    at: dt.datetime,
) -> Transfer:
    return Transfer(
        id=an_id,
        tenant_id=run.tenant_id,
        user_id=run.user_id,
        room=run.room,
        run_id=run.id,
        kind=kind,
        source=source,
        target=target,
        amount=amount,
        at=at,
    )
