"""How a live Run leaves: its children first, then its end on record, then what is told of it.

Order: body over, sealed, children over, end durable (with its output), said to the room, published, told to those who watch,
told to those who wait.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Final

from dvergr_nb.errors import BadInput
from dvergr_nb.ids import RunId, short
from dvergr_nb.records.event import RunFinished
from dvergr_nb.records.message import ACTIVITY, RUNS, Message
from dvergr_nb.records.operation import End, Moved, row_in
from dvergr_nb.records.run import Reason, Run, RunStatus, live
from dvergr_nb.runtime.entry import Entry, Tools
from dvergr_nb.runtime.logs import logger
from dvergr_nb.runtime.ports import Nobody, Outside, Settled
from dvergr_nb.runtime.settle import FIRST_RETRY_S, LAST_RETRY_S, Ending, described, ending, unposted, write_end

log = logger(__name__)

PUBLISH_TRIES: Final = 12
"""How often a publication that raises is tried, with the pauses of a terminal write: about half a minute."""


class Closing:
    """The ends of the Runs of one session. Everything on the home loop."""

    def __init__(self, tools: Tools, lives: dict[RunId, Entry], stop: Callable[[Entry, str], object]) -> None:
        self._tools = tools
        self._lives = lives
        self._stop = stop
        """Asks a Run to stop, for a reason."""
        self.outside: Outside = Nobody()

    def settle(self, entry: Entry, outcome: object) -> None:
        """The body is over. The Run is, once its children are; those of a body that failed are stopped."""
        entry.family.seal()
        if isinstance(outcome, BaseException):
            for child in entry.family.members:
                self._stop(child, Reason.STRUCTURED_CANCELLATION)
        entry.family.when_childless(lambda: self.end(entry, ending(outcome, entry.token.stop)))

    def end(self, entry: Entry, came_to: Ending) -> None:
        """Writes the end. The first one counts."""
        if entry.over:
            return
        entry.over = True
        if came_to.traceback is not None:
            entry.prints.flush()  # what it printed, it printed before
            entry.record_text("error", came_to.traceback)
        entry.close_voice()
        came_to, output = _output(entry, came_to)
        end = End(
            run_id=entry.row.id,
            tenant_id=entry.row.tenant_id,
            status=came_to.status,
            reason=came_to.reason,
            error=came_to.error,
            steps=entry.steps,
            at=self._tools.clock.now(),
            messages=output,
            envelopes=came_to.envelopes,
        )
        said = tuple(message for message in output if message.to not in (RUNS, ACTIVITY))
        for message in said:
            self.outside.saying(message)

        def hear(answer: Settled, sent: End) -> None:
            is_stored = answer.exception() is None and bool(sent.messages)
            for message in said:
                (self.outside.heard if is_stored else self.outside.unheard)(message)
            self._ended(entry, came_to, answer)

        write_end(self._tools.store, self._tools.home, end, hear)

    def _ended(self, entry: Entry, came_to: Ending, answer: Settled) -> None:
        problem = answer.exception()
        if self._lives.get(entry.row.id) is not entry:
            self.lost(entry)
            return  # it was never admitted, or has been let go
        if problem is None:
            row = self._moved(answer)
            entry.stands_as(row)
            entry.is_retained = True
            self._publish(entry, came_to, row, PUBLISH_TRIES, FIRST_RETRY_S)
            return
        log.error("the end of Run %s was refused: %s", entry.row.id, problem)
        self._tools.home.in_thread(
            lambda: self._tools.store.run(entry.row.id), lambda read: self._found(entry, came_to, problem, read)
        )

    def _moved(self, answer: Settled) -> Run:
        """The row as it stands now; what was left in its wallet is back where it came from."""
        moved = answer.result()
        if isinstance(moved, Moved):
            self._tools.bank.learn(moved.balances)
        row = row_in(moved)
        if row.status.is_terminal:
            self._tools.bank.forget(row.id)
        return row

    def _found(self, entry: Entry, came_to: Ending, problem: BaseException, read: Future[Run | None]) -> None:
        """Where somebody else has ended the Run, that is its end; else nobody here can tell how it ended."""
        row = None if read.exception() is not None else read.result()
        if row is not None and row.status is not RunStatus.RUNNING:
            self._leave(entry, came_to, row)
        else:
            self._lives.pop(entry.row.id, None)
            entry.handle.settle_lost(problem)
            self.lost(entry)

    def _publish(self, entry: Entry, came_to: Ending, row: Run, tries: int, pause_s: float) -> None:
        if came_to.publish is None or row.status is not came_to.status:
            self._leave(entry, came_to, row)
            return
        try:
            came_to.publish()
        except BaseException:  # a body's own code, which may end neither the loop nor the Run's record
            if tries > 1:
                log.warning("Run %s could not be published, trying again", short(row.id), exc_info=tries == PUBLISH_TRIES)
                longer = min(2 * pause_s, LAST_RETRY_S)
                self._tools.home.later(pause_s, lambda: self._publish(entry, came_to, row, tries - 1, longer))
                return
            log.exception("Run %s was not published; it is on record", short(row.id))
        self._leave(entry, came_to, row)

    def _leave(self, entry: Entry, came_to: Ending, row: Run) -> None:
        entry.stands_as(row)
        self._lives.pop(row.id, None)
        self._tools.bus.publish(lambda seq: RunFinished(seq=seq, run=entry.run), row.id)
        entry.handle.settle(row, came_to.value if row.status is came_to.status else None, came_to.problem)
        self.outside.ended(row)  # first who waits for its thread, then its own actor's next message
        self._gone(entry, row)
        entry.release()

    def lost(self, entry: Entry) -> None:
        """Nobody here will hear of its end: those who count on it go on without."""
        self._gone(entry, None)

    def _gone(self, entry: Entry, row: Run | None) -> None:
        owner, entry.owner = entry.owner, None
        parent, entry.parent = entry.parent, None
        if owner is not None:
            owner.over(entry, row)
        if parent is not None:
            parent.family.leave(entry)

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

        def hear(answer: Settled, _sent: End) -> None:
            if (problem := answer.exception()) is not None:
                log.warning("the waiting Run %s was not cancelled: %s", run.id, problem)
                return
            row = self._moved(answer)
            self._tools.bus.publish(lambda seq: RunFinished(seq=seq, run=live(row)), run.id)
            self.outside.ended(row)

        write_end(self._tools.store, self._tools.home, end, hear)


def _output(entry: Entry, came_to: Ending) -> tuple[Ending, tuple[Message, ...]]:
    """The messages that go with the end; only one that went well has any. A reply that is none is an end of its own."""
    if came_to.status not in (RunStatus.COMPLETED, RunStatus.WAITING):
        return came_to, ()
    try:
        reply = () if came_to.reply is None else (entry.output(came_to.reply),)
    except BadInput as problem:
        return unposted(str(problem)), ()
    except BaseException as problem:  # noqa: BLE001  # a reply is the body's own object, and may hold anything
        return unposted(described(problem)), ()
    return came_to, (*entry.replies, *reply)
