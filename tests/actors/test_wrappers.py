"""Wrappers: what stands around a handler, and what it lets through."""

from __future__ import annotations

import itertools

import pytest

from dvergr_nb.actors import script, wrappers
from dvergr_nb.actors.scripted import scripted
from dvergr_nb.actors.wrappers import flaky, is_silent, latency, own_messages, plain_reply, silence, undecorated
from dvergr_nb.errors import BadInput
from dvergr_nb.runtime.body import Pause
from dvergr_nb.runtime.handler import is_steerable, program_of
from dvergr_nb.runtime.reply import Reply, Withheld
from tests.actors.turns import Turn


def gives(given):
    """A handler that gives that."""

    async def handle(message, ctx):
        return given

    return handle


SILENT = [
    "",
    " \n",
    "[skip]",
    " [SKIP] nothing new",
    "[no_reply]",
    "[No_Reply]!",
    "skip",
    " Skip ",
    "no_reply",
    "NOOP",
    "no-op",
]
HEARD = ["skipping ahead", "I'll skip the tests", "noop.", "see [skip]", "skip it", "0"]


@pytest.mark.parametrize("text", SILENT)
def test_a_reply_is_silent_that_says(text):
    assert is_silent(text)


@pytest.mark.parametrize("text", HEARD)
def test_a_reply_is_heard_that_says(text):
    assert not is_silent(text)


@pytest.mark.parametrize("given", ["[SKIP] …", Reply(content="noop"), "[ann · 09:15] [skip]"])
async def test_silence_withholds_a_silent_reply_as_silent(given):
    assert await Turn(silence(gives(given))).given() == Withheld(reason="silent")


async def test_the_round_of_a_silent_reply_stays_on_record():
    turn = Turn(silence(scripted(script.silence())))
    assert await turn.given() == Withheld(reason="silent")
    assert turn.notes == ["stayed silent"]
    assert turn.facts[-1] == ("round", "end", "scripted", "round 1", "completed")


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("[ann · 09:15] hi", "hi"),
        (" [the reviewer · 9:05]\nhi", "hi"),
        ("[ann · 09:15] [bob · 09:16] hi", "[bob · 09:16] hi"),
        ("[1] says so", "[1] says so"),
        ("[ann] hi", "[ann] hi"),
        ("see [ann · 09:15]", "see [ann · 09:15]"),
        ("[a [b] · 09:15] hi", "[a [b] · 09:15] hi"),
    ],
)
async def test_a_plain_reply_has_lost_one_decoration_at_its_start_and_no_other_brackets(text, plain):
    assert undecorated(text) == plain
    assert await Turn(plain_reply(gives(text))).given() == Reply(content=plain)


async def test_a_plain_reply_keeps_all_else_of_the_reply():
    whole = Reply(content="[ann · 09:15] hi", to="*", metadata={"kind": "note"})
    assert await Turn(plain_reply(gives(whole))).given() == Reply(content="hi", to="*", metadata={"kind": "note"})


async def test_an_own_message_is_left_without_an_answer():
    assert await Turn(own_messages(gives("hi")), sender="researcher").given() == Withheld(reason="own-message")
    assert await Turn(own_messages(gives("hi")), sender="ann").given() == "hi"


PASSING = [None, Withheld(reason="busy"), Pause(reason="attention-suspended")]


@pytest.mark.parametrize(
    ("wrapper", "given"),
    list(itertools.product([*wrappers.DEFAULT, latency(0), flaky(0)], PASSING)),
)
async def test_wrappers_let_pass_what_is_no_reply(wrapper, given):
    assert await Turn(wrapper(gives(given))).given() == given


@pytest.mark.parametrize("wrapper", [*wrappers.DEFAULT, latency(0), flaky(0)])
def test_a_wrapped_handler_still_says_what_it_is(wrapper):
    handler = wrapper(scripted("hi"))
    assert (program_of(handler), is_steerable(handler)) == ("scripted", True)


async def test_the_default_is_silent_about_a_decorated_silence_and_plain_about_the_rest():
    def stacked(given):
        handler = gives(given)
        for wrap in wrappers.DEFAULT:
            handler = wrap(handler)
        return Turn(handler).given()

    assert await stacked("[ann · 09:15] hi") == Reply(content="hi")
    assert await stacked("[ann · 09:15] [SKIP]") == Withheld(reason="silent")


async def outcomes(handler, count):
    """Which of so many messages were answered."""

    async def answered():
        try:
            await Turn(handler).given()
        except ConnectionError:
            return False
        return True

    return [await answered() for _ in range(count)]


async def test_flaky_fails_the_same_messages_for_the_same_seed_and_others_for_another():
    same = [await outcomes(flaky(0.5, seed=7)(gives("hi")), 40) for _ in range(2)]
    other = await outcomes(flaky(0.5, seed=8)(gives("hi")), 40)
    assert same[0] == same[1] != other
    assert 10 < sum(same[0]) < 30


async def test_flaky_fails_none_at_0_and_all_at_1():
    assert await outcomes(flaky(0)(gives("hi")), 20) == [True] * 20
    assert await outcomes(flaky(1)(gives("hi")), 20) == [False] * 20


@pytest.mark.parametrize("make", [lambda: flaky(1.5), lambda: flaky(-1), lambda: flaky(True), lambda: latency(-1)])
def test_a_rate_or_a_delay_that_is_none_is_refused(make):
    with pytest.raises(BadInput):
        make()


async def test_latency_lets_time_pass_before_the_handler_hears_of_the_message(monkeypatch):
    order: list[object] = []

    async def sleep(seconds):
        order.append(seconds)

    async def handle(message, ctx):
        order.append("asked")

    monkeypatch.setattr("dvergr_nb.actors.wrappers.asyncio.sleep", sleep)
    await Turn(latency(2)(handle)).given()
    assert order == [2.0, "asked"]
