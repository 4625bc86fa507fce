"""Failures that people report of other systems, as they would look here: cancels that do not reach, and answers that mix.

Each test names the thread in which the failure is told.
"""

from __future__ import annotations

import asyncio
import itertools
import random
from typing import Any

import pytest

import dvergr_nb as d
from dvergr_nb.actors import script
from dvergr_nb.actors.scripted import scripted
from dvergr_nb.errors import RunCancelled, Sealed
from dvergr_nb.records.operation import End
from dvergr_nb.records.query import MessageFilter
from tests.actors.turns import Gate as Call
from tests.rigs.room import Heard, Held, Stubborn, activity_of, end_of, said_by
from tests.rigs.session import Gate, Told


def lab(session, **handlers):
    """A room with those actors."""
    room = session.rooms.open("lab")
    for actor, handler in handlers.items():
        room.join(actor, handler)
    return room


def asking(room, other):
    """A handler that has another actor answer."""

    async def handle(message, ctx):
        return f"{other} says: {await room.ask(other, message.content, parent=ctx.run.id)}"

    return handle


def pairs_of(session, run):
    """The tool uses and rounds of a Run that have begun and those that have ended, over all that is on record."""
    facts = [fact for message in session.store.messages(MessageFilter(run=run.id)) for fact in message.facts]
    begun = sorted((fact.kind, fact.tool_use_id) for fact in facts if fact.verb in ("begin", "invoke"))
    ended = sorted((fact.kind, fact.tool_use_id) for fact in facts if fact.verb in ("end", "complete", "fail"))
    return begun, ended


# langchain-ai/langgraph#5682, microsoft/autogen#7100: nested work goes on after a cancel ---------------------------------


async def test_cancelling_a_turn_reaches_the_actors_that_it_asked_and_those_that_they_asked(opened):
    """langgraph#5682: a subgraph goes on after its parent was cancelled."""
    async with opened() as session:
        room, held = session.rooms.open("lab"), Held()
        for actor, other in (("a", "b"), ("b", "c")):
            room.join(actor, asking(room, other))
        room.join("c", held)
        run = room.turn("a", "go")
        await held.until("go")
        run.cancel()
        await run.wait()
        assert session.active_runs() == []
        ends = {row.actor: (row.status.value, row.reason) for row in session.runs(room="lab")}
        assert ends == {
            "a": ("cancelled", "cancel-requested"),
            "b": ("cancelled", "structured-cancellation"),
            "c": ("cancelled", "structured-cancellation"),
        }
        held.let()
        assert said_by(room, "c") == []


async def test_cancelling_a_turn_reaches_an_actor_that_it_asked_without_calling_it_a_child(opened):
    """langgraph#5682, where the nested work has no parent on record."""
    async with opened() as session:
        room, held = session.rooms.open("lab"), Held()

        async def handle(message, ctx):
            return await room.ask("b", "nested")

        room.join("a", handle)
        room.join("b", held)
        run = room.turn("a", "go")
        await held.until("nested")
        run.cancel()
        await session.drain(20)
        (nested,) = session.runs(actor="b")
        assert (nested.status.value, nested.reason) == ("cancelled", "structured-cancellation")
        assert end_of(run) == ("cancelled", "cancel-requested")


async def test_cancelling_a_turn_reaches_the_jobs_that_it_spawned(opened):
    """langgraph#5682, for jobs."""
    async with opened() as session:
        gate = Gate()

        async def handle(message, ctx):
            return await ctx.spawn(gate.execute)

        room = lab(session, a=handle)
        run = room.turn("a", "go")
        await gate.began.wait()
        run.cancel()
        await run.wait()
        assert {row.status.value for row in session.runs(tree=run)} == {"cancelled"}


async def test_a_cancelled_turn_streams_nothing_more(opened):
    """autogen#7100: a cancelled token does not stop the stream."""
    async with opened() as session:
        told, texts = Told(), []
        room = lab(session, a=scripted([script.say("word " * 2_000, pace=0.001)]))
        session.watch_runs("t", told)
        run = room.turn("a", "go")
        await told.until_type("run/partial")
        run.cancel()
        await run.wait()
        finished = next(event.seq for event in told.events if event.type == "run/finished")
        texts = [event for event in told.events if event.type == "run/partial"]
        await room.post("settled", to="_nobody")
        assert end_of(run) == ("cancelled", "cancel-requested")
        assert [event for event in told.events if event.type == "run/partial" and event.seq > finished] == []
        assert len(texts[-1].text) < len("word " * 2_000)


# langchain-ai/langgraph#6726: a cancelled tool leaves a history without its result ----------------------------------------


@pytest.mark.parametrize("shape", ["one", "in a row", "together"])
async def test_every_tool_and_round_that_has_begun_has_ended_on_record_after_a_cancel(opened, shape):
    """langgraph#6726: the history after a cancelled tool is invalid."""
    async with opened() as session:
        gate = Call()
        use = script.use("slow", result=gate)
        steps: dict[str, list[Any]] = {
            "one": [use],
            "in a row": [script.use("quick"), use, script.use("never")],
            "together": [script.together(script.use("quick"), use, script.use("also quick"))],
        }
        room = lab(session, a=scripted([script.use("before"), *steps[shape], "never said"], "fine"))
        run = room.turn("a", "go")
        await gate.reached.wait()
        run.cancel()
        await run.wait()
        begun, ended = pairs_of(session, run)
        assert begun == ended
        assert sum(kind == "tool" for kind, _ in begun) >= 2
        assert await room.turn("a", "next", thread=run) == "fine"


@pytest.mark.parametrize("how", ["steer", "fail", "suspend", "leave", "close"])
async def test_every_tool_and_round_that_has_begun_has_ended_on_record_whatever_ends_the_turn(opened, how):
    """langgraph#6726, for the other ends of a turn."""
    async with opened() as session:
        gate, room = Call(), session.rooms.open("lab")
        last = script.fail(ValueError("no")) if how == "fail" else script.suspend() if how == "suspend" else "said"
        room.join("a", scripted([script.use("look"), gate, last]))
        run = room.turn("a", "go")
        await gate.reached.wait()
        if how == "steer":
            await room.post("more", to="a", reply_to=run)
        if how == "leave":
            room.leave("a")
        if how == "close":
            await room.close()
        gate.open.set()
        await run.wait()
        begun, ended = pairs_of(session, run)
        assert begun == ended
        assert sum(kind == "tool" for kind, _ in begun) == 1


# langchain-ai/langgraph#6950: stray errors in the loop's clean-up ---------------------------------------------------------


async def test_cancelling_many_turns_at_every_stage_leaves_nothing_for_the_loop_to_complain_of(opened):
    """langgraph#6950: CancelledError at random in the loop's clean-up."""
    complaints = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: complaints.append(context))
    async with opened() as session:
        chance, runs = random.Random(7), []
        room = session.rooms.open("lab")
        for number in range(6):
            steps = [script.use("look"), script.wait(0.01), script.say("a few words", pace=0.001)]
            room.join(f"a{number}", scripted(*([steps] * 10)))
        for _ in range(60):
            runs.append(room.turn(f"a{chance.randrange(6)}", "go"))
            if chance.random() < 0.3:
                await room.post("settled", to="_nobody")
            chance.choice(runs).cancel()
        await session.drain(60)
        assert all(run.row.status.is_terminal for run in runs)
        assert {end_of(run) for run in runs} <= {("completed", None), ("cancelled", "cancel-requested")}
        assert [each.working for each in room.present()] == [None] * 6
    assert complaints == []


# openai-agents-python#1895 and #1658, langgraph#5672: what was done is thrown away --------------------------------------


async def test_what_a_turn_had_done_before_it_was_cancelled_stays_on_record(opened):
    """openai-agents-python#1895: a cancel throws away the current turn and its usage."""
    async with opened() as session:
        gate = Call()
        room = lab(session, a=scripted(["first round ", script.use("look"), "second round", gate]))
        run = room.turn("a", "go")
        await gate.reached.wait()
        run.cancel()
        await run.wait()
        assert (end_of(run), run.row.steps) == (("cancelled", "cancel-requested"), 1)
        contents = [each.content for each in activity_of(session, run)]
        assert contents == ["look", "stopped in round 2; until then: second round"]
        assert session.store.message(run.row.trigger).content == "go"


async def test_an_activity_awaited_before_a_cancel_is_there_after_it(opened):
    """langgraph#5672: a cancel loses state that is not yet in a checkpoint."""
    async with opened() as session:
        began = asyncio.Event()

        async def handle(message, ctx):
            for number in range(50):
                ctx.activity(f"step {number}")
            began.set()
            await asyncio.Event().wait()

        room = lab(session, a=handle)
        run = room.turn("a", "go")
        await began.wait()
        run.cancel()
        await run.wait()
        assert [each.content for each in activity_of(session, run)] == [f"step {number}" for number in range(50)]


async def test_a_cancel_while_the_end_is_being_written_gives_the_whole_reply_or_none(opened):
    """openai-agents-python#1658: the write of a session is cancelled at the end of a stream, the history is incomplete."""
    async with opened() as session:
        room = lab(session, a=Heard("all of it"))
        session.store.refused = (End,)
        run = room.turn("a", "go")
        await session.store.until_refused(1)
        assert run.cancel()
        session.store.refused = ()
        await run.wait()
        assert (end_of(run), said_by(room, "a")) == (("completed", None), ["all of it"])


@pytest.mark.parametrize("after", range(6))
async def test_however_late_a_cancel_comes_the_row_and_the_reply_agree(opened, after):
    """openai-agents-python#1658, at each turn of the loop."""
    async with opened() as session:
        room = lab(session, a=Heard("all of it"))
        run = room.turn("a", "go")
        await run.admitted
        for _ in range(after):
            await asyncio.sleep(0)
        run.cancel()
        await run.wait()
        said = said_by(room, "a")
        assert (end_of(run), said) in [(("completed", None), ["all of it"]), (("cancelled", "cancel-requested"), [])]


# openai-agents-python#798: interrupt a run and give it new input -----------------------------------------------------------


async def test_a_run_that_works_is_interrupted_by_what_is_said_to_it_and_answers_that(opened):
    """openai-agents-python#798: there is no handle to interrupt a run and give it new input."""
    async with opened() as session:
        gate = Call()

        def answer(message, joining):
            return f"about {joining[-1].content}, not {message.content}" if joining else f"about {message.content}"

        room = lab(session, a=scripted(["about cats…", gate, answer]))
        run = room.turn("a", "cats")
        await gate.reached.wait()
        same = room.turn("a", "dogs", thread=run)
        gate.open.set()
        assert (same.id, (await run)[-len("about dogs, not cats") :]) == (run.id, "about dogs, not cats")


# microsoft/autogen#8091, temporalio/sdk-python#700: a cancel that looks done while work goes on -------------------------


async def test_a_turn_is_not_over_before_a_nested_tool_that_will_not_stop_is(opened):
    """autogen#8091: a top-level cancel looks done while a nested tool goes on."""
    async with opened() as session:
        stubborn, room = Stubborn(), session.rooms.open("lab")
        room.join("a", asking(room, "b"))
        room.join("b", stubborn)
        run = room.turn("a", "go")
        await stubborn.began.wait()
        run.cancel()
        statuses = {each.actor: each.status.value for each in session.active_runs()}
        assert statuses == {"a": "cancelling", "b": "cancelling"}
        assert session.store.run(run.id).status.value == "running"
        assert not run.is_done
        stubborn.open.set()
        await run.wait()
        assert (end_of(run), session.active_runs(), said_by(room, "b")) == (("cancelled", "cancel-requested"), [], [])


async def test_after_a_cancel_one_can_wait_until_the_work_has_really_stopped(opened):
    """Temporal sdk-python#700: no clean way to cancel an activity and wait until it has stopped."""
    async with opened() as session:
        cleaned, gate = [], Call()

        async def handle(message, ctx):
            try:
                await gate()
            finally:
                await asyncio.sleep(0)
                cleaned.append("cleaned up")

        room = lab(session, a=handle)
        run = room.turn("a", "go")
        await gate.reached.wait()
        run.cancel()
        await run.wait()
        assert (cleaned, end_of(run)) == (["cleaned up"], ("cancelled", "cancel-requested"))


# PrefectHQ/prefect#17482: new tasks after Cancelled ----------------------------------------------------------------------


async def test_a_run_that_was_cancelled_starts_nothing_new_by_whatever_way(opened):
    """prefect#17482: a flow goes on and starts new tasks after it was cancelled."""
    async with opened() as session:
        room, refused = session.rooms.open("lab"), []
        began = asyncio.Event()

        async def handle(message, ctx):
            ways = [
                lambda: ctx.spawn(_never),
                lambda: d.spawn(_never),
                lambda: session.job(_never, parent=ctx.run.id),
                lambda: room.turn("b", "go", parent=ctx.run.id),
            ]
            began.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                for way in ways:
                    try:
                        way()
                    except Sealed:
                        refused.append("sealed")

        room.join("a", handle)
        room.join("b", Heard("never"))
        run = room.turn("a", "go")
        await began.wait()
        run.cancel()
        await run.wait()
        await session.drain(10)
        assert (refused, end_of(run)) == (["sealed"] * 4, ("cancelled", "cancel-requested"))
        assert [row.id for row in session.runs(room="lab")] == [run.id]


async def _never():
    raise AssertionError("nobody begins this")


# PrefectHQ/prefect#4490: stuck in Cancelling ------------------------------------------------------------------------------


async def test_a_turn_that_is_being_cancelled_holds_up_nobody_else_and_is_cancelled_in_the_end(opened):
    """prefect#4490: stuck in Cancelling."""
    async with opened() as session:
        stubborn = Stubborn()
        room = lab(session, a=stubborn, b=Heard("fine"))
        run = room.turn("a", "go")
        await stubborn.began.wait()
        waiting = room.turn("a", "next")
        run.cancel()
        assert await room.turn("b", "meanwhile") == "fine"
        assert run.row.status.value == "cancelling"
        stubborn.open.set()
        await run.wait()
        assert end_of(run) == ("cancelled", "cancel-requested")
        assert await waiting == "done at last"


async def test_cancelling_again_and_again_is_one_request(opened):
    """prefect#4490."""
    async with opened() as session:
        told, held = Told(), Held()
        session.watch_runs("t", told)
        room = lab(session, a=held)
        run = room.turn("a", "go")
        await held.until("go")
        assert [run.cancel() for _ in range(5)] == [True] * 5
        await run.wait()
        assert told.types.count("run/cancel-requested") == 1
        assert told.types.count("run/finished") == 1
        assert not run.cancel()


# aegra#253, deer-flow#1465, langgraph-redis#79: two runs on one thread -----------------------------------------------------


@pytest.mark.parametrize("seed", range(4))
async def test_answers_to_many_messages_on_few_threads_are_never_mixed_up(opened, seed):
    """aegra#253: two runs on one thread mix their answers."""
    async with opened() as session:
        chance, room = random.Random(seed), session.rooms.open("lab")

        def handler(name):
            async def handle(message, ctx):
                for _ in range(chance.randrange(4)):
                    await asyncio.sleep(0)
                return f"{name} to {message.content}"

            return handle

        actors = ["a", "b", "c"]
        for actor in actors:
            room.join(actor, handler(actor))
        roots = [(await room.post(f"root {number}", to="_nobody")).message for number in range(3)]
        runs = {}
        for number in range(40):
            actor, root = chance.choice(actors), chance.choice(roots)
            runs[room.turn(actor, str(number), thread=root)] = (actor, str(number), root.id)
        for run, (actor, content, root) in runs.items():
            assert await run == f"{actor} to {content}"
            (reply,) = [each for each in session.store.messages(MessageFilter(run=run.id)) if each.to == "user"]
            assert (reply.content, reply.reply_to, reply.thread_root_id) == (f"{actor} to {content}", run.row.trigger, root)
        assert len({run.row.trigger for run in runs}) == 40
        for root in roots:
            for actor in actors:
                own = [run.row for run, (name, _, its) in runs.items() if (name, its) == (actor, root.id)]
                assert all(one.ended_at <= two.started_at for one, two in itertools.pairwise(own))


async def test_two_turns_at_once_on_one_thread_are_one_run_at_a_time(opened):
    """langgraph-redis#79: two runs of one thread at once."""
    async with opened() as session:
        at_work, most, room = [], [], session.rooms.open("lab")

        async def handle(message, ctx):
            at_work.append(message.content)
            most.append(len(at_work))
            await asyncio.sleep(0)
            at_work.remove(message.content)
            return message.content

        room.join("a", handle)
        root = (await room.post("root", to="_nobody")).message

        def two(start):
            return [room.turn("a", f"{start}.{number}", thread=root) for number in range(10)]

        both = await asyncio.gather(asyncio.to_thread(two, 1), asyncio.to_thread(two, 2))
        for run in [*both[0], *both[1]]:
            assert await run == session.store.message(run.row.trigger).content
        assert most == [1] * 20


async def test_two_people_that_resume_one_approval_at_once_run_its_tool_once(opened):
    """deer-flow#1465: two resumes of one approval both execute."""
    async with opened() as session:
        used = []

        async def asks(message, ctx):
            return d.Pause(reason="approval", envelopes=(d.Envelope(id="q", kind="approval"),))

        async def tool(ctx):
            used.append(ctx.run.id)
            return d.Done(value="used")

        class Tool:
            place = "loop"
            execute = staticmethod(tool)

        room = lab(session, a=asks)
        paused = await room.turn("a", "may I?").wait()
        claims = await asyncio.gather(*(asyncio.to_thread(session.go_on, paused, Tool()) for _ in range(5)))
        outcomes = await asyncio.gather(*claims, return_exceptions=True)
        assert sorted(type(each).__name__ for each in outcomes) == ["MoveRefused"] * 4 + ["str"]
        assert used == [paused.id]


async def test_a_late_reply_of_a_cancelled_turn_never_answers_the_next_one(opened):
    """aegra#253, where the first run was cancelled."""
    async with opened() as session:
        stubborn = Stubborn()
        room = lab(session, a=stubborn)
        asked = asyncio.create_task(room.ask("a", "one"))
        await stubborn.began.wait()
        asked.cancel()
        with pytest.raises(asyncio.CancelledError):
            await asked
        room.join("a", Heard("answer to two"))
        second = asyncio.create_task(room.ask("a", "two"))
        stubborn.open.set()
        assert await second == "answer to two"
        assert said_by(room, "a") == ["answer to two"]


async def test_who_awaits_a_cancelled_turn_is_told_so_and_not_given_another_ones_value(opened):
    """autogen#4029 and aegra#253."""
    async with opened() as session:
        held = Held()
        room = lab(session, a=held)
        first, second = room.turn("a", "one"), room.turn("a", "two")
        await held.until("one")
        first.cancel()
        held.let()
        with pytest.raises(RunCancelled) as problem:
            await first
        assert (problem.value.run_id, await second) == (first.id, "done two")
