"""The store as the rest of the package sees it: units go in, rows come out."""

from __future__ import annotations

import atexit
import datetime as dt
import logging
import os
import socket
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeVar

import duckdb

from dvergr_nb.clock import Clock
from dvergr_nb.errors import BadInput, SessionClosed, StoreFailed
from dvergr_nb.forks import left_by_children
from dvergr_nb.ids import BootId, RunId
from dvergr_nb.records.operation import Answer, Unit
from dvergr_nb.records.text import clipped
from dvergr_nb.store import lives
from dvergr_nb.store.blobs import Blobs
from dvergr_nb.store.compact import compacted
from dvergr_nb.store.connect import FATAL, MEMORY, Down, Instance, check_file, first_line
from dvergr_nb.store.lock import Holder, Lock, unwritable
from dvergr_nb.store.lookups import Lookups
from dvergr_nb.store.migrate import found_version, migrate
from dvergr_nb.store.table import Pen
from dvergr_nb.store.ticket import Then, Ticket
from dvergr_nb.store.writer import Deliver, Writer

if TYPE_CHECKING:
    from dvergr_nb.records.tool_use import Blob

logger = logging.getLogger(__name__)

READ_WAIT_S: Final = 2.0
"""How long a read waits for what was submitted before it."""

READ_ATTEMPTS: Final = 10
"""How often a read is asked again after the database was opened anew under it."""

Value = TypeVar("Value")


@dataclass(frozen=True, slots=True, kw_only=True)
class Stats:
    """How the store does."""

    path: str
    file_bytes: int
    """Of the database and its log together; 0 in memory."""
    backlog: int
    commits: int
    units: int
    checkpoints: int
    reopened: int
    """How often the database had to be opened again after an error."""
    schema: int
    holder: str
    """Which process holds it, and since when."""
    last_commit: dt.datetime | None
    """None where this life has committed nothing yet."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Opener:
    """Who opens a store, and for whom."""

    me: Holder
    tenant_id: str
    user_id: str
    clock: Clock
    deliver: Deliver


class Store(Lookups):
    """One open store. Satisfies the runtime's `Store` protocol."""

    def __init__(self, opener: Opener, instance: Instance, lock: Lock | None = None) -> None:
        self.path: Final = instance.name
        self._opener = opener
        self._instance = instance
        self._lock = lock
        self._blobs = Blobs(instance.path)
        self._closed = False
        con = instance.open()
        try:
            life, orphaned = self._begun(con)
            self._writer = Writer(instance, con, opener.deliver)
        except duckdb.Error as problem:
            instance.close()
            raise instance.meaning(problem) from problem
        except BaseException:
            instance.close()
            raise
        self.life: Final = life
        """How many kernel lives this store had seen before this one."""
        self.orphaned: Final = tuple(orphaned)
        """The Runs that were found running at open, and failed as orphaned."""
        self._writer.start()
        # A daemon thread that the end of Python meets inside DuckDB would end the process with an abort.
        atexit.register(self.close)
        left_by_children(self)

    def _begun(self, con: duckdb.DuckDBPyConnection) -> tuple[int, Sequence[RunId]]:
        opener, now = self._opener, self._opener.clock.now()
        migrate(con, self.path, now)
        return lives.begin(con, opener.me, tenant_id=opener.tenant_id, user_id=opener.user_id, now=now)

    def submit(self, unit: Unit, then: Then | None = None) -> Future[Answer]:
        """Queues a unit; the future is set when it is durable, or with the error that kept it out."""
        ticket = Ticket(unit, then)
        self._writer.put(ticket)
        return ticket.future

    def note(self, unit: Unit, then: Then | None = None) -> Ticket:
        """As `submit`, for what is rarely waited for: its `future` is made when it is asked for."""
        ticket = Ticket(unit, then)
        self._writer.put(ticket)
        return ticket

    def backlog(self) -> int:
        """How many units wait to be written; one with a long text counts as several."""
        return self._writer.backlog

    def flush(self, timeout_s: float) -> bool:
        """Waits until all that was submitted before is settled; false when it took longer."""
        if self._writer.backlog == 0 or self._writer.is_here:
            return self._writer.backlog == 0
        try:
            self._writer.errand(_nothing).result(timeout_s)
        except FutureTimeout:
            return False
        except SessionClosed:
            return self._writer.backlog == 0
        return True

    def read(self, ask: Callable[[duckdb.DuckDBPyConnection], Value]) -> Value:
        """Asks with a cursor of this thread, after what was said before. Never raises an error of DuckDB itself."""
        self.flush(READ_WAIT_S)
        for _ in range(READ_ATTEMPTS):
            generation = self._instance.generation
            try:
                return self._asked(ask)
            except (Down, duckdb.InterruptException):
                logger.debug("a read of %s met a reopening, and is asked again", self.path)
            except FATAL as problem:
                logger.warning("a read of %s failed, it is opened again: %s", self.path, first_line(problem))
            self._reopen(generation)
        try:
            return self._asked(ask)
        except (Down, duckdb.InterruptException, *FATAL) as problem:
            raise self._instance.meaning(problem) from problem

    def _asked(self, ask: Callable[[duckdb.DuckDBPyConnection], Value]) -> Value:
        try:
            with self._instance.reading() as con:
                return ask(con)
        except (duckdb.InterruptException, *FATAL):
            raise
        except duckdb.Error as problem:
            raise self._instance.meaning(problem) from problem

    def _reopen(self, generation: int) -> None:
        try:
            self._writer.reopen(generation)
        except FutureTimeout as problem:
            raise StoreFailed(self.path, f"{self.path} does not answer; its disk may hang") from problem

    def keep_blob(self, data: bytes, media_type: str) -> Blob:
        """Keeps bytes beside the store, in any thread; returns once they are on the disk."""
        return self._blobs.keep(data, media_type)

    def blob(self, sha256: str) -> bytes:
        """The bytes of that name. Raises `BlobMissing`, or `StoreDamaged` where they are others."""
        return self._blobs.read(sha256)

    def reconcile(self) -> int:
        """Fails running Runs of other lives; how many."""
        return len(self._done(self._reconciled))

    def _reconciled(self, pen: Pen) -> Sequence[RunId]:
        found = lives.reconciled(pen.con, self._opener.me.boot_id, self._opener.clock.now())
        self._writer.known.load(pen.con)
        return found

    def _done(self, task: Callable[[Pen], Value]) -> Value:
        value: Value = self._writer.errand(task).result()
        return value

    def stats(self) -> Stats:
        """What `%dvergr doctor` shows."""
        counts = self._writer.counts
        return Stats(
            path=self.path,
            file_bytes=sum(_size(each) for each in _files(self._instance.path)),
            backlog=self.backlog(),
            commits=counts.commits,
            units=counts.units,
            checkpoints=counts.checkpoints,
            reopened=counts.reopened,
            schema=self.read(found_version),
            holder=self._opener.me.described,
            last_commit=counts.last_commit,
        )

    def compact(self) -> tuple[int, int]:
        """Copies the store into a file without gaps and puts that in its place; its bytes before and after."""
        if self._instance.path is None:
            return 0, 0
        before = self.stats().file_bytes
        self._done(lambda _: self._writer.without_instance(compacted))
        return before, self.stats().file_bytes

    def close(self) -> None:
        """Writes what is queued, closes the file and frees it for others. A second call does nothing."""
        if self._closed:
            return
        self._closed = True
        atexit.unregister(self.close)
        self._writer.errand(self._ended, is_last=True)
        self._writer.join()
        self._instance.close(for_good=True)
        self._blobs.close()
        if self._lock is not None:
            self._lock.release()

    def leave(self) -> None:
        """In the child of a fork: the store is its parent's alone. Nothing is written, and the lock lives with the parent."""
        self._closed = True
        atexit.unregister(self.close)
        self._writer.leave()
        self._instance.leave()
        if self._lock is not None:
            self._lock.leave()

    def _ended(self, pen: Pen) -> None:
        lives.end(pen.con, self.life, self._opener.clock.now())
        pen.drop()


def open_store(
    path: str | os.PathLike[str],
    *,
    tenant_id: str,
    user_id: str,
    boot_id: BootId,
    clock: Clock,
    holder: str,
    deliver: Deliver,
) -> Store:
    """Opens a store, makes it where there is none, and fails the Runs that a kernel that is gone has left running.

    Raises `BadInput`, `StoreBusy`, `StoreDamaged`, `NotAStore`, `StoreTooNew` or `StoreFailed`; then nothing was changed
    or is held.
    """
    at = clock.now().isoformat(timespec="seconds")
    me = Holder(pid=os.getpid(), host=socket.gethostname(), holder=holder, boot_id=boot_id, at=at)
    opener = Opener(me=me, tenant_id=tenant_id, user_id=user_id, clock=clock, deliver=deliver)
    if os.fspath(path) == MEMORY:
        return Store(opener, Instance(None, tenant_id))
    file = _file(path)
    _make_folder(file)
    lock = Lock(file, me)
    try:
        if not file.exists():
            _make(file, opener)
        check_file(file)
        return Store(opener, Instance(file, tenant_id), lock)
    except BaseException:
        lock.release()
        raise


def _file(path: str | os.PathLike[str]) -> Path:
    """The file meant, wherever the process goes later. Raises `BadInput` where the system could have none of that name."""
    try:
        file = Path(path).expanduser().resolve()
        os.fsencode(file)
    except (ValueError, RuntimeError, OSError) as problem:  # NUL, lone surrogates, a link to itself, a home of nobody
        raise BadInput(f"{clipped(repr(os.fspath(path)), 80)} is no path for a store: {problem}") from None
    if not file.name:
        raise BadInput(f"{clipped(repr(os.fspath(path)), 80)} is no path for a store: it names no file")
    return file


def _make(file: Path, opener: Opener) -> None:
    """Makes an empty store under another name and gives it its own when it is whole, so that a kill leaves none half made."""
    fresh = file.with_name(file.name + ".new")
    for rest in _files(fresh):
        rest.unlink(missing_ok=True)
    instance = Instance(fresh, opener.tenant_id, name=str(file))
    try:
        migrate(instance.open(), str(file), opener.clock.now())
    except duckdb.Error as problem:
        raise instance.meaning(problem) from problem
    finally:
        instance.close()
    fresh.rename(file)


def _make_folder(file: Path) -> None:
    try:
        file.parent.mkdir(exist_ok=True)
    except OSError as problem:
        raise unwritable(file, problem) from problem


def _files(file: Path | None) -> Sequence[Path]:
    """The database and its log."""
    return [] if file is None else [file, file.with_name(file.name + ".wal")]


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except FileNotFoundError:
        return 0


def _nothing(_: Pen) -> None:
    return None
