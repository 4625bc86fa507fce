"""What a body prints from its own context becomes activity of its Run, instead of landing in some cell.

`sys.stdout` and `sys.stderr` are wrapped once per kernel; the wrapper asks a ContextVar who is printing. A body that prints
without end is slowed where that is possible (in a worker thread), then its text is cut, and what was dropped is counted.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any, Final, Protocol, TextIO

from dvergr_nb.records.text import clipped
from dvergr_nb.runtime.home import Home
from dvergr_nb.runtime.secrets import ended, parted

FLUSH_S: Final = 0.1
"""Print output of one Run is gathered this long before it becomes one activity message."""
HELD_LIMIT: Final = 64_000
"""Characters held for the next message before the printing thread is made to wait."""
RUN_LIMIT: Final = 1_000_000
"""Characters of print output kept of one Run; the rest is counted."""
SLOW_S: Final = 0.25
"""Longest wait of one `print` in a worker thread; after it the text is dropped and counted."""
LINE_LIMIT: Final = 500


class Sink(Protocol):
    """Where printed text goes."""

    def write(self, text: str) -> bool:
        """False where it takes no more."""


SINK: ContextVar[Sink | None] = ContextVar("dvergr_sink", default=None)


class Prints:
    """The print output of one Run. `write` may be called in any thread, the rest on the home loop."""

    def __init__(self, home: Home, emit: Callable[[str, str], object], said: Callable[[str], object]) -> None:
        self._home = home
        self._emit = emit
        self._said = said
        self._room = threading.Condition()
        self._held: list[str] = []
        self._size = 0
        self._kept = 0
        self._dropped = 0
        self._scheduled = False
        self._closed = False

    def write(self, text: str) -> bool:
        """Keeps the text for the next message. A worker thread waits here while too much is held. False after the Run's end."""
        with self._room:
            if self._size >= HELD_LIMIT and not self._home.is_here:
                self._room.wait_for(lambda: self._size < HELD_LIMIT or self._closed, SLOW_S)
            fits = max(0, min(HELD_LIMIT - self._size, RUN_LIMIT - self._kept, len(text)))
            if self._closed:
                return False
            self._held.append(text[:fits])
            self._size += fits
            self._kept += fits
            self._dropped += len(text) - fits
            schedule, self._scheduled = not self._scheduled, True
        if schedule:
            self._home.post(lambda: self._home.later(FLUSH_S, self.flush))
        return True

    def flush(self) -> None:
        """Makes one activity message of what is held, and lets waiting threads print on.

        What may be the beginning of a secret waits for the rest of it.
        """
        with self._room:
            held = "".join(self._held)
            is_last = self._closed or self._dropped > 0
            text, rest = (ended(held), "") if is_last else parted(held)
            self._held = [rest] if rest else []
            self._size = len(rest)
            self._scheduled = False
            self._room.notify_all()
        if text.strip():
            self._emit("print", text.rstrip("\n"))
            self._said(last_line(text))

    def close(self) -> None:
        """The last message, and one that says how much was dropped, where anything was."""
        with self._room:
            self._closed = True
        self.flush()
        if self._dropped:
            self._emit("dropped", f"{self._dropped:,} characters of print output were dropped; {self._kept:,} are kept")
        self._emit = self._said = _nothing


def _nothing(*_said: str) -> None:
    """Hears what nobody says any more."""


def last_line(text: str) -> str:
    """The last line that says something; of a line rewritten with carriage returns, its last state."""
    for line in reversed(text.splitlines()):
        if line.strip():
            return clipped(line.strip(), LINE_LIMIT)
    return ""


class Router:
    """A stream that gives a Run's text to the Run and everything else to the stream it stands for."""

    def __init__(self, stream: TextIO) -> None:
        self.stream = stream

    def write(self, text: str) -> int:
        """Like any text stream's. What a task that has outlived its Run prints goes to the stream."""
        sink = SINK.get()
        if sink is not None and not isinstance(text, str):
            raise TypeError(f"write() argument must be str, not {type(text).__name__}")
        if sink is not None and sink.write(text):
            return len(text)
        return self.stream.write(text)

    def writelines(self, lines: list[str]) -> None:
        """Like any text stream's."""
        for line in lines:
            self.write(line)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.stream, name)


class _Users:
    """How many sessions need the streams wrapped."""

    count = 0


def install() -> None:
    """Wraps both streams, where they are not wrapped yet. Each call is answered by one of `uninstall`."""
    _Users.count += 1
    if not isinstance(sys.stdout, Router):
        sys.stdout = Router(sys.stdout)
    if not isinstance(sys.stderr, Router):
        sys.stderr = Router(sys.stderr)


def uninstall() -> None:
    """Puts the wrapped streams back once nobody needs them, unless somebody has put another one in since."""
    _Users.count = max(0, _Users.count - 1)
    if _Users.count:
        return
    if isinstance(sys.stdout, Router):
        sys.stdout = sys.stdout.stream
    if isinstance(sys.stderr, Router):
        sys.stderr = sys.stderr.stream
