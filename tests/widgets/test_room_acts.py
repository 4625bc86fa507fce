"""What a person does in a room view is done once and answered."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest

import dvergr_nb as d
from dvergr_nb.errors import StoreFailed
from dvergr_nb.records.message import Message
from dvergr_nb.records.query import MessageFilter
from dvergr_nb.records.room import Unanswered
from dvergr_nb.records.wire import Cancel
from dvergr_nb.records.wire_room import Answer, AskWhole, Older, Post
from dvergr_nb.session import Session
from dvergr_nb.widgets.room_acts import RoomActs
from tests.widgets.told import Gate, Told, left_unanswered, room_feed_of


async def posted(here: Session, text: str, room: str = "research") -> Message:
    """A message that is stored."""
    posting = here.rooms.post(room, text)
    await asyncio.wrap_future(posting.durable)
    return posting.message


def post(text: str, act: str = "act", to: str | None = None, reply_to: str | None = None) -> Post:
    return Post(type="post", id=act, text=text, to=to, reply_to=reply_to)


async def test_a_message_that_comes_twice_is_posted_once_and_answered_twice() -> None:
    with Session(":memory:") as here:
        here.rooms.open("research")
        told = Told()
        acts = RoomActs(room_feed_of(here, told, "research"))
        acts.do(post("hello"))
        acts.do(post("hello"))
        await told.until(lambda: told.of("ack"))
        acts.do(post("hello"))
        await told.until(lambda: len(told.of("ack")) == 2)
        assert {(ack["id"], ack["outcome"]) for ack in told.of("ack")} == {("act", "posted")}
        assert [message.content for message in here.store.messages(MessageFilter(room="research"))] == ["hello"]


async def test_a_message_goes_to_whom_it_was_addressed_and_into_its_thread() -> None:
    with Session(":memory:") as here:
        room, told = here.rooms.open("research"), Told()
        room.join("one", d.echo())
        room.join("two", d.echo())
        acts = RoomActs(room_feed_of(here, told, "research"))
        acts.do(post("first", "a", to="two"))
        await here.drain()
        await told.until(lambda: len(told.said()) == 2)
        acts.do(post("second", "b", to="two", reply_to=told.said()[-1]["id"]))
        await told.until(lambda: len(told.said()) == 4)
        assert {said["thread"] for said in told.said()} == {told.said()[0]["id"]}
        assert [said["who"] for said in told.said()] == ["user", "two", "user", "two"]
        await here.drain()


async def test_what_cannot_be_posted_is_answered_with_why() -> None:
    with Session(":memory:") as here:
        here.rooms.open("research")
        told = Told()
        acts = RoomActs(room_feed_of(here, told, "research"))
        acts.do(post("hello", reply_to="nothing"))
        await told.until(lambda: told.of("ack"))
        (ack,) = told.of("ack")
        assert ack["outcome"] == "failed"
        assert ack["error"].startswith("no message 'nothing' in room 'research'")
        acts.do(post("hello", reply_to="nothing"))
        assert [each["outcome"] for each in told.of("ack")] == ["failed", "failed"]


async def test_a_turn_is_cancelled_from_its_room() -> None:
    with Session(":memory:") as here:
        gate, told = Gate(), Told()

        async def slow(message: Any, ctx: Any) -> str:
            return await gate.body(ctx)

        here.rooms.open("research").join("slow", slow)
        acts = RoomActs(room_feed_of(here, told, "research"))
        acts.do(post("go"))
        await told.until(lambda: [row["status"] for row in told.runs()] == ["running"])
        acts.do(Cancel(type="cancel", id="press", run_id=told.runs()[0]["id"]))
        await told.until(lambda: [row["status"] for row in told.runs()] == ["cancelled"])
        await here.drain()


async def test_older_messages_are_answered_when_they_are_there() -> None:
    with Session(":memory:") as here:
        here.rooms.open("research")
        for number in range(4):
            await posted(here, f"message {number}")
        told = Told()
        acts = RoomActs(room_feed_of(here, told, "research", limit=2))
        await told.until(lambda: len(told.said()) == 2)
        acts.do(Older(type="older", id="press"))
        acts.do(Older(type="older", id="press"))
        await told.until(lambda: len(told.said()) == 4)
        assert [ack["id"] for ack in told.of("ack")] == ["press"]


async def test_all_of_a_long_message_is_told_when_it_is_asked_for() -> None:
    with Session(":memory:") as here:
        here.rooms.open("research")
        told = Told()
        acts = RoomActs(room_feed_of(here, told, "research"))
        stored = await posted(here, "x" * 5_000)
        acts.do(AskWhole(type="whole", id="open", message_id=stored.id))
        await told.until(lambda: told.of("whole"))
        assert (told.of("whole")[0]["id"], len(told.of("whole")[0]["text"])) == ("open", 5_000)


async def test_what_is_not_said_in_the_room_is_not_told_through_its_view() -> None:
    with Session(":memory:") as here:
        here.rooms.open("research")
        here.rooms.open("other")
        told = Told()
        acts = RoomActs(room_feed_of(here, told, "research"))
        run = await here.job(lambda: "secret", room="research").wait()
        elsewhere = await posted(here, "secret", "other")
        for number, message_id in enumerate((run.row.trigger, elsewhere.id)):
            acts.do(AskWhole(type="whole", id=str(number), message_id=message_id))
        await told.until(lambda: len(told.of("ack")) == 2)
        assert told.of("whole") == []
        assert {ack["error"] for ack in told.of("ack")} == {"this message is not in the room"}


async def test_older_messages_that_cannot_be_read_are_answered_with_why(caplog: pytest.LogCaptureFixture) -> None:
    with Session(":memory:") as here:
        here.rooms.open("research")
        told = Told()
        acts = RoomActs(room_feed_of(here, told, "research"))
        await told.until(lambda: "older" in told.room())

        def broken(wanted: MessageFilter) -> Sequence[Message]:
            raise StoreFailed("store.duckdb", "the disk hangs")

        here.store.messages = broken  # type: ignore[method-assign]
        acts.do(Older(type="older", id="press"))
        await told.until(lambda: told.of("ack"))
        assert told.of("ack")[0]["outcome"] == "failed"
        assert "the disk hangs" in told.of("ack")[0]["error"]
        assert "could not read the store" in caplog.text


async def test_a_closed_room_is_not_opened_by_what_is_said_to_it_through_its_view() -> None:
    with Session(":memory:") as here:
        room, told = here.rooms.open("research"), Told()
        acts = RoomActs(room_feed_of(here, told, "research"))
        await room.close()
        acts.do(post("anybody there?"))
        await told.until(lambda: told.of("ack"))
        assert told.of("ack")[0]["outcome"] == "failed"
        assert "closed" in told.of("ack")[0]["error"]
        assert here.rooms.is_closed("research")


def answer(message: Message, act: str = "press", actor: str = "echo") -> Answer:
    return Answer(type="answer", id=act, message_id=message.id, actor=actor)


async def test_an_unanswered_message_is_answered_once_however_often_that_is_asked_for() -> None:
    with Session(":memory:") as here:
        room, told = here.rooms.open("research"), Told()
        room.join("echo", d.echo())
        lost = await left_unanswered(here, "research", "hello", to="echo")
        acts = RoomActs(room_feed_of(here, told, "research"))
        acts.do(answer(lost))
        acts.do(answer(lost))
        await told.until(lambda: told.of("ack"))
        acts.do(answer(lost))
        acts.do(answer(lost, "another press"))
        await told.until(lambda: len(told.of("ack")) == 3)
        await told.until(lambda: len(told.said()) == 2)
        assert [ack["outcome"] for ack in told.of("ack")] == ["requested", "requested", "over"]
        assert len(here.runs(room="research")) == 1
        await here.drain()


async def test_what_nobody_there_can_answer_is_said() -> None:
    with Session(":memory:") as here:
        room, told = here.rooms.open("research"), Told()
        room.join("ann", d.echo())
        lost = await left_unanswered(here, "research", "hello", to="ann")
        room.leave("ann")
        acts = RoomActs(room_feed_of(here, told, "research"))
        acts.do(answer(lost, actor="ann"))
        await told.until(lambda: told.of("ack"))
        assert told.of("ack")[0]["outcome"] == "failed"
        assert "ann" in told.of("ack")[0]["error"]


async def test_a_closed_room_answers_nothing_through_its_view() -> None:
    with Session(":memory:") as here:
        room, told = here.rooms.open("research"), Told()
        room.join("echo", d.echo())
        lost = await left_unanswered(here, "research", "hello", to="echo")
        acts = RoomActs(room_feed_of(here, told, "research"))
        room.fence()
        acts.do(answer(lost))
        await told.until(lambda: told.of("ack"))
        assert "closed" in told.of("ack")[0]["error"]
        assert here.rooms.is_closed("research")


async def test_where_it_cannot_be_read_what_is_unanswered_the_answer_says_why(caplog: pytest.LogCaptureFixture) -> None:
    with Session(":memory:") as here:
        told = Told()
        here.rooms.open("research").join("echo", d.echo())
        lost = await left_unanswered(here, "research", "hello", to="echo")
        acts = RoomActs(room_feed_of(here, told, "research"))
        await told.until(lambda: told.room().get("unanswered"))

        def broken(room: str | None, limit: int) -> Sequence[Unanswered]:
            raise StoreFailed("store.duckdb", "the disk hangs")

        here.store.unanswered = broken  # type: ignore[method-assign]
        acts.do(answer(lost))
        acts.do(answer(lost))
        await told.until(lambda: told.of("ack"))
        assert "the disk hangs" in told.of("ack")[0]["error"]
        assert "could not read the store" in caplog.text
