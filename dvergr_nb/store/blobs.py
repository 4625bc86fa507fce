"""Bytes beside the store, each in a file that is named after what it holds."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import re
import shutil
import tempfile
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Final

from dvergr_nb.errors import BadInput, BlobMissing, StoreDamaged, StoreFailed
from dvergr_nb.records.text import shown

if TYPE_CHECKING:
    from dvergr_nb.records.tool_use import Blob

FOLDER: Final = "blobs"
_NAME: Final = re.compile(r"[0-9a-f]{64}")


class Blobs:
    """The files of one store. May be used in any thread."""

    def __init__(self, store: Path | None) -> None:
        self._store = store
        self._lock = threading.Lock()
        self._own: Path | None = None
        """Of a store in memory: a folder that goes with it."""

    def keep(self, data: bytes, media_type: str) -> Blob:
        """Keeps bytes, once; returns when they are on the disk. Raises `BadInput` or `StoreFailed`."""
        from dvergr_nb.records.tool_use import Blob

        if not isinstance(data, bytes):
            raise BadInput(f"a blob is bytes, not {shown(data)}")
        digest = hashlib.sha256(data).hexdigest()
        try:
            path = self._path(digest)
            if not _holds(path, data):
                _write(path, data)
        except OSError as problem:
            raise self._refused(problem) from problem
        return Blob(sha256=digest, media_type=media_type, size=len(data))

    def read(self, sha256: str) -> bytes:
        """The bytes of that name. Raises `BadInput`, `BlobMissing`, `StoreDamaged` or `StoreFailed`."""
        if not isinstance(sha256, str) or not _NAME.fullmatch(sha256):
            raise BadInput(f"the name of a blob is 64 hexadecimal digits, not {shown(sha256)}")
        path = self._path(sha256)
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            raise BlobMissing(sha256, str(path)) from None
        except OSError as problem:
            raise self._refused(problem) from problem
        if hashlib.sha256(data).hexdigest() != sha256:
            raise StoreDamaged(str(path), "its bytes are not those that it is named after")
        return data

    def close(self) -> None:
        """Takes the files of a store in memory away."""
        with self._lock:
            if self._own is not None:
                shutil.rmtree(self._own, ignore_errors=True)
                self._own = None

    def _path(self, digest: str) -> Path:
        return self._folder() / digest[:2] / digest

    def _folder(self) -> Path:
        if self._store is not None:
            return self._store.parent / FOLDER
        with self._lock:
            if self._own is None:
                self._own = Path(tempfile.mkdtemp(prefix="dvergr-blobs-"))
            return self._own

    def _refused(self, problem: OSError) -> StoreFailed:
        where = "a folder for temporary files" if self._store is None else str(self._store.parent / FOLDER)
        hint = (
            "make room on that disk and try again" if problem.errno == errno.ENOSPC else "see whether you may use that folder"
        )
        return StoreFailed(where, f"bytes could not be kept or read in {where} ({problem.strerror}); {hint}")


def _holds(path: Path, data: bytes) -> bool:
    """Whether the file is there and whole, which is read rather than believed."""
    return path.is_file() and path.stat().st_size == len(data) and path.read_bytes() == data


def _write(path: Path, data: bytes) -> None:
    """Under a name of its own first, so that a file with its final name is always whole."""
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        with contextlib.suppress(OSError):
            Path(name).unlink()
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """The name itself is on the disk when its folder is."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
