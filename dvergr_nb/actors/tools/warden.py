"""The process between this kernel and an agent's own: it ends that kernel with all that came of it, also when ours is killed.

It is started as a program of its own, so it imports nothing of this package. It reads its standard input, which closes when
whoever started it is gone, however that happened.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import resource
import select
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Final

import psutil

OUT_OF_MEMORY: Final = 113
"""How it exits where its tree has used more memory than it may."""
PR_SET_CHILD_SUBREAPER: Final = 36
TICK_S: Final = 0.1
SHARE: Final = 25
"""It looks at most this many times the length of a look apart, so that looking costs at most 4 % of a core."""
SPARE_BYTES: Final = 4 << 30
"""Addresses a process may reserve above its memory: threads and libraries reserve far more than they use."""


def main(home: str, memory_mb: str, *command: str) -> int:
    """Runs the command, within so much memory, until it ends or nobody wants it. Then it and its folder are gone."""
    limit = int(memory_mb) << 20
    adopt_orphans()
    signal.signal(signal.SIGINT, lambda *_: None)  # an interruption is for the kernel, which shares this process group
    kernel = subprocess.Popen(  # noqa: S603  # the command is that of our own kernel
        command,
        stdin=subprocess.DEVNULL,
        env={**os.environ, "JPY_PARENT_PID": str(os.getpid())},
        preexec_fn=lambda: confine(limit),  # noqa: PLW1509  # there is one thread
    )
    try:
        return watch(kernel, limit)
    finally:
        kill_descendants(os.getpid())
        shutil.rmtree(home, ignore_errors=True)


def adopt_orphans() -> None:
    """Has processes whose parent ends become children of this one, where the system can do that."""
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def confine(limit: int) -> None:
    """The limits of one process: no core dump, and no reservation far above its memory."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with contextlib.suppress(ValueError, OSError):
        resource.setrlimit(resource.RLIMIT_AS, (limit + SPARE_BYTES, limit + SPARE_BYTES))


def watch(kernel: subprocess.Popen[bytes], limit: int) -> int:
    """The status to exit with, once there is one."""
    parent, wait_s = os.getppid(), TICK_S
    while True:
        readable, _, _ = select.select([0], [], [], wait_s)
        if readable or os.getppid() != parent:
            return 0
        status = kernel.poll()
        if status is not None:
            return min(255, 128 - status) if status < 0 else status
        began = time.monotonic()
        if memory_of(os.getpid()) > limit:
            return OUT_OF_MEMORY
        wait_s = max(TICK_S, SHARE * (time.monotonic() - began))


def memory_of(root: int) -> int:
    """The resident memory of all descendants, in bytes."""
    total = 0
    for process in descendants(root):
        with contextlib.suppress(psutil.Error):
            total += process.memory_info().rss
    return total


def descendants(root: int) -> list[psutil.Process]:
    """All that came of a process and live."""
    try:
        found = psutil.Process(root).children(recursive=True)
    except psutil.Error:
        return []
    return [process for process in found if is_alive(process)]


def is_alive(process: psutil.Process) -> bool:
    """Whether it does anything still: a zombie does not."""
    try:
        return bool(process.status() not in (psutil.STATUS_ZOMBIE, psutil.STATUS_DEAD))
    except psutil.Error:
        return False


def kill_descendants(root: int, limit_s: float = 5.0) -> None:
    """Kills all that came of a process, and what those make while they are being killed."""
    until = time.monotonic() + limit_s
    while (found := descendants(root)) and time.monotonic() < until:
        for process in found:
            with contextlib.suppress(psutil.Error):
                process.suspend()
        for process in found:
            with contextlib.suppress(psutil.Error):
                process.kill()
        while any(is_alive(process) for process in found) and time.monotonic() < until:
            time.sleep(0.002)


if __name__ == "__main__":
    sys.path[:] = [entry for entry in sys.path if Path(entry) != Path(__file__).parent]
    raise SystemExit(main(*sys.argv[1:]))
