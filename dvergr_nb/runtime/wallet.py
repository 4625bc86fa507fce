"""The wallet of a Run as its body sees it: what it may spend, what it has spent, and what a call has cost.

Balances are those that the store has answered, less what is on its way to it, so that a call never waits for the record of the
last one. A charge reaches the record before the end of its Run does, for both are in one queue.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from dvergr_nb.ids import Ids
from dvergr_nb.records.operation import Charge, Charged
from dvergr_nb.records.run import Run

if TYPE_CHECKING:
    import datetime as dt

    from dvergr_nb.records.money import Usage
    from dvergr_nb.runtime.ports import Settled, Store


class Bank:
    """What the wallets of a session hold, as far as this kernel has heard. On the home loop."""

    def __init__(self) -> None:
        self._balances: dict[str, int] = {}

    def learn(self, balances: Mapping[str, int]) -> None:
        """Takes over what the store has answered."""
        self._balances.update(balances)

    def balance(self, wallet: str) -> int:
        """Micro-dollars; 0 for a wallet that was never heard of."""
        return self._balances.get(wallet, 0)

    def forget(self, wallet: str) -> None:
        """Lets the wallet of a Run go that has ended."""
        self._balances.pop(wallet, None)


class Voice(Protocol):
    """What a wallet needs of its Run."""

    row: Run

    @property
    def above(self) -> RunWallet | None:
        """That of the Run that contains it."""

    def now(self) -> dt.datetime: ...

    def notified(self, what: str, verb: str, outcome: str) -> None:
        """Puts a notice about money on record."""

    def paid(self) -> None:
        """Those who watch shall see what was spent."""


class RunWallet:
    """What one Run may spend. Everything on the home loop."""

    def __init__(self, voice: Voice, store: Store, bank: Bank, ids: Ids) -> None:
        self._voice, self._store, self._bank, self._ids = voice, store, bank, ids
        self._on_the_way = 0
        self.pending = 0
        """What the charges on their way will take, those of Runs below it included that have no wallet of their own."""
        self._settled: asyncio.Event | None = None
        self._problem: BaseException | None = None
        self._noticed = 0
        self.granted: int | None = None
        """What it was given, in micro-dollars; None where it has no wallet: then the one above it pays, if there is one."""
        self.spent = 0
        """What its calls have cost in this segment, as far as prices are known."""
        self.unpriced = 0
        """How many of them have no known cost."""

    @property
    def balance(self) -> int | None:
        """What is left, in micro-dollars; None where it has no wallet."""
        return None if self.granted is None else self._bank.balance(self._voice.row.id)

    @property
    def payer(self) -> RunWallet | None:
        """What its calls are paid from: itself, else the nearest above it that was given something; None where none was."""
        if self.granted is not None:
            return self
        above = self._voice.above
        return None if above is None else above.payer

    @property
    def is_exhausted(self) -> bool:
        """Whether nothing is left of what pays for it, or will be once all charges are on record: no call may follow."""
        payer = self.payer
        return payer is not None and (payer.balance or 0) - payer.pending <= 0

    def begin(self, granted: int | None) -> None:
        """A segment begins with that wallet."""
        self.granted, self.spent, self.unpriced = granted, 0, 0

    def charge(self, usage: Usage, number: int) -> None:
        """Notes a call of a model in round `number`, and takes what it has cost; `settled` waits until that is on record."""
        from dvergr_nb.records.money import Spend

        run = self._voice.row
        spend = Spend(
            id=self._ids.message(),
            tenant_id=run.tenant_id,
            user_id=run.user_id,
            room=run.room,
            run_id=run.id,
            actor=run.actor,
            round=number,
            usage=usage,
            at=self._voice.now(),
        )
        self.spent += usage.cost or 0
        self.unpriced += usage.cost is None
        self._on_the_way += 1
        self._settled = self._settled or asyncio.Event()
        self._settled.clear()
        payer, cost = self.payer or self, usage.cost or 0
        payer.pending += cost
        payer.notice()
        self._store.note(Charge(spend=spend), lambda settled: self._charged(settled, payer, cost))

    def _charged(self, settled: Settled, payer: RunWallet, cost: int) -> None:
        self._on_the_way -= 1
        payer.pending -= cost
        self._problem = self._problem or settled.exception()
        if self._problem is None and isinstance(charged := settled.result(), Charged):
            self._bank.learn(charged.balances)
        if self._settled is not None and not self._on_the_way:
            self._settled.set()
        self._voice.paid()

    def notice(self) -> None:
        """Says once each that a half, three quarters, … of the budget is gone. At once, for its Run may end with this call."""
        from dvergr_nb.records.money import NOTICES, dollars

        if self.granted is None or self.balance is None:
            return
        gone = self.granted - max(0, self.balance - self.pending)
        passed = [notice for notice in NOTICES if self._noticed < notice <= 100 * gone / self.granted]
        if passed:
            self._noticed = passed[-1]
            said = f"{passed[-1]} % of the budget is spent, {dollars(gone)} of {dollars(self.granted)}"
            self._voice.notified(said, "notice", str(passed[-1]))

    async def settled(self) -> None:
        """Returns once every charge so far is on record. Raises what kept one out."""
        if self._settled is not None:
            await self._settled.wait()
        if self._problem is not None:
            raise self._problem
