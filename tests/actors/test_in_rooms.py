"""Scripted actors in real rooms: what a person and the record see of their turns."""

from __future__ import annotations

import asyncio

import pytest

from dvergr_nb.actors import script
from dvergr_nb.actors.debate import debate, iterative_refinement
from dvergr_nb.actors.echo import echo
from dvergr_nb.actors.scripted import scripted
from dvergr_nb.actors.wrappers import DEFAULT, flaky, own_messages
from dvergr_nb.errors import RunCancelled, RunFailed, RunWaiting
from dvergr_nb.records.attention import Attention
from dvergr_nb.records.message import ACTIVITY
from dvergr_nb.records.query import MessageFilter
from dvergr_nb.runtime.obligation import withhold_reply
from tests.actors.turns import Gate, seen
from tests.rigs.session import Told


def lab(session, handler, **how):
    """A room with one researcher."""
    room = session.rooms.open("lab")
    room.join("researcher", handler, **how)
    return room


def activity(session, run):
    """The activity messages of a Run."""
    return [each for each in session.store.messages(MessageFilter(run=run.id)) if each.to == ACTIVITY]


def replies(room):
    """What the researcher said in the room."""
    return [each.content for each in room.messages() if each.sender == "researcher"]


def steered(room, run, text):
    """A message on the thread of that Run, awaited until it is delivered."""
    return room.post(text, to="researcher", reply_to=run)


def joined(message, joining):
    """Everything the turn knows."""
    return "+".join(each.content for each in (message, *joining))


# Cases 38 to 41 ------------------------------------------------------------------------------------------------------


async def test_a_tool_round_and_an_answer_are_one_run_one_activity_row_and_a_reply_in_the_triggers_thread(opened):
    async with opened() as session:
        room = lab(session, scripted([script.use("search"), "found"], "again"))
        run = room.turn("researcher", "look")
        assert await run == "found"
        (row,) = activity(session, run)
        assert (row.content, row.thread_root_id, row.run_id) == ("search", run.row.trigger, run.id)
        assert all(fact.run_id == run.id for fact in row.facts)
        reply = room.messages()[-1]
        assert (reply.run_id, reply.reply_to, reply.thread_root_id) == (run.id, run.row.trigger, run.row.trigger)
        assert [fact.verb for fact in reply.facts] == ["begin", "end"]
        second = room.turn("researcher", "more")
        assert await second == "again"
        assert (second.id != run.id, activity(session, second)) == (True, [])


async def test_facts_of_tools_are_on_record_without_arguments_and_results(opened):
    async with opened() as session:
        room = lab(session, scripted([script.use("search", result="the secret"), "found"]))
        run = room.turn("researcher", "look")
        await run
        (row,) = activity(session, run)
        assert seen(row.facts)[1:3] == [
            ("tool", "invoke", "search", "call 1", None),
            ("tool", "complete", "search", "call 1", "completed"),
        ]
        assert "secret" not in repr(row)


async def test_three_rounds_are_three_steps_of_one_run_and_the_last_text_is_the_reply(opened):
    async with opened() as session:
        room = lab(session, scripted(["one", script.use("a"), "two", script.use("b"), "three"]))
        run = room.turn("researcher", "go")
        assert await run == "three"
        assert (run.row.steps, replies(room)) == (3, ["three"])


async def test_a_partial_text_before_an_error_is_the_reply(opened):
    async with opened() as session:
        room = lab(session, scripted([script.say("half an answer"), script.fail("overloaded", raises=False)]))
        run = await room.turn("researcher", "go").wait()
        assert (run.row.status, run.row.reason, replies(room)) == ("completed", None, ["half an answer"])


async def test_a_turn_that_adds_nothing_repeats_no_old_reply_and_says_so(opened):
    async with opened() as session:
        room = lab(session, scripted("old"))
        await room.turn("researcher", "go")
        run = await room.turn("researcher", "and now?").wait()
        assert (run.row.status, run.row.reason, replies(room)) == ("completed", None, ["old"])
        assert any("ended without a text" in each.content for each in activity(session, run))


# Cases 43, 47 to 49 --------------------------------------------------------------------------------------------------


async def test_a_message_on_the_same_thread_cuts_the_call_and_one_run_answers_both(opened):
    async with opened() as session:
        gate = Gate()
        room = lab(session, scripted(["half ", gate, joined]))
        run = room.turn("researcher", "first")
        await gate.reached.wait()
        posting = await steered(room, run, "second")
        gate.open.set()
        assert await run == "half first+second"
        assert [each.id for each in posting.runs] == [run.id]
        assert [each.id for each in session.runs(room="lab")] == [run.id]
        assert [each.content for each in activity(session, run)] == ["round 1 cut by a message"]
        assert replies(room) == ["half first+second"]


async def test_an_echo_that_is_steered_before_it_answers_answers_both_in_one_run(opened, monkeypatch):
    async with opened() as session:
        thinking = asyncio.Event()

        async def think(seconds):
            if not thinking.is_set():
                thinking.set()
                await asyncio.Event().wait()

        monkeypatch.setattr("dvergr_nb.actors.scripted._pass", think)
        room = lab(session, echo(500))
        run = room.turn("researcher", "a")
        await thinking.wait()
        await steered(room, run, "b")
        assert await run == "echo: a\necho: b"


async def test_messages_that_steer_one_after_another_are_all_answered_in_their_order(opened):
    async with opened() as session:
        gates = [Gate() for _ in range(4)]
        holding = iter(gates)

        async def hold():
            await next(holding)()

        room = lab(session, scripted([hold, joined]))
        run = room.turn("researcher", "0")
        for number, gate in enumerate(gates[:3], start=1):
            await gate.reached.wait()
            await steered(room, run, str(number))
        gates[3].open.set()
        assert await run == "0+1+2+3"
        assert len(session.runs(room="lab")) == 1


def deciding(**axes):
    """A policy that decides the same about everything."""
    return lambda message, situation: Attention(**axes)


async def test_a_turn_that_is_suspended_waits_and_what_it_was_told_is_seen_next_time(opened):
    async with opened() as session:
        gate = Gate()
        policy = deciding(memory="include", control="suspend")
        room = lab(session, scripted(["half", gate], joined), attention=policy)
        run = room.turn("researcher", "first")
        await gate.reached.wait()
        await steered(room, run, "stop, I think")
        with pytest.raises(RunWaiting, match="attention-suspended"):
            await run
        assert (run.row.status, run.row.reason, replies(room)) == ("waiting", "attention-suspended", [])
        assert await room.turn("researcher", "go on") == "go on+stop, I think"


async def test_what_is_included_without_cutting_is_seen_by_the_very_next_round(opened):
    async with opened() as session:
        gate = Gate()
        room = lab(session, scripted([gate, script.use("look"), joined]), attention=deciding(memory="include"))
        run = room.turn("researcher", "first")
        await gate.reached.wait()
        await steered(room, run, "by the way")
        gate.open.set()
        assert await run == "first+by the way"
        assert [each.content for each in activity(session, run)] == ["look"]


async def test_a_decision_for_a_boundary_that_turns_lack_is_deferred_and_changes_nothing(opened):
    async with opened() as session:
        gate = Gate()
        room = lab(session, scripted([gate, joined]), attention=deciding(control="restart", memory="include", at="token"))
        run = room.turn("researcher", "first")
        await gate.reached.wait()
        posting = await steered(room, run, "second")
        gate.open.set()
        assert await run == "first"
        assert run.row.steps == 1
        assert len(session.runs(room="lab")) == 1
        (fact,) = session.store.attention("lab", posting.message.id)
        assert (fact.status, fact.decision.at) == ("deferred", "token")


async def test_a_cancelled_turn_posts_nothing_and_the_next_message_is_answered(opened):
    async with opened() as session:
        gate = Gate()
        room = lab(session, scripted(["half", gate], "fine"))
        run = room.turn("researcher", "first")
        await gate.reached.wait()
        run.cancel()
        with pytest.raises(RunCancelled):
            await run
        assert await room.turn("researcher", "second") == "fine"
        assert replies(room) == ["fine"]
        assert [each.content for each in activity(session, run)] == ["stopped in round 1; until then: half"]


# Cases 54 to 56 ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("content", ["[SKIP] nothing to add", " \n ", "[no_reply]", script.silence()])
async def test_a_silent_reply_is_not_posted_and_who_asks_waits_in_vain(opened, content):
    async with opened() as session:
        told = Told()
        session.watch_runs("test", told)
        room = lab(session, scripted(content))
        asked = asyncio.create_task(room.ask("researcher", "anything?"))
        over = await told.until_type("run/finished")
        assert (over.run.status, replies(room), asked.done()) == ("completed", [], False)
        asked.cancel()
        await asyncio.wait([asked])


@pytest.mark.parametrize("text", ["real reply", "skipping ahead"])
async def test_a_reply_that_only_looks_silent_is_posted(opened, text):
    async with opened() as session:
        room = lab(session, scripted(text))
        assert await room.ask("researcher", "well?") == text


async def test_a_decorated_reply_is_posted_plain(opened):
    async with opened() as session:
        room = lab(session, scripted("[ann · 09:15] hi"))
        assert await room.turn("researcher", "go") == "hi"
        assert replies(room) == ["hi"]


async def test_an_actor_never_answers_itself(opened):
    async with opened() as session:
        room = lab(session, scripted("hi"))
        posting = await room.post("talking to myself", to="researcher", sender="researcher")
        assert (posting.runs, replies(room)) == ((), ["talking to myself"])


async def test_the_self_filter_alone_withholds_the_answer_to_an_own_message(opened):
    async with opened() as session:
        room = lab(session, scripted("hi"), wrappers=[own_messages])
        run = await room.turn("researcher", "to myself", sender="researcher").wait()
        assert (run.row.status, run.row.reason) == ("completed", "own-message")


def because(reason):
    """A wrapper that withholds every reply."""

    def wrap(handler):
        async def handle(message, ctx):
            return withhold_reply(await handler(message, ctx), reason)

        return handle

    return wrap


def drops(handler):
    """A wrapper that loses every reply."""

    async def handle(message, ctx):
        await handler(message, ctx)

    return handle


@pytest.mark.parametrize(
    ("content", "wrappers", "end"),
    [
        (script.silence(), DEFAULT, ("completed", "silent")),
        ("hi", [because("quota")], ("completed", "quota")),
        ("hi", [drops], ("completed", "withheld")),
        (script.fail("no"), DEFAULT, ("failed", "error")),
        ("hi", [*DEFAULT, flaky(1)], ("failed", "error")),
        (script.suspend(), DEFAULT, ("waiting", "attention-suspended")),
    ],
    ids=["silent", "a word of its own", "lost", "raised", "flaky", "suspended"],
)
async def test_a_turn_without_a_reply_says_why(opened, content, wrappers, end):
    async with opened() as session:
        room = lab(session, scripted(content), wrappers=wrappers)
        run = await room.turn("researcher", "go").wait()
        assert (run.row.status, run.row.reason) == end
        assert replies(room) == []


async def test_an_actor_that_leaves_while_it_works_cancels_its_turn(opened):
    async with opened() as session:
        gate = Gate()
        room = lab(session, scripted([gate]))
        run = room.turn("researcher", "go")
        await gate.reached.wait()
        room.leave("researcher")
        await run.wait()
        assert (run.row.status, run.row.reason) == ("cancelled", "participant-left")


async def test_actors_of_a_room_debate_and_refine(opened):
    async with opened() as session:
        room = session.rooms.open("lab")
        room.join("ann", scripted("tabs", "draft", "better draft"))
        room.join("bob", scripted("spaces", "too short", "fine"))
        said = await debate(room.ask, "ann", "bob", "tabs or spaces?", rounds=1)
        assert str(said) == "ann: tabs\nbob: spaces"
        refined = await iterative_refinement(room.ask, "ann", "bob", "write", lambda review: review == "fine")
        assert (refined.result, refined.iterations, refined.draft) == ("accepted", 1, "better draft")


async def test_a_failing_round_leaves_its_partial_text_on_record_and_its_actor_alive(opened):
    async with opened() as session:
        room = lab(session, scripted([script.say("so far"), script.fail(ValueError("no"))], "fine"))
        run = room.turn("researcher", "go")
        with pytest.raises(RunFailed, match="ValueError: no"):
            await run
        assert "failed in round 1; until then: so far" in [each.content for each in activity(session, run)]
        assert await room.turn("researcher", "again") == "fine"


async def test_what_would_end_the_kernel_ends_the_run_alone(opened):
    async with opened() as session:
        room = lab(session, scripted(script.fail(SystemExit(3)), [script.use("quit", exit)], "fine"))
        for _ in range(2):
            run = await room.turn("researcher", "go").wait()
            assert run.row.status == "failed"
        assert await room.turn("researcher", "again") == "fine"


async def test_a_turn_streams_its_text_to_those_who_watch(opened):
    async with opened() as session:
        told: list[str] = []
        heard = asyncio.Event()

        def tell(event):
            if event.type == "run/partial":
                told.append(event.text)
                heard.set()

        session.watch_runs("test", tell)
        gate = Gate()
        room = lab(session, scripted(["half of it", gate, " and the rest"]))
        run = room.turn("researcher", "go")
        await heard.wait()
        gate.open.set()
        assert await run == "half of it and the rest"
        assert told[0] == "half of it"
