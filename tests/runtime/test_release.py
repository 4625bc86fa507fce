"""What has ended is freed at once: the collector's pauses hold the loop the longer, the more it has to look at."""

from __future__ import annotations

import asyncio
import gc
import weakref

from tests.rigs.session import Body, Gate


async def test_an_ended_run_is_freed_without_the_garbage_collector(opened):
    async with opened() as session:
        gate = Gate()

        async def work(ctx):
            ctx.activity("one")
            print("two")
            await gate.execute(ctx)

        gc.disable()
        try:
            run = session.start(Body(work), actor="a", timeout=60)
            await gate.began.wait()
            [entry] = session._supervisor._live.values()
            freed = asyncio.Event()
            weakref.finalize(entry, freed.set)
            del entry
            gate.open.set()
            await run.wait()
            await asyncio.wait_for(freed.wait(), 10)
        finally:
            gc.enable()


async def test_a_run_that_is_not_admitted_yet_is_shown_as_queued_and_only_once(opened):
    async with opened() as session:
        gate = Gate()
        run = session.start(gate, actor="a")
        assert [(shown.id, shown.status) for shown in session.active_runs()] == [(run.id, "queued")]
        assert session.room_turn_running(session.room)
        await gate.began.wait()
        assert [(shown.id, shown.status) for shown in session.active_runs()] == [(run.id, "running")]
        gate.open.set()
        await run
