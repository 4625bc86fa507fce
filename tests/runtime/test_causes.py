"""Causes: which Runs' ends a Run has observed. They are no parents, and come on record by themselves where a Run awaits."""

from __future__ import annotations

import asyncio

import pytest

import dvergr_nb as d
from dvergr_nb.errors import BadRun, NoSuchRun, RunFailed
from dvergr_nb.ids import SystemIds
from tests.rigs.session import Body, Gate


async def test_case_17_a_cause_is_noted_once_it_has_ended_and_changes_no_parent(opened):
    """Case 17."""
    async with opened() as session:
        consumer, cause = Gate(), Gate()
        run = session.start(consumer, actor="a")
        await consumer.began.wait()
        child = session.start(cause, actor="b", parent=run)
        await cause.began.wait()
        with pytest.raises(BadRun, match=r"has not (resolved|ended)") as refused:
            session.record_cause(run, child)
        assert (refused.value.code, session.causes(run)) == ("cause-not-resolved", [])
        cause.open.set()
        await child
        assert session.record_cause(run, child) == [child.id]
        assert session.causes(run) == [child.id]
        consumer.open.set()
        await run
        assert session.causes(run) == [child.id]
        assert (child.row.parent, run.row.parent) == (run.id, None)


async def test_case_18_a_cause_that_is_not_on_record_is_refused(opened):
    """Case 18, as far as there are rooms with a store only."""
    async with opened() as session:
        gate = Gate()
        run = session.start(gate, actor="a")
        await gate.began.wait()
        with pytest.raises(NoSuchRun):
            session.record_cause(run, SystemIds(session.clock).run())
        assert session.causes(run) == []
        gate.open.set()
        await run


async def test_a_run_is_not_its_own_cause(opened):
    async with opened() as session:
        gate = Gate()
        run = session.start(gate, actor="a")
        await gate.began.wait()
        with pytest.raises(BadRun) as refused:
            session.record_cause(run, run)
        assert refused.value.code == "invalid-cause"
        gate.open.set()
        await run


async def test_a_run_that_has_ended_observes_nothing_any_more(opened):
    async with opened() as session:
        ended = session.start(Body(_nothing), actor="a")
        cause = session.start(Body(_nothing), actor="b")
        await asyncio.gather(ended, cause)
        with pytest.raises(BadRun) as refused:
            session.record_cause(ended, cause)
        assert (refused.value.code, session.causes(ended)) == ("run-not-active", [])


async def _nothing(ctx):
    return None


async def test_a_waiting_run_has_not_resolved_so_it_is_no_cause(opened):
    async with opened() as session:
        gate = Gate()
        run = session.start(gate, actor="a")
        await gate.began.wait()
        waiting = await session.start(Body(_stopped), actor="b").wait()
        with pytest.raises(BadRun) as refused:
            session.record_cause(run, waiting)
        assert refused.value.code == "cause-not-resolved"
        gate.open.set()
        await run


async def _stopped(ctx):
    return d.Pause(reason="budget-exhausted")


async def test_a_run_that_awaits_another_has_it_as_a_cause_on_record_however_it_ended(opened):
    async with opened() as session:

        async def fails(ctx):
            raise ValueError("no")

        good = session.start(Body(_nothing), actor="b")
        bad = session.start(Body(fails), actor="c")

        async def work(ctx):
            await good
            with pytest.raises(RunFailed):
                await bad
            await good  # looking again is no second cause

        run = session.start(Body(work), actor="a")
        await run
        assert sorted(session.causes(run)) == sorted([good.id, bad.id])
        assert session.causes(good) == session.causes(bad) == []


async def test_a_run_that_joins_others_has_all_of_them_as_causes(opened):
    async with opened() as session:
        gates = [Gate() for _ in range(3)]
        others = [session.start(gate, actor=f"b{number}") for number, gate in enumerate(gates)]

        async def work(ctx):
            await d.join(*others)

        run = session.start(Body(work), actor="a")
        for gate in reversed(gates):
            await gate.began.wait()
            gate.open.set()
        await run
        assert sorted(session.causes(run)) == sorted(other.id for other in others)


async def test_a_race_has_its_winner_as_a_cause_and_no_passive_loser(opened):
    async with opened() as session:
        quick, slow = Gate(), Gate()
        winner, loser = session.start(quick, actor="b"), session.start(slow, actor="c")

        async def work(ctx):
            await d.race(winner, loser)

        run = session.start(Body(work), actor="a")
        await quick.began.wait()
        quick.open.set()
        await run
        assert session.causes(run) == [winner.id]
        slow.open.set()
        await loser
        assert session.causes(run) == [winner.id]


async def test_looking_at_a_run_outside_of_any_run_is_no_cause_of_anything(opened):
    async with opened() as session:
        run = session.start(Body(_nothing), actor="a")
        await run
        assert session.causes(run) == []


async def test_a_cause_of_another_room_counts_where_both_are_in_one_store(opened):
    async with opened() as session:
        other = session.start(Body(_nothing), actor="b", room="elsewhere")

        async def work(ctx):
            await other

        run = session.start(Body(work), actor="a", room="here")
        await run
        assert session.causes(run) == [other.id]


async def test_a_trigger_that_belongs_to_another_run_is_no_cause_and_no_parent(opened):
    async with opened() as session:
        room = session.rooms.open("lab")

        async def first(message, ctx):
            return d.Reply(content="over to you", to="second")

        async def second(message, ctx):
            return None

        room.join("first", first)
        room.join("second", second)
        run = room.turn("first", "go")
        await run
        await session.drain(10)
        (answered,) = session.runs(actor="second")
        assert session.store.message(answered.trigger).run_id == run.id
        assert (answered.parent, session.causes(answered)) == (None, [])
