"""Requests that come at an awkward moment: before the admission, while a thread holds the body, and after the end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import pytest

from dvergr_nb.records.run import RunStatus
from dvergr_nb.runtime.context import Context
from tests.rigs.session import Body, Gate, RefusingSession, Told

Opened = Callable[..., AbstractAsyncContextManager[RefusingSession]]


async def test_a_room_wide_cancel_reaches_runs_whose_admission_is_on_its_way(opened: Opened) -> None:
    async with opened() as session:
        gates = [Gate(), Gate()]
        here, there = (session.start(gate, actor="a", room=room) for gate, room in zip(gates, "xy", strict=True))
        assert session.cancel_room_turn("x") == 1
        await here.wait(30)
        await gates[1].began.wait()
        assert (here.row.status, gates[0].began.is_set()) == (RunStatus.CANCELLED, False)
        assert there.row.status is RunStatus.RUNNING
        gates[1].open.set()
        await there.wait(30)


async def test_a_cancel_while_a_thread_holds_the_body_interrupts_what_it_does_on_the_loop_afterwards(opened: Opened) -> None:
    async with opened() as session:
        began, go = asyncio.Event(), threading.Event()
        home = session.home

        async def rest() -> None:
            await asyncio.Event().wait()

        def work() -> Any:
            home.post(began.set)
            go.wait(30)
            return rest()

        run = session.job(work)
        await began.wait()
        run.cancel()
        go.set()
        await run.wait(30)
        assert run.row.status is RunStatus.CANCELLED


async def test_what_a_stray_task_of_a_body_reports_after_the_end_changes_nothing_and_is_not_told(opened: Opened) -> None:
    async with opened() as session:
        told, go = Told(), asyncio.Event()
        session.watch_runs("ui", told)
        stray: list[asyncio.Task[None]] = []

        async def late(ctx: Context) -> None:
            await go.wait()
            ctx.progress(1, 2, "late")
            await ctx.activity("late")

        async def work(ctx: Context) -> None:
            stray.append(asyncio.create_task(late(ctx)))

        run = await session.start(Body(work), actor="a").wait(30)
        go.set()
        await stray[0]
        await session.job(lambda: 1).wait(30)
        await told.until(lambda events: events[-1].type == "run/finished")
        of_run = [event.type for event in told.events if getattr(event, "run", None) is not None and event.run.id == run.id]
        assert of_run == ["run/started", "run/finished"]
        assert len(run.activity()) == 0


async def test_what_a_stray_task_of_a_body_prints_after_the_end_goes_to_the_stream(
    opened: Opened, capsys: pytest.CaptureFixture[str]
) -> None:
    async with opened() as session:
        go, stray = asyncio.Event(), []

        async def late() -> None:
            print("in time")
            await go.wait()
            print("too late")

        async def work(_ctx: Context) -> None:
            stray.append(asyncio.create_task(late()))
            await asyncio.sleep(0)

        run = await session.start(Body(work), actor="a").wait(30)
        go.set()
        await stray[0]
        assert capsys.readouterr().out == "too late\n"
        assert list(run.activity()["content"]) == ["in time"]
