"""Admission, life and end of Runs. Row first, event after, body last; at the end row first, event after.

Admitting and cancelling may be asked for in any thread and never wait for the loop. Everything else happens on it.
"""

from __future__ import annotations

import asyncio
import logging
import weakref
from collections.abc import Callable
from concurrent.futures import Future

from dvergr_nb.errors import DvergrError, StoreFailed
from dvergr_nb.ids import RunId
from dvergr_nb.records.event import CancelRequested, RunFinished, RunResumed, RunStarted
from dvergr_nb.records.operation import Admit, Admitted, Answer, End, KeyTaken, Resume, row_in
from dvergr_nb.records.run import LiveRun, Reason, Run, RunStatus, live
from dvergr_nb.runtime.body import Body
from dvergr_nb.runtime.cancel import Hook, Stop, told
from dvergr_nb.runtime.context import CURRENT, Context
from dvergr_nb.runtime.entry import Entry, Tools
from dvergr_nb.runtime.handle import Desk, RunHandle
from dvergr_nb.runtime.limits import Limits
from dvergr_nb.runtime.ports import Settled
from dvergr_nb.runtime.prints import SINK
from dvergr_nb.runtime.request import Draft
from dvergr_nb.runtime.settle import Ending, ending, write_end

log = logging.getLogger(__name__)


class Supervisor:
    """The live Runs of one session."""

    def __init__(self, tools: Tools, desk: Desk) -> None:
        self._tools = tools
        self._desk = desk
        self._asked: set[Entry] = set()
        self._by_id: weakref.WeakValueDictionary[RunId, Entry] = weakref.WeakValueDictionary()
        """Finds those asked for: thousands may be on their way while all of them are cancelled."""
        self._live: dict[RunId, Entry] = {}
        self._is_closing = False

    # Looking ---------------------------------------------------------------------------------------------------------

    def active(self, room: str | None = None) -> tuple[LiveRun, ...]:
        """The live Runs, by `started_at` then id. Waiting Runs are not live."""
        runs = [entry.run for entry in list(self._live.values()) if room in (None, entry.row.room)]
        return tuple(sorted(runs, key=lambda run: (run.started_at, run.id)))

    def queued(self, room: str | None = None) -> tuple[LiveRun, ...]:
        """The Runs whose admission is on its way, oldest first. Subscribers hear of them when they start."""
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

    def handles(self) -> tuple[RunHandle, ...]:
        """Handles of all Runs that live here or are on their way."""
        return tuple(entry.handle for entry in self._entries())

    def _entries(self) -> tuple[Entry, ...]:
        return tuple(dict.fromkeys([*self._asked, *self._live.values()]))

    # Admission -------------------------------------------------------------------------------------------------------

    def admit(self, draft: Draft, body: Body) -> RunHandle:
        """Asks for the Run and gives its handle at once. From any thread."""
        unit = Admit(run=draft.run, message=draft.message, key=draft.key)
        return self._ask(unit, self._entry(draft.run, body, draft.limits), self._admitted)

    def _entry(self, run: Run, body: Body, limits: Limits) -> Entry:
        entry = Entry(run, body, RunHandle(run, self._desk), limits, self._tools)
        self._asked.add(entry)
        self._by_id[entry.row.id] = entry
        return entry

    def _ask(self, unit: Admit | Resume, entry: Entry, then: Callable[[Entry, Settled], None]) -> RunHandle:
        answer = self._tools.store.submit(unit, lambda settled: then(entry, settled))
        answer.add_done_callback(lambda settled: _copy(settled, entry.handle.admission))
        return entry.handle

    def _admitted(self, entry: Entry, settled: Settled) -> None:
        problem = settled.exception()
        if problem is not None:
            self._refused(entry, problem)
            return
        match settled.result():
            case Admitted(run=run, thread_root_id=root):
                entry.thread_root_id = root
                self._enter(entry, run, RunStarted)
            case KeyTaken(run=run) as taken:
                self._asked.discard(entry)
                entry.handle.absorb(taken)
                entry.handle.settle_admitted()
                self._follow(entry.handle, run)
            case other:
                raise AssertionError(f"an admission was answered with {other!r}")

    def _refused(self, entry: Entry, problem: BaseException) -> None:
        self._asked.discard(entry)
        if not entry.handle.is_heard:
            log.warning("Run of %r was not admitted: %s", entry.row.name, problem)
        known = problem if isinstance(problem, DvergrError) else StoreFailed("", f"the store refused the Run: {problem!r}")
        entry.handle.settle_lost(known)

    def _follow(self, handle: RunHandle, first: Run) -> None:
        entry = self._live.get(first.id)
        if entry is None:
            handle.settle(first)
        else:
            handle.settle_as(entry.handle)

    def _enter(self, entry: Entry, row: Run, event: type[RunStarted | RunResumed]) -> None:
        entry.stands_as(row)
        entry.handle.settle_admitted()
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
        if self._is_closing:
            self._orphan(entry)
            return
        if entry.token.stop is not None:
            self._show_cancelling(entry)
            self._end(entry, ending(asyncio.CancelledError(), entry.token.stop))
            return
        entry.watch.start(lambda why: self._stop(entry, Stop(reason=Reason.TIMEOUT, at=self._tools.clock.now(), detail=why)))
        context = Context(entry, entry.token, self._tools.ids)
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
        self._end(entry, ending(outcome, entry.token.stop))

    # The end ---------------------------------------------------------------------------------------------------------

    def orphan_all(self) -> None:
        """Ends every Run that lives here as failed, `orphaned`: its kernel is about to end, or its store to close.

        Also those on their way: their end is queued behind their admission. What is admitted later ends at once.
        """
        self._is_closing = True
        for entry in self._entries():
            self._orphan(entry)

    def _orphan(self, entry: Entry) -> None:
        stop = Stop(reason=Reason.CANCEL_REQUESTED, at=self._tools.clock.now(), detail="the session ends")
        entry.token.request(stop)
        self._end(entry, Ending(status=RunStatus.FAILED, reason=Reason.ORPHANED))
        entry.interrupt(stop)

    def let_go(self, why: DvergrError) -> None:
        """Tells who still waits for a Run of this session that nothing more will be heard here. The last act of a session."""
        for entry in self._entries():
            entry.handle.settle_lost(why)
        self._asked.clear()
        self._live.clear()

    def _end(self, entry: Entry, came_to: Ending) -> None:
        if entry.over:
            return
        entry.over = True
        if came_to.traceback is not None:
            entry.prints.flush()  # what it printed, it printed before
            entry.record_text("error", came_to.traceback)
        entry.close_voice()
        keeps_output = came_to.status in (RunStatus.COMPLETED, RunStatus.WAITING)
        output = [*entry.replies, *([entry.output(came_to.reply)] if came_to.reply is not None else [])]
        end = End(
            run_id=entry.row.id,
            tenant_id=entry.row.tenant_id,
            status=came_to.status,
            reason=came_to.reason,
            error=came_to.error,
            steps=entry.steps,
            at=self._tools.clock.now(),
            messages=tuple(output) if keeps_output else (),
            envelopes=came_to.envelopes,
        )
        write_end(self._tools.store, self._tools.home, end, lambda answer: self._ended(entry, came_to, answer))

    def _ended(self, entry: Entry, came_to: Ending, answer: Settled) -> None:
        problem = answer.exception()
        if self._live.get(entry.row.id) is not entry:
            return  # it was never admitted, or has been let go
        if problem is None:
            self._leave(entry, came_to, row_in(answer.result()))
            return
        log.error("the end of Run %s was refused: %s", entry.row.id, problem)
        self._tools.home.in_thread(
            lambda: self._tools.store.run(entry.row.id), lambda read: self._found(entry, came_to, problem, read)
        )

    def _found(self, entry: Entry, came_to: Ending, problem: BaseException, read: Future[Run | None]) -> None:
        """Where somebody else has ended the Run, that is its end; else nobody here can tell how it ended."""
        row = None if read.exception() is not None else read.result()
        if row is not None and row.status is not RunStatus.RUNNING:
            self._leave(entry, came_to, row)
        else:
            self._live.pop(entry.row.id, None)
            entry.handle.settle_lost(problem)

    def _leave(self, entry: Entry, came_to: Ending, row: Run) -> None:
        entry.stands_as(row)
        self._live.pop(row.id, None)
        self._tools.bus.publish(lambda seq: RunFinished(seq=seq, run=entry.run), row.id)
        entry.handle.settle(row, came_to.value if row.status is came_to.status else None, came_to.problem)
        entry.release()

    # Stopping --------------------------------------------------------------------------------------------------------

    def cancel(self, run_id: RunId, reason: str, *, after_step: bool = False, detail: str = "") -> bool:
        """Asks a live Run to stop; false where none of that id lives here. From any thread."""
        entry = self._live.get(run_id) or self._waiting(run_id)
        if entry is None:
            return False
        self._stop(entry, Stop(reason=reason, at=self._tools.clock.now(), detail=detail, after_step=after_step))
        return True

    def cancel_room(self, room: str, reason: str, *, after_step: bool = False) -> int:
        """Asks all that lives in a room or is on its way there to stop; how many. From any thread."""
        there = [entry for entry in self._entries() if entry.row.room == room]
        for entry in there:
            self._stop(entry, Stop(reason=reason, at=self._tools.clock.now(), after_step=after_step))
        return len(there)

    def cancel_waiting(self, run: Run, reason: str) -> None:
        """Cancels a Run that waits: it has no executor to ask, so the move itself is the end. From any thread."""
        end = End(
            run_id=run.id,
            tenant_id=run.tenant_id,
            found=RunStatus.WAITING,
            status=RunStatus.CANCELLED,
            reason=reason,
            steps=run.steps,
            at=self._tools.clock.now(),
        )

        def hear(answer: Settled) -> None:
            if (problem := answer.exception()) is not None:
                log.warning("the waiting Run %s was not cancelled: %s", run.id, problem)
                return
            row = row_in(answer.result())
            self._tools.bus.publish(lambda seq: RunFinished(seq=seq, run=live(row)), run.id)

        write_end(self._tools.store, self._tools.home, end, hear)

    def add_cancel_hook(self, run_id: RunId, key: object, hook: Hook) -> bool:
        """Has `hook` run on every request to stop that Run; at once where one came before. False where it does not live."""
        entry = self._live.get(run_id) or self._waiting(run_id)
        if entry is None:
            return False
        entry.token.add_hook(key, hook)
        return True

    def _stop(self, entry: Entry, stop: Stop) -> None:
        entry.token.request(stop)
        if self._tools.home.is_here:
            self._reach(entry, stop)
        else:
            self._tools.home.post(lambda: self._reach(entry, stop))

    def _reach(self, entry: Entry, stop: Stop) -> None:
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


def _on_its_way(entry: Entry) -> LiveRun:
    """Queued until the store has answered; the loop hears of the answer a moment later than its row is durable."""
    answer = entry.handle.admission
    is_durable = answer.done() and answer.exception() is None
    return entry.run if is_durable else live(entry.run, status=RunStatus.QUEUED)


async def _segment(body: Body, context: Context) -> object:
    return await body.execute(context)


def _copy(settled: Settled, to: Future[Answer]) -> None:
    problem = settled.exception()
    if problem is None:
        to.set_result(settled.result())
    else:
        to.set_exception(problem)
