"""Admission and life of Runs. Row first, event after, body last.

Admitting and cancelling may be asked for in any thread and never wait for the loop. Everything else happens on it.
"""

from __future__ import annotations

import asyncio
import dataclasses
import logging
import weakref
from collections.abc import Callable
from concurrent.futures import Future
from typing import Final

from dvergr_nb.agent_errors import WalletShort
from dvergr_nb.errors import DvergrError, RoomClosed, Sealed, SessionClosed, StoreFailed
from dvergr_nb.ids import RunId, short
from dvergr_nb.records.event import CancelRequested, RunQueued, RunResumed, RunStarted, RunWithdrawn
from dvergr_nb.records.message import Message
from dvergr_nb.records.operation import Admit, Admitted, KeyTaken, Resume, row_in
from dvergr_nb.records.run import LiveRun, Reason, Run, RunKind, RunStatus, live
from dvergr_nb.runtime.body import Body
from dvergr_nb.runtime.cancel import Hook, Stop, told
from dvergr_nb.runtime.closing import Closing
from dvergr_nb.runtime.context import CURRENT, Context
from dvergr_nb.runtime.entry import Entry, Tools
from dvergr_nb.runtime.handle import Desk, RunHandle
from dvergr_nb.runtime.limits import Limits
from dvergr_nb.runtime.logs import logger
from dvergr_nb.runtime.paying import agent_of
from dvergr_nb.runtime.ports import Outside, Settled
from dvergr_nb.runtime.prints import SINK
from dvergr_nb.runtime.request import Draft
from dvergr_nb.runtime.settle import Ending
from dvergr_nb.runtime.wanted import NOTHING, Wanted

log = logger(__name__)

LAST_MESSAGES: Final = 20
"""Among so many last messages of a Run its reply is looked for."""


class Supervisor:
    """The live Runs of one session."""

    def __init__(self, tools: Tools, desk: Desk) -> None:
        self._tools = tools
        self._desk = desk
        self._asked: set[Entry] = set()
        self._by_id: weakref.WeakValueDictionary[RunId, Entry] = weakref.WeakValueDictionary()
        """Finds those asked for: thousands may be on their way while all of them are cancelled."""
        self._live: dict[RunId, Entry] = {}
        self.is_closing = False
        """Whether all that lives here has been ended."""
        self._closing = Closing(tools, self._live, self._stop_for)

    def tell(self, outside: Outside) -> None:
        """Has that one told what leaves a Run, and asked which rooms admit any."""
        self._closing.outside = outside

    # Looking ---------------------------------------------------------------------------------------------------------

    def active(self, room: str | None = None) -> tuple[LiveRun, ...]:
        """The live Runs, by `started_at` then id. Waiting Runs are not live."""
        runs = [entry.run for entry in list(self._live.values()) if room in (None, entry.row.room)]
        return tuple(sorted(runs, key=lambda run: (run.started_at, run.id)))

    def queued(self, room: str | None = None) -> tuple[LiveRun, ...]:
        """The Runs whose admission is on its way or whose turn has not come, oldest first."""
        fresh = [entry for entry in tuple(self._asked) if entry.row.status is RunStatus.RUNNING]
        runs = [_on_its_way(entry) for entry in fresh if room in (None, entry.row.room)]
        return tuple(sorted(runs, key=lambda run: (run.started_at, run.id)))

    def live(self, run_id: RunId) -> LiveRun | None:
        """The Run, where it lives here; `queued` while its admission is on its way."""
        if (entry := self._live.get(run_id)) is not None:
            return entry.run
        asked = self._waiting(run_id)
        return None if asked is None else _on_its_way(asked)

    def _waiting(self, run_id: RunId) -> Entry | None:
        entry = self._by_id.get(run_id)
        return entry if entry in self._asked else None

    def handles(self, room: str | None = None) -> tuple[RunHandle, ...]:
        """Handles of all Runs that live here or are on their way."""
        return tuple(entry.handle for entry in self._entries() if room in (None, entry.row.room))

    def _entries(self) -> tuple[Entry, ...]:
        return tuple(dict.fromkeys([*self._asked, *self._live.values()]))

    def waiting_turns(self) -> tuple[LiveRun, ...]:
        """The Runs that wait for their actor, in the order in which they were asked for."""
        fresh = [entry.run for entry in tuple(self._asked) if entry.is_queued]
        return tuple(sorted(fresh, key=lambda run: run.id))

    # Admission -------------------------------------------------------------------------------------------------------

    def admit(self, draft: Draft, body: Body, wanted: Wanted = NOTHING) -> RunHandle:
        """Asks for the Run and gives its handle at once. From any thread. Raises `Sealed` or `RoomClosed`."""
        entry = self.prepare(draft, body)
        entry.wanted = wanted
        self.send(entry, draft.message)
        return entry.handle

    def prepare(self, draft: Draft, body: Body) -> Entry:
        """A Run that is not asked for yet. Raises `Sealed` where its parent is ending, `RoomClosed` where nothing begins."""
        if not self._closing.outside.admits(draft.run.room):
            raise RoomClosed(draft.run.room)
        entry = self._entry(draft.run, body, draft.limits)
        entry.key, entry.grant, entry.trigger = draft.key, draft.grant, draft.message
        parent = None if draft.run.parent is None else self._find(draft.run.parent)
        if parent is not None:
            if not parent.family.adopt(entry):
                self._asked.discard(entry)
                raise Sealed(parent.row.id)
            entry.parent = parent
        return entry

    def queue(self, entry: Entry) -> None:
        """Shows a prepared Run as queued; `send` asks for it when its turn has come."""
        entry.is_queued = entry.was_queued = True
        self._tools.bus.publish(lambda seq: RunQueued(seq=seq, run=entry.run))

    def withdraw(self, entry: Entry, why: BaseException) -> None:
        """Lets a prepared Run go that will not be asked for; who waits for it is told why."""
        self._refused(entry, why)

    def send(self, entry: Entry, message: Message | None) -> None:
        """Asks for a prepared Run, with its trigger where that is new. Its time begins now."""
        if entry.is_queued:
            entry.is_queued = False
            now = self._tools.clock.now()
            entry.row = dataclasses.replace(entry.row, started_at=now, updated_at=now)
        self._ask(Admit(run=entry.row, message=message, key=entry.key, grant=entry.grant), entry, self._admitted)

    def lineage(self, run_id: RunId) -> frozenset[RunId]:
        """A live Run and all that contain it."""
        found, entry = set[RunId](), self._find(run_id)
        while entry is not None:
            found.add(entry.row.id)
            entry = entry.parent
        return frozenset(found)

    def _find(self, run_id: RunId) -> Entry | None:
        return self._live.get(run_id) or self._waiting(run_id)

    def _entry(self, run: Run, body: Body, limits: Limits) -> Entry:
        entry = Entry(run, body, RunHandle(run, self._desk), limits, self._tools)
        self._asked.add(entry)
        self._by_id[entry.row.id] = entry
        return entry

    def _ask(self, unit: Admit | Resume, entry: Entry, then: Callable[[Entry, Settled], None]) -> RunHandle:
        entry.handle.asked(self._tools.store.note(unit, lambda settled: then(entry, settled)))
        return entry.handle

    def _admitted(self, entry: Entry, settled: Settled) -> None:
        problem = settled.exception()
        if problem is not None:
            if entry.owner is None or not entry.owner.refused(entry, problem):
                self._refused(entry, problem)
            return
        match settled.result():
            case Admitted(run=run, thread_root_id=root) as admitted:
                entry.thread_root_id = root
                self._fund(entry, admitted)
                if entry.owner is not None:
                    entry.owner.admitted(entry)
                self._enter(entry, run, RunStarted)
            case KeyTaken(run=run) as taken:
                self._asked.discard(entry)
                self._unqueue(entry)
                entry.handle.absorb(taken)
                entry.handle.settle_admitted()
                self._follow(entry.handle, run)
                self._closing.lost(entry)
            case other:
                raise AssertionError(f"an admission was answered with {other!r}")

    def _refused(self, entry: Entry, problem: BaseException) -> None:
        self._asked.discard(entry)
        self._unqueue(entry)
        if not entry.handle.is_heard:
            level = logging.DEBUG if isinstance(problem, SessionClosed) else logging.WARNING
            log.log(level, "Run of %r was not admitted: %s", entry.row.name, problem)
        known = problem if isinstance(problem, DvergrError) else StoreFailed("", f"the store refused the Run: {problem!r}")
        entry.handle.settle_lost(known)
        self._closing.lost(entry)

    def _unqueue(self, entry: Entry) -> None:
        """Those who were told that it is queued are told that there will be no row."""
        if entry.was_queued:
            queued = live(entry.run, status=RunStatus.QUEUED)
            self._tools.bus.publish(lambda seq: RunWithdrawn(seq=seq, run=queued))

    def _follow(self, handle: RunHandle, first: Run) -> None:
        """Ends with the first Run. Of a turn that has ended the record has the reply; other values lived in its kernel only."""
        if (entry := self._live.get(first.id)) is not None:
            handle.settle_as(entry.handle)
        elif first.kind == RunKind.AGENT_TURN and first.status is RunStatus.COMPLETED:
            self._tools.home.in_thread(lambda: self._reply_of(first), lambda read: handle.settle(first, _read(read)))
        else:
            handle.settle(first)

    def _reply_of(self, run: Run) -> str | None:
        said, _ = self._tools.store.both_ends(run.id, 0, LAST_MESSAGES)
        return next((each.content for each in reversed(said) if each.kind == "result"), None)

    def _fund(self, entry: Entry, admitted: Admitted) -> None:
        """Gives it the wallet that was paid for, or notes that nobody could pay."""
        self._tools.bank.learn(admitted.balances)
        if entry.grant is None:
            return
        if admitted.lacking is None:
            entry.wallet.begin(self._tools.bank.balance(entry.row.id))
            return
        whose = (
            f"Run {short(entry.row.parent)}" if entry.parent is not None and entry.row.parent else f"room {entry.row.room!r}"
        )
        entry.unaffordable = WalletShort(whose, entry.grant.amount, admitted.lacking)

    def _enter(self, entry: Entry, row: Run, event: type[RunStarted | RunResumed]) -> None:
        entry.stands_as(row)
        if entry.unaffordable is None:
            entry.handle.settle_admitted()
        else:
            entry.handle.ready.fail(entry.unaffordable)
        self._live[row.id] = entry
        self._asked.discard(entry)
        self._tools.bus.publish(lambda seq: event(seq=seq, run=entry.run))
        self._begin(entry)

    # Going on with a waiting Run -------------------------------------------------------------------------------------

    def go_on(self, run: Run, body: Body, limits: Limits) -> RunHandle:
        """Continues a waiting Run as its next segment, in this kernel life. Claimed by compare-and-set. From any thread."""
        unit = Resume(run_id=run.id, tenant_id=run.tenant_id, boot_id=run.boot_id, at=self._tools.clock.now())
        return self._ask(unit, self._entry(run, body, limits), self._resumed)

    def _resumed(self, entry: Entry, settled: Settled) -> None:
        if (problem := settled.exception()) is not None:
            self._refused(entry, problem)
            return
        self._enter(entry, row_in(settled.result()), RunResumed)

    # The body --------------------------------------------------------------------------------------------------------

    def _begin(self, entry: Entry) -> None:
        if self.is_closing:
            self._orphan(entry)
            return
        if entry.token.stop is not None:
            self._show_cancelling(entry)
            self._closing.settle(entry, asyncio.CancelledError())
            return
        if entry.unaffordable is not None:
            self._closing.settle(entry, entry.unaffordable)
            return
        entry.watch.start(lambda why: self._stop(entry, Stop(reason=Reason.TIMEOUT, at=self._tools.clock.now(), detail=why)))
        context = Context(entry, entry.token, self._tools.ids)
        if (starter := entry.home_context.get(CURRENT)) is not None and entry.owner is None:
            context.started_by = agent_of(starter)
        entry.home_context.run(CURRENT.set, context)
        entry.home_context.run(SINK.set, entry.prints)
        entry.task = self._tools.home.spawn(self._execute(entry, context), entry.home_context)

    async def _execute(self, entry: Entry, context: Context) -> None:
        """One segment. Nothing that escapes the body, not even KeyboardInterrupt or SystemExit, gets past this."""
        outcome: object
        entry.begun = True
        try:
            entry.token.raise_stop()
            outcome = await told(_segment(entry.body, context), entry.token)
        except BaseException as problem:  # noqa: BLE001  # a body's end, whatever it is
            outcome = problem
        self._closing.settle(entry, outcome)

    # The end ---------------------------------------------------------------------------------------------------------

    def orphan_all(self) -> None:
        """Ends every Run that lives here as failed, `orphaned`: its kernel is about to end, or its store to close.

        Also those on their way: their end is queued behind their admission. What is admitted later ends at once.
        """
        self.is_closing = True
        for entry in self._entries():
            self._orphan(entry)

    def _orphan(self, entry: Entry) -> None:
        if entry.is_retained:
            return
        stop = Stop(reason=Reason.CANCEL_REQUESTED, at=self._tools.clock.now(), detail="the session ends")
        entry.token.request(stop)
        entry.family.seal()
        if entry.is_queued:
            self.withdraw(entry, SessionClosed())
        else:
            self._closing.end(entry, Ending(status=RunStatus.FAILED, reason=Reason.ORPHANED))
        entry.interrupt(stop)

    def let_go(self, why: DvergrError) -> None:
        """Tells who still waits for a Run of this session that nothing more will be heard here. The last act of a session."""
        for entry in self._entries():
            entry.handle.settle_lost(why)
        self._asked.clear()
        self._live.clear()

    # Stopping --------------------------------------------------------------------------------------------------------

    def cancel(self, run_id: RunId, reason: str, *, after_step: bool = False, detail: str = "") -> bool:
        """Asks a live Run to stop; false where none of that id lives here. From any thread."""
        entry = self._find(run_id)
        if entry is None:
            return False
        self._stop(entry, Stop(reason=reason, at=self._tools.clock.now(), detail=detail, after_step=after_step))
        return True

    def cancel_room(self, room: str, reason: str, *, after_step: bool = False) -> int:
        """Asks all that lives in a room or is on its way there to stop; how many. From any thread."""
        there = [entry for entry in self._entries() if entry.row.room == room and not entry.is_retained]
        for entry in there:
            self._stop(entry, Stop(reason=reason, at=self._tools.clock.now(), after_step=after_step))
        return len(there)

    def cancel_waiting(self, run: Run, reason: str) -> None:
        """Cancels a Run that waits. From any thread."""
        self._closing.cancel_waiting(run, reason)

    def add_cancel_hook(self, run_id: RunId, key: object, hook: Hook) -> bool:
        """Has `hook` run on every request to stop that Run; at once where one came before. False where it does not live."""
        entry = self._find(run_id)
        if entry is None:
            return False
        entry.token.add_hook(key, hook)
        return True

    def _stop_for(self, entry: Entry, reason: str) -> None:
        self._stop(entry, Stop(reason=reason, at=self._tools.clock.now()))

    def _stop(self, entry: Entry, stop: Stop) -> None:
        """Asks a Run and all it contains to stop. One whose end is durable is left as it is."""
        if entry.is_retained:
            return
        entry.family.seal()
        entry.token.request(stop)
        for child in entry.family.members:
            self._stop(child, dataclasses.replace(stop, reason=Reason.STRUCTURED_CANCELLATION, detail=""))
        if self._tools.home.is_here:
            self._reach(entry, stop)
        else:
            self._tools.home.post(lambda: self._reach(entry, stop))

    def _reach(self, entry: Entry, stop: Stop) -> None:
        if entry.is_queued and entry.owner is not None:
            entry.owner.asked_to_stop(entry)
        if self._live.get(entry.row.id) is not entry:
            return
        self._show_cancelling(entry)
        if not stop.after_step:
            entry.interrupt(stop)

    def _show_cancelling(self, entry: Entry) -> None:
        stop = entry.token.stop
        if stop is None or entry.cancel_requested_at is not None:
            return
        entry.cancel_requested_at = stop.at
        self._tools.bus.publish(lambda seq: CancelRequested(seq=seq, run=entry.run), entry.row.id)


def _read(read: Future[str | None]) -> str | None:
    """What was read; where the store cannot be read, the value is not known."""
    if (problem := read.exception()) is not None:
        log.warning("the reply of a Run could not be read: %s", problem)
        return None
    return read.result()


def _on_its_way(entry: Entry) -> LiveRun:
    """Queued until the store has answered; the loop hears of the answer a moment later than its row is durable."""
    answer = entry.handle.admission
    is_durable = answer.done() and answer.exception() is None
    return entry.run if is_durable else live(entry.run, status=RunStatus.QUEUED)


async def _segment(body: Body, context: Context) -> object:
    return await body.execute(context)
