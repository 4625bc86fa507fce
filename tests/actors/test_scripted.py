"""Scripts: what a scripted actor does for a message, and what cannot be a script. And the echo."""

from __future__ import annotations

import asyncio
from typing import Any, Final

import pytest

from dvergr_nb.actors import script
from dvergr_nb.actors.echo import echo
from dvergr_nb.actors.scripted import scripted
from dvergr_nb.errors import BadInput
from dvergr_nb.runtime.handler import program_of
from tests.actors.turns import Gate, Turn


@pytest.fixture
def no_sleep(monkeypatch):
    """Fails a test whose script lets time pass; yielding once is no time."""
    real = asyncio.sleep

    async def sleep(seconds, *result):
        assert not seconds, f"slept {seconds} s"
        return await real(seconds, *result)

    monkeypatch.setattr(asyncio, "sleep", sleep)


@pytest.fixture
def slept(monkeypatch):
    """The seconds that scripts let pass, which pass at once."""
    real, seconds = asyncio.sleep, []

    async def sleep(delay, *result):
        if delay:
            seconds.append(delay)
        return await real(0, *result)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    return seconds


async def test_each_content_answers_the_next_message_and_then_there_is_silence(no_sleep):
    handler = scripted("one", None, "two")
    given = [await Turn(handler).given() for _ in range(4)]
    assert [each and each.content for each in given] == ["one", None, "two", None]


async def test_without_a_pace_a_text_is_streamed_at_once_and_no_time_passes(no_sleep):
    turn = Turn(scripted("all of it"))
    await turn.given()
    assert turn.streams == ["all of it"]


async def test_with_a_pace_a_text_is_streamed_word_by_word_and_is_the_same_text(slept):
    turn = Turn(scripted("  all of\nit ", pace=0.5))
    reply = await turn.given()
    assert turn.streams == ["  all ", "  all of\n", "  all of\nit ", "  all of\nit "]
    assert (reply.content, slept) == ("  all of\nit ", [0.5, 0.5, 0.5])


async def test_a_step_has_its_own_pace_and_waits_as_long_as_it_says(slept):
    await Turn(scripted([script.say("a b", pace=0.25), script.wait(3), script.use("dig", takes=2), "end"])).given()
    assert slept == [0.25, 0.25, 3, 2]


async def test_a_function_is_asked_once_the_script_comes_to_it_and_may_give_steps(no_sleep):
    def steps(message):
        return [script.use("look", result=message.content.upper()), lambda message, joined, results: f"saw {results}"]

    turn = Turn(scripted(steps), "hat")
    assert (await turn.given()).content == "saw ('HAT',)"


async def test_a_round_that_was_cut_plays_again_with_what_joined():
    gate = Gate()
    turn = Turn(scripted([script.use("look"), "so: ", gate, lambda message, joined: "+".join(m.content for m in joined)]))
    turn.begin()
    await gate.reached.wait()
    turn.join("a")
    turn.join("b")
    gate.open.set()
    assert (await turn.given()).content == "so: a+b"
    assert [fact[2] for fact in turn.facts if fact[1] == "invoke"] == ["look"]


async def test_a_script_that_is_through_plays_its_last_round_again_for_who_joins():
    late = ["more"]

    async def meanwhile():
        if late:
            turn.join(late.pop(), preempts=False)

    handler = scripted([lambda message, joined: f"{len(joined)} joined", meanwhile], "next")
    turn: Turn = Turn(handler)
    assert (await turn.given()).content == "1 joined"
    assert (await Turn(handler).given()).content == "next"


async def test_a_silent_script_speaks_after_all_where_somebody_joins():
    late = ["more"]

    def answer(message, joined):
        if late:
            turn.join(late.pop(), preempts=False)
        return joined[0].content if joined else script.silence()

    turn: Turn = Turn(scripted(answer))
    assert (await turn.given()).content == "more"


async def test_tools_together_work_at_the_same_time():
    first, second = Gate(), Gate()
    turn = Turn(scripted([script.together(script.use("a", first), script.use("b", second)), "both"])).begin()
    await first.reached.wait()
    await second.reached.wait()
    second.open.set()
    first.open.set()
    assert (await turn.given()).content == "both"
    verbs = [(fact[1], fact[2]) for fact in turn.facts if fact[0] == "tool"]
    assert verbs[:2] == [("invoke", "a"), ("invoke", "b")]
    assert sorted(verbs[2:]) == [("complete", "a"), ("complete", "b")]


async def test_a_cancel_ends_all_tools_that_work_together():
    first, second = Gate(), Gate()
    turn = Turn(scripted([script.together(script.use("a", first), script.use("b", second))])).begin()
    await second.reached.wait()
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn.given()
    assert {(fact[2], fact[4]) for fact in turn.facts if fact[1] == "fail"} == {("a", "cancelled"), ("b", "cancelled")}


async def test_what_a_tool_raises_is_its_result_and_the_script_goes_on():
    def breaks():
        raise LookupError("secret detail")

    turn = Turn(scripted([script.use("find", breaks), lambda message, joined, results: repr(results[0])]))
    assert (await turn.given()).content == "LookupError('secret detail')"
    assert ("tool", "fail", "find", "call 1", "failed") in turn.facts
    assert "secret" not in repr(turn.activity)


async def test_a_script_that_fails_with_a_text_raises_it():
    with pytest.raises(RuntimeError, match="no such model"):
        await Turn(scripted(script.fail("no such model"))).given()


async def test_a_script_can_be_silent_as_a_model_is():
    assert (await Turn(scripted([script.say("hm"), script.silence()])).given()).content == script.SILENT


WRONG: Final[Any] = (3, "long")


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: scripted(42), "texts, steps and functions"),
        (lambda: scripted(["a", object()]), "texts, steps and functions"),
        (lambda: scripted(lambda a, b, c, d: ""), "takes \\(message\\)"),
        (lambda: scripted("hi", pace=-1), "pace is a number of seconds"),
        (lambda: scripted("hi", name=""), "name must be a line"),
        (lambda: script.say(WRONG[0]), "says text"),
        (lambda: script.wait(float("nan")), "wait is a number of seconds"),
        (lambda: script.wait(True), "wait is a number of seconds"),
        (lambda: script.use("two\nlines"), "a tool's name must be a line"),
        (lambda: script.use("dig", takes=WRONG[1]), "takes is a number"),
        (script.together, "uses of tools"),
        (lambda: script.fail(WRONG[0]), "an exception or a text"),
        (lambda: script.suspend("approval"), "asks a person"),
        (lambda: echo(-5), "delay_ms is a number"),
    ],
)
def test_what_cannot_be_a_script_is_refused_when_it_is_written(make, says):
    with pytest.raises(BadInput, match=says):
        make()


async def test_an_echo_answers_every_message_at_once(no_sleep):
    handler = echo()
    assert [(await Turn(handler, text).given()).content for text in ("a", "", "b")] == ["echo: a", "echo: ", "echo: b"]
    assert program_of(handler) == "echo"


async def test_an_echo_that_is_steered_answers_all_that_joined(monkeypatch):
    thinking, real = asyncio.Event(), asyncio.sleep

    async def sleep(seconds, *result):
        if seconds == 0.5 and not thinking.is_set():
            thinking.set()
            await asyncio.Event().wait()
        return await real(0, *result)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    turn = Turn(echo(500), "a").begin()
    await thinking.wait()
    turn.join("b")
    assert (await turn.given()).content == "echo: a\necho: b"


async def test_a_cost_is_spent_in_the_round_that_follows_and_stands_as_pretended():
    first = [script.cost(0.25, model="big", input_tokens=100, output_tokens=7), script.use("sql")]
    turn = Turn(scripted([*first, script.cost(None), "done"]))
    await turn.given()
    (paid, in_round), (unpriced, in_next) = turn.spends
    assert (paid.cost, paid.model, paid.provider, paid.input_tokens, paid.output_tokens) == (
        250_000,
        "big",
        "pretended",
        100,
        7,
    )
    assert (unpriced.cost, unpriced.model) == (None, "scripted")
    assert (in_round, in_next) == (0, 1)


async def test_what_costs_nothing_has_a_known_price():
    turn = Turn(scripted([script.cost(0), "done"]))
    await turn.given()
    assert [usage.cost for usage, _ in turn.spends] == [0]


@pytest.mark.parametrize(
    "wrong",
    [{"usd": -1}, {"usd": "1"}, {"usd": 1, "model": ""}, {"usd": 1, "input_tokens": -1}, {"usd": 1, "output_tokens": 0.5}],
)
def test_a_cost_that_is_no_amount_is_refused(wrong):
    with pytest.raises(BadInput):
        script.cost(**wrong)


async def test_the_tools_at_work_are_shown_while_they_are_and_no_longer():
    turn = Turn(
        scripted([script.use("sql"), script.together(script.use("a", takes=0.01), script.use("b", takes=0.01)), "done"])
    )
    await turn.given()
    assert turn.at_work[:3] == ["sql", "", "a"]
    assert turn.at_work[3] == "a, b"
    assert turn.at_work[-1] == ""
