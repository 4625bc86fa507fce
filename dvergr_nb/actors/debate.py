"""Small conversations on top of asking: a debate, and a draft that is refined until its reviewer accepts it."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from dvergr_nb.errors import BadInput
from dvergr_nb.records.text import shown

Ask = Callable[[str, str], Awaitable[str]]
"""Gives the text to the actor and returns its reply."""
Accept = Callable[[str], bool | Awaitable[bool]]
"""Whether a review accepts the draft."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """One thing that was said."""

    actor: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Transcript:
    """What was said, in order."""

    lines: tuple[Line, ...] = ()

    def __str__(self) -> str:
        return "\n".join(f"{line.actor}: {line.text}" for line in self.lines)

    def with_line(self, actor: str, text: str) -> Transcript:
        """The transcript with one more line at its end."""
        return Transcript(lines=(*self.lines, Line(actor=actor, text=text)))


@dataclass(frozen=True, slots=True, kw_only=True)
class Refinement:
    """What a refinement has come to."""

    result: str
    """`accepted` or `max-iter`."""
    iterations: int
    """How many reviews rejected a draft."""
    draft: str
    """The draft that the last review is about."""
    review: str


async def debate(ask: Ask, first: str, second: str, topic: str, rounds: int = 2) -> Transcript:
    """Has two actors answer each other: `first` begins with the topic, and each speaks once a round."""
    said, text = Transcript(), topic
    for _ in range(counted(rounds, "rounds")):
        for actor in (first, second):
            text = await ask(actor, text)
            said = said.with_line(actor, text)
    return said


async def iterative_refinement(
    ask: Ask, author: str, reviewer: str, task: str, accept: Accept, *, max_iterations: int = 5
) -> Refinement:
    """Has the author work on the task until `accept` takes the reviewer's review, or so many reviews have rejected it."""
    limit = counted(max_iterations, "max_iterations")
    if not callable(accept):
        raise BadInput(f"accept is a function of the review, not {shown(accept)}")
    draft, rejected = await ask(author, task), 0
    while True:
        review = await ask(reviewer, draft)
        if await _is_accepted(accept, review):
            return Refinement(result="accepted", iterations=rejected, draft=draft, review=review)
        rejected += 1
        if rejected == limit:
            return Refinement(result="max-iter", iterations=rejected, draft=draft, review=review)
        draft = await ask(author, f"{task}\n\nYour draft:\n{draft}\n\nThe review of it:\n{review}")


async def _is_accepted(accept: Accept, review: str) -> bool:
    given = accept(review)
    return bool(await given if inspect.isawaitable(given) else given)


def counted(value: object, what: str) -> int:
    """A whole number from 1. Raises `BadInput`."""
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise BadInput(f"{what} is a whole number from 1, not {shown(value)}")
    return value
