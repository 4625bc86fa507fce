"""Stopping Runs: targeted, by room, sticky, cooperative, and never poisoning what comes next."""

from __future__ import annotations

import asyncio
import threading

import pytest

from dvergr_nb.errors import RunCancelled
from dvergr_nb.records.run import RunStatus
from dvergr_nb.runtime.body import Done, Pause
from dvergr_nb.runtime.cancel import Aborted, CancelToken, Stop
from tests.rigs.session import Body, Gate, Told


async def test_case_22_cancelling_one_run_leaves_the_other_and_says_cancelling_until_it_is_acknowledged(opened):
    async with opened() as session:
        held = asyncio.Event()

        async def stubborn(ctx):
            try:
                await asyncio.Event().wait()
            finally:
                await held.wait()

        began = asyncio.Event()

        async def starts(ctx):
            began.set()
            await stubborn(ctx)

        a, b = session.start(Body(starts), actor="a"), session.start(gate := Gate(), actor="b")
        await began.wait()
        await gate.began.wait()
        assert a.cancel()
        assert {run.actor: run.status for run in session.active_runs()} == {"a": RunStatus.CANCELLING, "b": RunStatus.RUNNING}
        assert session.store.run(a.id).status is RunStatus.RUNNING
        held.set()
        await a.wait()
        assert (a.row.status, a.row.reason) == (RunStatus.CANCELLED, "cancel-requested")
        gate.open.set()
        await b


async def test_case_23_cancelling_an_unknown_run_is_false(opened):
    async with opened() as session:
        assert session.cancel_run(session.ids.run()) is False


async def test_cancelling_an_ended_run_is_false_and_changes_nothing(opened):
    async with opened() as session:
        run = await session.job(lambda: 1).wait()
        row = session.store.run(run.id)
        assert run.cancel() is False
        assert session.store.run(run.id) == row


async def test_case_24_a_room_wide_cancel_reaches_every_run_of_that_room_and_no_other(opened):
    async with opened() as session:
        gates = [Gate() for _ in range(3)]
        runs = [session.start(gate, actor="a", room=room) for gate, room in zip(gates, ["x", "x", "y"], strict=True)]
        for gate in gates:
            await gate.began.wait()
        assert session.cancel_room_turn("x") == 2
        await runs[0].wait()
        await runs[1].wait()
        assert [run.room for run in session.active_runs()] == ["y"]
        gates[2].open.set()
        await runs[2]


async def test_case_27_a_run_is_not_cancelled_through_another_room(opened):
    async with opened() as session:
        gate = Gate()
        run = session.start(gate, actor="a", room="b")
        await gate.began.wait()
        assert session.cancel_room_run("a", run) is False
        gate.open.set()
        assert (await run.wait()).row.status is RunStatus.COMPLETED


async def test_case_28_a_hook_registered_after_the_request_runs_at_registration(opened):
    async with opened() as session:
        held = asyncio.Event()
        began = asyncio.Event()

        async def work(ctx):
            began.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                await held.wait()
                raise

        run = session.start(Body(work), actor="a")
        await began.wait()
        run.cancel()
        called = []
        assert session.register_cancel_hook(run, "late", lambda: called.append(1)) is True
        assert called == [1]
        held.set()
        await run.wait()
        assert session.register_cancel_hook(run, "later", lambda: None) is False


async def test_hooks_run_on_every_request_the_event_comes_once_and_a_broken_hook_is_logged(opened, caplog):
    async with opened() as session:
        told = Told()
        session.watch_runs("ui", told)
        called = []
        swallowing, began = asyncio.Event(), asyncio.Event()

        async def work(ctx):
            began.set()
            while not swallowing.is_set():
                try:
                    await swallowing.wait()
                except asyncio.CancelledError:
                    continue

        run = session.start(Body(work), actor="a")
        await began.wait()
        session.register_cancel_hook(run, "counts", lambda: called.append(1))
        session.register_cancel_hook(run, "broken", lambda: 1 / 0)
        assert run.cancel()
        assert run.cancel()
        swallowing.set()
        await run.wait()
        assert called == [1, 1]
        assert told.types.count("run/cancel-requested") == 1
        assert "a hook of a Run failed" in caplog.text


async def test_law_5_cancelling_is_sticky_before_the_body_exists(opened):
    async with opened() as session:
        told, gate = Told(), Gate()
        session.watch_runs("ui", told)
        run = session.start(gate, actor="a")
        assert run.cancel() is True
        with pytest.raises(RunCancelled):
            await run
        assert not gate.began.is_set()
        assert told.types == ["runs/snapshot", "run/started", "run/cancel-requested", "run/finished"]


async def test_law_5_the_next_run_of_the_same_actor_works_after_a_cancel(opened):
    async with opened() as session:
        gate = Gate()
        run = session.start(gate, actor="a")
        await gate.began.wait()
        run.cancel()
        await run.wait()
        second = Gate(Done(value="fine"))
        second.open.set()
        assert await session.start(second, actor="a") == "fine"


async def test_law_5_a_worker_thread_that_never_checks_stays_live_until_its_function_returns(opened):
    async with opened() as session:
        go, began = threading.Event(), threading.Event()

        def work():
            began.set()
            go.wait(30)
            return "late"

        run = session.job(work)
        await asyncio.to_thread(began.wait, 30)
        run.cancel()
        live = session.active_runs()[0]
        assert (live.status, live.place, live.checks) == (RunStatus.CANCELLING, "thread", False)
        go.set()
        await run.wait()
        assert (run.row.status, run.result) == (RunStatus.CANCELLED, None)


async def test_a_worker_thread_that_checks_stops_at_its_next_check(opened):
    async with opened() as session:
        began = threading.Event()

        def work(ctx):
            while True:
                began.set()
                ctx.checkpoint()

        run = session.job(work)
        await asyncio.to_thread(began.wait, 30)
        run.cancel()
        await run.wait()
        assert run.row.status is RunStatus.CANCELLED


async def test_after_step_lets_the_step_end_and_stops_at_the_next_checkpoint(opened):
    async with opened() as session:
        began, go, steps = asyncio.Event(), asyncio.Event(), []

        async def work(ctx):
            began.set()
            await go.wait()
            steps.append("whole")
            await ctx.checkpoint()
            steps.append("never")

        run = session.start(Body(work), actor="a")
        await began.wait()
        assert run.cancel(after_step=True)
        go.set()
        await run.wait()
        assert steps == ["whole"]
        assert run.row.status is RunStatus.CANCELLED


async def test_a_plain_cancel_after_a_gentle_one_interrupts(opened):
    async with opened() as session:
        gate = Gate()
        run = session.start(gate, actor="a")
        await gate.began.wait()
        run.cancel(after_step=True)
        run.cancel()
        assert (await run.wait()).row.status is RunStatus.CANCELLED


async def checks(ctx, began):
    while True:
        began.set()
        await ctx.checkpoint()


async def sleeps(ctx, began):
    began.set()
    await asyncio.sleep(3600)


async def waits_in_a_group(ctx, began):
    async with asyncio.timeout(3600), asyncio.TaskGroup() as group:
        group.create_task(asyncio.sleep(3600))
        began.set()


@pytest.mark.parametrize("work", [checks, sleeps, waits_in_a_group])
async def test_an_abort_reaches_the_body_as_aborted_with_its_reason_wherever_it_awaits(opened, work):
    async with opened() as session:
        began, heard = asyncio.Event(), []

        async def listens(ctx):
            try:
                await work(ctx, began)
            except Aborted as aborted:
                heard.append(str(aborted))
                raise

        run = session.start(Body(listens), actor="a")
        await began.wait()
        assert session.abort_run(run, "user pressed esc")
        await run.wait()
        assert (run.row.status, run.row.reason) == (RunStatus.CANCELLED, "aborted")
        assert heard == ["user pressed esc"]


async def test_a_cancel_is_no_abort_and_what_a_body_awaits_may_raise(opened):
    async with opened() as session:
        began, heard = asyncio.Event(), []

        async def work(ctx):
            broken = asyncio.get_running_loop().create_future()
            broken.set_exception(OSError("no such disk"))
            with pytest.raises(OSError, match="no such disk"):
                await asyncio.wait_for(broken, 1)
            began.set()
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError as cancelled:
                heard.append(type(cancelled))
                raise

        run = session.start(Body(work), actor="a")
        await began.wait()
        assert run.cancel()
        await run.wait()
        assert (run.row.status, heard) == (RunStatus.CANCELLED, [asyncio.CancelledError])


async def test_cancelling_a_waiting_run_is_a_move_of_its_own(opened):
    async with opened() as session:
        told = Told()
        session.watch_runs("ui", told)
        gate = Gate(Pause(reason="budget-exhausted"))
        gate.open.set()
        run = await session.start(gate, actor="a").wait()
        assert session.cancel_run(run.id) is True
        await told.until(lambda events: sum(event.type == "run/finished" for event in events) == 2)
        assert session.store.run(run.id).status is RunStatus.CANCELLED


async def test_interrupting_whoever_awaits_a_run_does_not_cancel_it(opened):
    async with opened() as session:
        gate = Gate(Done(value=7))
        run = session.start(gate, actor="a")
        await gate.began.wait()

        async def cell():
            await run

        waiting = asyncio.ensure_future(cell())
        await asyncio.sleep(0)
        waiting.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiting
        gate.open.set()
        assert await run == 7


async def test_a_cancel_from_another_thread_reaches_the_loop(opened):
    async with opened() as session:
        gate = Gate()
        run = session.start(gate, actor="a")
        await gate.began.wait()
        assert await asyncio.to_thread(run.cancel) is True
        assert (await run.wait()).row.status is RunStatus.CANCELLED


async def test_a_cancelled_error_that_nobody_asked_for_fails_the_run(opened):
    async with opened() as session:

        async def work(ctx):
            raise asyncio.CancelledError

        run = await session.start(Body(work), actor="a").wait()
        assert (run.row.status, run.row.error) == (RunStatus.FAILED, "CancelledError")


def test_a_persons_cancel_replaces_a_limits_stop_and_not_the_other_way_round(clock_now):
    token = CancelToken()
    assert token.request(Stop(reason="timeout", at=clock_now)) is True
    assert token.request(Stop(reason="cancel-requested", at=clock_now)) is False
    assert token.stop.reason == "cancel-requested"
    token.request(Stop(reason="timeout", at=clock_now))
    assert token.stop.reason == "cancel-requested"


@pytest.fixture
def clock_now():
    from dvergr_nb.clock import SystemClock

    return SystemClock().now()
