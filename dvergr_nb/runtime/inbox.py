"""Messages that join a turn while it works. Everything here happens on the home loop.

A turn takes what has come at the start of each round. It may end only once nothing is on its way any more (`settled`), and
closes its inbox in the same step; a message that comes later causes a Run of its own.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field

from dvergr_nb.ids import MessageId
from dvergr_nb.records.attention import AttentionFact
from dvergr_nb.records.message import Message


@dataclass(frozen=True, slots=True)
class Joining:
    """A message that is to join, and what to do once a round has seen it."""

    message: Message
    needs_round: bool = field(kw_only=True)
    """Whether the turn may not end before a round has seen it."""
    fact: AttentionFact | None = field(default=None, kw_only=True)
    """The decision that it shall."""
    taken: Callable[[], object] = field(kw_only=True)


class Inbox:
    """The messages of one turn."""

    def __init__(self) -> None:
        self._come: list[Joining] = []
        self._on_the_way = 0
        self._preempted = asyncio.Event()
        self._settled = asyncio.Event()
        self._settled.set()
        self.is_open = True
        self.is_suspended = False
        """Whether the turn shall stop at once and wait, `attention-suspended`."""

    # What the participant does --------------------------------------------------------------------------------------

    def expect(self) -> None:
        """A message is being stored that will join."""
        self._on_the_way += 1
        self._settled.clear()

    def arrived(self) -> None:
        """What was expected has been put, or will not come."""
        self._on_the_way -= 1
        if not self._on_the_way:
            self._settled.set()

    def put(self, joining: Joining, *, preempts: bool) -> bool:
        """Has a message join; false where the turn has closed its inbox."""
        if not self.is_open:
            return False
        self._come.append(joining)
        if preempts:
            self._preempted.set()
        return True

    def cut(self) -> None:
        """Has the running model call cut, without a message: the next round is to be another one."""
        self._preempted.set()

    def suspend(self) -> None:
        """Asks the turn to stop and wait."""
        self.is_suspended = True
        self._preempted.set()

    # What the turn does ---------------------------------------------------------------------------------------------

    def take(self) -> tuple[Message, ...]:
        """What has come since the last round, oldest first. The round that begins now sees it."""
        come, self._come = self._come, []
        self._preempted.clear()
        for joining in come:
            joining.taken()
        return tuple(joining.message for joining in come)

    async def until_preempted(self) -> None:
        """Returns once something has come for which the running model call shall be cut."""
        await self._preempted.wait()

    async def settled(self) -> None:
        """Returns once nothing is on its way."""
        await self._settled.wait()

    def has(self, message_id: MessageId) -> bool:
        """Whether that message has come and no round has seen it."""
        return any(joining.message.id == message_id for joining in self._come)

    @property
    def needs_round(self) -> bool:
        """Whether something has come that another round must see."""
        return any(joining.needs_round for joining in self._come)

    def close(self) -> tuple[Joining, ...]:
        """Nothing joins any more; what no round has seen, also for who asks again."""
        self.is_open = False
        return tuple(self._come)
