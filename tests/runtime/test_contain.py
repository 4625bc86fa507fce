"""Law 12 for the tasks that a body makes, and for others' code that is called on the loop."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from dvergr_nb.records.event import Event
from dvergr_nb.records.run import RunStatus
from dvergr_nb.runtime.contain import Containing, contain
from tests.rigs.session import RefusingSession

Opened = Callable[..., AbstractAsyncContextManager[RefusingSession]]
ESCAPES = [SystemExit, KeyboardInterrupt]


async def by_create_task(child: Callable[[], Awaitable[None]]) -> None:
    await asyncio.create_task(child())  # type: ignore[arg-type]  # a coroutine


async def by_gather(child: Callable[[], Awaitable[None]]) -> None:
    await asyncio.gather(child(), asyncio.sleep(0))


async def by_a_group(child: Callable[[], Awaitable[None]]) -> None:
    async with asyncio.TaskGroup() as group:
        group.create_task(child())  # type: ignore[arg-type]  # a coroutine
        group.create_task(asyncio.sleep(60))


@pytest.mark.parametrize("escape", ESCAPES)
@pytest.mark.parametrize("way", [by_create_task, by_gather, by_a_group])
async def test_law_12_what_escapes_a_task_of_a_body_fails_its_run_and_nothing_else(
    opened: Opened, way: Callable[..., Awaitable[None]], escape: type[BaseException]
) -> None:
    async with opened() as session:

        async def child() -> None:
            await asyncio.sleep(0)
            raise escape

        async def work() -> None:
            await way(child)

        run = await session.job(work).wait(30)
        assert (run.row.status, run.row.reason) == (RunStatus.FAILED, "error")
        assert await session.job(lambda: "the loop goes round") == "the loop goes round"


@pytest.mark.parametrize("escape", ESCAPES)
async def test_a_task_that_outlives_its_body_cannot_end_the_loop(opened: Opened, escape: type[BaseException]) -> None:
    async with opened() as session:
        left: list[asyncio.Task[None]] = []

        async def stray() -> None:
            await asyncio.sleep(0)
            raise escape

        async def work() -> None:
            left.append(asyncio.create_task(stray()))

        await session.job(work)
        (task,) = left
        with pytest.raises(RuntimeError, match=escape.__name__) as caught:
            await task
        assert isinstance(caught.value.__cause__, escape)


async def test_tasks_outside_of_runs_are_made_as_before_and_by_the_factory_that_was_there(opened: Opened) -> None:
    made: list[str] = []

    def own(loop: asyncio.AbstractEventLoop, work: Any, **how: Any) -> asyncio.Task[Any]:
        made.append(type(work).__name__)
        return asyncio.Task(work, loop=loop, **how)

    loop = asyncio.get_running_loop()
    loop.set_task_factory(own)
    async with opened() as session:

        async def work() -> str | None:
            return str(asyncio.create_task(asyncio.sleep(0), name="inner").get_coro().__qualname__)

        assert await session.job(work) == "sleep"
        task = asyncio.create_task(asyncio.sleep(0), name="outer")
        assert (task.get_name(), asyncio.iscoroutine(task.get_coro())) == ("outer", True)
        await task
        assert made == ["Guarded", "coroutine"]
        before = loop.get_task_factory()
        contain(loop)
        assert loop.get_task_factory() is before
        assert isinstance(before, Containing)


async def test_a_task_of_a_body_that_is_cancelled_before_its_first_step_warns_of_nothing(opened: Opened) -> None:
    async with opened() as session:

        async def work() -> bool:
            task = asyncio.create_task(asyncio.sleep(60))
            task.cancel()
            await asyncio.wait([task])
            return task.cancelled()

        assert await session.job(work) is True


@pytest.mark.parametrize("escape", ESCAPES)
async def test_law_10_a_subscriber_that_ends_the_process_ends_nothing(opened: Opened, escape: type[BaseException]) -> None:
    async with opened() as session:

        def tell(_event: Event) -> None:
            raise escape

        session.watch_runs("hostile", tell)
        assert await session.job(lambda: 5) == 5


@pytest.mark.parametrize("escape", ESCAPES)
async def test_law_10_a_cancel_hook_that_ends_the_process_ends_nothing(opened: Opened, escape: type[BaseException]) -> None:
    async with opened() as session:

        def hook() -> None:
            raise escape

        run = session.job(asyncio.sleep, 60)
        await run.admitted
        session.register_cancel_hook(run, "hostile", hook)
        run.cancel()
        assert (await run.wait(30)).row.status is RunStatus.CANCELLED
