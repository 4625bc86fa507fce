"""One `agent.iter()` in a task of its own.

Its context must be entered and left in the same task, while a turn calls its model in one task and uses tools in another.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar

from anyio import CancelScope

T = TypeVar("T")
Work = Callable[[Any], Awaitable[Any]]


class Driver:
    """Does steps within one run of an agent, one after another. A step that fails or is cancelled ends it."""

    def __init__(self, enter: Callable[[], AbstractAsyncContextManager[Any]]) -> None:
        self._enter = enter
        self._steps: asyncio.Queue[tuple[Work, asyncio.Future[Any]] | None] = asyncio.Queue()
        self._task: asyncio.Task[None] | None = None
        self._scope: CancelScope | None = None
        """What ends the task: pydantic-ai shields its own tidying from a scope, not from a cancellation of its task."""

    async def step(self, work: Callable[[Any], Awaitable[T]]) -> T:
        """What `work(run)` gives. Where this is cancelled, so is the step, and it has settled when this raises."""
        answer: asyncio.Future[T] = asyncio.get_running_loop().create_future()
        self._steps.put_nowait((work, answer))
        if self._task is None:
            self._scope = CancelScope()
            self._task = asyncio.create_task(self._run(self._scope))
            self._task.add_done_callback(_looked_at)
        try:
            either: set[asyncio.Future[Any]] = {self._task, answer}
            await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        except asyncio.CancelledError:
            await self.close()
            raise
        if answer.done():
            return answer.result()
        await self._task  # it could not begin, and this says why
        raise RuntimeError("a run of an agent ended before its step")

    async def _run(self, scope: CancelScope) -> None:
        with scope:
            await self._steps_in_turn()

    async def _steps_in_turn(self) -> None:
        async with self._enter() as run:
            while (step := await self._steps.get()) is not None:
                work, answer = step
                try:
                    result = await work(run)
                except Exception as problem:
                    if not answer.done():
                        answer.set_exception(problem)
                        answer.exception()  # heard, also where nobody waits any more
                    raise
                if not answer.done():
                    answer.set_result(result)

    async def close(self) -> None:
        """Leaves the run, cancelling what it does. Returns once that has settled, also where this is cancelled meanwhile."""
        task, self._task = self._task, None
        interruption: asyncio.CancelledError | None = None
        if self._scope is not None:
            self._scope.cancel()
        while task is not None and not task.done():
            try:
                await asyncio.wait({task})
            except asyncio.CancelledError as request:
                interruption = request
        if interruption is not None:
            raise interruption


def _looked_at(task: asyncio.Task[None]) -> None:
    """Whoever asked for the step has its error already."""
    if not task.cancelled():
        task.exception()
