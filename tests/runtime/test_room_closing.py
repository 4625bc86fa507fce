"""Closing a room: the fence first, then what works there is stopped and waited for; what outlives that is named."""

from __future__ import annotations

import asyncio
import threading

import pytest

import dvergr_nb as d
from dvergr_nb.errors import BadInput, RoomClosed, RoomNotDrained
from tests.rigs.room import Heard, Held, Stubborn, end_of, said_by
from tests.rigs.session import Body, Gate, Told


async def test_case_32_a_closed_room_admits_nothing_and_stores_nothing(opened):
    """Case 32."""
    async with opened() as session:
        room = session.rooms.open("lab")
        room.join("ann", Heard("yes"))
        await room.close()
        acts = [
            lambda: room.post("hello"),
            lambda: room.turn("ann", "hello"),
            lambda: room.join("bob", Heard()),
            lambda: session.job(_never, room="lab"),
            lambda: session.start(Gate(), actor="a", room="lab"),
        ]
        for act in acts:
            with pytest.raises(RoomClosed):
                act()
        with pytest.raises(RoomClosed):
            await room.ask("ann", "hello")
        assert (room.messages(), session.runs(), session.active_runs(), room.is_closed) == ([], [], [], True)


async def _never():
    raise AssertionError("nobody begins this")


async def test_case_32_another_room_goes_on(opened):
    """Case 32."""
    async with opened() as session:
        lab, den = session.rooms.open("lab"), session.rooms.open("den")
        den.join("ann", Heard("yes"))
        await lab.close()
        assert await den.turn("ann", "hello") == "yes"


async def test_case_33_a_newer_fence_takes_the_right_to_reopen_away(opened):
    """Case 33."""
    async with opened() as session:
        room = session.rooms.open("lab")
        room.join("ann", Heard("yes"))
        old = room.fence()
        new = room.fence()
        assert not room.reopen(old)
        with pytest.raises(RoomClosed):
            room.turn("ann", "hello")
        assert room.reopen(new)
        assert not room.reopen(new)
        assert await room.turn("ann", "hello") == "yes"


async def test_case_33_a_room_that_is_fenced_is_not_reopened_without_its_fence(opened):
    """Case 33."""
    async with opened() as session:
        room = session.rooms.open("lab")
        fence = room.fence()
        assert not room.reopen()
        assert session.rooms.open("lab").is_closed
        assert room.reopen(fence)


async def test_a_fence_names_what_was_admitted_and_lets_it_go_on(opened):
    async with opened() as session:
        room, held = session.rooms.open("lab"), Held()
        room.join("ann", held)
        first, queued = room.turn("ann", "first"), room.turn("ann", "queued")
        await held.until("first")
        fence = room.fence()
        assert set(fence.run_ids) == {first.id, queued.id}
        held.let()
        assert await first == "done first"
        assert said_by(room, "ann") == ["done first"]
        assert room.reopen(fence)
        assert await queued == "done queued"


async def test_case_34_a_turn_whose_admission_is_in_flight_is_waited_for_and_ends_cancelled(opened):
    """Case 34."""
    async with opened() as session:
        room, heard = session.rooms.open("lab"), Heard("yes")
        room.join("ann", heard)
        run = room.turn("ann", "hello")
        assert not run.ready.done()
        assert [each.id for each in await room.close()] == [run.id]
        assert (end_of(run), heard.contents, room.present()) == (("cancelled", "cancel-requested"), [], ())


async def test_case_35_a_room_that_is_closed_is_closed_again_with_nothing(opened):
    """Case 35."""
    async with opened() as session:
        room = session.rooms.open("lab")
        assert [await room.close(), await room.close()] == [(), ()]


async def test_case_36_a_live_run_of_a_child_room_is_cancelled_and_told_of_before_the_room_is_closed(opened):
    """Case 36, with a child room where there are no forks."""
    async with opened() as session:
        session.rooms.open("lab")
        child = session.rooms.open("lab/talk", parent="lab")
        told, held = Told(), Held()
        session.watch_runs("t", told)
        child.join("ann", held)
        run = child.turn("ann", "go")
        await held.until("go")
        (ended,) = await child.close()
        finished = [event for event in told.events if event.type == "run/finished"]
        assert [(event.run.id, event.run.status.value) for event in finished] == [(run.id, "cancelled")]
        assert (ended.id, end_of(run), child.is_closed) == (run.id, ("cancelled", "cancel-requested"), True)
        assert not session.rooms.open("lab").is_closed


async def test_closing_cancels_what_works_and_what_waits_and_ends_everybodys_part(opened):
    async with opened() as session:
        room, held = session.rooms.open("lab"), Held()
        room.join("ann", held)
        room.join("bob", Heard())
        runs = [room.turn("ann", text) for text in ("1", "2", "3")]
        job = session.job(Gate().execute, room="lab")
        await held.until("1")
        ended = await room.close()
        assert {each.id for each in ended} == {*(run.id for run in runs), job.id}
        assert [end_of(run) for run in [*runs, job]] == [("cancelled", "cancel-requested")] * 4
        assert (held.began, room.present()) == (["1"], ())
        assert all(each.left_at is not None for each in room.members())


async def test_what_waits_on_the_very_thread_that_is_worked_on_ends_with_the_closing_too(opened):
    async with opened() as session:
        room, held = session.rooms.open("lab"), Held()
        room.join("ann", held)
        first = room.turn("ann", "first")
        await held.until("first")
        others = [room.turn("ann", text, thread=first) for text in ("second", "third")]
        await room.close()
        assert [end_of(run) for run in (first, *others)] == [("cancelled", "cancel-requested")] * 3
        assert held.began == ["first"]


async def test_case_30_a_worker_that_cannot_be_interrupted_is_named_and_a_second_closing_waits_for_it(opened):
    """Case 30."""
    async with opened() as session:
        room, go_on, working = session.rooms.open("lab"), threading.Event(), threading.Event()

        def plain(message):
            working.set()
            assert go_on.wait(60)
            return "too late"

        room.join("ann", plain)
        run = room.turn("ann", "go", label="the slow one")
        await asyncio.to_thread(working.wait, 60)
        with pytest.raises(RoomNotDrained, match=f"{run.id[-8:]} .the slow one|ann.") as problem:
            await room.close(drain_s=0.05)
        assert problem.value.run_ids == (run.id,)
        assert session.run(run).status.value == "cancelling"
        with pytest.raises(RoomClosed):
            room.turn("ann", "more")
        assert not room.reopen()
        closing = asyncio.create_task(room.close())
        await asyncio.sleep(0)
        assert not closing.done()
        go_on.set()
        assert [each.id for each in await closing] == [run.id]
        assert (end_of(run), said_by(room, "ann"), room.present()) == (("cancelled", "cancel-requested"), [], ())


async def test_a_room_that_has_not_drained_can_be_opened_again_by_nobody_until_it_has(opened):
    async with opened() as session:
        room, stubborn = session.rooms.open("lab"), Stubborn()
        room.join("ann", stubborn)
        run = room.turn("ann", "go")
        await stubborn.began.wait()
        with pytest.raises(RoomNotDrained):
            await room.close(drain_s=0)
        assert session.rooms.open("lab").is_closed
        stubborn.open.set()
        await run.wait()
        await room.close()
        assert not session.rooms.open("lab").is_closed
        room.join("ann", Heard("yes"))
        assert await room.turn("ann", "hello") == "yes"


async def test_a_message_on_its_way_when_the_fence_falls_is_stored_and_answered_by_nobody(opened):
    async with opened() as session:
        room, heard = session.rooms.open("lab"), Heard("yes")
        room.join("ann", heard)
        posting = room.post("hello", to="ann")
        room.fence()
        await posting
        assert (posting.runs, heard.contents) == ((), [])
        assert [(each.actor, each.message.content) for each in room.unanswered()] == [("ann", "hello")]


async def test_a_reply_that_comes_after_the_fence_is_stored_and_wakes_nobody(opened):
    async with opened() as session:
        room, held, bob = session.rooms.open("lab"), Held(), Heard("yes")

        async def ann(message, ctx):
            return d.Reply(content=await held(message, ctx), to="bob")

        room.join("ann", ann)
        room.join("bob", bob)
        run = room.turn("ann", "go")
        await held.until("go")
        room.fence()
        held.let()
        assert await run == "done go"
        assert (said_by(room, "ann"), bob.contents) == (["done go"], [])


async def test_a_run_that_a_turn_spawns_is_drained_with_its_room(opened):
    async with opened() as session:
        room, gate = session.rooms.open("lab"), Gate()

        async def ann(message, ctx):
            ctx.spawn(gate.execute)
            return "started it"

        room.join("ann", ann)
        run = room.turn("ann", "go")
        await gate.began.wait()
        ended = await room.close()
        assert len(ended) == 2
        assert end_of(run) == ("cancelled", "cancel-requested")
        assert said_by(room, "ann") == []


async def test_a_paused_run_is_left_as_it_is_by_a_closing_and_what_waits_for_its_thread_is_let_go(opened):
    async with opened() as session:
        room = session.rooms.open("lab")

        async def ann(message, ctx):
            return d.Pause(reason="approval", envelopes=(d.Envelope(id="q", kind="approval"),))

        room.join("ann", ann)
        run = await room.turn("ann", "may I?").wait()
        waiting = room.turn("ann", "hurry", thread=run)
        await room.post("settled", to="_nobody")
        await room.close(drain_s=10)
        assert end_of(run) == ("waiting", "approval")
        with pytest.raises(d.RunCancelled):
            await waiting
        assert session.active_runs() == []
        assert [each.message.content for each in room.unanswered()] in ([], ["hurry"])


@pytest.mark.parametrize("drain_s", [-1, "5", None, True])
async def test_a_time_to_drain_that_is_none_is_refused(opened, drain_s):
    async with opened() as session:
        room = session.rooms.open("lab")
        with pytest.raises(BadInput, match="drain_s"):
            await room.close(drain_s=drain_s)


async def test_two_closings_at_once_both_wait_for_the_same_runs(opened):
    async with opened() as session:
        room, stubborn = session.rooms.open("lab"), Stubborn()
        room.join("ann", stubborn)
        run = room.turn("ann", "go")
        await stubborn.began.wait()
        closings = [asyncio.create_task(room.close()) for _ in range(2)]
        await asyncio.sleep(0)
        stubborn.open.set()
        for ended in await asyncio.gather(*closings):
            assert [each.id for each in ended] == [run.id]
        assert room.is_closed


async def test_a_room_closed_from_a_turn_of_its_own_cannot_drain_and_names_that_turn(opened):
    async with opened() as session:
        room, problems = session.rooms.open("lab"), []

        async def ann(message, ctx):
            try:
                await room.close(drain_s=0)
            except BaseException as problem:
                problems.append(problem)
                raise

        room.join("ann", ann)
        run = await room.turn("ann", "close it").wait()
        assert end_of(run) == ("cancelled", "cancel-requested")
        assert isinstance(problems[0], RoomNotDrained | asyncio.CancelledError)
        assert [await room.close(), room.is_closed] == [(), True]


async def test_who_waits_for_an_answer_in_a_room_that_is_closed_is_told_that_the_run_was_cancelled(opened):
    async with opened() as session:
        room, held = session.rooms.open("lab"), Held()
        room.join("ann", held)
        asking = asyncio.create_task(room.ask("ann", "well?"))
        await held.until("well?")
        await room.close()
        with pytest.raises(d.RunCancelled):
            await asking


async def test_a_session_job_elsewhere_is_not_touched_by_a_closing(opened):
    async with opened() as session:
        gate = Gate()
        job = session.start(gate, actor="a", room="den")
        await gate.began.wait()
        await session.rooms.open("lab").close()
        assert not job.is_done
        gate.open.set()
        await job
        assert await session.start(Body(_value), actor="b", room="den") == "v"


async def _value(ctx):
    return "v"


async def test_a_room_that_is_reopened_while_it_closes_stays_open_and_can_be_closed_again(opened):
    async with opened() as session:
        room, held = session.rooms.open("lab"), Held()
        room.join("ann", held)
        room.turn("ann", "well?")
        await held.until("well?")
        fence = room.fence()
        closing = asyncio.create_task(room.close())
        await asyncio.sleep(0)
        assert room.reopen(fence)
        await closing
        assert [room.is_closed, [each.actor for each in room.present()]] == [False, ["ann"]]
        room.turn("ann", "again")
        await held.until("again")
        assert len(await room.close()) == 1
        assert [room.is_closed, room.present()] == [True, ()]


async def test_what_waits_when_a_session_is_closed_in_another_thread_has_no_run_and_is_unanswered(opened, tmp_path):
    path = str(tmp_path / "store.duckdb")
    async with opened(path) as session:
        room, held = session.rooms.open("lab"), Held()
        room.join("ann", held)
        room.turn("ann", "first")
        await held.until("first")
        spoken = [room.speak("ann", str(number)) for number in range(20)]
        await asyncio.wrap_future(spoken[-1].durable)
        await asyncio.to_thread(session.close, force=True)
    async with opened(path) as session:
        assert [run.label for run in session.runs()] == ["first"]
        assert [each.message.content for each in session.unanswered()] == [str(number) for number in range(20)]
