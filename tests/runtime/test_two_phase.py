"""The two phases of an end: durable first, then published, and only then gone. Nothing can be changed in between."""

from __future__ import annotations

import asyncio
import logging

import pytest

from dvergr_nb.records.operation import End
from dvergr_nb.records.run import RunStatus
from dvergr_nb.runtime import closing
from dvergr_nb.runtime.body import Done
from tests.rigs.room import end_of
from tests.rigs.session import Body, Gate, Told


def publishing(publish, value="v"):
    """A body whose result is published by that function."""

    async def work(ctx):
        return Done(value=value, publish=publish)

    return Body(work)


async def test_case_9_a_run_whose_end_is_durable_lives_until_it_is_published_and_no_cancel_changes_it(opened):
    """Case 9."""
    async with opened() as session:
        told = Told()
        hooks: list[object] = []
        seen: list[object] = []
        session.watch_runs("t", told)

        def publish():
            session.register_cancel_hook(run, "k", lambda: hooks.append("ran"))
            seen.append(
                {
                    "durable": session.store.run(run.id).status,
                    "live": [each.id for each in session.active_runs()] == [run.id],
                    "done": run.is_done,
                    "cancelled": run.cancel(),
                    "shown": session.run(run).status,
                }
            )

        run = session.start(publishing(publish), actor="a")
        assert await run == "v"
        completed = RunStatus.COMPLETED
        assert seen == [{"durable": completed, "live": True, "done": False, "cancelled": True, "shown": completed}]
        assert (hooks, session.active_runs()) == ([], [])
        assert end_of(run) == ("completed", None)
        assert told.types == ["runs/snapshot", "run/started", "run/finished"]
        assert told.events[-1].run.status == completed
        assert not run.cancel()


async def test_a_publication_that_raises_is_tried_again_and_the_run_is_told_of_once_after_it(opened, caplog):
    async with opened() as session:
        told, tries = Told(), []
        session.watch_runs("t", told)

        def publish():
            tries.append(told.types[-1])
            if len(tries) < 3:
                raise OSError("nobody listens")

        run = session.start(publishing(publish), actor="a")
        assert await run == "v"
        assert tries == ["run/started"] * 3
        assert told.types.count("run/finished") == 1
        assert "could not be published" in caplog.text


async def test_between_two_tries_the_run_is_live_cannot_be_cancelled_and_is_not_counted_by_a_room_wide_cancel(opened):
    async with opened() as session:
        tries, hooks = [], []
        tried, again = asyncio.Event(), asyncio.Event()

        def publish():
            tries.append("try")
            tried.set()
            if not again.is_set():
                raise OSError("not yet")

        run = session.start(publishing(publish), actor="a")
        await tried.wait()
        assert (run.is_done, session.store.run(run.id).status) == (False, RunStatus.COMPLETED)
        session.register_cancel_hook(run, "k", lambda: hooks.append("ran"))
        assert (run.cancel(), session.cancel_room_turn(session.room), hooks) == (True, 0, [])
        again.set()
        assert await run == "v"
        assert (end_of(run), hooks) == (("completed", None), [])


async def test_a_run_that_can_never_be_published_is_let_go_in_the_end_and_its_row_stands(opened, caplog, monkeypatch):
    monkeypatch.setattr(closing, "PUBLISH_TRIES", 3)
    async with opened() as session:
        tries = []

        def publish():
            tries.append("try")
            raise OSError("never")

        with caplog.at_level(logging.ERROR):
            run = session.start(publishing(publish), actor="a")
            assert await run == "v"
        assert (len(tries), end_of(run), session.active_runs()) == (3, ("completed", None), [])
        assert "was not published; it is on record" in caplog.text


@pytest.mark.parametrize("escape", [KeyboardInterrupt, SystemExit, asyncio.CancelledError])
async def test_law_12_what_escapes_a_publication_ends_nothing(opened, escape, monkeypatch):
    monkeypatch.setattr(closing, "PUBLISH_TRIES", 2)
    async with opened() as session:

        def publish():
            raise escape("out of here")

        assert await session.start(publishing(publish), actor="a") == "v"


async def test_a_run_that_was_cancelled_publishes_nothing(opened):
    async with opened() as session:
        published, began = [], asyncio.Event()

        async def work(ctx):
            began.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                return Done(value="v", publish=lambda: published.append("v"))

        run = session.start(Body(work), actor="a")
        await began.wait()
        run.cancel()
        await run.wait()
        assert (end_of(run), published) == (("cancelled", "cancel-requested"), [])


async def test_nothing_is_published_of_an_end_that_the_store_has_made_another(opened, monkeypatch):
    async with opened() as session:
        published = []
        gate = Gate(Done(value="v", publish=lambda: published.append("v")))
        run = session.start(gate, actor="a")
        await gate.began.wait()
        session.store.real.submit(_ended_elsewhere(session, run)).result(10)
        gate.open.set()
        await run.wait()
        assert (end_of(run), published) == (("failed", "orphaned"), [])


def _ended_elsewhere(session, run):
    return End(
        run_id=run.id,
        tenant_id=session.tenant_id,
        status=RunStatus.FAILED,
        reason="orphaned",
        at=session.clock.now(),
    )


async def test_a_parent_ends_only_after_its_child_was_published(opened):
    async with opened() as session:
        order, told = [], Told()
        session.watch_runs("t", told)
        published, tried = asyncio.Event(), asyncio.Event()

        def publish():
            tried.set()
            if not published.is_set():
                raise OSError("not yet")
            order.append("published")

        async def work(ctx):
            session.start(publishing(publish), actor="child", parent=ctx.run.id)

        run = session.start(Body(work), actor="parent")
        run.when_over(lambda: order.append("parent over"))
        await tried.wait()
        assert session.store.run(run.id).status is RunStatus.RUNNING
        published.set()
        await run
        assert order == ["published", "parent over"]
