"""The money of a live Run: its wallet, and what is put on record and shown of it."""

from __future__ import annotations

import asyncio
import functools
from typing import TYPE_CHECKING

from dvergr_nb.records.message import Fact
from dvergr_nb.runtime.queries import Queries
from dvergr_nb.runtime.wallet import RunWallet

if TYPE_CHECKING:
    import datetime as dt
    from collections.abc import Mapping
    from typing import Any

    from dvergr_nb.records.run import LiveRun, Run
    from dvergr_nb.runtime.entry import Entry, Tools
    from dvergr_nb.runtime.ports import Noted


class Accounts(Queries):
    """What a live Run does about money."""

    row: Run
    tools: Tools
    parent: Entry | None

    if TYPE_CHECKING:

        @property
        def run(self) -> LiveRun: ...

        def now(self) -> dt.datetime: ...

        def changed(self) -> None: ...

        def record(
            self, kind: str | None, content: str, facts: tuple[Fact, ...], metadata: Mapping[str, Any] = ...
        ) -> Noted | None: ...

    @functools.cached_property
    def wallet(self) -> RunWallet:
        """What it may spend."""
        return RunWallet(self, self.tools.store, self.tools.bank, self.tools.ids)

    @property
    def above(self) -> RunWallet | None:
        """That of the Run that contains it, where that lives here."""
        return None if self.parent is None else self.parent.wallet

    def notified(self, what: str, verb: str, outcome: str) -> None:
        """Puts a notice about money on record."""
        fact = Fact(
            id=self.tools.ids.message(),
            run_id=self.row.id,
            kind="budget",
            verb=verb,
            outcome=outcome,
            critical=True,
            at=self.now(),
        )
        self.record("budget", what, (fact,))

    def exhausted(self) -> None:
        """Says that its budget is gone, which ends it."""
        from dvergr_nb.records.money import dollars

        payer = self.wallet.payer
        granted = dollars(0 if payer is None else payer.granted or 0)
        self.notified(f"the budget of {granted} is spent; give more and say something to go on", "exhaust", "blocked")

    async def spent_here(self) -> int:
        """What its actor has spent in the room so far, in micro-dollars; read in a thread."""
        return await asyncio.to_thread(self.tools.store.spent, self.row.room, self.row.actor)

    def paid(self) -> None:
        """Shows what was spent."""
        self.changed()
