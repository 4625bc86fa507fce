"""The DuckDB instance behind a store: opened, given out as cursors, and opened again after it has died."""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import duckdb

from dvergr_nb.errors import NotAStore, SessionClosed, StoreDamaged, StoreFailed
from dvergr_nb.store.lock import unwritable

MEMORY: Final = ":memory:"
MAGIC: Final = b"DUCK"
HEADERS: Final = 3 * 4096
"""Bytes before the first block of a database file."""

FATAL: Final = (duckdb.FatalException, duckdb.InternalException, duckdb.IOException)
"""After one of these the whole instance is of no more use."""

_CONFIG: Final = {
    "threads": "2",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
    # A query must not reach the variables of the code that runs it.
    "python_enable_replacements": "false",
}
_REFUSALS: Final = (
    "Permission denied",
    "Read-only file system",
    "No space left",
    "Could not set lock",
    "Too many open files",
    "No such file",
    "can only read",  # the file's format is that of a newer DuckDB
)
_BLOCKS = "SELECT block_size, total_blocks, used_blocks FROM pragma_database_size()"
_OUR_TABLES = "SELECT format('{}.{}', schema_name, table_name) FROM duckdb_tables()"
_LAST_IN_TABLE = "SELECT max(greatest(block_id, coalesce(list_max(additional_block_ids), -1))) FROM pragma_storage_info(?)"
_LAST_OF_CATALOG = "SELECT max(block_id) FROM pragma_metadata_info()"
_TABLES = "SELECT count(*), count(*) FILTER (schema_name = 'dv' AND table_name = 'schema_version') FROM duckdb_tables()"
# Neither is taken over by a cursor. A progress bar would print into whatever cell is running.
_SETTINGS = "SET TimeZone = 'UTC'; SET enable_progress_bar = false"
_TENANT = "SET VARIABLE dvergr_tenant = ?"


def check_file(path: Path) -> None:
    """Raises `NotAStore` where the path leads to something that is no DuckDB file.

    Only to be called while DuckDB has the file not open: closing it here would drop DuckDB's own lock.
    """
    if path.is_dir():
        raise NotAStore(str(path), "a directory")
    try:
        with path.open("rb") as file:
            head = file.read(12)
    except OSError as problem:
        raise unwritable(path, problem) from problem
    if head[8:12] != MAGIC:
        raise NotAStore(str(path), "no DuckDB file" if head else "an empty file")


def first_line(problem: BaseException) -> str:
    """What DuckDB says, without its hints and pictures."""
    return str(problem).strip().split("\n", 1)[0]


class Down(Exception):
    """The instance has died or is being opened again: to be asked once more when it is there."""


class Instance:
    """One open database. Its cursors die with it, so each is asked for anew and remembered by generation."""

    def __init__(self, path: Path | None, tenant_id: str, *, name: str | None = None) -> None:
        self.path = path
        self.name = name or (str(path) if path else MEMORY)
        """How errors call it."""
        self.generation = 0
        self._tenant = tenant_id
        self._lock = threading.RLock()
        self._cursors: weakref.WeakSet[Reader] = weakref.WeakSet()
        self._root: duckdb.DuckDBPyConnection | None = None
        self._file: tuple[int, int] | None = None
        self._mine = threading.local()
        self._closed = False

    def open(self) -> duckdb.DuckDBPyConnection:
        """Opens the file and gives the writing connection. Raises `StoreDamaged`, `NotAStore` or `StoreFailed`."""
        with self._lock:
            self._root = self._connected()
            self._file = self._found()
            self.generation += 1
            return self._root

    def check_there(self) -> None:
        """Raises `StoreFailed` where the file was removed or replaced while it is open: what is written would be lost."""
        if self._found() != self._file:
            raise StoreFailed(
                self.name,
                f"{self.name} was removed or replaced while it was open, so nothing more is written; "
                f"put it back, or type %dvergr close --now and connect again",
            )

    def _found(self) -> tuple[int, int] | None:
        """Which file the path leads to now, as device and number."""
        try:
            found = None if self.path is None else self.path.stat()
        except OSError:
            return None
        return None if found is None else (found.st_dev, found.st_ino)

    def _connected(self) -> duckdb.DuckDBPyConnection:
        try:
            con = duckdb.connect(str(self.path or MEMORY), config=dict(_CONFIG))
        except duckdb.Error as problem:
            raise self.meaning(problem) from problem
        try:
            con.execute(_SETTINGS)
            self._check_whole(con)
        except duckdb.Error as problem:
            con.close()
            raise self.meaning(problem) from problem
        except (StoreDamaged, NotAStore):
            con.close()
            raise
        return con

    def _check_whole(self, con: duckdb.DuckDBPyConnection) -> None:
        """A file that ends before its last used block was cut; to write into it would make it worse.

        It may well end before the last block that its header counts, since DuckDB cuts free blocks off its end and counts them
        on, and within a block that is not in use yet, where a process was killed while it wrote.
        """
        if self.path is None:
            return
        block_size, total, used = con.execute(_BLOCKS).fetchall()[0]
        blocks = (self.path.stat().st_size - HEADERS) // block_size
        if blocks < used or (blocks < total and blocks <= _last_block(con)):
            raise StoreDamaged(self.name, f"it ends within or before block {blocks + 1} of {total}")
        tables, ours = con.execute(_TABLES).fetchall()[0]
        if tables and not ours:
            raise NotAStore(self.name, "a DuckDB file of another program")

    def meaning(self, problem: Exception) -> StoreDamaged | StoreFailed:
        """What an error at open or at a read means for a person."""
        text = first_line(problem)
        if _is_damage(problem):
            return StoreDamaged(self.name, text)
        return StoreFailed(self.name, f"DuckDB cannot work with {self.name}: {text}")

    @contextlib.contextmanager
    def reading(self) -> Iterator[duckdb.DuckDBPyConnection]:
        """A cursor of this thread, its tenant set. Raises `Down` while there is no instance."""
        reader = self._reader()
        with reader.busy:
            if reader.generation != self.generation:
                raise Down
            yield reader.con

    def _reader(self) -> Reader:
        found: Reader | None = getattr(self._mine, "reader", None)
        if found is not None and found.generation == self.generation:
            return found
        with self._lock:
            if self._closed:
                raise SessionClosed(self.name)
            if self._root is None:
                raise Down
            found = self._mine.reader = Reader(self._root.cursor(), self.generation)
            found.con.execute(_SETTINGS)
            found.con.execute(_TENANT, [self._tenant])
            self._cursors.add(found)
            return found

    def close(self, *, for_good: bool = False) -> None:
        """Closes every cursor and the file; one that is in a query is interrupted first."""
        with self._lock:
            self._closed = self._closed or for_good
            self.generation += 1
            for reader in list(self._cursors):
                reader.close()
            self._cursors.clear()
            if self._root is not None:
                with contextlib.suppress(duckdb.Error):
                    self._root.close()
            self._root = None

    def leave(self) -> None:
        """In the child of a fork: gives out no cursor any more. The database is left as it is; its threads are not here."""
        self._lock = threading.RLock()
        self._closed = True
        self.generation += 1


class Reader:
    """A cursor that one thread reads with, and the generation of the instance it belongs to."""

    def __init__(self, con: duckdb.DuckDBPyConnection, generation: int) -> None:
        self.con = con
        self.generation = generation
        self.busy = threading.RLock()

    def close(self) -> None:
        """Ends the query it is in, and the cursor."""
        if not self.busy.acquire(blocking=False):
            self.con.interrupt()
            self.busy.acquire()
        with contextlib.suppress(duckdb.Error):
            self.con.close()
        self.busy.release()


def _last_block(con: duckdb.DuckDBPyConnection) -> int:
    """The number of the last block that a table or the catalog is known to use, counted from 0."""
    tables = [name for (name,) in con.execute(_OUR_TABLES).fetchall()]
    last = [con.execute(_LAST_IN_TABLE, [name]).fetchall()[0][0] for name in tables]
    last += con.execute(_LAST_OF_CATALOG).fetchall()[0]
    return max((block for block in last if block is not None), default=-1)


def _is_damage(problem: Exception) -> bool:
    """Whether the file is wrong, as opposed to the system having refused, or the question being wrong."""
    text = first_line(problem)
    if isinstance(problem, duckdb.IOException):
        return not any(sign in text for sign in _REFUSALS)
    # A block whose checksum is wrong comes as an error without a class of its own.
    return isinstance(problem, duckdb.SerializationException | duckdb.InternalException) or text.startswith("Corrupt database")
