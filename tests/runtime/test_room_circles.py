"""What would wait for itself is refused, and what a room is told is meant for whom it says."""

from __future__ import annotations

import asyncio

import pytest

from dvergr_nb.actors.scripted import scripted
from dvergr_nb.errors import Refused
from dvergr_nb.records.attention import Attention


async def test_an_actor_is_not_asked_something_that_its_own_work_would_wait_for(opened):
    async with opened() as session:
        room = session.rooms.open("lab")

        async def asks_itself(message, ctx):
            return await room.ask("loop", "and then?")

        async def spawns_itself(message, ctx):
            room.turn("child", "and then?", parent=ctx.run.id)
            return "done"

        room.join("loop", asks_itself)
        room.join("child", spawns_itself)
        for actor in ("loop", "child"):
            run = await room.turn(actor, "go").wait()
            assert (run.row.status, run.row.reason) == ("failed", "error")
            assert "would wait for this message" in str(run.row.error)


async def test_two_actors_that_ask_each_other_in_a_circle_are_told_so(opened):
    async with opened() as session:
        room = session.rooms.open("lab")

        async def ann(message, ctx):
            return await room.turn("bob", "yours?", parent=ctx.run.id)

        async def bob(message, ctx):
            with pytest.raises(Refused, match="would wait"):
                room.turn("ann", "no, yours?", parent=ctx.run.id)
            return "mine"

        room.join("ann", ann)
        room.join("bob", bob)
        assert await room.turn("ann", "whose?") == "mine"


async def test_only_the_actor_that_was_asked_answers_a_question(opened):
    async with opened() as session:
        room = session.rooms.open("lab")
        gate = asyncio.Event()

        async def slow(message):
            await room.post("mine!", to=message.sender, sender="impostor")
            gate.set()
            return "the real one"

        room.join("slow", slow)
        assert await room.ask("slow", "who?") == "the real one"
        assert gate.is_set()


async def test_a_turn_joins_only_where_the_attention_of_the_actor_agrees_and_on_busy_overrides_it(opened):
    async with opened() as session:
        room = session.rooms.open("lab")
        gate, began = asyncio.Event(), asyncio.Event()

        async def held(message, joined):
            began.set()
            await gate.wait()
            return " + ".join(each.content for each in (message, *joined))

        room.join("calm", scripted(held, held, held), attention=lambda message, situation: "queue")
        first = room.turn("calm", "first")
        await began.wait()
        waits = room.speak("calm", "second", thread=first)
        joins = room.speak("calm", "third", thread=first, on_busy="steer")
        assert (waits.how, joins.how) == ("queued", "queued")  # it never overtakes what waits on its thread
        gate.set()
        assert [await first, await waits.handle, await joins.handle] == ["first", "second", "third"]


async def test_a_policy_that_integrates_lets_a_turn_join_without_cutting_it(opened):
    async with opened() as session:
        room = session.rooms.open("lab")
        gate, began = asyncio.Event(), asyncio.Event()
        rounds = []

        async def held(message, joined):
            rounds.append(len(joined))
            began.set()
            await gate.wait()
            return " + ".join(each.content for each in (message, *joined))

        room.join("calm", scripted(held), attention=lambda m, s: Attention(memory="include", control="integrate"))
        first = room.turn("calm", "first")
        await began.wait()
        assert room.speak("calm", "second", thread=first).how == "joined"
        gate.set()
        assert await first == "first + second"
        assert rounds == [0, 1]


async def test_a_key_is_one_actors_own_and_gives_the_first_reply_again(opened):
    async with opened() as session:
        room = session.rooms.open("lab")
        room.join("ann", scripted("from ann", "again"))
        room.join("bob", scripted("from bob"))
        assert await room.turn("ann", "hello", key="k") == "from ann"
        assert await room.turn("bob", "hello", key="k") == "from bob"
        again = room.turn("ann", "hello", key="k")
        assert await again == "from ann"
        assert len(session.runs(room="lab")) == 2


async def test_a_turn_within_a_run_is_that_runs_child_also_where_it_could_have_joined(opened):
    async with opened() as session:
        room = session.rooms.open("lab")
        gate, began = asyncio.Event(), asyncio.Event()

        async def held(message, joined):
            began.set()
            await gate.wait()
            return message.content

        room.join("calm", scripted(held, "second"))
        first = room.turn("calm", "first")
        await began.wait()

        async def parent(ctx):
            child = room.turn("calm", "second", thread=first, parent=ctx.run.id)
            gate.set()
            await child
            return child.id

        run = session.job(parent, room="lab")
        child = await run
        assert child != first.id
        assert session.run(child).parent == run.id
