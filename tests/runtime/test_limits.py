"""Time limits: they ask the body to stop, and the Run fails with `timeout`."""

from __future__ import annotations

import asyncio
import threading

import pytest

from dvergr_nb.errors import BadInput
from dvergr_nb.records.run import RunStatus
from tests.rigs.session import Body, Gate, Told


async def test_a_run_past_its_wall_clock_limit_fails_with_timeout(opened):
    async with opened() as session:
        run = await session.start(Gate(), actor="a", timeout=0.02).wait()
        assert (run.row.status, run.row.reason) == (RunStatus.FAILED, "timeout")
        assert run.row.error == "ran longer than its limit of 0.02 s"


async def test_a_run_that_keeps_reporting_outlives_its_idle_limit(opened):
    async with opened() as session:

        async def work(ctx):
            for _ in range(10):
                ctx.progress(label="on it")
                await asyncio.sleep(0.02)
            return "done"

        assert await session.start(Body(work), actor="a", idle_timeout=0.15) == "done"


async def test_a_run_that_says_nothing_for_its_idle_limit_fails_with_timeout(opened):
    async with opened() as session:
        run = await session.start(Gate(), actor="a", idle_timeout=0.02).wait()
        assert (run.row.reason, run.row.error) == ("timeout", "said nothing for its limit of 0.02 s")


async def test_a_worker_thread_past_its_limit_fails_when_its_function_returns(opened):
    async with opened() as session:
        go = threading.Event()
        session.watch_runs("ui", told := Told())
        run = session.job(lambda: go.wait(30), timeout=0.02)
        await told.until_type("run/cancel-requested")
        go.set()
        assert (await run.wait()).row.reason == "timeout"


async def test_a_cancel_after_the_limit_wins(opened):
    async with opened() as session:
        go, began = asyncio.Event(), asyncio.Event()

        async def stubborn(ctx):
            began.set()
            while not go.is_set():
                try:
                    await go.wait()
                except asyncio.CancelledError:
                    continue

        session.watch_runs("ui", told := Told())
        run = session.start(Body(stubborn), actor="a", timeout=0.02)
        await told.until_type("run/cancel-requested")
        run.cancel()
        go.set()
        assert (await run.wait()).row.status is RunStatus.CANCELLED


@pytest.mark.parametrize("bad", [0, -1, float("nan"), float("inf"), True, "5"])
async def test_a_limit_that_is_no_time_is_refused_before_a_run_exists(opened, bad):
    async with opened() as session:
        with pytest.raises(BadInput, match="timeout must be a number of seconds"):
            session.job(lambda: 1, timeout=bad)
        assert session.runs() == []
