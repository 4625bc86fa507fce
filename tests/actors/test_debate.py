"""Debates and refinements, over an ask that really answers."""

from __future__ import annotations

import pytest

from dvergr_nb.actors.debate import Line, debate, iterative_refinement
from dvergr_nb.errors import BadInput


class Asked:
    """An ask whose actors answer in turn, and what they were asked."""

    def __init__(self, **replies):
        self.replies = {actor: iter(texts) for actor, texts in replies.items()}
        self.heard = []

    async def __call__(self, actor, text):
        self.heard.append((actor, text))
        return next(self.replies[actor])


async def test_in_a_debate_each_answers_what_the_other_said_once_a_round():
    ask = Asked(ann=["a1", "a2"], bob=["b1", "b2"])
    said = await debate(ask, "ann", "bob", "tabs?")
    assert ask.heard == [("ann", "tabs?"), ("bob", "a1"), ("ann", "b1"), ("bob", "a2")]
    assert said.lines == tuple(Line(actor=a, text=t) for a, t in [("ann", "a1"), ("bob", "b1"), ("ann", "a2"), ("bob", "b2")])
    assert str(said) == "ann: a1\nbob: b1\nann: a2\nbob: b2"


async def test_a_draft_accepted_at_its_third_review_was_rejected_twice():
    ask = Asked(author=["d1", "d2", "d3"], reviewer=["no", "nearly", "yes"])
    refined = await iterative_refinement(ask, "author", "reviewer", "write", lambda review: review == "yes")
    assert (refined.result, refined.iterations, refined.draft, refined.review) == ("accepted", 2, "d3", "yes")


async def test_the_author_is_told_the_task_its_draft_and_the_review():
    ask = Asked(author=["draft one", "d2"], reviewer=["too short", "fine"])

    async def accept(review):
        return review == "fine"

    await iterative_refinement(ask, "author", "reviewer", "write it", accept)
    actor, told = ask.heard[2]
    assert actor == "author"
    assert all(part in told for part in ("write it", "draft one", "too short"))
    assert ask.heard[1] == ("reviewer", "draft one")


async def test_a_refinement_ends_at_its_limit_with_the_draft_that_was_last_reviewed():
    ask = Asked(author=["d1", "d2"], reviewer=["no", "no"])
    refined = await iterative_refinement(ask, "author", "reviewer", "write", lambda _: False, max_iterations=2)
    assert (refined.result, refined.iterations, refined.draft, refined.review) == ("max-iter", 2, "d2", "no")


@pytest.mark.parametrize("count", [0, -1, True, 1.5])
async def test_a_number_of_rounds_that_is_none_is_refused_before_anyone_is_asked(count):
    ask = Asked()
    with pytest.raises(BadInput, match="rounds is a whole number"):
        await debate(ask, "ann", "bob", "tabs?", rounds=count)
    with pytest.raises(BadInput, match="max_iterations is a whole number"):
        await iterative_refinement(ask, "ann", "bob", "write", bool, max_iterations=count)
