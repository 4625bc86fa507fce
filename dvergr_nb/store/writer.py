"""The one thread that writes: it takes what is queued, commits it together, and says so."""

from __future__ import annotations

import datetime as dt
import logging
import queue
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import duckdb

from dvergr_nb.clock import UTC
from dvergr_nb.errors import DvergrError, SessionClosed, StoreError, StoreFailed
from dvergr_nb.records.operation import Unit
from dvergr_nb.store.connect import FATAL, Instance, first_line
from dvergr_nb.store.fold import Stale, cut, folded
from dvergr_nb.store.known import Known
from dvergr_nb.store.table import Pen
from dvergr_nb.store.ticket import Outcome, Ticket

logger = logging.getLogger(__name__)


Deliver = Callable[[Callable[[], None]], None]

BATCH_UNITS: Final = 1_000
BATCH_CHARACTERS: Final = 4_000_000
TOLD_AT_ONCE: Final = 16
"""How many answers are told in one turn of the home loop, so that a large batch does not hold it."""
COMMITS_PER_CHECKPOINT: Final = 500
REOPEN_S: Final = 10.0
IDLE_S: Final = 2.0
"""After so long without work, what was committed is checkpointed."""

# What a unit that cannot be stored raises, DuckDB's own and that of a value without a form there. The writer outlives all.
REFUSALS: Final = (
    duckdb.Error,
    Stale,
    ValueError,
    TypeError,
    ArithmeticError,
    AttributeError,
    LookupError,
    RuntimeError,
    MemoryError,
)


@dataclass(slots=True, eq=False)
class Errand:
    """Something else that only the writer's thread may do, in its turn."""

    task: Callable[[Pen], Any]
    future: Future[Any] = field(default_factory=Future)
    is_last: bool = False


@dataclass(slots=True)
class Counts:
    """What the writer has done, for `%dvergr doctor`."""

    submitted: int = 0
    settled: int = 0
    commits: int = 0
    units: int = 0
    checkpoints: int = 0
    reopened: int = 0
    last_commit: dt.datetime | None = None


class Writer:
    """Owns the writing connection, from `start` to `stop`."""

    def __init__(self, instance: Instance, con: duckdb.DuckDBPyConnection, deliver: Deliver) -> None:
        self.instance = instance
        self.counts = Counts()
        self.known = Known()
        self.known.load(con)
        self._pen: Pen | None = Pen(con)
        self._deliver = deliver
        self._queue: queue.SimpleQueue[Ticket | Errand] = queue.SimpleQueue()
        self._gate = threading.Lock()
        self._open = True
        self._unsaved = 0
        self._untold: deque[Ticket] = deque()
        self._is_telling = False
        self._thread = threading.Thread(target=self._run, name="dvergr-writer", daemon=True)

    def start(self) -> None:
        """Begins to write."""
        self._thread.start()

    def put(self, ticket: Ticket) -> None:
        """Queues a unit. After `stop` its future fails with `SessionClosed`."""
        with self._gate:
            if self._open:
                self.counts.submitted += ticket.weight
                self._queue.put(ticket)
                return
        self._refuse(ticket)

    def errand(self, task: Callable[[Pen], Any], *, is_last: bool = False) -> Future[Any]:
        """Has something done in its turn on the writer's thread."""
        errand = Errand(task, is_last=is_last)
        with self._gate:
            if self._open:
                self._open = not is_last
                self._queue.put(errand)
                return errand.future
        errand.future.set_exception(SessionClosed(self.instance.name))
        return errand.future

    def reopen(self, generation: int) -> None:
        """Has a dead instance closed and opened again, unless that was done since. Raises `StoreError` where it cannot be."""
        self.errand(lambda _: self._let_go() if self.instance.generation == generation else None).result(REOPEN_S)
        self.errand(lambda _: None).result(REOPEN_S)

    @property
    def backlog(self) -> int:
        """Units that are not settled, a long one as several."""
        return self.counts.submitted - self.counts.settled

    @property
    def is_here(self) -> bool:
        """Whether this is the writer's own thread, which must never wait for itself."""
        return threading.current_thread() is self._thread

    def join(self) -> None:
        """Waits until the thread has ended."""
        self._thread.join()

    def leave(self) -> None:
        """In the child of a fork, where the thread does not exist: takes nothing any more."""
        self._gate = threading.Lock()
        self._open = False

    def _run(self) -> None:
        try:
            while not self._round():
                pass
        finally:
            self._fall()

    def _fall(self) -> None:
        """Nobody may wait for an answer that will not come."""
        with self._gate:
            self._open = False
        while not self._queue.empty():
            self._refuse(self._queue.get())

    def _refuse(self, item: Ticket | Errand) -> None:
        closed = SessionClosed(self.instance.name)
        if isinstance(item, Errand):
            item.future.set_exception(closed)
            return
        item.settle(closed)
        if item.then is not None:
            self._tell([item])

    def _round(self) -> bool:
        """One turn of work; true when it was the last."""
        tickets, errand = self._gathered()
        if tickets:
            self._work(tickets)
        if errand is not None:
            self._do(errand)
        if self._unsaved >= COMMITS_PER_CHECKPOINT or (self._unsaved and not tickets and errand is None):
            self._checkpoint()
        return errand is not None and errand.is_last

    def _gathered(self) -> tuple[list[Ticket], Errand | None]:
        """What is queued now, up to a batch and up to the next errand; waits for the first, without lingering for more."""
        tickets: list[Ticket] = []
        size = 0
        try:
            item = self._queue.get(timeout=IDLE_S if self._unsaved else None)
            while isinstance(item, Ticket):
                tickets.append(item)
                size += item.size
                if len(tickets) >= BATCH_UNITS or size >= BATCH_CHARACTERS:
                    return tickets, None
                item = self._queue.get_nowait()
        except queue.Empty:
            return tickets, None
        return tickets, item

    def _work(self, tickets: Sequence[Ticket]) -> None:
        for start, end in cut([ticket.unit for ticket in tickets]):
            group = tickets[start:end]
            outcomes = self._stored([ticket.unit for ticket in group])
            self._settle(group, outcomes)

    def _stored(self, units: Sequence[Unit]) -> Sequence[Outcome]:
        """Stores the units together, or where that fails one by one, so that only the guilty one is kept out."""
        try:
            return self._folded(units)
        except REFUSALS as problem:
            logger.debug("a batch of %d units is replayed one by one: %s", len(units), problem)
            resent = self._recovered(problem)
        except StoreError as problem:
            for unit in units:
                self.known.lose(unit, problem)
            return [problem] * len(units)
        return list(self._one_by_one(units, resent=resent))

    def _folded(self, units: Sequence[Unit], *, careful: bool = False, resent: bool = False) -> list[Outcome]:
        pen = self._ready()
        self.instance.check_there()
        outcomes = folded(pen, self.known, units, careful=careful, resent=resent)
        self.counts.commits += 1
        self.counts.last_commit = dt.datetime.now(UTC)
        self.counts.units += len(units)
        self._unsaved += 1
        return outcomes

    def _one_by_one(self, units: Sequence[Unit], *, resent: bool) -> Iterator[Outcome]:
        down: StoreError | None = None
        for unit in units:
            outcome: Outcome = down or self._careful(unit, resent=resent)
            if isinstance(outcome, StoreError):
                self.known.lose(unit, outcome)
                down = outcome if self._pen is None else None
            yield outcome

    def _careful(self, unit: Unit, *, resent: bool, again: bool = False) -> Outcome:
        try:
            return self._folded([unit], careful=True, resent=resent)[0]
        except Stale as problem:
            if again:
                return self._failure(problem)
            self.known.load(self._ready().con)
            return self._careful(unit, resent=resent, again=True)
        except REFUSALS as problem:
            self._recovered(problem)
            return self._failure(problem)
        except StoreError as problem:
            return problem

    def _failure(self, problem: BaseException) -> StoreFailed:
        text = first_line(problem) or type(problem).__name__
        full = "; the disk is full, make room on it and try again" if "No space left" in text else ""
        return StoreFailed(self.instance.name, f"{self.instance.name} could not store it: {text}{full}")

    def _ready(self) -> Pen:
        """The pen; where the instance has died, of a new one."""
        if self._pen is None:
            con = self.instance.open()
            self.counts.reopened += 1
            self.known.load(con)
            self._pen = Pen(con)
        return self._pen

    def _recovered(self, problem: BaseException) -> bool:
        """After a fatal error nothing of the instance can be used: closes all. True where that was so."""
        if not isinstance(problem, FATAL):
            return False
        self._let_go()
        return True

    def without_instance(self, work: Callable[[Path], None]) -> None:
        """Closes the file, has something done to it, and opens it again. Only from an errand."""
        path = self.instance.path
        if path is not None:
            self._let_go()
            try:
                work(path)
            finally:
                self._ready()
                self.counts.reopened -= 1  # nothing had died

    def _let_go(self) -> None:
        if self._pen is not None:
            self._pen.drop()
            self._pen = None
        self.instance.close()

    def _settle(self, tickets: Sequence[Ticket], outcomes: Sequence[Outcome]) -> None:
        for ticket, outcome in zip(tickets, outcomes, strict=True):
            ticket.settle(outcome)
        self.counts.settled += sum(ticket.weight for ticket in tickets)
        waiting = [ticket for ticket in tickets if ticket.then is not None]
        if waiting:
            self._tell(waiting)

    def _tell(self, waiting: Sequence[Ticket]) -> None:
        with self._gate:
            self._untold.extend(waiting)
            begins, self._is_telling = not self._is_telling, True
        if begins:
            self._deliver(self._tell_some)

    def _tell_some(self) -> None:
        """On the home loop: tells in order, a few in one turn. One whose listener raises does not keep the others from it."""
        try:
            for _ in range(TOLD_AT_ONCE):
                with self._gate:
                    ticket = self._untold.popleft() if self._untold else None
                    self._is_telling = ticket is not None
                if ticket is None:
                    return
                then, ticket.then = ticket.then, None  # what it leads back to is freed with the Run, not with its handle
                if then is not None:
                    then(ticket)
        finally:
            if self._is_telling:
                self._deliver(self._tell_some)

    def _do(self, errand: Errand) -> None:
        try:
            errand.future.set_result(errand.task(self._ready()))
        except (DvergrError, *REFUSALS) as problem:
            self._recovered(problem)
            errand.future.set_exception(problem if isinstance(problem, DvergrError) else self._failure(problem))

    def _checkpoint(self) -> None:
        self._unsaved = 0
        try:
            self._ready().con.execute("CHECKPOINT")
            self.counts.checkpoints += 1
        except duckdb.TransactionException:
            logger.debug("a checkpoint waits until an open transaction has ended")
        except duckdb.Error as problem:
            logger.warning("a checkpoint of %s failed: %s", self.instance.name, first_line(problem))
            self._recovered(problem)
        except StoreError as problem:
            logger.warning("%s", problem)
