"""Whatever is done to a room and when: every Run ends, nobody is stuck, and nothing waits for ever."""

from __future__ import annotations

import asyncio
import random

import pytest

import dvergr_nb as d
from dvergr_nb.actors import script
from dvergr_nb.actors.scripted import scripted
from dvergr_nb.errors import DvergrError
from tests.rigs.room import Heard, Held, end_of, said_by
from tests.rigs.session import Told

ENDS = {
    ("completed", None),
    ("cancelled", "cancel-requested"),
    ("cancelled", "participant-left"),
    ("waiting", "approval"),
}


def handler(name, chance):
    """Answers after a few turns of the loop; asks a person now and then."""

    async def handle(message, ctx):
        for _ in range(chance.randrange(6)):
            await asyncio.sleep(0)
        if "pause" in message.content:
            return d.Pause(reason="approval", envelopes=(d.Envelope(id="q", kind="approval"),))
        return f"{name}: {message.content}"

    return handle


class Schedule:
    """Four actors in one room, and what happens to them: the same for the same seed."""

    ACTS = ("turn", "turn", "queue", "post", "everyone", "cancel", "leave", "rest", "rest")

    def __init__(self, session, seed):
        self.chance = random.Random(seed)
        self.room = session.rooms.open("lab", exclusive_threads=seed % 2 == 0)
        self.actors = [f"a{number}" for number in range(4)]
        self.runs, self.postings, self.roots = [], [], []
        for actor in self.actors:
            self.join(actor)

    def join(self, actor):
        """With a script, or with a function that takes no messages while it works."""
        steps = [script.use("look"), script.say("done")]
        made = scripted(*([steps] * 60)) if self.chance.random() < 0.4 else handler(actor, self.chance)
        self.room.join(actor, made)

    async def played(self, acts=80):
        """Does so many things, and waits for what was posted."""
        self.roots = [(await self.room.post(f"root {number}", to="_nobody")).message for number in range(3)]
        for number in range(acts):
            await getattr(self, self.chance.choice(self.ACTS))(str(number))
        for posting in self.postings:
            await posting
            self.runs += posting.runs

    def _place(self):
        return self.chance.choice(self.actors), self.chance.choice([*self.roots, None])

    async def turn(self, content, on_busy="steer"):
        actor, thread = self._place()
        self.runs.append(self.room.turn(actor, content, thread=thread, on_busy=on_busy))

    async def queue(self, content):
        await self.turn(content, "queue")

    async def post(self, content):
        actor, thread = self._place()
        self.postings.append(self.room.post(content, to=actor, reply_to=thread))

    async def everyone(self, content):
        self.postings.append(self.room.post(content, to="*", reply_to=self._place()[1]))

    async def cancel(self, _content):
        if self.runs:
            self.chance.choice(self.runs).cancel()

    async def leave(self, _content):
        if self.chance.random() < 0.4:
            actor = self.chance.choice(self.actors)
            self.room.leave(actor)
            self.join(actor)

    async def rest(self, _content):
        for _ in range(self.chance.randrange(8)):
            await asyncio.sleep(0)


@pytest.mark.parametrize("seed", range(12))
async def test_every_run_ends_whatever_is_cancelled_and_whoever_leaves(opened, seed):
    async with opened() as session:
        at = Schedule(session, seed)
        async with asyncio.timeout(40):
            await at.played()
            await session.drain(40)
        assert {end_of(run) for run in at.runs} <= ENDS
        assert session.active_runs() == []
        assert [(each.working, each.queued) for each in at.room.present()] == [(None, ())] * 4
        for actor in at.actors:
            assert at.room.speak(actor, "and now?").how == "started"
        await session.drain(20)


@pytest.mark.parametrize("seed", range(8))
async def test_a_room_can_always_be_closed_and_opened_again(opened, seed):
    async with opened() as session:
        chance = random.Random(seed)
        room = session.rooms.open("lab", exclusive_threads=seed % 2 == 0)
        for name in ("a", "b", "c"):
            room.join(name, handler(name, chance))
        roots = [(await room.post("root", to="_nobody")).message for _ in range(2)]
        runs = []
        for number in range(30):
            content = f"pause {number}" if chance.random() < 0.15 else str(number)
            runs.append(room.turn(chance.choice("abc"), content, thread=chance.choice(roots)))
            if chance.random() < 0.3:
                await asyncio.sleep(0)
        for _ in range(chance.randrange(20)):
            await asyncio.sleep(0)
        await room.close(drain_s=30)
        assert (session.active_runs(), room.present()) == ([], ())
        for run in runs:
            try:
                await run.wait()
            except DvergrError:
                continue  # it waited for a decision: no Run, and the message is listed as unanswered
            assert end_of(run) in ENDS
        assert not session.rooms.open("lab").is_closed
        room.join("fresh", Heard("yes"))
        assert await room.turn("fresh", "hello") == "yes"


async def test_a_turn_whose_thread_is_let_go_while_its_message_is_stored_again_begins(opened):
    async with opened() as session:
        room = session.rooms.open("lab", exclusive_threads=True)
        for _ in range(10):
            held = Held()
            room.join("ann", held)
            room.join("bob", Heard("yes"))
            first = room.turn("ann", "work")
            await held.until("work")
            second = room.turn("bob", "next", thread=first)
            held.let()
            async with asyncio.timeout(20):
                assert await second == "yes"


async def test_case_15_the_reply_of_a_turn_can_be_read_when_its_end_is_told(opened):
    """Case 15."""
    async with opened() as session:
        found = []

        def tell(event):
            if event.type == "run/finished":
                found.append([each.content for each in room.messages() if each.run_id == event.run.id])

        room = session.rooms.open("lab")
        room.join("ann", Heard("yes"))
        session.watch_runs("t", tell)
        await room.turn("ann", "hello")
        assert found == [["yes"]]


async def test_what_a_kernel_left_unanswered_is_listed_in_the_next_one_and_answered_once_on_request(opened, tmp_store_path):
    held = Held()
    async with opened(str(tmp_store_path)) as session:
        room = session.rooms.open("lab")
        room.join("ann", held)
        room.turn("ann", "working")
        await held.until("working")
        for content in ("first", "second"):
            room.turn("ann", content)
        await room.post("settled", to="_nobody")
    async with opened(str(tmp_store_path)) as session:
        room = session.rooms.open("lab")
        assert session.active_runs() == []
        left = room.unanswered()
        assert [(each.actor, each.message.content) for each in left] == [("ann", "first"), ("ann", "second")]
        room.join("ann", Heard("at last"))
        assert session.active_runs() == []
        for each in left:
            run = room.answer(each)
            assert await run == "at last"
            assert run.row.trigger == each.message.id
        assert (room.unanswered(), said_by(room, "ann")) == ([], ["at last"] * 2)
        assert {row.reason for row in session.runs() if row.status == "failed"} == {"orphaned"}


async def test_a_message_to_the_thread_of_a_run_that_another_kernel_life_paused_waits_for_the_decision(opened, tmp_store_path):
    async def pausing(message, ctx):
        return d.Pause(reason="approval", envelopes=(d.Envelope(id="q", kind="approval"),))

    async with opened(str(tmp_store_path)) as session:
        room = session.rooms.open("lab")
        room.join("ann", pausing)
        paused = await room.turn("ann", "may I?").wait()
    async with opened(str(tmp_store_path)) as session:
        room, told = session.rooms.open("lab"), Told()
        session.watch_runs("t", told)
        room.join("ann", Heard("yes"))
        row = session.run(paused.id)
        waiting = room.turn("ann", "hurry", thread=row)
        await told.until_type("run/queued")
        assert not waiting.is_done
        session.cancel_run(row)
        assert await waiting == "yes"


async def test_the_module_functions_speak_in_the_current_session(monkeypatch):
    from dvergr_nb import api

    monkeypatch.setattr(api, "KERNEL", api.Kernel())
    with d.connect(":memory:"):
        room = d.room("lab")
        room.join("ann", Heard("yes"))
        assert d.room("lab") is room
        assert await d.turn("ann", "hello", room="lab") == "yes"
        assert await d.ask("ann", "well?", room="lab") == "yes"

        async def asks(ctx):
            return await d.ask("ann", "and now?", room="lab", parent=ctx.run)

        asking = d.job(asks)
        assert await asking == "yes"
        assert {run.actor for run in d.runs(tree=asking)} == {"ann", "dvergr"}
        posting = await d.post("lab", "all of you")
        assert [await run for run in posting.runs] == ["yes"]
        assert d.unanswered("lab") == []
        assert await d.turn("echo", "in the session's own room") == "echo: in the session's own room"
        await d.drain(10)
        assert await room.close() == ()
