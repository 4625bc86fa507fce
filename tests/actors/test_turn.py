"""The loop of a turn: rounds, tools, messages that join, and how it may end."""

from __future__ import annotations

import asyncio
import gc
from contextlib import asynccontextmanager

import pytest

from dvergr_nb.actors import script
from dvergr_nb.actors.program import Answer, Continue, Suspend, ToolCall
from dvergr_nb.actors.scripted import scripted
from dvergr_nb.actors.turn import turn_of
from dvergr_nb.errors import BadInput
from dvergr_nb.runtime.body import Pause
from dvergr_nb.runtime.cancel import Aborted
from dvergr_nb.runtime.handler import handler_of, is_steerable, program_of
from tests.actors.turns import Gate, Turn, seen


class Playing:
    """A program of two coroutine functions, which notes that it was begun and left."""

    kind, name = "test", "model"

    def __init__(self, call, use=None):
        self.call, self.use = call, use
        self.left = 0

    @asynccontextmanager
    async def begin(self, message, ctx, /):
        try:
            yield self
        finally:
            self.left += 1


async def test_a_turn_says_what_answers_and_that_messages_can_join_it():
    handler = handler_of(scripted("hi"), ())
    assert (program_of(handler), is_steerable(handler)) == ("scripted", True)


async def test_the_last_of_three_rounds_is_the_reply_and_their_facts_ride_on_it():
    texts = iter(["one", "two", "three"])

    async def call(given):
        text = next(texts)
        return Answer(text=text, end=Continue()) if text != "three" else Answer(text=text)

    turn = Turn(turn_of(Playing(call)))
    reply = await turn.given()
    assert (reply.content, turn.steps, turn.notes) == ("three", 3, [])
    assert seen(reply.facts) == [
        fact
        for number in (1, 2, 3)
        for fact in (
            ("round", "begin", "model", f"round {number}", None),
            ("round", "end", "model", f"round {number}", "completed"),
        )
    ]


async def test_a_tool_round_and_an_answer_make_one_activity_row():
    turn = Turn(scripted([script.say("let me look"), script.use("search"), script.use("read", fails="timeout"), "found it"]))
    reply = await turn.given()
    assert (reply.content, turn.notes) == ("found it", ["search, read"])
    assert turn.activity[0].metadata == {
        "role": "tool",
        "tool-uses": [{"id": "call 1", "name": "search"}, {"id": "call 2", "name": "read"}],
    }
    assert turn.facts == [
        ("round", "begin", "scripted", "round 1", None),
        ("tool", "invoke", "search", "call 1", None),
        ("tool", "complete", "search", "call 1", "completed"),
        ("tool", "invoke", "read", "call 2", None),
        ("tool", "fail", "read", "call 2", "failed"),
        ("round", "end", "scripted", "round 1", "completed"),
    ]
    assert seen(reply.facts) == [
        ("round", "begin", "scripted", "round 2", None),
        ("round", "end", "scripted", "round 2", "completed"),
    ]


async def test_facts_of_repeated_use_ids_are_distinct_and_the_same_when_told_again():
    async def call(given):
        return Answer(tool_calls=(ToolCall(id="x", name="a"), ToolCall(id="x", name="a"))) if not given.number else Answer()

    async def use(calls, given):
        for each in calls:
            with given.using(each):
                pass
        return Continue()

    handler = turn_of(Playing(call, use))
    turn = Turn(handler)
    await turn.given()
    ids = [fact.id for entry in turn.activity for fact in entry.facts]
    assert len(set(ids)) == len(ids)
    again = Turn(handler)
    again.run, again.message = turn.run, turn.message
    await again.given()
    assert [fact.id for entry in again.activity for fact in entry.facts] == ids


async def test_a_message_cuts_the_call_which_has_settled_before_the_next_round_begins():
    order: list[str] = []
    began = asyncio.Event()

    async def call(given):
        if given.number:
            order.append(f"round 2 knows {[each.content for each in given.folded]}")
            return Answer(text="both")
        try:
            given.say("half a")
            began.set()
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            order.append("settled")
            given.say("half a word")
        return Answer()

    turn = Turn(turn_of(Playing(call))).begin()
    await began.wait()
    turn.join("more")
    reply = await turn.given()
    assert order == ["settled", "round 2 knows ['more']"]
    assert (reply.content, turn.taken, turn.steps) == ("both", ["more"], 2)
    assert turn.notes == ["round 1 cut by a message"]
    assert turn.facts[-1] == ("round", "end", "model", "round 1", "cut")
    assert turn.streams == ["half a", "half a word", ""]


async def test_what_is_left_of_a_call_that_was_cut_is_not_heard():
    left: list[asyncio.Task[None]] = []
    began = asyncio.Event()

    async def call(given):
        if given.number:
            began.set()
            await left[0]
            return Answer(text="new")

        async def late():
            await began.wait()
            given.say("old")

        left.append(asyncio.create_task(late()))
        turn.join("more")
        return await asyncio.Event().wait()

    turn = Turn(turn_of(Playing(call)))
    await turn.given()
    assert "old" not in turn.streams[turn.streams.index("") :]


async def test_a_call_that_answers_after_it_was_cut_is_not_believed():
    async def call(given):
        if given.number:
            return Answer(text="new")
        turn.join("more")
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return Answer(text="old")

    turn = Turn(turn_of(Playing(call)))
    assert (await turn.given()).content == "new"


async def test_a_call_that_fails_while_it_is_cut_is_on_record_and_does_not_fail_the_turn():
    async def call(given):
        if given.number:
            return Answer(text="new")
        turn.join("more")
        try:
            await asyncio.Event().wait()
        finally:
            raise OSError("the line broke")

    turn = Turn(turn_of(Playing(call)))
    assert (await turn.given()).content == "new"
    assert turn.activity[0].facts[-1].outcome == "OSError"


async def test_an_answer_that_is_there_wins_over_a_message_and_becomes_a_note():
    async def call(given):
        if given.number:
            return Answer(text="both")
        turn.join("more")
        return Answer(text="first")

    turn = Turn(turn_of(Playing(call)))
    assert (await turn.given()).content == "both"
    assert turn.notes == ["answered before the next message came: first"]
    assert [fact[4] for fact in turn.facts] == [None, "completed"]


async def test_an_answer_that_became_a_note_is_not_the_reply_of_a_round_that_adds_nothing():
    async def call(given):
        if given.number:
            return Answer()
        turn.join("more")
        return Answer(text="first")

    turn = Turn(turn_of(Playing(call)))
    assert await turn.given() is None
    assert turn.notes == ["answered before the next message came: first", "round 2 ended without a text"]


async def test_a_turn_that_is_stopped_while_it_waits_for_a_message_posts_nothing_and_its_round_was_completed():
    turn = Turn(scripted("there"))
    turn.inbox.expect()
    turn.begin()
    await turn.until_streamed("there")
    await turn.stands_still()
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn.given()
    assert (turn.notes, [fact[4] for fact in turn.facts]) == (["stopped in round 1; until then: there"], [None, "completed"])


async def test_a_turn_waits_for_a_message_on_its_way_before_it_ends():
    gate = Gate()
    turn = Turn(scripted([gate, lambda message, joined: f"{1 + len(joined)}"])).begin()
    await gate.reached.wait()
    turn.inbox.expect()
    gate.open.set()
    await turn.until_streamed("1")
    await turn.stands_still()
    assert turn.join("more")
    turn.inbox.arrived()
    assert (await turn.given()).content == "2"


async def test_nothing_joins_a_turn_that_has_ended():
    turn = Turn(scripted("hi"))
    await turn.given()
    assert not turn.join("late")


async def test_a_message_that_needs_no_round_is_seen_by_the_very_next_one_and_cuts_nothing():
    gate = Gate()
    turn = Turn(scripted([gate, script.use("look"), lambda message, joined: f"saw {joined[0].content}"])).begin()
    await gate.reached.wait()
    turn.join("by the way", preempts=False, needs_round=False)
    gate.open.set()
    assert (await turn.given()).content == "saw by the way"
    assert turn.notes == ["look"]


async def test_a_message_that_needs_no_round_and_comes_after_the_last_is_left_for_later():
    gate = Gate()
    turn = Turn(scripted([gate, "done"])).begin()
    await gate.reached.wait()
    turn.join("by the way", preempts=False, needs_round=False)
    gate.open.set()
    await turn.given()
    assert ([each.message.content for each in turn.inbox.close()], turn.taken) == (["by the way"], [])


async def test_a_message_never_cuts_a_tool():
    gate = Gate()
    turn = Turn(scripted([script.use("dig", gate), lambda message, joined: f"dug, {joined[0].content}"])).begin()
    await gate.reached.wait()
    turn.join("hurry")
    gate.open.set()
    assert (await turn.given()).content == "dug, hurry"
    assert turn.facts[2] == ("tool", "complete", "dig", "call 1", "completed")


async def test_a_turn_that_is_suspended_settles_its_call_and_waits_without_its_half_text():
    settled = asyncio.Event()

    async def call(given):
        given.say("half")
        turn.inbox.suspend()
        try:
            await asyncio.Event().wait()
        finally:
            settled.set()

    turn = Turn(turn_of(Playing(call)))
    assert await turn.given() == Pause(reason="attention-suspended")
    assert settled.is_set()
    assert turn.notes == ["round 1 cut to suspend"]
    assert turn.inbox.is_open


async def test_an_answer_that_was_there_when_the_turn_was_suspended_is_still_the_reply():
    async def call(given):
        turn.inbox.suspend()
        return Answer(text="there")

    turn = Turn(turn_of(Playing(call)))
    pause = await turn.given()
    assert (pause.reason, pause.reply.content) == ("attention-suspended", "there")


async def test_a_turn_that_is_suspended_while_a_tool_works_waits_after_it():
    gate = Gate()
    turn = Turn(scripted([script.use("dig", gate), "never said"])).begin()
    await gate.reached.wait()
    turn.inbox.suspend()
    gate.open.set()
    assert await turn.given() == Pause(reason="attention-suspended")
    assert (turn.notes, turn.steps) == (["dig"], 1)


async def test_a_program_that_suspends_posts_the_text_of_that_answer_only():
    async def call(given):
        return Answer(text="about to", end=Continue()) if not given.number else Answer(end=Suspend(reason="budget-exhausted"))

    turn = Turn(turn_of(Playing(call)))
    assert await turn.given() == Pause(reason="budget-exhausted")
    assert turn.notes == ["stopped after round 2: budget-exhausted"]
    with_text = Turn(scripted([script.say("so far"), script.suspend()]))
    assert (await with_text.given()).reply.content == "so far"


async def test_a_round_that_raises_fails_the_turn_and_its_partial_text_is_a_note():
    turn = Turn(scripted([script.say("so far"), script.fail(ValueError("no"))]))
    with pytest.raises(ValueError, match="no"):
        await turn.given()
    assert turn.notes == ["failed in round 1; until then: so far"]
    assert turn.facts[-1] == ("round", "end", "scripted", "round 1", "failed")
    assert turn.inbox.is_open


async def test_a_round_that_ends_in_an_error_ends_the_loop_and_its_text_is_the_reply():
    turn = Turn(scripted([script.say("partly"), script.fail("overloaded", raises=False), "never said"]))
    assert (await turn.given()).content == "partly"
    assert turn.notes == ["round 1 ended in an error: overloaded"]
    assert turn.facts[-1] == ("round", "end", "scripted", "round 1", "failed")


async def test_a_round_that_ends_in_an_error_before_any_text_fails():
    turn = Turn(scripted([script.fail("overloaded", raises=False)]))
    with pytest.raises(RuntimeError, match="overloaded"):
        await turn.given()


async def test_a_turn_without_any_text_gives_no_reply_and_never_repeats_an_old_one():
    handler = scripted("old")
    await Turn(handler).given()
    turn = Turn(handler)
    assert await turn.given() is None
    assert turn.notes == ["round 1 ended without a text"]


async def test_a_cancel_passes_through_once_the_call_has_settled_and_is_on_record():
    settled = asyncio.Event()
    began = asyncio.Event()

    async def call(given):
        began.set()
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            settled.set()

    program = Playing(call)
    turn = Turn(turn_of(program)).begin()
    await began.wait()
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn.given()
    assert (settled.is_set(), program.left, turn.inbox.is_open) == (True, 1, True)
    assert turn.notes == ["stopped in round 1"]
    assert turn.facts[-1] == ("round", "end", "model", "round 1", "cancelled")


async def test_a_call_that_fails_while_it_is_stopped_leaves_no_complaint_of_the_loop(caplog):
    gate = Gate()

    async def call(given):
        try:
            await gate()
        finally:
            raise OSError("the line broke")

    turn = Turn(turn_of(Playing(call))).begin()
    await gate.reached.wait()
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn.given()
    del turn
    gc.collect()
    assert caplog.messages == []


async def test_a_call_that_will_not_settle_hears_every_further_request_to_stop():
    heard: list[str] = []
    changed = asyncio.Event()

    async def call(given):
        while len(heard) < 2:
            try:
                changed.set()
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                heard.append("cancel")
        raise asyncio.CancelledError

    turn = Turn(turn_of(Playing(call))).begin()
    await changed.wait()
    changed.clear()
    turn.cancel()
    await changed.wait()
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn.given()
    assert heard == ["cancel", "cancel"]


async def test_a_cancel_while_a_cut_call_settles_ends_the_turn():
    settling, settle = asyncio.Event(), asyncio.Event()

    async def call(given):
        turn.join("more")
        try:
            await asyncio.Event().wait()
        finally:
            settling.set()
            while not settle.is_set():
                try:
                    await settle.wait()
                except asyncio.CancelledError:
                    settle.set()

    turn = Turn(turn_of(Playing(call))).begin()
    await settling.wait()
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn.given()
    assert turn.steps == 0


async def test_an_abort_is_heard_as_one():
    gate = Gate()
    turn = Turn(scripted([gate])).begin()
    await gate.reached.wait()
    turn.cancel("aborted", "enough")
    with pytest.raises(Aborted, match="enough"):
        await turn.given()


async def test_no_further_round_begins_after_a_request_to_stop():
    async def call(given):
        turn._token.request(stop)
        return Answer(text="one", end=Continue())

    from dvergr_nb.records.run import Reason
    from dvergr_nb.runtime.cancel import Stop
    from tests.actors.turns import CLOCK

    stop = Stop(reason=Reason.CANCEL_REQUESTED, at=CLOCK.now(), after_step=True)
    turn = Turn(turn_of(Playing(call)))
    with pytest.raises(asyncio.CancelledError):
        await turn.given()
    assert (turn.steps, turn.notes) == (1, ["stopped in round 1"])


async def test_a_cancel_reaches_the_tool_and_its_fact_says_so():
    gate = Gate()
    turn = Turn(scripted([script.use("dig", gate)])).begin()
    await gate.reached.wait()
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn.given()
    assert turn.facts[2:] == [
        ("tool", "fail", "dig", "call 1", "cancelled"),
        ("round", "end", "scripted", "round 1", "cancelled"),
    ]


async def test_a_turn_without_an_inbox_runs_to_its_end():
    turn = Turn(scripted([script.use("look"), "hi"]))
    turn.inbox = None
    assert (await turn.given()).content == "hi"


async def test_a_program_that_gives_no_answer_fails_the_turn():
    async def call(given):
        return "hi"

    with pytest.raises(BadInput, match="comes to an Answer, not 'hi'"):
        await Turn(turn_of(Playing(call))).given()


@pytest.mark.parametrize("words", [{"id": "", "name": "a"}, {"id": "1", "name": None}])
def test_a_tool_call_without_a_name_or_an_id_is_refused(words):
    with pytest.raises(BadInput, match="words"):
        ToolCall(**words)
