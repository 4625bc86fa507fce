"""Tasks that a body makes: what would end the loop, and with it the kernel, ends the task alone.

asyncio lets SystemExit and KeyboardInterrupt out of a task into whoever runs the loop, which in a notebook is the kernel. A
body's own task is guarded where it is executed; those it makes by `create_task`, `gather` or a `TaskGroup` are guarded here.
A callback that a body gives to the loop itself (`call_soon`) is out of reach: the loop has no place to stand in between.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine, Generator
from typing import Any

from dvergr_nb.runtime.context import CURRENT

Factory = Callable[..., Any]
"""Makes a task of a loop and a coroutine; `context` and, from Python 3.13 on, more by name."""


class Containing:
    """A loop's task factory: tasks of Runs are guarded, all others made exactly as before."""

    def __init__(self, before: Factory | None) -> None:
        self._before = before

    def __call__(self, loop: asyncio.AbstractEventLoop, work: Any, **how: Any) -> Any:
        """Makes the task."""
        context = how.get("context")
        is_of_a_run = (CURRENT.get() if context is None else context.get(CURRENT)) is not None
        if is_of_a_run and asyncio.iscoroutine(work):
            work = Guarded(work)
        if self._before is not None:
            return self._before(loop, work, **how)
        return asyncio.Task(work, loop=loop, **how)


def contain(loop: asyncio.AbstractEventLoop) -> None:
    """Has the loop guard the tasks of Runs from now on, on top of the factory it has. Once is enough; twice changes nothing."""
    before = loop.get_task_factory()
    if not isinstance(before, Containing):
        loop.set_task_factory(Containing(before))


class Guarded(Coroutine[Any, Any, Any]):
    """A coroutine, step for step, but for the two exceptions that would end the loop: they come out as a `RuntimeError`.

    So does a StopIteration from any coroutine, by the language itself. The cause is the original.
    """

    def __init__(self, work: Coroutine[Any, Any, Any]) -> None:
        self._work = work

    def __getattr__(self, name: str) -> Any:
        """What a task shows of its coroutine: its name, code and frame."""
        return getattr(self._work, name)

    def __await__(self) -> Generator[Any, Any, Any]:
        return self._work.__await__()

    def send(self, value: Any) -> Any:
        """One step."""
        try:
            return self._work.send(value)
        except (SystemExit, KeyboardInterrupt) as problem:
            raise _escaped(problem) from problem

    def throw(self, *problem: Any) -> Any:
        """One step, with an exception raised where the coroutine stands."""
        try:
            return self._work.throw(*problem)
        except (SystemExit, KeyboardInterrupt) as escaping:
            raise _escaped(escaping) from escaping

    def close(self) -> None:
        """Ends it where it stands."""
        self._work.close()


def _escaped(problem: BaseException) -> RuntimeError:
    return RuntimeError(f"a task of the body raised {type(problem).__name__}")
