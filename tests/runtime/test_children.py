"""Structured children: a Run ends after what it contains, and what it is asked reaches all of it."""

from __future__ import annotations

import asyncio

import pytest

import dvergr_nb as d
from dvergr_nb.errors import BadInput, RunCancelled, RunFailed, Sealed
from dvergr_nb.records.operation import Admit
from tests.rigs.room import Held, Stubborn, end_of
from tests.rigs.session import Body, Gate, Told


def spawning(*gates):
    """A body that spawns a child per gate and lets go of the handles."""

    async def work(ctx):
        for gate in gates:
            ctx.spawn(gate.execute)
        return "parent's value"

    return Body(work)


async def test_case_76_a_parent_ends_after_its_children_also_where_their_handles_are_dropped(opened):
    """Case 76, without money."""
    async with opened() as session:
        told, gate = Told(), Gate()
        session.watch_runs("t", told)
        run = session.start(spawning(gate), actor="a")
        await gate.began.wait()
        assert session.store.run(run.id).status.value == "running"
        assert not run.is_done
        gate.open.set()
        assert await run == "parent's value"
        ended = [event.run.id for event in told.events if event.type == "run/finished"]
        (child,) = session.runs(actor="dvergr")
        assert ended == [child.id, run.id]
        assert child.parent == run.id
        assert child.ended_at <= run.row.ended_at


async def test_a_parent_waits_for_grandchildren_whose_own_parent_has_returned(opened):
    async with opened() as session:
        gate = Gate()

        async def child(ctx):
            ctx.spawn(gate.execute, label="grandchild")

        async def work(ctx):
            ctx.spawn(child, label="child")

        run = session.start(Body(work), actor="a")
        await gate.began.wait()
        assert not run.is_done
        gate.open.set()
        await run
        tree = {row.name: row for row in session.runs(tree=run)}
        assert tree["grandchild"].parent == tree["child"].id
        assert [row.status.value for row in tree.values()] == ["completed"] * 3


async def test_case_77_cancelling_a_parent_reaches_children_and_grandchildren_and_it_ends_last(opened):
    """Case 77, without money."""
    async with opened() as session:
        told, gate = Told(), Gate()
        session.watch_runs("t", told)

        async def child(ctx):
            ctx.spawn(gate.execute, label="grandchild")
            await asyncio.Event().wait()

        async def work(ctx):
            ctx.spawn(child, label="child")
            await asyncio.Event().wait()

        run = session.start(Body(work), actor="parent")
        await gate.began.wait()
        assert run.cancel()
        await run.wait()
        ended = [
            (event.run.name, event.run.status.value, event.run.reason) for event in told.events if event.type == "run/finished"
        ]
        assert ended == [
            ("grandchild", "cancelled", "structured-cancellation"),
            ("child", "cancelled", "structured-cancellation"),
            ("parent", "cancelled", "cancel-requested"),
        ]
        assert session.active_runs() == []


async def test_case_77_a_cancel_reaches_a_child_whose_admission_is_in_flight(opened):
    """Case 77, without money."""
    async with opened() as session:
        began = []

        async def work(ctx):
            async def child():
                began.append("child")

            handle = ctx.spawn(child, label="child")
            session.cancel_run(ctx.run.id)  # the loop has not come round, so the child is on its way
            assert not handle.ready.done()
            await asyncio.Event().wait()

        run = await session.start(Body(work), actor="a").wait()
        (child,) = [row for row in session.runs(tree=run) if row.id != run.id]
        assert (child.status.value, child.reason) == ("cancelled", "structured-cancellation")
        assert (began, end_of(run)) == ([], ("cancelled", "cancel-requested"))


async def test_a_child_that_will_not_stop_keeps_its_cancelled_parent_live(opened):
    async with opened() as session:
        stubborn = Stubborn()

        async def work(ctx):
            ctx.spawn(stubborn.hold)
            await asyncio.Event().wait()

        run = session.start(Body(work), actor="a")
        await stubborn.began.wait()
        run.cancel()
        assert session.run(run).status.value == "cancelling"
        assert session.store.run(run.id).status.value == "running"
        stubborn.open.set()
        await run.wait()
        assert end_of(run) == ("cancelled", "cancel-requested")


async def test_a_run_takes_no_child_once_its_body_is_over(opened):
    async with opened() as session:
        gate = Gate()
        run = session.start(spawning(gate), actor="a")
        await gate.began.wait()
        with pytest.raises(Sealed, match="supervisor-sealed"):
            session.job(_never, parent=run)
        gate.open.set()
        await run
        assert len(session.runs(tree=run)) == 2


async def _never():
    raise AssertionError("nobody begins this")


async def test_a_stray_task_of_a_body_spawns_nothing_after_it(opened):
    async with opened() as session:
        gate, refused = Gate(), asyncio.get_running_loop().create_future()

        async def stray(ctx):
            await gate.began.wait()
            try:
                ctx.spawn(_never)
            except Sealed as problem:
                refused.set_result(problem)

        strays: list[asyncio.Task[None]] = []

        async def work(ctx):
            ctx.spawn(gate.execute)
            strays.append(asyncio.create_task(stray(ctx)))

        run = session.start(Body(work), actor="a")
        assert (await refused).run_id == run.id
        gate.open.set()
        await run


async def test_a_run_that_was_asked_to_stop_takes_no_child(opened):
    async with opened() as session:
        problems = []

        async def work(ctx):
            session.cancel_run(ctx.run.id)
            try:
                ctx.spawn(_never)
            except Sealed as problem:
                problems.append(problem)
                raise

        run = await session.start(Body(work), actor="a").wait()
        assert ([problem.run_id for problem in problems], end_of(run)) == ([run.id], ("cancelled", "cancel-requested"))


async def test_a_run_whose_admission_was_refused_contains_nothing(opened):
    async with opened() as session:
        session.store.refused = (Admit,)
        parent = session.start(Gate(), actor="a")
        child = session.job(_never, parent=parent)
        with pytest.raises(d.StoreError):
            await parent
        with pytest.raises(d.StoreError):
            await child
        assert (session.active_runs(), session.runs()) == ([], [])


async def test_a_parent_that_fails_stops_its_children_and_stays_failed(opened):
    async with opened() as session:
        gate = Gate()

        async def work(ctx):
            ctx.spawn(gate.execute, label="child")
            await gate.began.wait()
            raise ValueError("no")

        run = session.start(Body(work), actor="parent")
        with pytest.raises(RunFailed, match="ValueError: no"):
            await run
        (child,) = [row for row in session.runs(tree=run) if row.name == "child"]
        assert (child.status.value, child.reason) == ("cancelled", "structured-cancellation")
        assert end_of(run) == ("failed", "error")


async def test_a_parent_past_its_time_limit_stops_its_children(opened):
    async with opened() as session:
        gate = Gate()

        async def work(ctx):
            ctx.spawn(gate.execute, label="child")
            await asyncio.Event().wait()

        run = await session.start(Body(work), actor="a", timeout=0.2).wait()
        (child,) = [row for row in session.runs(tree=run) if row.name == "child"]
        assert (child.status.value, child.reason) == ("cancelled", "structured-cancellation")
        assert end_of(run) == ("failed", "timeout")


async def test_a_child_that_fails_changes_nothing_about_its_parent(opened):
    async with opened() as session:

        async def fails(ctx):
            raise ValueError("child's own")

        async def work(ctx):
            ctx.spawn(fails)
            return "fine"

        assert await session.start(Body(work), actor="a") == "fine"


async def test_a_child_stopped_on_its_own_leaves_its_parent_and_siblings_alone(opened):
    async with opened() as session:
        one, two = Gate(), Gate()
        run = session.start(spawning(one, two), actor="a")
        await one.began.wait()
        await two.began.wait()
        first, second = sorted((row for row in session.runs(tree=run) if row.id != run.id), key=lambda row: row.id)
        session.cancel_run(first.id)
        two.open.set()
        one.open.set()
        await run
        rows = {row.id: (row.status.value, row.reason) for row in session.runs(tree=run)}
        assert rows[first.id] == ("cancelled", "cancel-requested")
        assert (rows[second.id], rows[run.id]) == (("completed", None), ("completed", None))


async def test_a_job_with_a_parent_that_was_started_from_outside_is_its_child_too(opened):
    async with opened() as session:
        gate, child = Gate(), Gate()
        run = session.start(gate, actor="a")
        await gate.began.wait()
        handle = session.job(child.execute, parent=run)
        await child.began.wait()
        gate.open.set()
        assert not run.is_done
        run.cancel()
        await run.wait()
        assert end_of(handle) == ("cancelled", "structured-cancellation")
        assert handle.row.parent == run.id


async def test_the_module_function_spawns_from_a_worker_thread_too(opened):
    async with opened() as session:

        def plain():
            d.spawn(sum, [1, 2], label="child")

        run = session.job(plain)
        await run
        assert {row.name for row in session.runs(tree=run) if row.parent == run.id} == {"child"}


def test_spawning_belongs_into_a_body():
    with pytest.raises(BadInput, match=r"spawn\(\) belongs into the body of a Run"):
        d.spawn(sum, [1])


async def test_a_turn_is_a_child_of_the_run_it_names_also_while_it_waits_for_its_actor(opened):
    async with opened() as session:
        room, held, gate = session.rooms.open("lab"), Held(), Gate()
        room.join("busy", held)
        own = room.turn("busy", "mine")
        await held.until("mine")
        run = session.start(gate, actor="a", room="lab")
        await gate.began.wait()
        queued = room.turn("busy", "for a", parent=run.id)
        run.cancel()
        await run.wait()
        assert (end_of(queued), queued.row.parent) == (("cancelled", "structured-cancellation"), run.id)
        assert (end_of(run), held.began) == (("cancelled", "cancel-requested"), ["mine"])
        held.let()
        assert await own == "done mine"


# Together ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("_time", range(10))
async def test_case_66_the_owned_loser_of_a_race_is_cancelled(opened, _time):
    """Case 66."""
    async with opened() as session:
        quick, slow = Gate(), Gate()

        async def work(ctx):
            winner = ctx.spawn(quick.execute, label="winner")
            loser = ctx.spawn(slow.execute, label="loser")
            await slow.began.wait()
            quick.open.set()
            await d.race(loser, winner)

        run = session.start(Body(work), actor="a")
        await run
        rows = {row.name: (row.status.value, row.reason) for row in session.runs(tree=run)}
        assert rows["winner"] == ("completed", None)
        assert rows["loser"] == ("cancelled", "structured-cancellation")
        assert end_of(run) == ("completed", None)


async def test_case_66_a_loser_that_the_racing_run_does_not_own_goes_on(opened):
    """Case 66."""
    async with opened() as session:
        quick, slow = Gate(), Gate()
        winner, loser = session.start(quick, actor="b"), session.start(slow, actor="c")
        await slow.began.wait()

        async def work(ctx):
            await d.race(loser, winner)

        run = session.start(Body(work), actor="a")
        quick.open.set()
        await run
        assert not loser.is_done
        slow.open.set()
        await loser
        assert end_of(loser) == ("completed", None)


async def test_a_race_outside_of_any_run_cancels_none_of_them(opened):
    async with opened() as session:
        quick, slow = Gate(), Gate()
        winner, loser = session.start(quick, actor="b"), session.start(slow, actor="c")
        await slow.began.wait()
        quick.open.set()
        await d.race(winner, loser)
        assert not loser.is_done
        slow.open.set()
        await loser


async def test_a_race_that_is_called_off_cancels_what_it_owns(opened):
    async with opened() as session:
        gates = [Gate(), Gate()]
        racing = asyncio.Event()

        async def work(ctx):
            children = [ctx.spawn(gate.execute) for gate in gates]
            for gate in gates:
                await gate.began.wait()
            try:
                async with asyncio.timeout(None) as limit:
                    asyncio.get_running_loop().call_soon(limit.reschedule, asyncio.get_running_loop().time())
                    await d.race(*children)
            except TimeoutError:
                racing.set()
                return [await child.wait() for child in children] and "called off"

        run = session.start(Body(work), actor="a")
        assert await run == "called off"
        children = [row for row in session.runs(tree=run) if row.id != run.id]
        assert [(row.status.value, row.reason) for row in children] == [("cancelled", "structured-cancellation")] * 2


async def test_a_race_gives_what_the_first_one_raises(opened):
    async with opened() as session:
        slow = Gate()

        async def fails(ctx):
            raise ValueError("first")

        loser, winner = session.start(slow, actor="b"), session.start(Body(fails), actor="c")
        with pytest.raises(RunFailed, match="first"):
            await d.race(loser, winner)
        slow.open.set()
        await loser


async def test_a_race_of_nobody_is_refused():
    with pytest.raises(BadInput, match="somebody"):
        await d.race()


async def test_case_66_joined_runs_give_their_values_in_order(opened):
    """Case 66."""
    async with opened() as session:
        gates = [Gate(d.Done(value=number)) for number in range(3)]
        runs = [session.start(gate, actor=f"a{number}") for number, gate in enumerate(gates)]
        joined = asyncio.create_task(d.join(*runs))
        for gate in reversed(gates):
            await gate.began.wait()
            gate.open.set()
        assert await joined == [0, 1, 2]
        assert await d.join() == []


async def test_a_join_waits_for_all_before_it_raises_what_one_of_them_did(opened):
    async with opened() as session:
        gate = Gate(d.Done(value="late"))

        async def fails(ctx):
            raise ValueError("no")

        bad, good = session.start(Body(fails), actor="b"), session.start(gate, actor="a")
        joined = asyncio.create_task(d.join(bad, good))
        await bad.wait()
        assert not joined.done()
        gate.open.set()
        with pytest.raises(RunFailed, match="ValueError: no"):
            await joined
        assert good.is_done


async def test_a_join_that_is_called_off_cancels_no_run(opened):
    async with opened() as session:
        gate = Gate(d.Done(value="v"))
        run = session.start(gate, actor="a")
        await gate.began.wait()
        joined = asyncio.create_task(d.join(run))
        await asyncio.sleep(0)
        joined.cancel()
        with pytest.raises(asyncio.CancelledError):
            await joined
        gate.open.set()
        assert await run == "v"


async def test_a_child_that_is_awaited_and_cancelled_raises_in_its_parent_which_may_go_on(opened):
    async with opened() as session:
        gate = Gate()

        async def work(ctx):
            child = ctx.spawn(gate.execute)
            await gate.began.wait()
            child.cancel()
            try:
                await child
            except RunCancelled as problem:
                return problem.reason

        assert await session.start(Body(work), actor="a") == "cancel-requested"


async def test_a_parent_that_is_cancelled_before_it_begins_ends_after_its_children(opened):
    async with opened() as session:
        told, stubborn = Told(), Stubborn()
        session.watch_runs("t", told)
        parent = session.start(Gate(), actor="a", label="parent")

        async def child():
            return await stubborn.hold()

        inner = session.job(child, parent=parent, label="child")
        parent.cancel()
        await inner.admitted
        stubborn.open.set()
        await parent.wait()
        await inner.wait()
        ended = [event.run.label for event in told.events if event.type == "run/finished"]
        assert (ended, end_of(parent)) == (["child", "parent"], ("cancelled", "cancel-requested"))
