"""Time limits: a Run that works too long, or says nothing for too long, is asked to stop and fails with `timeout`."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from dvergr_nb.errors import BadInput
from dvergr_nb.records.text import shown
from dvergr_nb.runtime.home import Home


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Seconds; None for no limit."""

    wall_s: float | None = None
    """From the start of the body."""
    idle_s: float | None = None
    """Since it last reported, printed, progressed or passed a checkpoint."""

    def __post_init__(self) -> None:
        for name, value in (("timeout", self.wall_s), ("idle_timeout", self.idle_s)):
            is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
            if value is not None and (not is_number or not 0 < value <= threading.TIMEOUT_MAX):
                raise BadInput(f"{name} must be a number of seconds above 0, not {shown(value)}")


class Watch:
    """Watches the limits of one Run. On the home loop, but for `stir`."""

    def __init__(self, home: Home, limits: Limits) -> None:
        self._home = home
        self._limits = limits
        self._stirred = time.monotonic()
        self._timers: list[asyncio.TimerHandle] = []

    def start(self, expired: Callable[[str], object]) -> None:
        """Begins to count; `expired` is told in words which limit was reached."""
        self._stirred = time.monotonic()
        if (wall := self._limits.wall_s) is not None:
            self._timers.append(self._home.later(wall, lambda: expired(f"ran longer than its limit of {wall:g} s")))
        if (idle := self._limits.idle_s) is not None:
            self._timers.append(self._home.later(idle, lambda: self._look(idle, expired)))

    def stir(self) -> None:
        """The body has said something. From any thread."""
        self._stirred = time.monotonic()

    def stop(self) -> None:
        """Ends the watch."""
        for timer in self._timers:
            timer.cancel()
        self._timers.clear()

    def _look(self, idle_s: float, expired: Callable[[str], object]) -> None:
        left = self._stirred + idle_s - time.monotonic()
        if left <= 0:
            expired(f"said nothing for its limit of {idle_s:g} s")
        else:
            self._timers[-1] = self._home.later(left, lambda: self._look(idle_s, expired))
