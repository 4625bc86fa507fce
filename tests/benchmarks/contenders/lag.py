"""How long a loop was held: a task that wants to wake every two milliseconds and notes how late it woke."""

from __future__ import annotations

import asyncio
import contextlib
import time
from pathlib import Path
from typing import Final

TICK_S: Final = 0.002


def waited_for_core_s() -> float:
    """How long this thread was ready to run and had no core, where the system says so: the machine's doing, not ours."""
    try:
        return int(Path("/proc/thread-self/schedstat").read_text().split()[1]) / 1e9
    except (OSError, IndexError, ValueError):
        return 0.0


class Lag:
    """Measures from now on, until `ended`."""

    def __init__(self) -> None:
        self._late: list[float] = []
        self._task = asyncio.get_running_loop().create_task(self._watch())

    async def _watch(self) -> None:
        while True:
            begun, starved = time.perf_counter(), waited_for_core_s()
            await asyncio.sleep(TICK_S)
            late = time.perf_counter() - begun - TICK_S
            self._late.append(max(0.0, late - (waited_for_core_s() - starved)))

    async def ended(self) -> list[float]:
        """The seconds it was late, each time, less what the thread waited for a core."""
        self._task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._task
        return self._late
