"""Reply obligations: whatever becomes of a reply, who made it is told exactly once, and the Run says the same."""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import logging
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import pytest

import dvergr_nb as d
from dvergr_nb.actors.wrappers import DEFAULT
from dvergr_nb.errors import BadInput, BadMessage
from dvergr_nb.ids import RunId
from dvergr_nb.records.message import ACTIVITY, CONTENT_LIMIT, Fact
from dvergr_nb.records.operation import End, Record
from dvergr_nb.records.query import MessageFilter
from dvergr_nb.runtime.obligation import Obligation
from tests.rigs.room import Held, end_of, said_by


class Duty:
    """Keeps what the callbacks of obligations are told."""

    def __init__(self) -> None:
        self.told: list[object] = []
        self.obligation: Obligation | None = None
        self._is_told = asyncio.Event()

    def _tell(self, what: object) -> None:
        self.told.append(what)
        self._is_told.set()

    async def until_told(self) -> None:
        """Returns once one callback was called."""
        await self._is_told.wait()

    def taken(self) -> Obligation:
        """Registers one for the running handler."""
        self.obligation = d.reply_obligation(
            on_emitted=lambda: self._tell("emitted"),
            on_failed=lambda error: self._tell(("failed", error)),
            on_dropped=lambda reason: self._tell(("dropped", reason)),
        )
        return self.obligation


def lab(session, handler, **how):
    """A room with one researcher."""
    room = session.rooms.open("lab")
    room.join("researcher", handler, **how)
    return room


def answering(duty, reply):
    """A handler that takes the duty and carries it with that reply."""

    async def handle(message, ctx):
        duty.taken()
        return d.carry_obligation(reply)

    return handle


def withholding(reason=None):
    """A wrapper that withholds every reply."""

    def wrap(handler):
        @functools.wraps(handler)
        async def handle(message, ctx):
            given = await handler(message, ctx)
            return d.withhold_reply(given) if reason is None else d.withhold_reply(given, reason)

        return handle

    return wrap


def losing(handler):
    """A wrapper that drops every reply and says nothing."""

    async def handle(message, ctx):
        await handler(message, ctx)

    return handle


def breaking(handler):
    """A wrapper that throws after the handler has replied."""

    async def handle(message, ctx):
        await handler(message, ctx)
        raise ValueError("in the wrapper")

    return handle


# The rows of the table -----------------------------------------------------------------------------------------------


async def test_law_7_a_reply_that_was_stored_is_emitted_and_its_run_completed_without_a_reason(opened):
    """Case 56."""
    async with opened() as session:
        duty = Duty()
        room = lab(session, answering(duty, "hi"))
        run = room.turn("researcher", "go")
        assert await run == "hi"
        assert (duty.told, end_of(run)) == (["emitted"], ("completed", None))
        (reply,) = [each for each in room.messages() if each.sender == "researcher"]
        assert (reply.content, reply.run_id, reply.to) == ("hi", run.id, "user")


@pytest.mark.parametrize(
    ("content", "wrappers", "word"),
    [
        ("[SKIP] nothing new", DEFAULT, "silent"),
        ("   ", DEFAULT, "silent"),
        ("hi", [withholding("over-quota")], "over-quota"),
        ("hi", [withholding()], "withheld"),
        ("hi", [losing], "withheld"),
        ("hi", [losing, *DEFAULT], "withheld"),
    ],
)
async def test_law_7_a_reply_that_a_wrapper_drops_is_dropped_with_the_word_that_its_run_has(opened, content, wrappers, word):
    """Case 56."""
    async with opened() as session:
        duty = Duty()
        room = lab(session, answering(duty, content), wrappers=wrappers)
        run = await room.turn("researcher", "go").wait()
        assert (duty.told, end_of(run)) == ([("dropped", word)], ("completed", word))
        assert said_by(room, "researcher") == []


async def test_law_7_an_obligation_that_is_still_open_when_the_handler_ends_is_withheld(opened):
    """Case 56."""
    async with opened() as session:
        duty = Duty()

        async def handle(message, ctx):
            duty.taken()

        run = await lab(session, handle).turn("researcher", "go").wait()
        assert (duty.told, end_of(run)) == ([("dropped", "withheld")], ("completed", "withheld"))


async def test_law_7_a_handler_that_throws_drops_its_reply_and_fails_its_run(opened):
    """Case 56."""
    async with opened() as session:
        duty = Duty()

        async def handle(message, ctx):
            duty.taken()
            raise ValueError("no")

        run = await lab(session, handle).turn("researcher", "go").wait()
        assert (duty.told, end_of(run)) == ([("dropped", "handler-failed")], ("failed", "error"))


async def test_a_wrapper_that_throws_fails_the_run_and_drops_the_reply_that_was_made(opened):
    async with opened() as session:
        duty = Duty()
        room = lab(session, answering(duty, "hi"), wrappers=[breaking])
        run = await room.turn("researcher", "go").wait()
        assert (duty.told, end_of(run)) == ([("dropped", "handler-failed")], ("failed", "error"))
        assert said_by(room, "researcher") == []


async def test_law_7_an_actor_that_leaves_in_the_middle_of_a_turn_abandons_its_reply(opened):
    """Case 56."""
    async with opened() as session:
        duty, held = Duty(), Held()

        async def handle(message, ctx):
            duty.taken()
            return await held(message, ctx)

        room = lab(session, handle)
        run = room.turn("researcher", "go")
        await held.until("go")
        assert room.leave("researcher")
        await run.wait()
        assert (duty.told, end_of(run)) == ([("dropped", "abandoned")], ("cancelled", "participant-left"))
        assert said_by(room, "researcher") == []


async def test_law_7_an_actor_that_leaves_and_still_returns_its_reply_abandons_it(opened):
    async with opened() as session:
        duty, began = Duty(), asyncio.Event()

        async def handle(message, ctx):
            duty.taken()
            began.set()
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                return d.carry_obligation("too late")

        room = lab(session, handle)
        run = room.turn("researcher", "go")
        await began.wait()
        room.leave("researcher")
        await run.wait()
        assert (duty.told, end_of(run)) == ([("dropped", "abandoned")], ("cancelled", "participant-left"))
        assert said_by(room, "researcher") == []


@pytest.mark.parametrize(
    ("act", "word", "end"),
    [
        (lambda session, run: run.cancel(), "cancel-requested", ("cancelled", "cancel-requested")),
        (lambda session, run: session.cancel_room_turn("lab"), "cancel-requested", ("cancelled", "cancel-requested")),
        (lambda session, run: session.abort_run(run, "enough"), "aborted", ("cancelled", "aborted")),
    ],
    ids=["cancel", "room-wide", "abort"],
)
async def test_law_7_a_cancelled_run_drops_its_reply_with_the_word_that_it_ends_with(opened, act, word, end):
    async with opened() as session:
        duty, held = Duty(), Held()

        async def handle(message, ctx):
            duty.taken()
            return await held(message, ctx)

        room = lab(session, handle)
        run = room.turn("researcher", "go")
        await held.until("go")
        act(session, run)
        await run.wait()
        assert (duty.told, end_of(run)) == ([("dropped", word)], end)


@pytest.mark.parametrize(
    "pause",
    [
        d.Pause(reason="budget-exhausted"),
        d.Pause(reason="attention-suspended"),
        d.Pause(reason="approval", envelopes=(d.Envelope(id="q", kind="approval"),)),
    ],
    ids=lambda pause: pause.reason,
)
async def test_law_7_a_run_that_waits_drops_the_reply_it_did_not_make(opened, pause):
    async with opened() as session:
        duty = Duty()

        async def handle(message, ctx):
            duty.taken()
            return pause

        run = await lab(session, handle).turn("researcher", "go").wait()
        assert (duty.told, end_of(run)) == ([("dropped", pause.reason)], ("waiting", pause.reason))


async def test_the_end_of_the_session_drops_the_reply_once_and_the_run_reads_orphaned(opened, tmp_store_path):
    duty, held = Duty(), Held()

    async def handle(message, ctx):
        duty.taken()
        return await held(message, ctx)

    async with opened(str(tmp_store_path)) as session:
        run = lab(session, handle).turn("researcher", "go")
        await held.until("go")
    await duty.until_told()
    async with opened(str(tmp_store_path)) as later:
        assert end_of_row(later.run(run.id)) == ("failed", "orphaned")
    assert duty.told == [("dropped", "orphaned")]


async def test_a_reply_whose_end_could_not_be_written_before_the_session_ended_is_dropped_once(opened):
    duty = Duty()
    async with opened() as session:
        room = lab(session, answering(duty, "hi"))
        session.store.refused = (End,)
        run = room.turn("researcher", "go")
        await session.store.until_refused(1)
        assert duty.told == []
    with pytest.raises(d.SessionClosed):
        await run
    session.store.refused = ()
    await duty.until_told()
    assert duty.told == [("dropped", "orphaned")]


def end_of_row(row):
    return row.status.value, row.reason


# The reply that the room or the store does not take ------------------------------------------------------------------


def nested(depth):
    """A mapping in a mapping, so many deep."""
    inner: dict[str, Any] = {}
    for _ in range(depth):
        inner = {"in": inner}
    return inner


def refused_replies():
    other = Fact(
        id="018f4f6e-7b5a-7cc0-9c3e-0123456789ab",
        kind="tool",
        verb="invoke",
        run_id=RunId("018f4f6e-7b5a-7cc0-9c3e-0123456789ac"),
    )
    return {
        "too long": d.Reply(content="x" * (CONTENT_LIMIT + 1)),
        "unknown metadata": d.Reply(content="hi", metadata={"colour": "red"}),
        "metadata that is no data": d.Reply(content="hi", metadata={"role": object()}),
        "a field of its own": d.Reply(content="hi", metadata={"run-id": "x"}),
        "a fact of another Run": d.Reply(content="hi", facts=(other,)),
        "no text": d.Reply(content=42),
        "an address that is none": d.Reply(content="hi", to=42),
        "an address of two lines": d.Reply(content="hi", to="a\nb"),
        "a fact that is none": d.Reply(content="hi", facts=(1,)),
        "no facts": d.Reply(content="hi", facts=None),
        "metadata that is no mapping": d.Reply(content="hi", metadata=["role"]),
        "metadata without an end": d.Reply(content="hi", metadata={"object": {"kind": nested(20_000)}}),
    }


@pytest.mark.parametrize("reply", refused_replies().values(), ids=refused_replies().keys())
async def test_law_7_a_reply_that_the_room_cannot_take_fails_its_run_and_leaves_nothing(opened, reply):
    """Cases 42 and 56."""
    async with opened() as session:
        duty = Duty()
        room = lab(session, answering(duty, reply), wrappers=())
        run = await room.turn("researcher", "go").wait()
        assert end_of(run) == ("failed", "reply-emission-failed")
        assert duty.told == [("failed", run.row.error)]
        assert run.row.error
        assert [each.content for each in session.store.messages(MessageFilter(run=run.id))] == []
        assert (said_by(room, "researcher"), session.active_runs(), session.rooms.present("lab")[0].working) == ([], [], None)


async def test_an_address_that_is_no_unicode_is_mended_and_its_run_ends(opened):
    async with opened() as session:
        duty = Duty()
        room = lab(session, answering(duty, d.Reply(content="hi", to="b\ud800b")))
        run = await room.turn("researcher", "go").wait()
        assert (duty.told, end_of(run)) == (["emitted"], ("completed", None))
        assert room.messages()[-1].to == "b\N{REPLACEMENT CHARACTER}b"


async def test_law_7_a_reply_that_is_posted_by_a_run_that_waits_is_emitted(opened):
    async with opened() as session:
        duty = Duty()

        async def handle(message, ctx):
            duty.taken()
            return d.Pause(reason="budget-exhausted", reply=d.carry_obligation("as far as I came"))

        room = lab(session, handle)
        run = await room.turn("researcher", "go").wait()
        assert (duty.told, end_of(run)) == (["emitted"], ("waiting", "budget-exhausted"))
        assert said_by(room, "researcher") == ["as far as I came"]


async def test_a_reply_that_is_stored_with_the_end_of_a_run_whose_record_was_lost_is_emitted(opened):
    async with opened() as session:
        duty = Duty()

        async def handle(message, ctx):
            duty.taken()
            an_id = session.ids.message()
            strange = dataclasses.replace(
                message, id=an_id, thread_root_id=an_id, run_id=ctx.run.id, to=ACTIVITY, type="activity", room="elsewhere"
            )
            session.store.note(Record(message=strange))
            return d.carry_obligation("hi")

        room = lab(session, handle)
        run = await room.turn("researcher", "go").wait()
        assert (end_of(run), said_by(room, "researcher")) == (("failed", "record-lost"), ["hi"])
        assert duty.told == ["emitted"]


async def test_case_42_a_reply_that_the_store_refuses_fails_its_run_leaves_no_output_and_the_next_turn_works(opened):
    """Case 42."""
    async with opened() as session:
        duty, noted = Duty(), session.store.note

        def note(unit, then=None):
            if not isinstance(unit, End) or not any(message.content == "refuse me" for message in unit.messages):
                return noted(unit, then)
            answer = _refused(BadMessage("invalid-content", "the store does not like it"))
            session.home.post(lambda: then(answer))
            return SimpleNamespace(future=answer)

        session.store.note = note
        room = session.rooms.open("lab")

        async def handle(message, ctx):
            duty.taken()
            return d.carry_obligation(message.content)

        room.join("researcher", handle)
        run = await room.turn("researcher", "refuse me").wait()
        assert end_of(run) == ("failed", "reply-emission-failed")
        assert duty.told == [("failed", "the store does not like it")]
        assert (said_by(room, "researcher"), session.active_runs()) == ([], [])
        assert await room.turn("researcher", "and me?") == "and me?"
        assert duty.told[1:] == ["emitted"]


def _refused(problem):
    answer: Future[Any] = Future()
    answer.set_exception(problem)
    return answer


async def test_a_store_that_cannot_write_the_end_keeps_the_run_live_and_its_obligation_open_until_it_can(opened):
    """As case 67, for a turn."""
    async with opened() as session:
        duty = Duty()
        room = lab(session, answering(duty, "hi"))
        session.store.refused = (End,)
        run = room.turn("researcher", "go")
        await session.store.until_refused(2)
        assert (duty.told, run.is_done, said_by(room, "researcher")) == ([], False, [])
        session.store.refused = ()
        assert await run == "hi"
        assert (duty.told, said_by(room, "researcher")) == (["emitted"], ["hi"])


# Carrying, replacing, taking back ------------------------------------------------------------------------------------


async def test_of_two_obligations_the_carried_one_is_emitted_and_the_other_dropped(opened):
    async with opened() as session:
        first, second = Duty(), Duty()

        async def handle(message, ctx):
            one = first.taken()
            second.taken()
            return d.carry_obligation("hi", one)

        run = lab(session, handle).turn("researcher", "go")
        await run
        assert (first.told, second.told, end_of(run)) == (["emitted"], [("dropped", "withheld")], ("completed", None))


async def test_without_naming_one_the_last_open_obligation_is_carried(opened):
    async with opened() as session:
        first, second = Duty(), Duty()

        async def handle(message, ctx):
            first.taken()
            second.taken()
            return d.carry_obligation(d.Reply(content="hi"))

        await lab(session, handle).turn("researcher", "go")
        assert (first.told, second.told) == ([("dropped", "withheld")], ["emitted"])


async def test_a_wrapper_that_changes_the_text_of_a_reply_still_settles_what_it_carries(opened):
    async with opened() as session:
        duty = Duty()
        room = lab(session, answering(duty, "[ann · 09:15] hi"), wrappers=DEFAULT)
        assert await room.turn("researcher", "go") == "hi"
        assert duty.told == ["emitted"]


async def test_a_wrapper_that_puts_another_reply_in_its_place_drops_the_first_one(opened):
    async with opened() as session:
        duty = Duty()

        def wrap(handler):
            async def handle(message, ctx):
                await handler(message, ctx)
                return "something else"

            return handle

        room = lab(session, answering(duty, "hi"), wrappers=[wrap])
        run = room.turn("researcher", "go")
        assert await run == "something else"
        assert (duty.told, end_of(run)) == ([("dropped", "withheld")], ("completed", None))


async def test_a_released_obligation_is_told_nothing_and_can_be_released_once(opened):
    async with opened() as session:
        duty, releases = Duty(), []

        async def handle(message, ctx):
            duty.taken()
            releases.append(d.release_obligation())
            releases.append(d.release_obligation())
            releases.append(duty.obligation.release())

        run = await lab(session, handle).turn("researcher", "go").wait()
        assert (releases, duty.told, end_of(run)) == ([True, False, False], [], ("completed", None))


async def test_a_named_obligation_is_released_and_the_others_stay(opened):
    async with opened() as session:
        first, second = Duty(), Duty()

        async def handle(message, ctx):
            one = first.taken()
            second.taken()
            assert d.release_obligation(one)

        run = await lab(session, handle).turn("researcher", "go").wait()
        assert (first.told, second.told, end_of(run)) == ([], [("dropped", "withheld")], ("completed", "withheld"))


async def test_a_handler_that_releases_and_then_throws_is_told_nothing(opened):
    async with opened() as session:
        duty = Duty()

        async def handle(message, ctx):
            duty.taken()
            d.release_obligation()
            raise ValueError("no")

        run = await lab(session, handle).turn("researcher", "go").wait()
        assert (duty.told, end_of(run)) == ([], ("failed", "error"))


async def test_what_was_settled_cannot_be_settled_again(opened):
    async with opened() as session:
        duty = Duty()
        await lab(session, answering(duty, "hi")).turn("researcher", "go")
        assert not duty.obligation.release()
        duty.obligation.failed("late")
        duty.obligation.dropped("late")
        duty.obligation.emitted()
        assert duty.told == ["emitted"]


async def test_callbacks_that_throw_are_logged_and_change_nothing(opened, caplog):
    async with opened() as session:
        told = []

        def throw(*what):
            told.append(what)
            raise SystemExit("a callback of mine")

        async def handle(message, ctx):
            d.reply_obligation(on_emitted=throw, on_failed=throw, on_dropped=throw)
            if message.content == "answer":
                return d.carry_obligation("hi")
            if message.content == "throw":
                raise ValueError("no")
            return None

        room = lab(session, handle)
        with caplog.at_level(logging.ERROR):
            runs = [await room.turn("researcher", text).wait() for text in ("answer", "throw", "drop")]
        assert [end_of(run) for run in runs] == [("completed", None), ("failed", "error"), ("completed", "withheld")]
        assert told == [(), ("handler-failed",), ("withheld",)]
        assert caplog.text.count("a callback of a reply obligation failed") == 3
        assert said_by(room, "researcher") == ["hi"]


async def test_the_reply_can_be_read_when_it_is_told_to_be_emitted(opened):
    async with opened() as session:
        found = []

        async def handle(message, ctx):
            d.reply_obligation(
                on_emitted=lambda: found.append([m.content for m in session.store.messages(MessageFilter(run=ctx.run.id))])
            )
            return d.carry_obligation("hi")

        await lab(session, handle).turn("researcher", "go")
        assert found == [["hi"]]


async def test_no_callback_is_part_of_the_message(opened):
    async with opened() as session:
        duty = Duty()
        room = lab(session, answering(duty, "hi"))
        await room.turn("researcher", "go")
        (reply,) = [each for each in room.messages() if each.sender == "researcher"]
        assert (dict(reply.metadata), reply.facts) == ({}, ())


async def test_a_plain_function_in_a_worker_thread_has_obligations_too(opened):
    async with opened() as session:
        duty = Duty()

        def handle(message):
            duty.taken()
            return d.carry_obligation("hi")

        assert await lab(session, handle).turn("researcher", "go") == "hi"
        assert duty.told == ["emitted"]


async def test_obligations_of_turns_at_the_same_time_are_kept_apart(opened):
    async with opened() as session:
        room, held = session.rooms.open("lab"), Held()
        duties = {name: Duty() for name in ("one", "two")}

        def handler(name):
            async def handle(message, ctx):
                duties[name].taken()
                text = await held(message, ctx)
                return d.carry_obligation(text) if name == "one" else None

            return handle

        for name in duties:
            room.join(name, handler(name))
        runs = [room.turn(name, name) for name in duties]
        await held.until("one", "two")
        held.let("two")
        await runs[1].wait()
        assert (duties["one"].told, duties["two"].told) == ([], [("dropped", "withheld")])
        held.let("one")
        await runs[0].wait()
        assert duties["one"].told == ["emitted"]


@pytest.mark.parametrize("verb", [d.reply_obligation, d.release_obligation, lambda: d.carry_obligation("hi")])
def test_obligations_belong_into_a_handler(verb):
    with pytest.raises(BadInput, match="belongs into a handler"):
        verb()


async def test_a_reason_that_is_no_word_fails_the_run(opened):
    async with opened() as session:
        duty = Duty()
        room = lab(session, answering(duty, "hi"), wrappers=[withholding("")])
        run = await room.turn("researcher", "go").wait()
        assert (end_of(run), duty.told) == (("failed", "error"), [("dropped", "handler-failed")])


async def test_what_is_no_answer_fails_the_run_and_says_what_it_was(opened):
    async with opened() as session:

        async def handle(message, ctx):
            return 42

        run = await lab(session, handle, wrappers=()).turn("researcher", "go").wait()
        assert end_of(run) == ("failed", "error")
        assert "text, a Reply or None, not 42" in run.row.error


async def test_a_turn_without_any_text_is_completed_without_a_reason_and_says_so_in_its_activity(opened):
    async with opened() as session:

        async def handle(message, ctx):
            return None

        run = await lab(session, handle).turn("researcher", "go").wait()
        assert end_of(run) == ("completed", None)
        assert [each.content for each in session.store.messages(MessageFilter(run=run.id))] == [
            "the turn ended without a reply"
        ]
