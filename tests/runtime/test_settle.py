"""Which end wins when several meet."""

from __future__ import annotations

import asyncio

import pytest

from dvergr_nb.clock import SystemClock
from dvergr_nb.records.run import RunStatus
from dvergr_nb.runtime.body import Done, Pause
from dvergr_nb.runtime.cancel import Stop
from dvergr_nb.runtime.settle import described, ending, told

NOW = SystemClock().now()
CANCEL = Stop(reason="cancel-requested", at=NOW)
TIMEOUT = Stop(reason="timeout", at=NOW, detail="ran longer than its limit")
OUTCOMES = {
    "a value": Done(value=1, reply="1"),
    "a pause": Pause(reason="budget-exhausted"),
    "an error": ValueError("x"),
    "a cancelled error": asyncio.CancelledError(),
}


@pytest.mark.parametrize("outcome", OUTCOMES.values(), ids=OUTCOMES.keys())
def test_a_cancel_wins_over_every_outcome_and_keeps_no_reply(outcome):
    came_to = ending(outcome, CANCEL)
    assert (came_to.status, came_to.reason, came_to.reply) == (RunStatus.CANCELLED, "cancel-requested", None)


@pytest.mark.parametrize("outcome", OUTCOMES.values(), ids=OUTCOMES.keys())
def test_a_time_limit_fails_whatever_came_out(outcome):
    assert (ending(outcome, TIMEOUT).status, ending(outcome, TIMEOUT).reason) == (RunStatus.FAILED, "timeout")


def test_without_a_stop_the_outcome_decides_and_the_reason_follows_it():
    ends = {name: (ending(outcome, None).status.value, ending(outcome, None).reason) for name, outcome in OUTCOMES.items()}
    assert ends == {
        "a value": ("completed", None),
        "a pause": ("waiting", "budget-exhausted"),
        "an error": ("failed", "error"),
        "a cancelled error": ("failed", "error"),
    }


def test_a_body_that_returns_something_else_fails_and_says_what():
    assert ending(42, None).error == "TypeError: a body returns Done, Pause or Failed, not int"


def test_an_exception_whose_text_cannot_be_made_is_still_described():
    class Hostile(Exception):
        def __str__(self):
            raise RuntimeError("no text for you")

    problem = Hostile()
    assert described(problem) == "Hostile: (its text could not be made: RuntimeError)"
    assert "Hostile" in told(problem)


def test_an_error_is_one_clipped_text_without_lone_surrogates():
    text = described(ValueError("\ud800" + "x" * 5_000))
    assert len(text) == 2_000
    text.encode()
