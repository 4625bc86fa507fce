"""Daemon threads for bodies that are plain functions. Daemons, because a kernel must be able to end while one works."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable
from typing import Any, Final

from dvergr_nb.runtime.home import Home

LIMIT: Final = 32
"""How many functions work at once; the next ones wait, admitted, for a thread."""


class Workers:
    """The worker threads of one session."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self._free = asyncio.Semaphore(LIMIT)

    async def run(self, work: Callable[[], Any], begun: Callable[[], object]) -> Any:
        """What `work` returns or raises. Cancelling the wait for a free thread is fine; once begun, it is awaited to its end.

        `begun` is called on the loop just before the thread starts.
        """
        async with self._free:
            begun()
            ended: asyncio.Future[tuple[Any, BaseException | None]] = self._home.loop.create_future()
            context = contextvars.copy_context()

            def thread() -> None:
                value, problem = None, None
                try:
                    value = context.run(work)
                except BaseException as raised:  # noqa: BLE001  # handed to the Run, whatever it is: a thread has nobody else to tell
                    problem = raised
                self._home.post(lambda: None if ended.done() else ended.set_result((value, problem)))

            threading.Thread(target=thread, name="dvergr-worker", daemon=True).start()
            value, problem = await ended
        if problem is not None:
            raise problem
        return value
