"""One process per store: a lock on a file beside it.

DuckDB's own lock is not enough: it vanishes when anything in the owning process opens and closes the database file.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import socket
from dataclasses import dataclass
from pathlib import Path

from dvergr_nb.errors import StoreBusy, StoreFailed


@dataclass(frozen=True, slots=True, kw_only=True)
class Holder:
    """Who holds a store."""

    pid: int
    host: str
    holder: str
    """The notebook or program, in its own words."""
    boot_id: str
    at: str
    """Since when, as ISO time."""

    @property
    def is_here(self) -> bool:
        """Whether it is this very process."""
        return self.pid == os.getpid() and self.host == socket.gethostname()

    def __str__(self) -> str:
        if self.is_here:
            return f"this kernel itself (process {self.pid}, since {self.at}), which can open it only once; close it first"
        return self.described

    @property
    def described(self) -> str:
        """Who and where, and since when."""
        return f"{self.holder}, process {self.pid} on {self.host} since {self.at}"


def lock_path(path: Path) -> Path:
    """The side file that is locked."""
    return path.with_name(path.name + ".lock")


class Lock:
    """A held lock. The system frees it when the process ends, however it ends."""

    def __init__(self, path: Path, holder: Holder) -> None:
        self.path = path
        self.holder = holder
        try:
            self._fd = os.open(lock_path(path), os.O_RDWR | os.O_CREAT, 0o644)
        except OSError as problem:
            raise unwritable(path, problem) from problem
        try:
            fcntl.flock(self._fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as problem:
            os.close(self._fd)
            raise StoreBusy(str(path), str(holder_of(path) or "another process")) from problem
        self._sign()

    def _sign(self) -> None:
        text = json.dumps({name: getattr(self.holder, name) for name in Holder.__slots__}, ensure_ascii=False)
        try:
            os.ftruncate(self._fd, 0)
            os.pwrite(self._fd, text.encode("utf-8", "replace"), 0)
        except OSError as problem:
            self.release()
            raise unwritable(self.path, problem) from problem

    def release(self) -> None:
        """Gives the store free. The side file stays: to remove it would let two processes lock two files."""
        if self._fd >= 0:
            with contextlib.suppress(OSError):
                os.ftruncate(self._fd, 0)
            os.close(self._fd)
            self._fd = -1

    def leave(self) -> None:
        """In the child of a fork: lets go of it without freeing it, so that it does not outlive the process that holds it."""
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1


def holder_of(path: Path) -> Holder | None:
    """Who has signed the side file last and has not released it; None where nobody has."""
    try:
        return Holder(**json.loads(lock_path(path).read_text()))
    except (OSError, ValueError, TypeError):
        return None


def unwritable(path: Path, problem: OSError) -> StoreFailed:
    """The sentence for a place where no store can be written."""
    where = path.parent
    return StoreFailed(str(path), f"no store can be written in {where} ({problem.strerror}); connect a path you may write to")
