"""The money side of a transaction before it is written: what wallets would hold, and what Runs would have spent."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import duckdb

from dvergr_nb.ids import RunId
from dvergr_nb.records.run import Run
from dvergr_nb.store.known import Known
from dvergr_nb.store.wallets import Spent

if TYPE_CHECKING:
    from dvergr_nb.records.money import Spend, Transfer
    from dvergr_nb.store.draft import Rows
    from dvergr_nb.store.transfers import Paid


class Till:
    """Answers in the light of the units before: from here, then from memory, which knows every open wallet."""

    def __init__(self, con: duckdb.DuckDBPyConnection, known: Known, rows: Rows) -> None:
        self._con = con
        self._known = known
        self._rows = rows
        self._wallets: dict[str, int] = {}
        self._spent: dict[RunId, Spent] = {}
        self._moved: dict[str, Transfer] = {}
        self._paid: dict[str, Paid] = {}
        self._closed: set[str] = set()

    def holds(self, wallet: str) -> int | None:
        """What a wallet holds; None for one that never was, or whose Run has ended."""
        if wallet in self._closed:
            return None
        here = self._wallets.get(wallet)
        return self._known.wallets.get(wallet) if here is None else here

    def balances(self, *wallets: str | None) -> Mapping[str, int]:
        """What each holds, 0 where it is closed."""
        return {wallet: self.holds(wallet) or 0 for wallet in wallets if wallet is not None}

    def spent(self, run_id: RunId) -> Spent:
        """What the calls of a Run that has not ended have come to."""
        return self._spent.get(run_id) or self._known.spent.get(run_id) or Spent()

    def transfer(self, transfer_id: str) -> Transfer | None:
        """The transfer of that id."""
        from dvergr_nb.store import transfers

        return self._moved.get(transfer_id) or transfers.by_id(self._con, transfer_id)

    def same_transfer(self, transfer_id: str, *, careful: bool) -> Transfer | None:
        """The transfer of that id; only from this transaction, unless careful."""
        return self.transfer(transfer_id) if careful else self._moved.get(transfer_id)

    def same_spend(self, spend_id: str, *, careful: bool) -> Paid | None:
        """The call of that id; only from this transaction, unless careful."""
        from dvergr_nb.store import transfers

        here = self._paid.get(spend_id)
        return transfers.spend_by_id(self._con, spend_id) if here is None and careful else here

    def move(self, transfer: Transfer) -> None:
        """Moves money."""
        from dvergr_nb.store import transfers

        self._moved[transfer.id] = transfer
        self._rows.transfers.append(transfers.row(transfer))
        for wallet, change in ((transfer.source, -transfer.amount), (transfer.target, transfer.amount)):
            if wallet is not None:
                self._wallets[wallet] = (self.holds(wallet) or 0) + change

    def pay(self, spend: Spend, run: Run, taken: int) -> None:
        """Notes a call, and what it adds to what its Run has spent."""
        from dvergr_nb.store import transfers

        self._paid[spend.id] = transfers.Paid(spend, taken)
        self._rows.spends.append(transfers.spend_row(spend, taken))
        if not run.status.is_terminal:
            cost, unpriced = self.spent(run.id)
            self._spent[run.id] = Spent(cost + (spend.usage.cost or 0), unpriced + (spend.usage.cost is None))

    def close(self, run_id: RunId) -> None:
        """The wallet of a Run is no more; what it held was moved."""
        self._closed.add(run_id)

    def keep(self) -> None:
        """Tells the memory what is committed now. To be followed by what became of the Runs, which closes wallets."""
        self._known.wallets |= self._wallets
        self._known.spent |= self._spent
