"""What time it is: one seam, so that tests and tested notebooks can have a time of their own."""

from __future__ import annotations

import datetime as dt
import threading
from typing import Protocol

UTC = dt.UTC


class Clock(Protocol):
    """Now, as an aware time in UTC."""

    def now(self) -> dt.datetime: ...


class SystemClock:
    """The machine's clock."""

    def now(self) -> dt.datetime:
        return dt.datetime.now(UTC)


class SeededClock:
    """A clock for tested notebooks: it starts at a fixed day and moves one millisecond each time it is read.

    `life` is the number of kernel lives the store has seen; each life begins a day later, so none repeats another's times.
    """

    START = dt.datetime(2026, 1, 1, 9, tzinfo=UTC)

    def __init__(self, life: int = 0) -> None:
        self._now = self.START + dt.timedelta(days=life)
        self._lock = threading.Lock()

    def now(self) -> dt.datetime:
        with self._lock:
            self._now += dt.timedelta(milliseconds=1)
            return self._now
