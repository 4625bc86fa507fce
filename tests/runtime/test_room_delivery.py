"""Delivery: who hears a message, in which order, once, and never itself."""

from __future__ import annotations

import asyncio
import random

import pytest

import dvergr_nb as d
from dvergr_nb.errors import BadInput, BadMessage, NoSuchActor, NoSuchMessage, StoreFailed
from dvergr_nb.records.operation import Post
from tests.rigs.room import Heard, Held, end_of, said_by
from tests.rigs.session import Told


async def test_the_log_has_the_order_in_which_messages_were_posted_and_so_does_every_participant(opened):
    async with opened() as session:
        room = session.rooms.open("lab")
        heard = [Heard() for _ in range(3)]
        for number, handler in enumerate(heard):
            room.join(f"a{number}", handler)
        wanted = [str(number) for number in range(30)]
        for posting in [room.post(content, to="*") for content in wanted]:
            await posting
        await session.drain(60)
        assert [each.content for each in room.messages(limit=None)] == wanted
        assert [handler.contents for handler in heard] == [wanted] * 3


@pytest.mark.parametrize("seed", range(8))
async def test_nobody_overtakes_whatever_mix_of_posts_and_turns_a_thread_is_spoken_to_by(opened, seed):
    async with opened() as session:
        chance, heard = random.Random(seed), Heard()
        room = session.rooms.open("lab")
        room.join("a", heard)
        threads = [(await room.post(f"thread {number}", to="_nobody")).message for number in range(2)]
        said, awaited = [], []
        for number in range(24):
            thread, content = chance.choice(threads), str(number)
            said.append(content)
            if chance.random() < 0.5:
                awaited.append(room.post(content, to=chance.choice(["a", "*", None]), reply_to=thread))
            else:
                awaited.append(room.turn("a", content, thread=thread, on_busy=chance.choice(["steer", "queue"])).admitted)
            if chance.random() < 0.2:
                await asyncio.sleep(0)
        for each in awaited:
            await each
        await session.drain(60)
        assert heard.contents == said
        assert [each.content for each in room.messages(limit=None)][2:] == said


async def test_a_turn_right_after_a_post_on_its_way_begins_after_it(opened):
    async with opened() as session:
        heard, room = Heard(), session.rooms.open("lab")
        room.join("a", heard)
        posting = room.post("first", to="a")
        spoken = room.speak("a", "second", thread=posting.message)
        assert spoken.how == "queued"
        await spoken.handle.wait()
        assert heard.contents == ["first", "second"]


async def test_a_message_that_is_posted_again_under_its_key_is_stored_and_answered_once(opened):
    async with opened() as session:
        heard, room, told = Heard("yes"), session.rooms.open("lab"), Told()
        session.watch_runs("t", told)
        room.join("a", heard)
        first = await room.post("hello", to="a", key="k")
        second = await room.post("hello, changed", to="a", key="k")
        await session.drain(10)
        assert (first.message.id, len(first.runs), second.runs) == (second.message.id, 1, ())
        assert (heard.contents, said_by(room, "user"), said_by(room, "a")) == (["hello"], ["hello"], ["yes"])
        assert [event.message.content for event in told.events if event.type == "message/posted"] == ["hello", "yes"]


async def test_two_posts_under_one_key_at_once_both_land_and_the_actor_is_free_afterwards(opened):
    async with opened() as session:
        heard, room = Heard("yes"), session.rooms.open("lab")
        room.join("a", heard)
        first, second = room.post("hello", to="a", key="k"), room.post("hello", to="a", key="k")
        async with asyncio.timeout(10):
            await first
            await second
        await session.drain(10)
        assert heard.contents == ["hello"]
        spoken = room.speak("a", "next")
        assert spoken.how == "started"
        await spoken.handle


async def test_a_turn_under_a_used_key_gives_the_first_run(opened):
    async with opened() as session:
        heard, room = Heard("yes"), session.rooms.open("lab")
        room.join("a", heard)
        first = room.turn("a", "hello", key="k")
        again = room.turn("a", "hello", key="k")
        assert await first == "yes"
        await again.wait()
        later = room.turn("a", "hello", key="k")
        await later.wait()
        assert [again.id, later.id] == [first.id, first.id]
        assert (heard.contents, len(session.runs(room="lab"))) == (["hello"], 1)
        assert await room.turn("a", "another") == "yes"


async def test_messages_that_come_again_after_many_others_are_not_answered_again(opened):
    async with opened() as session:
        heard, room = Heard(), session.rooms.open("lab")
        room.join("a", heard)
        await room.post("0", to="a", key="0")
        await session.drain(60)
        for number in range(1, 40):
            await room.post(str(number), to="a", key=str(number))
        for number in range(40):
            await room.post(str(number), to="a", key=str(number))
        await session.drain(60)
        assert heard.contents == [str(number) for number in range(40)]


async def test_who_posts_does_not_hear_itself(opened):
    async with opened() as session:
        room, ann, bob = session.rooms.open("lab"), Heard(), Heard()
        room.join("ann", ann)
        room.join("bob", bob)
        await room.post("hello", to="*", sender="ann")
        await room.post("to myself", to="ann", sender="ann")
        await session.drain(10)
        assert (ann.contents, bob.contents) == ([], ["hello"])


async def test_a_reply_to_everyone_wakes_all_others_and_not_its_sender(opened):
    async with opened() as session:
        room, bob, cid = session.rooms.open("lab"), Heard(), Heard()

        async def ann(message, ctx):
            return d.Reply(content="all of you", to="*")

        room.join("ann", ann)
        room.join("bob", bob)
        room.join("cid", cid)
        run = room.turn("ann", "go")
        await run
        await session.drain(10)
        assert (bob.contents, cid.contents) == (["all of you"], ["all of you"])
        assert len(session.runs(actor="ann")) == 1
        reply = room.messages()[-1]
        assert (reply.to, reply.thread_root_id) == (None, run.row.trigger)
        assert {row.trigger for row in session.runs(actor="bob")} == {reply.id}


async def test_a_message_for_one_actor_wakes_nobody_else(opened):
    async with opened() as session:
        room, ann, bob = session.rooms.open("lab"), Heard(), Heard()
        room.join("ann", ann)
        room.join("bob", bob)
        posting = await room.post("psst", to="bob")
        await session.drain(10)
        assert (ann.contents, bob.contents, [run.row.actor for run in posting.runs]) == ([], ["psst"], ["bob"])


@pytest.mark.parametrize("address", ["_runs", "_activity", "_nobody", "user"])
async def test_a_message_to_where_nobody_listens_is_on_record_and_wakes_nobody(opened, address):
    async with opened() as session:
        room, ann = session.rooms.open("lab"), Heard()
        room.join("ann", ann)
        posting = await room.post("hello", to=address)
        assert (posting.runs, session.store.message(posting.message.id).to) == ((), address)
        assert (ann.contents, session.active_runs()) == ([], [])


async def test_a_message_to_a_name_that_nobody_has_or_had_there_is_refused(opened):
    async with opened() as session:
        room = session.rooms.open("lab")
        room.join("ann", Heard())
        with pytest.raises(NoSuchActor, match="did you mean 'ann'"):
            room.post("hello", to="anna")
        assert room.messages() == []
        room.leave("ann")
        assert (await room.post("hello", to="ann")).runs == ()


async def test_without_an_address_a_message_is_for_the_only_agent_and_else_for_everyone(opened):
    async with opened() as session:
        room, ann, bob = session.rooms.open("lab"), Heard(), Heard()
        assert room.target() is None
        room.join("ann", ann)
        assert room.target() == "ann"
        assert (await room.post("you")).message.to == "ann"
        room.join("bob", bob)
        assert room.target() is None
        assert (await room.post("all")).message.to is None
        await session.drain(10)
        room.leave("ann")
        assert room.target() == "bob"
        await session.drain(10)
        assert (ann.contents, bob.contents) == (["you", "all"], ["all"])


@pytest.mark.parametrize("name", ["_runs", "_x", "*", "", " ", 7, "a\nb"])
async def test_reserved_names_and_what_is_no_name_join_no_room(opened, name):
    async with opened() as session:
        room = session.rooms.open("lab")
        with pytest.raises(BadInput):
            room.join(name, Heard())
        assert (room.present(), room.members()) == ((), [])


async def test_a_turn_to_who_takes_no_part_says_who_does_and_stores_nothing(opened):
    async with opened() as session:
        room = session.rooms.open("lab")
        room.join("ann", Heard())
        with pytest.raises(NoSuchActor, match="'ann'"):
            room.turn("bob", "hello")
        assert room.messages() == []


async def test_a_message_that_breaks_a_rule_is_refused_before_anything_happens(opened):
    async with opened() as session:
        room, ann = session.rooms.open("lab"), Heard()
        room.join("ann", ann)
        with pytest.raises(BadMessage):
            room.post("hello", to="ann", metadata={"colour": "red"})
        with pytest.raises(BadMessage):
            room.turn("ann", 42)
        with pytest.raises(NoSuchMessage):
            room.turn("ann", "hello", thread="018f4f6e-7b5a-7cc0-9c3e-0123456789ab")
        assert (room.messages(), session.active_runs()) == ([], [])
        assert room.speak("ann", "fine").how == "started"
        await session.drain(10)


@pytest.mark.parametrize("address", [42, "", "a\nb", "x" * 201, ["ann"], b"ann"])
@pytest.mark.parametrize("side", ["to", "sender"])
async def test_what_is_no_address_is_refused_before_anything_happens(opened, side, address):
    async with opened() as session:
        room = session.rooms.open("lab")
        with pytest.raises(BadMessage, match=f"{side} must be a line"):
            room.post("hello", **{side: address})
        assert room.messages() == []


async def test_a_message_of_another_room_is_no_thread_here(opened):
    async with opened() as session:
        here, there = session.rooms.open("here"), session.rooms.open("there")
        here.join("ann", Heard())
        posting = await there.post("hello")
        with pytest.raises(NoSuchMessage):
            here.turn("ann", "and?", thread=posting.message)


async def test_a_post_that_the_store_refuses_raises_wakes_nobody_and_the_next_one_is_heard(opened):
    async with opened() as session:
        room, ann, told = session.rooms.open("lab"), Heard(), Told()
        session.watch_runs("t", told)
        room.join("ann", ann)
        session.store.refused = (Post,)
        with pytest.raises(StoreFailed):
            await room.post("lost", to="ann")
        session.store.refused = ()
        await room.post("found", to="ann")
        await session.drain(10)
        assert ann.contents == ["found"]
        assert [event.message.content for event in told.events if event.type == "message/posted"] == ["found"]


async def test_a_queued_turn_whose_message_the_store_refuses_is_withdrawn_and_the_others_go_on(opened):
    async with opened() as session:
        room, held, told = session.rooms.open("lab"), Held(), Told()
        session.watch_runs("t", told)
        room.join("ann", held)
        first = room.turn("ann", "first")
        await held.until("first")
        session.store.refused = (Post,)
        lost = room.turn("ann", "lost")
        with pytest.raises(StoreFailed):
            await lost
        session.store.refused = ()
        third = room.turn("ann", "third")
        held.let()
        assert [await first, await third] == ["done first", "done third"]
        assert held.began == ["first", "third"]
        assert [event.run.id for event in told.events if event.type == "run/withdrawn"] == [lost.id]


async def test_a_handler_that_fails_does_not_end_its_participant(opened):
    async with opened() as session:
        room = session.rooms.open("lab")

        async def handle(message, ctx):
            if message.content != "fine":
                raise SystemExit(message.content)
            return "fine"

        room.join("ann", handle)
        runs = [room.turn("ann", text) for text in ("bad", "worse", "fine")]
        assert [end_of(await run.wait()) for run in runs] == [("failed", "error"), ("failed", "error"), ("completed", None)]


async def test_one_handler_works_at_a_time_and_two_actors_at_once(opened):
    async with opened() as session:
        room, ann, bob = session.rooms.open("lab"), Held(), Held()
        room.join("ann", ann)
        room.join("bob", bob)
        runs = [room.turn(actor, text) for actor in ("ann", "bob") for text in ("1", "2")]
        await ann.until("1")
        await bob.until("1")
        assert (ann.began, bob.began) == (["1"], ["1"])
        ann.let("1")
        await runs[0]
        await ann.until("2")
        assert bob.began == ["1"]
        ann.let()
        bob.let()
        await session.drain(10)


async def test_a_broadcast_to_60_participants_is_answered_by_each_once_in_order(opened):
    async with opened() as session:
        room, order = session.rooms.open("lab"), []

        def handler(name):
            async def handle(message, ctx):
                order.append((name, message.content))

            return handle

        names = [f"a{number:02}" for number in range(60)]
        for name in names:
            room.join(name, handler(name))
        first, second = room.post("one", to="*"), room.post("two", to="*")
        await first
        await second
        await session.drain(60)
        assert [run.row.actor for run in first.runs] == names
        assert [run.row.actor for run in second.runs] == names
        assert [name for name, content in order if content == "one"] == names
        for name in names:
            assert [content for each, content in order if each == name] == ["one", "two"]
        assert {row.trigger for row in session.runs(limit=200)} == {first.message.id, second.message.id}


async def test_the_reply_is_in_the_thread_of_what_it_answers(opened):
    async with opened() as session:
        room = session.rooms.open("lab")
        room.join("ann", Heard("yes"))
        first = room.turn("ann", "one")
        await first
        second = room.turn("ann", "two", thread=first)
        await second
        third = room.turn("ann", "three")
        await third
        root = first.row.trigger
        assert [each.content for each in room.messages(thread=first)] == ["one", "yes", "two", "yes"]
        assert {each.thread_root_id for each in room.messages(thread=second)} == {root}
        assert [each.content for each in room.messages(thread=third)] == ["three", "yes"]
        reply = room.messages(thread=second)[-1]
        assert (reply.reply_to, reply.run_id) == (second.row.trigger, second.id)


async def test_posting_from_another_thread_of_the_process_is_as_good(opened):
    async with opened() as session:
        room, heard = session.rooms.open("lab"), Heard("yes")
        room.join("ann", heard)

        def elsewhere():
            return [room.turn("ann", str(number)) for number in range(5)]

        runs = await asyncio.to_thread(elsewhere)
        assert [await run for run in runs] == ["yes"] * 5
        assert heard.contents == ["0", "1", "2", "3", "4"]


async def test_an_interrupt_while_a_message_is_handed_over_stops_no_later_one(opened):
    async with opened() as session:
        room, heard = session.rooms.open("lab"), Heard()

        def strike():
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            room.delivery.act(strike)
        room.join("ann", heard)
        await room.post("hello", to="ann")
        await session.drain(10)
        assert heard.contents == ["hello"]


async def test_what_is_given_for_an_actor_and_is_no_name_is_told_so(opened):
    async with opened() as session:
        with pytest.raises(BadInput):
            session.rooms.open("lab").turn(["ann"], "hello")


async def test_a_post_whose_parent_is_no_run_is_refused_before_anything_happens(opened):
    async with opened() as session:
        room = session.rooms.open("lab")
        with pytest.raises(BadInput):
            room.post("hello", parent="nobody")
        assert room.messages() == []
