"""A folder that an agent may use: every path is walked from it a name at a time, so that no link leads out of it.

A name is opened relative to the open folder above it and never through a link, so that one planted in between changes nothing.
"""

from __future__ import annotations

import contextlib
import errno
import fnmatch
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import Final
from uuid import uuid4

from dvergr_nb.actors.tools.tool import ToolFailed
from dvergr_nb.errors import BadInput
from dvergr_nb.records.text import printable, shown

FILE_BYTES: Final = 10_000_000
"""Largest file that is read or written."""
ENTRIES: Final = 500
"""How many entries one listing names."""
VISITED: Final = 50_000
"""How many entries one listing looks at."""
DEEPEST: Final = 50
FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
READ: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
NEW: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
WORDS: Final = {
    errno.ENOENT: ("not-found", "is not there"),
    errno.ENOTDIR: ("refused", "leads through something that is no folder"),
    errno.ELOOP: ("refused", "is a link, and links are not followed"),
    errno.EACCES: ("refused", "may not be opened"),
    errno.ENAMETOOLONG: ("refused", "has too long a name"),
    errno.ENOSPC: ("disk-full", "does not fit on the disk"),
}


class Folder:
    """One chosen folder. Paths are relative to it; what is refused raises `ToolFailed` with a sentence."""

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        try:
            self._root = str(Path(folder).expanduser().resolve(strict=True))
            os.close(os.open(self._root, FOLDER))
        except (OSError, TypeError, ValueError, RuntimeError) as problem:
            raise BadInput(f"the files of an agent lie in a folder that is there; {shown(folder)}: {problem}") from None

    def read(self, path: str) -> bytes:
        """What is in a file."""
        parts = _parts(path)
        with self._above(path, parts) as above, _said(path):
            _check_file(path, os.lstat(parts[-1], dir_fd=above))
            with os.fdopen(os.open(parts[-1], READ, dir_fd=above), "rb") as file:
                found = os.fstat(file.fileno())
                _check_file(path, found)
                if found.st_size > FILE_BYTES:
                    raise ToolFailed("too-large", f"{path!r} has {found.st_size:,} bytes; at most {FILE_BYTES:,} can be read")
                return file.read(FILE_BYTES)

    def write(self, path: str, data: bytes) -> bool:
        """Puts a file there, whole or not at all, with the folders it needs. True where it is new."""
        parts = _parts(path)
        if len(data) > FILE_BYTES:
            raise ToolFailed("too-large", f"{path!r}: at most {FILE_BYTES:,} bytes can be written, not {len(data):,}")
        with self._above(path, parts, make=True) as above, _said(path):
            mode = None
            with contextlib.suppress(FileNotFoundError):
                found = os.lstat(parts[-1], dir_fd=above)
                _check_file(path, found)
                mode = stat.S_IMODE(found.st_mode)
            _replace(above, parts[-1], data, mode)
            return mode is None

    def listed(self, path: str, pattern: str | None) -> list[str]:
        """Its entries in order, a line each; with a pattern all below it whose name or path fits."""
        parts = _parts(path, may_be_root=True)
        with self._above(path, [*parts, ""]) as folder, _said(path):
            found = _Listing(pattern)
            found.visit(folder, "/".join(parts), 0)
        return found.lines()

    @contextlib.contextmanager
    def _above(self, path: str, parts: list[str], *, make: bool = False) -> Iterator[int]:
        """The open folder that holds the last of the parts."""
        with _said(path):
            current = os.open(self._root, FOLDER)
        try:
            for part in parts[:-1]:
                with _said(path):
                    if make:
                        with contextlib.suppress(FileExistsError):
                            os.mkdir(part, dir_fd=current)
                    below = os.open(part, FOLDER, dir_fd=current)
                os.close(current)
                current = below
            yield current
        finally:
            os.close(current)


def _parts(path: object, *, may_be_root: bool = False) -> list[str]:
    if not isinstance(path, str) or "\0" in path or len(path) > 4_000:
        raise ToolFailed("refused", f"a path is text such as 'notes/a.txt', not {shown(path)}")
    if path.startswith(("/", "~")):
        raise ToolFailed("refused", f"{path!r} leads out of the folder; give a path relative to it, such as 'notes/a.txt'")
    parts = [part for part in path.split("/") if part not in ("", ".")]
    if ".." in parts:
        raise ToolFailed("refused", f"{path!r} leads out of the folder: '..' is not allowed")
    if not parts and not may_be_root:
        raise ToolFailed("refused", f"{path!r} names no file")
    return parts


def _check_file(path: str, found: os.stat_result) -> None:
    if stat.S_ISREG(found.st_mode):
        return
    kinds = {stat.S_IFLNK: "a link, and links are not followed", stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe"}
    raise ToolFailed("refused", f"{path!r} is {kinds.get(stat.S_IFMT(found.st_mode), 'a device or a socket')}, not a file")


@contextlib.contextmanager
def _said(path: str) -> Iterator[None]:
    """Says what the system says, in words and without the place of the folder."""
    try:
        yield
    except UnicodeError:
        raise ToolFailed("refused", f"{shown(path)} is no name that a file can have") from None
    except OSError as problem:
        outcome, words = WORDS.get(problem.errno or 0, ("failed", f"cannot be used ({os.strerror(problem.errno or 0)})"))
        raise ToolFailed(outcome, f"{path!r} {words}") from None


def _replace(above: int, name: str, data: bytes, mode: int | None) -> None:
    """Writes beside it and moves it into place, which replaces a link and never follows one."""
    draft = f".{uuid4().hex}.part"
    try:
        with os.fdopen(os.open(draft, NEW, 0o666, dir_fd=above), "wb") as file:
            if mode is not None:
                os.fchmod(file.fileno(), mode)
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.rename(draft, name, src_dir_fd=above, dst_dir_fd=above)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(draft, dir_fd=above)
        raise


class _Listing:
    """One look at a folder, with a pattern also at those below it."""

    def __init__(self, pattern: str | None) -> None:
        self._pattern = pattern
        self._found: list[str] = []
        self._visited = 0

    def visit(self, folder: int, at: str, depth: int) -> None:
        with os.scandir(folder) as entries:
            for entry in sorted(entries, key=lambda each: each.name):
                self._visited += 1
                if self._visited > VISITED:
                    return
                self._see(folder, entry, f"{at}/{entry.name}" if at else entry.name, depth)

    def _see(self, folder: int, entry: os.DirEntry[str], path: str, depth: int) -> None:
        is_folder = entry.is_dir(follow_symlinks=False)
        if self._pattern is None or _fits(path, self._pattern):
            self._found.append(f"{printable(path)}{self._kind(entry, is_folder=is_folder)}")
        if self._pattern is not None and is_folder and depth < DEEPEST:
            with contextlib.suppress(OSError):  # gone meanwhile, or not ours to read
                below = os.open(entry.name, FOLDER, dir_fd=folder)
                try:
                    self.visit(below, path, depth + 1)
                finally:
                    os.close(below)

    def _kind(self, entry: os.DirEntry[str], *, is_folder: bool) -> str:
        if is_folder:
            return "/"
        if entry.is_symlink():
            return " (a link, not followed)"
        try:
            return f" ({entry.stat(follow_symlinks=False).st_size:,} bytes)"
        except OSError:
            return " (gone)"

    def lines(self) -> list[str]:
        """What was found, and how much of it is left out."""
        more = len(self._found) - ENTRIES
        left_out = [f"[{more:,} more; narrow the pattern]"] if more > 0 else []
        cut_short = [f"[only the first {VISITED:,} entries were looked at]"] if self._visited > VISITED else []
        return [*self._found[:ENTRIES], *left_out, *cut_short]


def _fits(path: str, pattern: str) -> bool:
    """Whether the name fits, or where the pattern has a slash the path; `**/` may also stand for no folder at all."""
    if "/" not in pattern:
        return fnmatch.fnmatchcase(path.rsplit("/", 1)[-1], pattern)
    return fnmatch.fnmatchcase(path, pattern) or fnmatch.fnmatchcase(path, pattern.replace("**/", ""))
