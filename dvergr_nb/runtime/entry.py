"""A Run as it lives in this kernel: its row, its body's voice, and what only the kernel knows of it."""

from __future__ import annotations

import asyncio
import contextvars
import datetime as dt
import functools
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Protocol

from dvergr_nb.clock import Clock
from dvergr_nb.errors import DvergrError
from dvergr_nb.ids import Ids, MessageId
from dvergr_nb.records import message as messages
from dvergr_nb.records.event import RunActivity, RunPartial, RunProgressed
from dvergr_nb.records.message import ACTIVITY, EVERYONE, RUNS, Fact, Message
from dvergr_nb.records.operation import Posted, Record, Unit
from dvergr_nb.records.run import LiveRun, Progress, Run, RunStatus, live
from dvergr_nb.records.text import clipped
from dvergr_nb.runtime.accounts import Accounts
from dvergr_nb.runtime.body import Body, place_of
from dvergr_nb.runtime.bus import Bus, Make
from dvergr_nb.runtime.cancel import CancelToken, Hook, Stop, run_hook
from dvergr_nb.runtime.dials import UNSET, Dials
from dvergr_nb.runtime.family import Family
from dvergr_nb.runtime.handle import RunHandle
from dvergr_nb.runtime.home import Home
from dvergr_nb.runtime.inbox import Inbox
from dvergr_nb.runtime.limits import Limits, Watch
from dvergr_nb.runtime.ports import Noted, Settled, Store
from dvergr_nb.runtime.prints import Prints
from dvergr_nb.runtime.reply import Reply
from dvergr_nb.runtime.said import LIMIT, Said, without_secrets
from dvergr_nb.runtime.secrets import scrubbed
from dvergr_nb.runtime.wallet import Bank
from dvergr_nb.runtime.wanted import NOTHING as NOTHING_WANTED
from dvergr_nb.runtime.workers import Workers

if TYPE_CHECKING:
    from dvergr_nb.records.money import Grant
    from dvergr_nb.records.tool_use import Blob

BACKLOG_LIMIT: Final = 5_000
"""Units that may wait for the disk before a worker thread that reports is made to wait."""
FLOOD_LIMIT: Final = 20_000
"""Units that may wait for the disk before texts are dropped and counted."""
SLOW_S: Final = 5.0
"""Longest wait of one report in a worker thread."""
REPLY_LIMIT: Final = 100_000
"""Longest private output of a Run, in characters."""


NOTHING: Final[Mapping[str, Any]] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class Tools:
    """What an entry works with; the same for all Runs of a session."""

    store: Store
    home: Home
    bus: Bus
    clock: Clock
    ids: Ids
    workers: Workers
    bank: Bank
    spawn: Callable[..., RunHandle]
    """Starts a job."""


class Owner(Protocol):
    """Who put a turn into a queue and wants to know what becomes of it. On the home loop."""

    def admitted(self, entry: Entry) -> None: ...

    def refused(self, entry: Entry, problem: BaseException) -> bool:
        """Whether the owner goes on with it: then the handle stays as it is."""

    def over(self, entry: Entry, row: Run | None) -> None:
        """Its end is durable; None where there is none to be known."""

    def asked_to_stop(self, entry: Entry) -> None:
        """While it is queued."""


class Entry(Accounts):
    """One live Run. It is the `Reporter` of its context; what a body says may come from any thread."""

    grant: Grant | None = None
    """What it is to be given to spend."""
    unaffordable: DvergrError | None = None
    """Why its body never begins, where that could not be paid."""
    wanted = NOTHING_WANTED
    dials_now: Callable[[], Dials] = staticmethod(lambda: UNSET)
    """What was set for its actor, as it stands."""

    def __init__(self, run: Run, body: Body, handle: RunHandle, limits: Limits, tools: Tools) -> None:
        self.row = run
        self.owner: Owner | None = None
        self.trigger: Message | None = None
        """The message it answers, where that was said to it here."""
        self._inbox: Inbox | None = None
        self.parent: Entry | None = None
        self.family: Family[Entry] = Family()
        self.key: str | None = None
        self.is_queued = False
        """Whether it waits for its turn: its admission is not asked for yet."""
        self.was_queued = False
        """Whether those who watch were told of it before it was admitted."""
        self.is_retained = False
        """Whether its end is durable and only its publication is left: nothing can be changed any more."""
        self.body = body
        self.place = place_of(body)
        self.handle = handle
        self.tools = tools
        self.token = CancelToken()
        self.thread_root_id: MessageId = run.trigger
        self.home_context = contextvars.copy_context()
        self.watch = Watch(tools.home, limits)
        self.task: asyncio.Task[None] | None = None
        self.over = False
        """Whether its end has been decided; the first decision counts."""
        self.is_silent = False
        """Whether its last word was said: what a stray task of its body still reports belongs to no Run."""
        self.begun = False
        """Whether the task has taken its first step; a task cancelled before it would never run at all."""
        self.in_worker = False
        """Whether a worker thread holds the body now, so that its task must be left to end by itself."""
        self.replies: list[Message] = []
        self.cancel_requested_at: dt.datetime | None = None
        self._progress: Progress | None = None
        self._said = Said()
        self._doing = ""
        self._activities = 0
        self._dropped = 0
        self._steps = 0
        self._counting = threading.Lock()

    @functools.cached_property
    def prints(self) -> Prints:
        """What it prints; made when it begins, for thousands may wait."""
        return Prints(self.tools.home, self.record_text, self._heard)

    # What others see -----------------------------------------------------------------------------------------------

    @property
    def run(self) -> LiveRun:
        """The Run with its live facts."""
        is_cancelling = self.cancel_requested_at is not None and self.row.status is RunStatus.RUNNING
        shown = RunStatus.CANCELLING if is_cancelling else self.row.status
        return live(
            self.row,
            status=RunStatus.QUEUED if self.is_queued else shown,
            steps=self.steps,
            progress=self._progress,
            activities=self._activities,
            said=self._said.shown,
            doing=self._doing,
            place=self.place,
            checks=not self.in_worker or self.token.has_checked,
            cancel_requested_at=self.cancel_requested_at,
            cost=self.row.cost + self.wallet.spent,
            unpriced=self.row.unpriced + self.wallet.unpriced,
            budget=self.wallet.granted,
            balance=self.wallet.balance,
        )

    @property
    def inbox(self) -> Inbox | None:
        """The messages that join it, for a turn that takes them."""
        return self._inbox

    def joinable(self, inbox: Inbox | None) -> None:
        """Gives it an inbox, or none."""
        self._inbox = inbox

    @property
    def steps(self) -> int:
        """Checkpoints passed, those of earlier segments included."""
        return self.row.steps + self._steps

    @property
    def on_loop(self) -> bool:
        """Whether the caller is on the home loop's thread."""
        return self.tools.home.is_here

    def now(self) -> dt.datetime:
        """The session's time."""
        return self.tools.clock.now()

    # What the body says ----------------------------------------------------------------------------------------------

    def record_text(self, kind: str, content: str) -> None:
        """Puts a text on record, in order with the rest."""
        self.record(kind, content, ())

    def record(
        self, kind: str | None, content: str, facts: tuple[Fact, ...], metadata: Mapping[str, Any] = NOTHING
    ) -> Noted | None:
        """Queues one activity message. None where it was dropped: the disk is far behind, or the Run is over."""
        if self.is_silent:
            return None
        self.watch.stir()
        if not self._has_room(bool(facts)):
            return None
        entry = self._message(ACTIVITY, content, kind, facts, metadata)
        return self.tools.store.note(Record(message=entry), lambda answer: self._recorded(entry, answer))

    def _has_room(self, must: bool) -> bool:
        store = self.tools.store
        waiting = store.backlog()
        if waiting > BACKLOG_LIMIT and not self.on_loop:
            store.flush(SLOW_S)
            waiting = store.backlog()
        if must or waiting <= FLOOD_LIMIT:
            return True
        with self._counting:
            self._dropped += 1
        return False

    def _recorded(self, entry: Message, answer: Settled) -> None:
        if answer.exception() is not None:
            return  # the store remembers: the Run will end failed, record-lost
        posted = answer.result()
        if isinstance(posted, Posted) and posted.inserted:
            self._activities += 1
            self.tools.bus.publish(lambda seq: RunActivity(seq=seq, run=self.run, message=entry), self.row.id)

    def noted(self, unit: Unit) -> Noted:
        """Queues what belongs to this Run and is no message."""
        self.watch.stir()
        return self.tools.store.note(unit)

    async def blob(self, data: bytes, media_type: str) -> Blob:
        """Keeps bytes beside the store; written in a thread, for the disk may be slow."""
        self.watch.stir()
        return await asyncio.to_thread(lambda: self.tools.store.keep_blob(scrubbed(data, media_type), media_type))

    def progressed(self, progress: Progress) -> None:
        """Shows how far the body is."""
        self.watch.stir()
        self._progress = progress
        self.changed()

    def stands_as(self, row: Run) -> None:
        """Takes over the row as it is stored; its steps are those that were passed by then."""
        self.row = row
        self._steps = 0
        self.wallet.begin(self.wallet.granted)

    def stepped(self) -> None:
        """The body has passed a checkpoint."""
        self.watch.stir()
        with self._counting:
            self._steps += 1

    def _heard(self, line: str) -> None:
        self.watch.stir()
        self._said.line(line)
        self.changed()

    def changed(self) -> None:
        """Shows the Run as it stands."""
        self._show(lambda seq: RunProgressed(seq=seq, run=self.run))

    def _show(self, make: Make) -> None:
        def tell() -> None:
            if not self.is_silent:
                self.tools.bus.publish_soon(self.row.id, make)

        tell() if self.on_loop else self.tools.home.post(tell)

    def streamed(self, text: str) -> None:
        """Shows the text that is being made."""
        self.watch.stir()
        self._said.stream(text)
        self._show(lambda seq: RunPartial(seq=seq, run=self.run, text=self._said.shown))

    def doing(self, what: str) -> None:
        """Shows which tools are at work."""
        self.watch.stir()
        self._doing = what
        self.changed()

    def spawned(self, work: Any, args: tuple[Any, ...], options: Mapping[str, Any]) -> RunHandle:
        """Starts a child, in the same room unless told otherwise."""
        return self.tools.spawn(work, *args, **{"room": self.row.room, **options, "parent": self.row})

    def replied(self, text: str) -> None:
        """Keeps an output message for the end."""
        self.replies.append(self.output(text))

    def output(self, reply: str | Reply) -> Message:
        """The output message, a reply to the trigger: a text is private, a `Reply` goes to the room. Raises `BadMessage`."""
        if isinstance(reply, str):
            private = self._message(RUNS, clipped(reply, REPLY_LIMIT), "result", ())
            self._said.line(clipped(private.content, LIMIT))
            return private
        to = None if reply.to == EVERYONE else reply.to or (self.trigger.sender if self.trigger else self.row.actor)
        message = messages.checked(self._message(to, reply.content, "result", reply.facts, reply.metadata))
        self._said.line(clipped(message.content, LIMIT))
        return message

    def _message(
        self,
        to: str | None,
        content: str,
        kind: str | None,
        facts: tuple[Fact, ...],
        metadata: Mapping[str, Any] = NOTHING,
    ) -> Message:
        row = self.row
        message = Message(
            id=self.tools.ids.message(),
            tenant_id=row.tenant_id,
            user_id=row.user_id,
            room=row.room,
            sender=row.actor,
            to=to,
            content=messages.checked_content(content),
            reply_to=row.trigger,
            thread_root_id=self.thread_root_id,
            run_id=row.id,
            type="activity" if to == ACTIVITY else "agent/reply",
            kind=kind,
            metadata=metadata,
            facts=facts,
            created_at=self.now(),
        )
        if metadata:
            messages.checked(message)
        messages.check_facts(message)
        return without_secrets(message)

    async def in_thread(self, work: Callable[[], Any]) -> Any:
        """Runs a function of the body in a worker thread, to its end."""

        def begun() -> None:
            self.token.raise_stop()
            self.in_worker = True

        knows = False
        try:
            return await self.tools.workers.run(work, begun)
        except asyncio.CancelledError:
            knows = True
            raise
        finally:
            self.in_worker = False
            stop = self.token.stop
            if stop is not None and not stop.after_step and not knows:
                self.interrupt(stop)  # it was asked for while the thread held the body

    def interrupt(self, stop: Stop) -> None:
        """Interrupts the body, where it can be: not before its first step, and not while a thread holds it."""
        if self.task is not None and self.begun and not self.in_worker:
            self.task.cancel(stop.why)

    @property
    def dials(self) -> Dials:
        """What was set for its actor."""
        return self.dials_now()

    def when_over(self, tell: Callable[[Run], object]) -> None:
        """Has `tell` called with the row as it stands once its end is known, or cannot be."""
        self.handle.when_over(lambda: tell(self.row))

    def at_end(self, hook: Hook) -> None:
        """Has the hook run when the Run ends or waits."""
        self._at_end.append(hook)

    @functools.cached_property
    def _at_end(self) -> list[Hook]:
        """Made when it is asked for; few Runs have any."""
        return []

    def close_voice(self) -> None:
        """The last prints, and how many reports were dropped. After this the end may be written."""
        self.watch.stop()
        for hook in self._at_end:
            run_hook(hook)
        self.prints.close()
        if self._dropped:
            told = f"{self._dropped:,} reports were dropped: the disk was behind"
            self.tools.store.note(Record(message=self._message(ACTIVITY, told, "dropped", ())))
        self.is_silent = True

    def release(self) -> None:
        """Lets go of what leads back to it, so that it is freed when its Run has ended and not by the garbage collector,
        whose pauses grow with what it has to look at.
        """
        self.task = None
        self.home_context = contextvars.Context()
        self.__dict__.pop("wallet", None)
