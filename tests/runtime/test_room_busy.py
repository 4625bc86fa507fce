"""Law 4 and being busy: one Run per trigger and actor, one open Run per thread and actor, and what becomes of the rest."""

from __future__ import annotations

import asyncio
import itertools

import pytest

import dvergr_nb as d
from dvergr_nb.actors.scripted import scripted
from dvergr_nb.errors import BadInput, MoveRefused, RoomDiffers, RunCancelled, ThreadBusy
from tests.actors.turns import Gate as Call
from tests.rigs.room import Heard, Held, end_of, said_by
from tests.rigs.session import Gate, Told


def lab(session, **handlers):
    """A room with those actors."""
    room = session.rooms.open("lab")
    for actor, handler in handlers.items():
        room.join(actor, handler)
    return room


# on_busy -------------------------------------------------------------------------------------------------------------


async def test_a_turn_steers_a_handler_that_takes_messages_and_is_given_the_open_run(opened):
    async with opened() as session:
        gate = Call()
        room = lab(
            session, ann=scripted(["half ", gate, lambda message, joined: "+".join(m.content for m in (message, *joined))])
        )
        first = room.speak("ann", "first")
        await gate.reached.wait()
        second = room.speak("ann", "second", thread=first.handle)
        assert (first.how, second.how, second.handle.id) == ("started", "joined", first.handle.id)
        gate.open.set()
        assert await second.handle == "half first+second"
        assert len(session.runs(room="lab")) == 1


async def test_told_to_queue_a_message_of_the_same_thread_has_a_run_of_its_own_afterwards(opened):
    async with opened() as session:
        gate = Call()
        room = lab(session, ann=scripted([gate, "one"], "two"))
        first = room.turn("ann", "first")
        await gate.reached.wait()
        second = room.speak("ann", "second", thread=first, on_busy="queue")
        assert (second.how, second.handle.id == first.id) == ("queued", False)
        gate.open.set()
        assert [await first, await second.handle] == ["one", "two"]


@pytest.mark.parametrize("same_thread", [True, False])
async def test_told_to_refuse_a_turn_that_could_not_begin_at_once_raises_and_stores_nothing(opened, same_thread):
    async with opened() as session:
        held = Held()
        room = lab(session, ann=held)
        first = room.turn("ann", "first")
        await held.until("first")
        with pytest.raises(ThreadBusy) as busy:
            room.turn("ann", "second", thread=first if same_thread else None, on_busy="refuse")
        assert busy.value.run_id == first.id
        assert said_by(room, "user") == ["first"]
        held.let()
        await first
        assert await room.turn("ann", "third", on_busy="refuse") == "done third"


async def test_told_to_refuse_a_turn_on_the_thread_of_a_paused_run_is_refused(opened):
    async with opened() as session:
        room = lab(session, ann=pausing)
        paused = await room.turn("ann", "may I?").wait()
        with pytest.raises(ThreadBusy) as busy:
            await room.turn("ann", "hurry", thread=paused, on_busy="refuse")
        assert busy.value.run_id == paused.id
        assert session.active_runs() == []


@pytest.mark.parametrize("word", ["wait", "", 0, 1])
async def test_a_word_that_says_nothing_about_being_busy_is_refused(opened, word):
    async with opened() as session:
        room = lab(session, ann=Heard())
        with pytest.raises(BadInput, match="on_busy is one of steer, queue, refuse"):
            room.turn("ann", "hello", on_busy=word)
        assert room.messages() == []


async def test_other_threads_queue_in_order_and_are_shown_as_queued(opened):
    async with opened() as session:
        told, held = Told(), Held()
        session.watch_runs("t", told)
        room = lab(session, ann=held)
        first = room.turn("ann", "a")
        await held.until("a")
        others = [room.speak("ann", text) for text in ("b", "c", "d")]
        assert [each.how for each in others] == ["queued"] * 3
        assert [each.handle.row.status.value for each in others] == ["queued"] * 3
        held.let()
        for each in others:
            await each.handle
        assert held.began == ["a", "b", "c", "d"]
        own = [each.handle.id for each in others]
        assert [event.run.id for event in told.events if event.type == "run/queued"] == own
        assert [event.run.id for event in told.events if event.type == "run/started"] == [first.id, *own]


async def test_a_queued_message_is_on_record_while_its_run_has_no_row(opened):
    async with opened() as session:
        held = Held()
        room = lab(session, ann=held)
        room.turn("ann", "a")
        await held.until("a")
        queued = room.speak("ann", "b")
        await room.post("settled", to="_nobody")
        assert session.store.run(queued.handle.id) is None
        assert session.store.message(queued.message.id).content == "b"
        held.let()
        await queued.handle


async def test_a_queued_run_that_is_cancelled_while_another_works_has_a_durable_row_at_once(opened):
    async with opened() as session:
        held = Held()
        room = lab(session, ann=held)
        first = room.turn("ann", "a")
        await held.until("a")
        second, third = room.turn("ann", "b"), room.turn("ann", "c")
        assert second.cancel()
        await second.wait()
        row = session.store.run(second.id)
        assert (row.status.value, row.reason, first.is_done) == ("cancelled", "cancel-requested", False)
        held.let()
        assert [await first, await third] == ["done a", "done c"]
        assert held.began == ["a", "c"]


async def test_a_queued_run_of_the_very_thread_that_is_worked_on_is_cancelled_on_record_when_that_is_over(opened):
    async with opened() as session:
        held = Held()
        room = lab(session, ann=held)
        first = room.turn("ann", "a")
        await held.until("a")
        second, third = room.turn("ann", "b", thread=first), room.turn("ann", "c")
        assert second.cancel()
        held.let()
        assert [await first, await third] == ["done a", "done c"]
        await second.wait()
        assert (end_of(second), held.began) == (("cancelled", "cancel-requested"), ["a", "c"])


async def test_case_26_after_a_cancelled_turn_the_next_message_is_answered_and_both_rows_exist(opened):
    """Case 26."""
    async with opened() as session:
        held = Held()
        room = lab(session, ann=held)
        first = room.turn("ann", "a")
        await held.until("a")
        first.cancel()
        await first.wait()
        held.let()
        second = room.turn("ann", "b", thread=first)
        assert await second == "done b"
        assert [row.status.value for row in reversed(session.runs(room="lab"))] == ["cancelled", "completed"]


async def test_cancelling_a_turn_lets_what_waits_behind_it_begin(opened):
    async with opened() as session:
        held = Held()
        room = lab(session, ann=held)
        first, second = room.turn("ann", "a"), room.turn("ann", "b")
        await held.until("a")
        first.cancel()
        await held.until("b")
        held.let()
        assert await second == "done b"


# Law 4 ---------------------------------------------------------------------------------------------------------------


async def test_law_4_two_actors_work_on_one_thread_at_once_but_one_of_them_once_at_a_time(opened):
    async with opened() as session:
        ann, bob = Held(), Held()
        room = lab(session, ann=ann, bob=bob)
        first = room.turn("ann", "a")
        await ann.until("a")
        other = room.turn("bob", "b", thread=first)
        await bob.until("b")
        third = room.turn("ann", "c", thread=first)
        assert third.row.status.value == "queued"
        ann.let()
        bob.let()
        assert [await first, await other, await third] == ["done a", "done b", "done c"]


async def test_law_4_in_a_room_of_exclusive_threads_one_actor_waits_for_another(opened):
    async with opened() as session:
        room = session.rooms.open("lab", exclusive_threads=True)
        ann, bob = Held(), Held()
        room.join("ann", ann)
        room.join("bob", bob)
        first = room.turn("ann", "a")
        await ann.until("a")
        second, elsewhere = room.turn("bob", "b", thread=first), room.turn("bob", "elsewhere")
        await bob.until("elsewhere")
        assert second.row.status.value == "queued"
        bob.let()
        assert await elsewhere == "done elsewhere"
        assert bob.began == ["elsewhere"]
        ann.let()
        assert [await first, await second] == ["done a", "done b"]


async def test_law_4_in_a_room_of_exclusive_threads_those_who_wait_follow_each_other_in_order(opened):
    async with opened() as session:
        room = session.rooms.open("lab", exclusive_threads=True)
        handlers = {name: Held() for name in ("a", "b", "c")}
        for name, handler in handlers.items():
            room.join(name, handler)
        first = room.turn("a", "1")
        await handlers["a"].until("1")
        waiting = [room.turn(name, "2", thread=first) for name in ("b", "c")]
        await room.post("settled", to="_nobody")
        for handler in handlers.values():
            handler.let()
        assert [await run for run in (first, *waiting)] == ["done 1", "done 2", "done 2"]
        rows = sorted(session.runs(room="lab"), key=lambda row: row.started_at)
        assert all(one.ended_at <= two.started_at for one, two in itertools.pairwise(rows))


async def test_law_4_in_a_room_of_exclusive_threads_nobodys_next_message_overtakes_what_another_actor_was_told_before(opened):
    async with opened() as session:
        room = session.rooms.open("lab", exclusive_threads=True)
        ann, bob = Held(), Held()
        room.join("ann", ann)
        room.join("bob", bob)
        first = room.turn("ann", "1")
        await ann.until("1")
        others = [room.turn(actor, text, thread=first) for actor, text in (("bob", "2"), ("ann", "3"), ("bob", "4"))]
        await room.post("settled", to="_nobody")
        ann.let()
        bob.let()
        await session.drain(20)
        rows = sorted((run.row for run in (first, *others)), key=lambda row: row.started_at)
        assert [session.store.message(row.trigger).content for row in rows] == ["1", "2", "3", "4"]


async def test_law_4_a_broadcast_in_a_room_of_exclusive_threads_is_answered_by_all_one_after_another(opened):
    async with opened() as session:
        room, at_work, most = session.rooms.open("lab", exclusive_threads=True), set(), []

        def handler(name):
            async def handle(message, ctx):
                at_work.add(name)
                most.append(len(at_work))
                await asyncio.sleep(0)
                at_work.discard(name)

            return handle

        for number in range(6):
            room.join(f"a{number}", handler(f"a{number}"))
        posting = await room.post("all of you", to="*")
        await session.drain(30)
        assert most == [1] * 6
        assert {run.row.status.value for run in posting.runs} == {"completed"}


async def test_law_4_who_waits_in_a_room_of_exclusive_threads_can_be_cancelled_and_leave(opened):
    async with opened() as session:
        room = session.rooms.open("lab", exclusive_threads=True)
        handlers = {name: Held() for name in ("ann", "bob", "cid")}
        for name, handler in handlers.items():
            room.join(name, handler)
        first = room.turn("ann", "1")
        await handlers["ann"].until("1")
        second, third = room.turn("bob", "2", thread=first), room.turn("cid", "3", thread=first)
        await room.post("settled", to="_nobody")
        second.cancel()
        room.leave("cid")
        handlers["ann"].let()
        await first
        await second.wait()
        await third.wait()
        assert (end_of(second), end_of(third)) == (("cancelled", "cancel-requested"), ("cancelled", "participant-left"))
        assert (handlers["bob"].began, handlers["cid"].began) == ([], [])


async def test_the_rule_for_threads_is_fixed_when_the_room_is_made(opened):
    async with opened() as session:
        session.rooms.open("lab", exclusive_threads=True)
        with pytest.raises(RoomDiffers):
            session.rooms.open("lab", exclusive_threads=False)
        assert session.rooms.open("lab").row.exclusive_threads


async def test_law_4_start_refuses_where_the_actor_has_an_open_run_on_that_thread(opened):
    async with opened() as session:
        held = Held()
        room = lab(session, ann=held)
        first = room.turn("ann", "a")
        await held.until("a")
        busy = session.start(Gate(), actor="ann", room="lab", text="again", reply_to=first.row.trigger)
        with pytest.raises(ThreadBusy) as problem:
            await busy.admitted
        assert problem.value.run_id == first.id
        held.let()
        await first


async def test_law_4_one_message_causes_one_run_of_an_actor_also_where_it_is_answered_again(opened):
    async with opened() as session:
        heard = Heard("yes")
        room = lab(session, ann=heard)
        run = room.turn("ann", "hello")
        await run
        again = session.start(Gate(), actor="ann", room="lab", trigger=run.row.trigger)
        with pytest.raises(d.DvergrError):
            await again.admitted
        assert len(session.runs(room="lab")) == 1


# A paused Run's thread -----------------------------------------------------------------------------------------------


async def pausing(message, ctx):
    """Asks a person, unless it is told something else."""
    if message.content == "may I?":
        return d.Pause(reason="approval", envelopes=(d.Envelope(id="q", kind="approval", body={"tool": "rm"}),))
    return f"done {message.content}"


async def test_a_message_to_the_thread_of_a_paused_run_waits_for_the_decision_and_others_do_not(opened):
    async with opened() as session:
        room = lab(session, ann=pausing)
        paused = await room.turn("ann", "may I?").wait()
        waiting = room.turn("ann", "hurry", thread=paused)
        assert await room.turn("ann", "elsewhere") == "done elsewhere"
        assert waiting.row.status.value == "queued"
        assert [each.queued for each in room.present()] == [(waiting.id,)]
        gate = Gate(d.Done(value="decided"))
        gate.open.set()
        gone_on = session.go_on(paused, gate)
        assert await gone_on == "decided"
        assert gone_on.id == paused.id
        assert await waiting == "done hurry"
        assert list(session.store.envelopes(paused.id)) == []


async def test_while_the_decided_run_works_the_message_still_waits(opened):
    async with opened() as session:
        room = lab(session, ann=pausing)
        paused = await room.turn("ann", "may I?").wait()
        waiting = room.turn("ann", "hurry", thread=paused)
        gate = Gate()
        gone_on = session.go_on(paused, gate)
        await gate.began.wait()
        assert waiting.row.status.value == "queued"
        gate.open.set()
        await gone_on
        assert await waiting == "done hurry"


async def test_a_post_to_the_thread_of_a_paused_run_waits_too(opened):
    async with opened() as session:
        room = lab(session, ann=pausing)
        paused = await room.turn("ann", "may I?").wait()
        posting = await room.post("hurry", to="ann", reply_to=paused)
        (waiting,) = posting.runs
        assert not waiting.is_done
        assert paused.cancel()
        assert await waiting == "done hurry"
        assert end_of(paused) == ("cancelled", "cancel-requested")


async def test_messages_to_the_thread_of_a_paused_run_are_answered_in_their_order_afterwards(opened):
    async with opened() as session:
        room = lab(session, ann=pausing)
        paused = await room.turn("ann", "may I?").wait()
        waiting = [room.turn("ann", str(number), thread=paused) for number in range(4)]
        await room.post("settled", to="_nobody")
        paused.cancel()
        assert [await run for run in waiting] == [f"done {number}" for number in range(4)]
        rows = [run.row for run in waiting]
        assert [row.id for row in sorted(rows, key=lambda row: row.started_at)] == [row.id for row in rows]


async def test_what_waits_for_a_decision_can_be_cancelled_and_then_has_no_run(opened):
    async with opened() as session:
        told = Told()
        session.watch_runs("t", told)
        room = lab(session, ann=pausing)
        paused = await room.turn("ann", "may I?").wait()
        waiting = room.turn("ann", "hurry", thread=paused)
        await room.post("settled", to="_nobody")
        assert waiting.cancel()
        with pytest.raises(RunCancelled, match="cancel-requested"):
            await waiting
        assert session.store.run(waiting.id) is None
        assert [event.run.id for event in told.events if event.type == "run/withdrawn"] == [waiting.id]
        assert await room.turn("ann", "elsewhere") == "done elsewhere"
        assert room.present()[0].queued == ()


async def test_a_stopped_run_holds_nothing_so_the_next_message_of_its_thread_is_answered_at_once(opened):
    async with opened() as session:

        async def stopping(message, ctx):
            return d.Pause(reason="budget-exhausted") if message.content == "spend" else "fine"

        room = lab(session, ann=stopping)
        stopped = await room.turn("ann", "spend").wait()
        assert end_of(stopped) == ("waiting", "budget-exhausted")
        assert await room.turn("ann", "more", thread=stopped) == "fine"


async def test_law_8_a_paused_turn_goes_on_once(opened):
    async with opened() as session:
        room = lab(session, ann=pausing)
        paused = await room.turn("ann", "may I?").wait()
        gates = [Gate(), Gate()]
        for gate in gates:
            gate.open.set()
        claims = [session.go_on(paused, gate) for gate in gates]
        await claims[0]
        with pytest.raises(MoveRefused):
            await claims[1]
        assert [gate.began.is_set() for gate in gates] == [True, False]
