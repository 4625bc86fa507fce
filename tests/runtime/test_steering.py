"""Steering: what becomes of messages that come while a turn works, and of a turn that is stopped between its rounds."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from dvergr_nb.actors import script
from dvergr_nb.actors.scripted import scripted
from dvergr_nb.errors import RunCancelled
from dvergr_nb.records.attention import Attention
from dvergr_nb.records.operation import Post
from tests.actors.turns import Gate
from tests.rigs.room import activity_of, end_of, said_by
from tests.rigs.session import Told


def lab(session, handler, **how):
    """A room with one researcher."""
    room = session.rooms.open("lab")
    room.join("researcher", handler, **how)
    return room


def joined(message, joining):
    """All that the turn knows."""
    return "+".join(each.content for each in (message, *joining))


async def test_case_44_other_threads_are_answered_in_the_order_in_which_they_came_also_what_comes_at_hand_back(opened):
    """Case 44."""
    async with opened() as session:
        gate = Gate()
        room = lab(session, scripted([gate, "A"], "B", "C", "D"))
        first = room.turn("researcher", "a")
        await gate.reached.wait()
        waiting = [room.turn("researcher", text) for text in ("b", "c")]
        later = []
        first.when_over(lambda: later.append(room.turn("researcher", "d")))
        gate.open.set()
        assert [await run for run in (first, *waiting)] == ["A", "B", "C"]
        assert await later[0] == "D"
        assert said_by(room, "researcher") == ["A", "B", "C", "D"]
        assert len({run.id for run in (first, *waiting, *later)}) == 4


async def test_case_45_a_policy_that_queues_what_peers_say_leaves_the_call_alone_and_answers_later(opened):
    """Case 45."""
    async with opened() as session:
        gate = Gate()

        def policy(message, situation):
            return "queue" if message.sender == "peer" else "steer"

        room = lab(session, scripted(["one ", gate, joined], joined), attention=policy)
        first = room.turn("researcher", "mine")
        await gate.reached.wait()
        posting = await room.post("chatter", to="researcher", sender="peer", reply_to=first)
        gate.open.set()
        assert await first == "one mine"
        (later,) = posting.runs
        assert await later == "chatter"
        assert (later.id != first.id, first.row.steps) == (True, 1)


async def test_case_46_a_decision_to_cancel_ends_the_turn_without_a_reply_and_the_next_message_is_answered(opened):
    """Case 46."""
    async with opened() as session:
        gate = Gate()
        room = lab(session, scripted(["half", gate], "fine"), attention=lambda message, situation: Attention(control="cancel"))
        run = room.turn("researcher", "first")
        await gate.reached.wait()
        posting = await room.post("stop it", to="researcher", reply_to=run)
        with pytest.raises(RunCancelled, match="cancel-requested"):
            await run
        assert (posting.runs, said_by(room, "researcher")) == ((), [])
        assert await room.turn("researcher", "second") == "fine"


async def test_case_50_a_turn_that_is_cancelled_in_its_call_makes_no_second_call_and_no_reply(opened):
    """Case 50, by a cancel of the Run where there are no directives."""
    async with opened() as session:
        gate, calls = Gate(), []

        def call(message, joining):
            calls.append(message.content)
            return "never said"

        room = lab(session, scripted([gate, script.use("look"), call], "fine"))
        run = room.turn("researcher", "first")
        await gate.reached.wait()
        run.cancel()
        await run.wait()
        assert (calls, end_of(run), said_by(room, "researcher")) == ([], ("cancelled", "cancel-requested"), [])
        assert await room.turn("researcher", "second") == "fine"


async def test_case_31_a_turn_that_is_cancelled_between_its_rounds_begins_no_further_one(opened):
    """Case 31."""
    async with opened() as session:
        began = []

        def look(message, joining):
            began.append("second round")
            return "never said"

        async def stop():
            session.cancel_run(run)
            return "looked"

        room = lab(session, scripted([script.use("look", result=stop), look]))
        run = room.turn("researcher", "go")
        await run.wait()
        assert (began, end_of(run), said_by(room, "researcher")) == ([], ("cancelled", "cancel-requested"), [])


async def test_case_31_asked_to_stop_after_its_step_a_turn_ends_before_its_next_round(opened):
    """Case 31."""
    async with opened() as session:
        gate, began = Gate(), []

        def look(message, joining):
            began.append("second round")
            return "never said"

        room = lab(session, scripted([script.use("look", result=gate), look]))
        run = room.turn("researcher", "go")
        await gate.reached.wait()
        run.cancel(after_step=True)
        gate.open.set()
        await run.wait()
        assert (began, end_of(run)) == ([], ("cancelled", "cancel-requested"))
        assert [fact.status for message in activity_of(session, run) for fact in message.facts if fact.verb == "complete"] == [
            "completed"
        ]


async def test_a_message_that_comes_while_a_tool_works_cuts_nothing_and_is_seen_by_the_next_round(opened):
    async with opened() as session:
        gate = Gate()
        room = lab(session, scripted([script.use("look", result=gate), joined]))
        run = room.turn("researcher", "first")
        await gate.reached.wait()
        again = room.turn("researcher", "second", thread=run)
        await room.post("settled", to="_nobody")
        assert not run.is_done
        gate.open.set()
        assert await again == "first+second"
        assert again.id == run.id


async def test_a_burst_of_steers_is_answered_by_one_run_in_order_and_nothing_is_lost(opened):
    async with opened() as session:
        gate = Gate()
        room = lab(session, scripted([gate, joined]))
        run = room.turn("researcher", "0")
        await gate.reached.wait()
        spoken = [room.speak("researcher", str(number), thread=run) for number in range(1, 20)]
        assert {each.how for each in spoken} == {"joined"}
        gate.open.set()
        assert await run == "+".join(str(number) for number in range(20))
        assert len(session.runs(room="lab")) == 1


async def test_a_steer_that_is_being_stored_when_the_call_answers_keeps_the_turn_open_for_it(opened):
    async with opened() as session:
        gate = Gate()

        async def answer(message, joining):
            if joining:
                return joined(message, joining)
            room.speak("researcher", "second", thread=run)  # it cannot be stored before this very call is over
            return "too early"

        room = lab(session, scripted([gate, answer]))
        run = room.turn("researcher", "first")
        await gate.reached.wait()
        gate.open.set()
        assert await run == "first+second"
        assert said_by(room, "researcher") == ["first+second"]


async def test_a_message_after_the_turn_has_ended_has_a_run_of_its_own_in_the_same_thread(opened):
    async with opened() as session:
        room = lab(session, scripted("one", "two"))
        first = room.turn("researcher", "a")
        await first
        second = room.speak("researcher", "b", thread=first)
        assert (second.how, second.handle.id == first.id) == ("started", False)
        assert await second.handle == "two"
        assert len({each.thread_root_id for each in room.messages()}) == 1


async def test_a_steer_by_the_person_and_one_by_a_peer_are_both_known_to_the_answer(opened):
    async with opened() as session:
        gate = Gate()
        names: list[str] = []

        def answer(message, joining):
            names.extend(each.sender for each in joining)
            return "known"

        room = lab(session, scripted([gate, answer]))
        run = room.turn("researcher", "first")
        await gate.reached.wait()
        room.turn("researcher", "second", thread=run)
        await room.post("third", to="researcher", sender="peer", reply_to=run)
        gate.open.set()
        await run
        assert names == ["user", "peer"]


async def test_a_handler_that_takes_no_messages_is_not_disturbed_and_answers_each_in_turn(opened):
    async with opened() as session:
        gate = Gate()

        async def handle(message, ctx):
            assert ctx.inbox is None
            if message.content == "first":
                await gate()
            return f"done {message.content}"

        room = lab(session, handle)
        first = room.turn("researcher", "first")
        await gate.reached.wait()
        second = room.turn("researcher", "second", thread=first)
        gate.open.set()
        assert [await first, await second] == ["done first", "done second"]
        assert first.id != second.id


async def test_a_turn_that_is_cancelled_with_a_message_joined_that_no_round_has_seen_answers_it_afterwards(opened):
    async with opened() as session:
        gate = Gate()
        room = lab(session, scripted([script.use("look", result=gate)], joined))
        run = room.turn("researcher", "first")
        await gate.reached.wait()
        room.turn("researcher", "second", thread=run)
        await room.post("settled", to="_nobody")
        run.cancel()
        await run.wait()
        await session.drain(20)
        later = [row for row in session.runs(room="lab") if row.id != run.id]
        assert [row.status.value for row in later] == ["completed"]
        assert said_by(room, "researcher") == ["second"]


async def test_those_who_watch_see_one_run_start_and_finish_however_often_it_was_steered(opened):
    async with opened() as session:
        told, gate = Told(), Gate()
        session.watch_runs("t", told)
        room = lab(session, scripted([gate, joined]))
        run = room.turn("researcher", "a")
        await gate.reached.wait()
        for text in ("b", "c"):
            await room.post(text, to="researcher", reply_to=run)
        gate.open.set()
        await run
        kinds = [event.type for event in told.events if event.type in ("run/started", "run/queued", "run/finished")]
        assert kinds == ["run/started", "run/finished"]


async def test_a_steer_that_the_store_refuses_leaves_the_turn_as_it_was(opened):
    async with opened() as session:
        gate = Gate()
        room = lab(session, scripted([gate, joined]))
        run = room.turn("researcher", "first")
        await gate.reached.wait()
        session.store.refused = (Post,)
        spoken = room.speak("researcher", "lost", thread=run)
        session.store.refused = ()
        assert spoken.how == "joined"
        gate.open.set()
        assert await run == "first"
        assert said_by(room, "user") == ["first"]


async def test_five_hundred_steers_from_threads_of_the_process_are_all_answered(opened):
    async with opened() as session:
        gate = Gate()
        seen: list[Any] = []

        def answer(message, joining):
            seen[:] = [each.content for each in joining]
            return "done"

        room = lab(session, scripted([gate, answer]))
        run = room.turn("researcher", "first")
        await gate.reached.wait()

        def burst(start):
            for number in range(start, start + 100):
                room.turn("researcher", str(number), thread=run)

        await asyncio.gather(*(asyncio.to_thread(burst, start) for start in range(0, 500, 100)))
        gate.open.set()
        await run
        await session.drain(30)
        assert sorted(map(int, seen)) == list(range(500))
        for start in range(0, 500, 100):
            own = [number for number in map(int, seen) if start <= number < start + 100]
            assert own == sorted(own)
