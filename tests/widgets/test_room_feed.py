"""What a room view is told: who is there, what was said and by which turns, in few messages, and again on request."""

from __future__ import annotations

import asyncio
import json
from itertools import pairwise
from typing import Any

import pytest

import dvergr_nb as d
from dvergr_nb.records.event import RunWithdrawn
from dvergr_nb.records.message import Message
from dvergr_nb.session import Session
from dvergr_nb.widgets import lookout, room_feed
from dvergr_nb.widgets.feed import FLUSH_S
from tests.widgets.told import Gate, Told, feed_of, left_unanswered, room_feed_of


async def posted(here: Session, text: str, room: str = "research", **how: Any) -> Message:
    """A message that is stored."""
    posting = here.rooms.post(room, text, **how)
    await asyncio.wrap_future(posting.durable)
    return posting.message


def texts(told: Told) -> list[str]:
    return [said["text"] for said in told.said()]


def statuses(told: Told) -> list[str]:
    return sorted(row["status"] for row in told.runs())


async def test_it_tells_who_is_there_and_what_the_store_remembers() -> None:
    with Session(":memory:") as here:
        room = here.rooms.open("research", title="Churn")
        room.join("echo", d.echo())
        await posted(here, "hello")
        await here.drain()
        told = Told()
        room_feed_of(here, told, "research")
        await told.until(lambda: len(told.said()) == 2)
        facts = told.room()
        assert (facts["title"], facts["closed"], facts["older"]) == ("Churn", False, False)
        assert facts["present"] == [{"actor": "echo", "program": "echo"}]
        assert [said["who"] for said in told.said()] == ["user", "echo"]


async def test_a_message_and_its_reply_appear_by_themselves_with_the_turn_between() -> None:
    with Session(":memory:") as here:
        here.rooms.open("research").join("echo", d.echo())
        told = Told()
        room_feed_of(here, told, "research")
        asked = await posted(here, "hello")
        await told.until(lambda: len(told.said()) == 2)
        await told.until(lambda: [row["status"] for row in told.runs()] == ["completed"])
        assert told.runs()[0]["trigger"] == asked.id
        assert told.said()[1]["run"] == told.runs()[0]["id"]
        assert told.said()[1]["thread"] == asked.id


async def test_who_works_and_what_is_queued_is_told_while_it_is_so() -> None:
    with Session(":memory:") as here:
        gate, told = Gate(), Told()

        async def slow(message: Message, ctx: Any) -> str:
            return await gate.body(ctx)

        here.rooms.open("research").join("slow", slow)
        room_feed_of(here, told, "research")
        await posted(here, "one")
        await posted(here, "two")
        await told.until(lambda: len(told.room().get("present", [{}])[0].get("queued", ())) == 1)
        await told.until(lambda: statuses(told) == ["queued", "running"])
        here_now = told.room()["present"][0]
        assert here_now["working"] in {row["id"] for row in told.runs() if row["status"] == "running"}
        assert here_now["queued"] == [row["id"] for row in told.runs() if row["status"] == "queued"]
        gate.open()
        await here.drain()
        await told.until(lambda: told.room()["present"] == [{"actor": "slow", "program": "function"}])


async def test_a_queued_turn_that_is_withdrawn_leaves_the_room_and_the_board_and_its_card_says_so() -> None:
    with Session(":memory:") as here:
        gate, told, board, card = Gate(), Told(), Told(), Told()

        async def slow(message: Message, ctx: Any) -> str:
            return await gate.body(ctx)

        here.rooms.open("research").join("slow", slow)
        room_feed_of(here, told, "research")
        feed_of(here, board)
        await posted(here, "one")
        await posted(here, "two")
        await told.until(lambda: statuses(told) == ["queued", "running"])
        await board.until(lambda: statuses(board) == ["queued", "running"])
        queued = next(run for run in here.active_runs() if run.status == "queued")
        feed_of(here, card, only=queued.id)
        await card.until(card.runs)
        here.bus.publish(lambda seq: RunWithdrawn(seq=seq, run=queued))
        await told.until(lambda: statuses(told) == ["running"])
        await board.until(lambda: statuses(board) == ["running"])
        await card.until(lambda: [row.get("reason") for row in card.runs()] == ["withdrawn"])
        gate.open()
        await here.drain()


async def test_what_a_turn_streams_is_told_while_it_works() -> None:
    with Session(":memory:") as here:
        gate, told = Gate(), Told()

        async def streams(message: Message, ctx: Any) -> str:
            ctx.stream("first line\nsecond")
            return await gate.body(ctx)

        here.rooms.open("research").join("writer", streams)
        room_feed_of(here, told, "research")
        await posted(here, "go")
        await told.until(lambda: any(row.get("said") == "first line\nsecond" for row in told.runs()))
        gate.open()
        await here.drain()


async def test_a_room_that_is_closed_says_so() -> None:
    with Session(":memory:") as here:
        room, told = here.rooms.open("research"), Told()
        room_feed_of(here, told, "research")
        await told.until(lambda: told.room().get("closed") is False)
        await room.close()
        await told.until(lambda: told.room()["closed"] is True)


async def test_another_room_is_not_heard() -> None:
    with Session(":memory:") as here:
        told = Told()
        here.rooms.open("research").join("echo", d.echo())
        here.rooms.open("other").join("echo", d.echo())
        room_feed_of(here, told, "research")
        await posted(here, "theirs", "other")
        await posted(here, "ours")
        await here.drain()
        await told.until(lambda: len(told.said()) == 2)
        assert set(texts(told)) == {"ours", *(text for text in texts(told) if "ours" in text)}


async def test_jobs_and_what_runs_report_are_not_part_of_the_talk() -> None:
    async def works(ctx: Any) -> str:
        print("a line")
        ctx.activity("noted")
        return "result"

    with Session(":memory:") as here:
        told = Told()
        here.rooms.open("research")
        room_feed_of(here, told, "research")
        await here.job(works, room="research").wait()
        await posted(here, "hello")
        await told.until(lambda: texts(told) == ["hello"])
        assert told.runs() == []


async def test_only_the_last_messages_are_held_and_older_ones_come_when_they_are_asked_for() -> None:
    with Session(":memory:") as here:
        here.rooms.open("research")
        for number in range(12):
            await posted(here, f"message {number}")
        told, done = Told(), asyncio.Event()
        feed = room_feed_of(here, told, "research", limit=5)
        await told.until(lambda: len(told.said()) == 5)
        assert texts(told) == [f"message {number}" for number in range(7, 12)]
        assert (told.room()["older"], told.room()["keep"]) == (True, 5)
        feed.read_older(lambda _: done.set())
        await done.wait()
        await told.until(lambda: len(told.said()) == 10)
        assert (texts(told)[0], told.room()["keep"]) == ("message 2", 10)
        feed.read_older(lambda _: None)
        await told.until(lambda: told.room()["older"] is False)
        assert len(told.said()) == 12


async def test_many_messages_are_few_patches() -> None:
    with Session(":memory:") as here:
        told = Told()
        here.rooms.open("research")
        room_feed_of(here, told, "research")
        postings = [here.rooms.post("research", f"message {number}") for number in range(300)]
        await asyncio.gather(*(asyncio.wrap_future(posting.durable) for posting in postings))
        await told.until(lambda: len(told.said()) == 300)
        times = [at for at, message in zip(told.times, told.messages, strict=True) if message["type"] == "patch"]
        assert all(after - before >= FLUSH_S - 0.005 for before, after in pairwise(times))
        revisions = [message["rev"] for message in told.of("patch")]
        assert revisions == list(range(1, len(revisions) + 1))


async def test_a_long_history_comes_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room_feed, "SAID_SLICE", 20)
    with Session(":memory:") as here:
        here.rooms.open("research")
        for number in range(50):
            await posted(here, f"message {number}")
        told = Told()
        room_feed_of(here, told, "research")
        await told.until(lambda: len(told.said()) == 50)
        assert max(len(message.get("room", {}).get("said", ())) for message in told.of("patch")) == 20


async def test_a_resync_gives_the_whole_room() -> None:
    with Session(":memory:") as here:
        here.rooms.open("research").join("echo", d.echo())
        await posted(here, "hello")
        await here.drain()
        told = Told()
        feed = room_feed_of(here, told, "research")
        await told.until(lambda: len(told.said()) == 2)
        told.messages.clear()
        told.times.clear()
        feed.resync()
        (snapshot,) = told.of("snapshot")
        assert snapshot["room"]["said"][0]["text"] == "hello"
        assert snapshot["room"]["present"] == [{"actor": "echo", "program": "echo"}]
        assert [row["status"] for row in snapshot["rows"]] == ["completed"]


async def test_the_last_messages_are_saved_with_the_notebook(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room_feed, "SAVED", 3)
    with Session(":memory:") as here:
        here.rooms.open("research")
        for number in range(5):
            await posted(here, f"message {number}")
        told = Told()
        room_feed_of(here, told, "research")
        await told.until(lambda: told.saved and '"message 4"' in told.saved[-1])
        saved = json.loads(told.saved[-1])["room"]
        assert [said["text"] for said in saved["said"]] == ["message 2", "message 3", "message 4"]
        assert saved["older"] is True


async def test_a_feed_that_was_stopped_hears_nothing() -> None:
    with Session(":memory:") as here:
        told = Told()
        here.rooms.open("research")
        feed = room_feed_of(here, told, "research")
        await posted(here, "before")
        await told.until(lambda: texts(told) == ["before"])
        feed.stop()
        await posted(here, "after")
        feed.resync()
        assert texts(told) == ["before"]
        assert not feed.hub._rooms


async def test_what_nobody_answers_is_told_with_who_could_and_leaves_when_it_is_answered() -> None:
    with Session(":memory:") as here:
        room, told = here.rooms.open("research"), Told()
        room.join("echo", d.echo())
        lost = await left_unanswered(here, "research", "hello", to="echo")
        room_feed_of(here, told, "research")
        await told.until(lambda: told.room().get("unanswered"))
        assert told.room()["unanswered"] == [{"message": lost.id, "actor": "echo", "here": True}]
        room.leave("echo")
        await told.until(lambda: told.room()["unanswered"] == [{"message": lost.id, "actor": "echo"}])
        room.join("echo", d.echo())
        await told.until(lambda: told.room()["unanswered"] == [{"message": lost.id, "actor": "echo", "here": True}])
        room.answer(room.unanswered()[0])
        await told.until(lambda: told.room()["unanswered"] == [])
        await here.drain()


async def test_a_message_that_nobody_will_answer_is_told_when_it_is_posted() -> None:
    with Session(":memory:") as here:
        room, told = here.rooms.open("research"), Told()
        room.join("echo", d.echo())
        room_feed_of(here, told, "research")
        await told.until(lambda: told.room().get("unanswered") == [])
        lost = await left_unanswered(here, "research", "hello", to="echo")
        await told.until(lambda: [each["message"] for each in told.room()["unanswered"]] == [lost.id])


async def test_many_changes_are_few_looks_for_what_is_unanswered(monkeypatch: pytest.MonkeyPatch) -> None:
    with Session(":memory:") as here:
        told = Told()
        looks: list[int] = []
        here.rooms.open("research").join("echo", d.echo())
        unanswered = here.store.unanswered

        def looked(room_name: str | None, limit: int) -> Any:
            looks.append(limit)
            return unanswered(room_name, limit)

        monkeypatch.setattr(here.store, "unanswered", looked)
        room_feed_of(here, told, "research")
        began = asyncio.get_running_loop().time()
        for number in range(50):
            await posted(here, f"message {number}")
        await told.until(lambda: len(told.said()) == 100)
        await here.drain()
        took = asyncio.get_running_loop().time() - began
        assert len(looks) <= 2 + took / lookout.LOOK_S
