"""Asking: a question has an address of its own, waits for the reply only, and stops the Run where nobody waits any more."""

from __future__ import annotations

import asyncio

import pytest

import dvergr_nb as d
from dvergr_nb.errors import BadInput, NoSuchActor, RunCancelled, RunFailed, RunWaiting
from tests.rigs.room import Heard, Held, end_of, said_by


def lab(session, **handlers):
    """A room with those actors."""
    room = session.rooms.open("lab")
    for actor, handler in handlers.items():
        room.join(actor, handler)
    return room


async def quiet(message, ctx):
    """Says nothing."""


async def failing(message, ctx):
    """Fails."""
    raise ValueError("no")


async def test_a_question_is_answered_at_an_address_of_its_own_that_is_gone_afterwards(opened):
    async with opened() as session:
        room = lab(session, ann=Heard("yes"))
        assert await room.ask("ann", "well?") == "yes"
        question, reply = room.messages()
        assert question.sender.startswith("_ask-")
        assert (reply.to, reply.thread_root_id) == (question.sender, question.id)
        assert room.delivery.askers == {}
        assert [each.actor for each in room.present()] == ["ann"]


async def test_two_questions_at_once_get_their_own_replies(opened):
    async with opened() as session:
        held = Held()
        room = lab(session, ann=held)
        asked = [asyncio.create_task(room.ask("ann", text)) for text in ("one", "two")]
        await held.until("one")
        held.let()
        assert await asyncio.gather(*asked) == ["done one", "done two"]


async def test_case_54_silence_never_answers_and_the_question_ends_at_its_time_limit(opened):
    """Case 54."""
    async with opened() as session:
        room = lab(session, ann=quiet)
        with pytest.raises(TimeoutError, match=r"'ann' gave no reply within 0\.2 s"):
            await room.ask("ann", "well?", timeout=0.2)
        await room.post("settled", to="_nobody")
        (row,) = session.runs(actor="ann")
        assert (row.status.value, row.reason, room.delivery.askers) == ("completed", None, {})


async def test_a_question_past_its_time_limit_cancels_the_run_that_was_to_answer(opened):
    async with opened() as session:
        held = Held()
        room = lab(session, ann=held)
        with pytest.raises(TimeoutError):
            await room.ask("ann", "well?", timeout=0.3)
        await session.drain(10)
        (row,) = session.runs(actor="ann")
        assert (row.status.value, row.reason) == ("cancelled", "structured-cancellation")
        assert said_by(room, "ann") == []
        held.let()
        assert await room.ask("ann", "and now?") == "done and now?"


async def test_a_question_that_waits_for_its_actor_leaves_the_line_at_its_time_limit(opened):
    async with opened() as session:
        held = Held()
        room = lab(session, ann=held)
        busy = room.turn("ann", "busy")
        await held.until("busy")
        with pytest.raises(TimeoutError):
            await room.ask("ann", "well?", timeout=0.2)
        held.let()
        await busy
        await session.drain(10)
        assert held.began == ["busy"]
        assert [(row.status.value, row.reason) for row in session.runs(actor="ann")] == [
            ("cancelled", "structured-cancellation"),
            ("completed", None),
        ]


async def test_who_gives_up_a_question_cancels_its_run(opened):
    async with opened() as session:
        held = Held()
        room = lab(session, ann=held)
        asking = asyncio.create_task(room.ask("ann", "well?"))
        await held.until("well?")
        asking.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asking
        await session.drain(10)
        (row,) = session.runs(actor="ann")
        assert (row.status.value, row.reason, room.delivery.askers) == ("cancelled", "structured-cancellation", {})


async def test_a_question_raises_what_its_run_ends_with(opened):
    async with opened() as session:
        held = Held()

        async def waiting(message, ctx):
            return d.Pause(reason="budget-exhausted")

        room = lab(session, bad=failing, stopped=waiting, held=held)
        with pytest.raises(RunFailed, match="ValueError: no"):
            await room.ask("bad", "well?")
        with pytest.raises(RunWaiting, match="budget-exhausted"):
            await room.ask("stopped", "well?")
        asking = asyncio.create_task(room.ask("held", "well?"))
        await held.until("well?")
        room.cancel()
        with pytest.raises(RunCancelled):
            await asking


async def test_a_question_to_nobody_is_refused_and_leaves_no_address(opened):
    async with opened() as session:
        room = lab(session)
        with pytest.raises(NoSuchActor):
            await room.ask("ann", "well?")
        assert (room.delivery.askers, room.messages()) == ({}, [])


@pytest.mark.parametrize("limit", [0, -1, "1", None, True, float("nan")])
async def test_a_time_limit_that_is_none_is_refused_before_anything_is_said(opened, limit):
    async with opened() as session:
        room = lab(session, ann=Heard("yes"))
        with pytest.raises(BadInput, match="number of seconds above 0"):
            await room.ask("ann", "well?", timeout=limit)
        assert room.messages() == []


async def test_a_question_about_a_thread_is_in_that_thread_and_waits_for_who_works_on_it(opened):
    async with opened() as session:
        held = Held()
        room = lab(session, ann=held)
        run = room.turn("ann", "first")
        await held.until("first")
        asking = asyncio.create_task(room.ask("ann", "second", thread=run))
        held.let()
        assert (await run, await asking) == ("done first", "done second")
        assert len({each.thread_root_id for each in room.messages()}) == 1


async def test_a_reply_that_goes_to_somebody_else_is_no_answer_to_the_question(opened):
    async with opened() as session:

        async def elsewhere(message, ctx):
            return d.Reply(content="not for you", to="bob")

        heard = Heard()
        room = lab(session, ann=elsewhere, bob=heard)
        with pytest.raises(TimeoutError):
            await room.ask("ann", "well?", timeout=0.3)
        assert heard.contents == ["not for you"]


async def test_a_fan_out_gives_all_replies_in_the_order_of_its_actors(opened):
    async with opened() as session:
        held = [Held() for _ in range(3)]
        room = lab(session, a=held[0], b=held[1], c=held[2])
        asked = asyncio.create_task(room.fan_out(["c", "a", "b"], "well?"))
        for each in held:
            await each.until("well?")
        for each in held:
            each.let()
        assert await asked == ["done well?"] * 3
        assert [row.actor for row in reversed(session.runs(room="lab"))] == ["c", "a", "b"]


async def test_where_one_of_a_fan_out_fails_the_others_are_cancelled(opened):
    async with opened() as session:
        held = Held()
        room = lab(session, good=held, bad=failing)
        with pytest.raises(RunFailed):
            await room.fan_out(["good", "bad"], "well?")
        await session.drain(10)
        (row,) = session.runs(actor="good")
        assert (row.status.value, row.reason) == ("cancelled", "structured-cancellation")


async def test_a_race_gives_the_first_reply_and_cancels_the_runs_of_the_others(opened):
    async with opened() as session:
        slow, quick = Held(), Held()
        room = lab(session, slow=slow, quick=quick)
        asked = asyncio.create_task(room.race(["slow", "quick"], "well?"))
        await slow.until("well?")
        await quick.until("well?")
        quick.let()
        assert await asked == "done well?"
        await session.drain(10)
        assert {row.actor: (row.status.value, row.reason) for row in session.runs(room="lab")} == {
            "quick": ("completed", None),
            "slow": ("cancelled", "structured-cancellation"),
        }
        assert said_by(room, "slow") == []


async def test_a_question_inside_of_a_run_is_a_child_where_it_says_so(opened):
    async with opened() as session:
        held = Held()
        room = lab(session, ann=held)

        async def work(ctx):
            return await room.ask("ann", "well?", parent=ctx.run.id)

        run = session.job(work, room="lab")
        await held.until("well?")
        run.cancel()
        await run.wait()
        (row,) = session.runs(actor="ann")
        assert (row.parent, row.status.value, row.reason) == (run.id, "cancelled", "structured-cancellation")
        assert end_of(run) == ("cancelled", "cancel-requested")


async def test_two_actors_that_ask_each_other_on_one_thread_do_not_lock_each_other_up(opened):
    async with opened() as session:
        room = session.rooms.open("lab")

        async def ann(message, ctx):
            return "ann heard " + await room.ask("bob", "what do you think?", parent=ctx.run.id)

        room.join("ann", ann)
        room.join("bob", Heard("nothing"))
        assert await room.ask("ann", "well?") == "ann heard nothing"
