"""A thread for a tool that is a plain function. Nobody waits for it once its turn is stopped: it is left to its end."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import threading
from collections.abc import Callable
from typing import Any


async def in_own_thread(work: Callable[[], Any]) -> Any:
    """What the function returns or raises. The thread sees the caller's context variables and is a daemon.

    Cancelling this returns at once. A thread cannot be interrupted, so it works on until it returns or looks at its Run
    (`ctx.checkpoint()`, `ctx.raise_if_cancelled()`); what it returns then is dropped.
    """
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[tuple[Any, BaseException | None]] = loop.create_future()
    context = contextvars.copy_context()

    def settle(value: Any, problem: BaseException | None) -> None:
        if not ended.done():
            ended.set_result((value, problem))

    def thread() -> None:
        value, problem = None, None
        try:
            value = context.run(work)
        except BaseException as raised:  # noqa: BLE001  # handed to whoever waits, whatever it is
            problem = raised
        with contextlib.suppress(RuntimeError):  # the loop is closed: nobody waits any more
            loop.call_soon_threadsafe(settle, value, problem)

    threading.Thread(target=thread, name="dvergr-tool", daemon=True).start()
    value, problem = await ended
    if problem is not None:
        raise problem
    return value
