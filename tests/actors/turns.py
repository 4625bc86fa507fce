"""A turn without a participant: a handler is called with a real context over a real inbox, and what it reports is kept."""

from __future__ import annotations

import asyncio
import datetime as dt
from collections.abc import Mapping
from typing import Any, Self

from dvergr_nb.clock import SystemClock
from dvergr_nb.ids import MessageId, SystemIds
from dvergr_nb.records import message as messages
from dvergr_nb.records.message import ACTIVITY, Fact, Message
from dvergr_nb.records.money import Usage
from dvergr_nb.records.run import Reason, Run, RunStatus, live
from dvergr_nb.runtime.cancel import CancelToken, Stop, told
from dvergr_nb.runtime.context import CURRENT, Context
from dvergr_nb.runtime.inbox import Inbox, Joining
from dvergr_nb.runtime.reply import Given, Handler

CLOCK = SystemClock()
IDS = SystemIds(CLOCK)


def said(content: str, sender: str = "user") -> Message:
    """A message of its own thread."""
    an_id = IDS.message()
    return Message(
        id=an_id,
        tenant_id="local",
        user_id="ann",
        room="lab",
        sender=sender,
        to="researcher",
        content=content,
        thread_root_id=an_id,
        created_at=CLOCK.now(),
    )


class Turn:
    """One turn: the `Reporter` of its context, and who steers and stops it."""

    def __init__(self, handler: Handler, content: str = "go", sender: str = "user") -> None:
        self.message = said(content, sender)
        self.run = live(
            Run(
                id=IDS.run(),
                tenant_id="local",
                user_id="ann",
                room="lab",
                actor="researcher",
                trigger=self.message.id,
                status=RunStatus.RUNNING,
                created_at=CLOCK.now(),
                started_at=CLOCK.now(),
                updated_at=CLOCK.now(),
                boot_id=IDS.message(),  # type: ignore[arg-type]  # an id is an id
            )
        )
        self.inbox: Inbox | None = Inbox()
        self.activity: list[Message] = []
        self.streams: list[str] = []
        self.at_work: list[str] = []
        self.spends: list[tuple[Usage, int]] = []
        self.steps = 0
        self.taken: list[str] = []
        self._streamed = asyncio.Event()
        self._handler = handler
        self._token = CancelToken()
        self._task: asyncio.Task[Given] | None = None

    # What the context reports ----------------------------------------------------------------------------------------

    def record(self, kind: str | None, content: str, facts: tuple[Fact, ...], metadata: Mapping[str, Any] = {}) -> None:
        """Keeps an activity message, checked as the store would."""
        an_id = MessageId(IDS.message())
        entry = Message(
            id=an_id,
            tenant_id="local",
            user_id="ann",
            room="lab",
            sender="researcher",
            to=ACTIVITY,
            content=content,
            kind=kind,
            thread_root_id=an_id,
            run_id=self.run.id,
            facts=facts,
            metadata=metadata,
            created_at=CLOCK.now(),
        )
        self.activity.append(messages.checked(entry))

    def doing(self, what: str) -> None:
        """Keeps which tools were at work."""
        self.at_work.append(what)

    def streamed(self, text: str) -> None:
        """Keeps what was streamed."""
        self.streams.append(text)
        self._streamed.set()

    @property
    def wallet(self) -> Self:
        """Is its own."""
        return self

    is_exhausted = False
    """It may spend as much as it likes."""

    def charge(self, usage: Usage, number: int) -> None:
        """Keeps what a call of a model has cost, and in which round."""
        self.spends.append((usage, number))

    def stepped(self) -> None:
        """Counts."""
        self.steps += 1

    def now(self) -> dt.datetime:
        """The real time."""
        return CLOCK.now()

    # What others do --------------------------------------------------------------------------------------------------

    def begin(self) -> Self:
        """Starts it as a task of its own."""
        self._task = asyncio.create_task(told(self._answered(), self._token))
        return self

    async def _answered(self) -> Given:
        ctx = Context(self, self._token, IDS)  # type: ignore[arg-type]  # it spawns nothing and shows no progress
        CURRENT.set(ctx)
        return await self._handler(self.message, ctx)

    async def given(self) -> Given:
        """What the handler gives, at last."""
        if self._task is None:
            self.begin()
        assert self._task is not None
        return await self._task

    def join(self, content: str, *, preempts: bool = True, needs_round: bool = True) -> bool:
        """Has a message join."""
        assert self.inbox is not None
        joining = Joining(said(content), needs_round=needs_round, taken=lambda: self.taken.append(content))
        return self.inbox.put(joining, preempts=preempts)

    def cancel(self, reason: str = Reason.CANCEL_REQUESTED, detail: str = "") -> None:
        """Asks it to stop, as the supervisor does."""
        self._token.request(Stop(reason=reason, at=CLOCK.now(), detail=detail))
        assert self._task is not None
        self._task.cancel()

    async def until_streamed(self, text: str) -> None:
        """Returns once that text was streamed."""
        while text not in self.streams:
            self._streamed.clear()
            await self._streamed.wait()

    async def stands_still(self) -> None:
        """Lets the loop come round often enough for the turn to do all it can, and checks that it has not ended."""
        for _ in range(50):
            await asyncio.sleep(0)
        assert self._task is not None
        assert not self._task.done()

    # Looking ---------------------------------------------------------------------------------------------------------

    @property
    def notes(self) -> list[str]:
        """What is on record, a line per activity message."""
        return [entry.content for entry in self.activity]

    @property
    def facts(self) -> list[tuple[str, str, str | None, str | None, str | None]]:
        """Kind, verb, name, use id and status of each fact on record."""
        return seen(fact for entry in self.activity for fact in entry.facts)


def seen(facts: Any) -> list[tuple[str, str, str | None, str | None, str | None]]:
    """What a test compares of facts."""
    return [(fact.kind, fact.verb, fact.tool_name, fact.tool_use_id, fact.status) for fact in facts]


class Gate:
    """A place in a script: says when it is reached, and holds until it is opened."""

    def __init__(self) -> None:
        self.reached = asyncio.Event()
        self.open = asyncio.Event()

    async def __call__(self) -> None:
        self.reached.set()
        await self.open.wait()
