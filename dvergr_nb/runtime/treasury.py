"""The wallet of a room, as people see it: in dollars."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from dvergr_nb.errors import Refused, StoreFailed
from dvergr_nb.records.operation import Fund, Funded
from dvergr_nb.runtime.paying import agent_at_work

if TYPE_CHECKING:
    from dvergr_nb.records import room as rooms
    from dvergr_nb.runtime.house import House

FUND_S: Final = 10.0
"""How long a payment waits for its row."""


class Treasury:
    """The money of one room."""

    row: rooms.Room
    _house: House

    def fund(self, usd: float) -> float:
        """Adds dollars to the room's wallet, in the person's name; what it holds then. Raises `BadInput` or `Refused`."""
        from dvergr_nb.records.money import MICRO, micro, room_wallet

        amount = micro(usd, "what a room is funded with")
        if (agent := agent_at_work()) is not None:
            raise Refused(f"{agent.run.actor!r} is an agent, and only a person adds money to a room")
        asker = self._house.asker()
        unit = Fund(
            id=asker.ids.message(),
            tenant_id=asker.tenant_id,
            user_id=asker.user_id,
            room=self.row.name,
            amount=amount,
            at=asker.clock.now(),
        )
        answer = self._house.tools.store.submit(unit).result(FUND_S)
        if not isinstance(answer, Funded):
            raise StoreFailed("", f"the funding of a room was answered with {answer!r}")
        return answer.balances[room_wallet(asker.tenant_id, self.row.name)] / MICRO

    @property
    def balance(self) -> float:
        """What the room's wallet holds, in dollars; what its Runs were given is theirs meanwhile."""
        from dvergr_nb.records.money import MICRO, room_wallet

        return self._house.tools.store.balance(room_wallet(self.row.tenant_id, self.row.name)) / MICRO
