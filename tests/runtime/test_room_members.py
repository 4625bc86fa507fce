"""Joining and leaving: who takes part, what its leaving does to its work, and what stays on record."""

from __future__ import annotations

import asyncio
import functools

import pytest

from dvergr_nb.errors import BadInput, NoSuchActor
from tests.rigs.room import Heard, Held, Stubborn, end_of, said_by
from tests.rigs.session import Told


async def test_who_joins_again_answers_the_next_message_with_the_new_handler_and_its_work_goes_on(opened):
    async with opened() as session:
        room, old = session.rooms.open("lab"), Held()
        room.join("ann", old)
        first, queued = room.turn("ann", "first"), room.turn("ann", "queued")
        await old.until("first")
        room.join("ann", Heard("from the new one"))
        old.let()
        assert [await first, await queued] == ["done first", "from the new one"]
        assert old.began == ["first"]
        assert await room.turn("ann", "third") == "from the new one"
        assert len(room.members()) == 1


async def test_case_25_leaving_by_an_old_registration_leaves_the_new_one(opened):
    """Case 25."""
    async with opened() as session:
        room = session.rooms.open("lab")
        old = room.join("ann", Heard("old"))
        new = room.join("ann", Heard("new"))
        assert not old.leave()
        assert await room.turn("ann", "hello") == "new"
        assert new.leave()
        assert not new.leave()
        with pytest.raises(NoSuchActor):
            room.turn("ann", "hello")


async def test_case_25_the_old_registration_of_who_has_left_and_come_back_changes_nothing(opened):
    """Case 25."""
    async with opened() as session:
        room = session.rooms.open("lab")
        old = room.join("ann", Heard("old"))
        room.leave("ann")
        room.join("ann", Heard("new"))
        assert not room.leave(old)
        assert await room.turn("ann", "hello") == "new"


async def test_leaving_twice_is_false_and_harmless(opened):
    async with opened() as session:
        room = session.rooms.open("lab")
        room.join("ann", Heard())
        assert [room.leave("ann"), room.leave("ann"), room.leave("nobody")] == [True, False, False]
        (stay,) = room.members()
        assert stay.left_at is not None


async def test_what_who_leaves_works_on_and_what_waits_for_it_end_cancelled_on_record(opened):
    async with opened() as session:
        room, held = session.rooms.open("lab"), Held()
        room.join("ann", held)
        runs = [room.turn("ann", text) for text in ("working", "queued", "queued too")]
        await held.until("working")
        room.leave("ann")
        async with asyncio.timeout(20):
            for run in runs:
                await run.wait()
        rows = [session.store.run(run.id) for run in runs]
        assert [(row.status.value, row.reason) for row in rows] == [("cancelled", "participant-left")] * 3
        assert (held.began, said_by(room, "ann"), room.present()) == (["working"], [], ())


async def test_what_waits_on_the_very_thread_that_who_leaves_works_on_is_cancelled_on_record_too(opened):
    async with opened() as session:
        room, held = session.rooms.open("lab"), Held()
        room.join("ann", held)
        first = room.turn("ann", "working")
        await held.until("working")
        second = room.turn("ann", "same thread", thread=first)
        assert second.id != first.id
        room.leave("ann")
        async with asyncio.timeout(20):
            await first.wait()
            await second.wait()
        assert [end_of(run) for run in (first, second)] == [("cancelled", "participant-left")] * 2


async def test_who_has_left_hears_nothing_more_and_a_message_to_it_is_unanswered_by_nobody(opened):
    async with opened() as session:
        room, heard = session.rooms.open("lab"), Heard()
        room.join("ann", heard)
        room.leave("ann")
        posting = await room.post("hello", to="ann")
        assert (posting.runs, heard.contents, room.unanswered()) == ((), [], [])


async def test_a_message_on_its_way_when_its_actor_leaves_causes_no_run(opened):
    async with opened() as session:
        room, heard = session.rooms.open("lab"), Heard()
        room.join("ann", heard)
        posting = room.post("hello", to="ann")
        room.leave("ann")
        await posting
        assert (posting.runs, heard.contents, session.active_runs()) == ((), [], [])


async def test_a_turn_on_its_way_when_its_actor_leaves_is_cancelled_and_its_handler_never_called(opened):
    async with opened() as session:
        room, heard = session.rooms.open("lab"), Heard()
        room.join("ann", heard)
        run = room.turn("ann", "hello")
        room.leave("ann")
        await run.wait()
        assert (end_of(run), heard.contents) == (("cancelled", "participant-left"), [])


async def test_a_turn_that_is_being_queued_when_its_actor_leaves_is_cancelled_and_its_handler_never_called(opened):
    async with opened() as session:
        room, held = session.rooms.open("lab"), Held()
        room.join("ann", held)
        first = room.turn("ann", "first")
        await held.until("first")
        second = room.turn("ann", "second")
        room.leave("ann")
        async with asyncio.timeout(20):
            await first.wait()
            await second.wait()
        assert [end_of(run) for run in (first, second)] == [("cancelled", "participant-left")] * 2
        assert held.began == ["first"]


async def test_who_leaves_while_it_will_not_stop_stays_live_until_it_has_and_may_join_again_meanwhile(opened):
    async with opened() as session:
        room, stubborn = session.rooms.open("lab"), Stubborn()
        room.join("ann", stubborn)
        run = room.turn("ann", "go")
        await stubborn.began.wait()
        room.leave("ann")
        assert session.run(run).status.value == "cancelling"
        room.join("ann", Heard("a new me"))
        assert await room.turn("ann", "hello") == "a new me"
        stubborn.open.set()
        await run.wait()
        assert end_of(run) == ("cancelled", "participant-left")
        assert said_by(room, "ann") == ["a new me"]


async def test_who_joins_again_while_its_old_turn_will_not_stop_answers_that_thread_after_it(opened):
    async with opened() as session:
        room, stubborn, heard = session.rooms.open("lab"), Stubborn(), Heard("a new me")
        room.join("ann", stubborn)
        old = room.turn("ann", "go")
        await stubborn.began.wait()
        room.leave("ann")
        room.join("ann", heard)
        new = room.turn("ann", "same thread", thread=old)
        assert await room.turn("ann", "elsewhere") == "a new me"
        assert heard.contents == ["elsewhere"]
        stubborn.open.set()
        assert await new == "a new me"
        assert end_of(old) == ("cancelled", "participant-left")


async def test_present_says_who_works_on_what_and_what_waits_in_which_order(opened):
    async with opened() as session:
        room, held = session.rooms.open("lab"), Held()
        room.join("ann", held)
        room.join("bob", Heard())
        runs = [room.turn("ann", text) for text in ("1", "2", "3")]
        await held.until("1")
        for run in runs[1:]:
            assert session.run(run).status.value == "queued"
        await room.post("settled", to="_nobody")
        ann, bob = room.present()
        assert (ann.actor, ann.program, ann.working, ann.queued) == ("ann", "function", runs[0].id, (runs[1].id, runs[2].id))
        assert (bob.working, bob.queued) == (None, ())
        held.let()
        await session.drain(10)
        assert room.present()[0].working is None


async def test_those_who_watch_are_told_that_a_room_has_changed(opened):
    async with opened() as session:
        told, room = Told(), session.rooms.open("lab")
        session.watch_runs("t", told)
        for act in (lambda: room.join("ann", Heard()), lambda: room.leave("ann"), room.fence):
            before = told.types.count("room/changed")
            act()
            await told.until(functools.partial(_more_changes_than, before))
        assert {event.room for event in told.events if event.type == "room/changed"} == {"lab"}


@pytest.mark.parametrize(
    ("handler", "options"),
    [
        (42, {}),
        (lambda: "no parameter", {}),
        (lambda a, b, c: "too many", {}),
        (Heard(), {"wrappers": [42]}),
        (Heard(), {"attention": 42}),
    ],
    ids=["no function", "no parameter", "three parameters", "no wrapper", "no policy"],
)
async def test_what_cannot_answer_messages_does_not_join(opened, handler, options):
    async with opened() as session:
        room = session.rooms.open("lab")
        with pytest.raises(BadInput):
            room.join("ann", handler, **options)
        assert (room.present(), room.members()) == ((), [])


async def test_an_actor_that_is_built_in_joins_when_it_is_first_named(opened):
    async with opened() as session:
        room = session.rooms.open("lab")
        assert room.present() == ()
        assert await room.turn("echo", "hello") == "echo: hello"
        assert [each.actor for each in room.present()] == ["echo"]
        other = session.rooms.open("other")
        (run,) = (await other.post("hello", to="echo")).runs
        assert await run == "echo: hello"


async def test_a_room_of_one_name_is_one_room(opened):
    async with opened() as session:
        assert session.rooms.open("lab") is session.rooms.open("lab")


async def test_a_parameter_with_a_default_is_left_alone_unless_it_is_the_context(opened):
    async with opened() as session:
        room = session.rooms.open("lab")
        room.join("ann", lambda message, answer="mine": answer)
        room.join("bob", lambda message, ctx=None: ctx.run.actor)
        assert [await room.turn("ann", "hello"), await room.turn("bob", "hello")] == ["mine", "bob"]


async def test_an_actor_that_is_built_in_hears_what_is_posted_to_it_in_a_later_kernel(opened, tmp_path):
    path = str(tmp_path / "store.duckdb")
    async with opened(path) as session:
        assert await session.rooms.open("lab").turn("echo", "hello") == "echo: hello"
    async with opened(path) as session:
        (run,) = (await session.rooms.open("lab").post("again", to="echo")).runs
        assert await run == "echo: again"


def _more_changes_than(before, events):
    return sum(event.type == "room/changed" for event in events) > before
