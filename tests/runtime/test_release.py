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


async def test_a_run_on_its_way_is_shown_and_only_once(opened):
    async with opened() as session:
        gate = Gate()
        run = session.start(gate, actor="a")
        [shown] = session.active_runs()
        assert shown.id == run.id
        assert shown.status in ("queued", "running")  # running as soon as the writer has answered
        assert session.room_turn_running(session.room)
        await gate.began.wait()
        assert [(shown.id, shown.status) for shown in session.active_runs()] == [(run.id, "running")]
        gate.open.set()
        await run
