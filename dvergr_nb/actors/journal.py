"""What a turn puts on record of its rounds and tools: facts with times, never arguments or results.

Facts are collected and ride on the next message of the turn, which is its reply where nothing else had to be said.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Final

from dvergr_nb import ids
from dvergr_nb.actors.program import ToolCall, Using
from dvergr_nb.records.message import Fact, Message
from dvergr_nb.records.text import clipped
from dvergr_nb.runtime.context import Context

NAME_LIMIT: Final = 200
"""Longest name or id of a tool in a fact; some models make them up."""
NOTE_LIMIT: Final = 100_000
"""Longest text of a note."""


class Journal:
    """The facts of one turn."""

    def __init__(self, name: str, message: Message, ctx: Context) -> None:
        self._name = name
        self._message = message
        self._ctx = ctx
        self._facts: list[Fact] = []
        self._at_work: list[str] = []
        """The names of the tools that are in use."""
        self._uses = 0
        self._extras = 0
        self._open: int | None = None

    def round_began(self, number: int) -> None:
        """The model is called."""
        self._open = number
        self._round(number, "begin")

    def round_ended(self, status: str, outcome: str | None = None) -> None:
        """The round is over, where one is open: `completed`, `cut`, `cancelled` or `failed`."""
        if self._open is not None:
            self._round(self._open, "end", status, outcome)
            self._open = None

    def _round(self, number: int, verb: str, status: str | None = None, outcome: str | None = None) -> None:
        self._note(("round", self._name, f"round {number + 1}", number), verb, status, outcome)

    @contextmanager
    def using(self, call: ToolCall) -> Iterator[Using]:
        """Notes when a tool begins and how it ends."""
        what = ("tool", call.name, call.id, self._uses)
        self._uses += 1
        use = Using(self._note(what, "invoke"))
        try:
            with self._showing(call.name):
                yield use
        except asyncio.CancelledError:
            self._note(what, "fail", "cancelled")
            raise
        except BaseException as problem:
            self._note(what, "fail", "failed", type(problem).__name__)
            raise
        verb, status = ("complete", "completed") if use.failure is None else ("fail", "failed")
        self._note(what, verb, status, use.failure)

    @contextmanager
    def _showing(self, name: str) -> Iterator[None]:
        """Says while a tool works that it does: its facts come with the next message only."""
        self._at_work.append(name)
        self._ctx.doing(", ".join(self._at_work))
        try:
            yield
        finally:
            self._at_work.remove(name)
            self._ctx.doing(", ".join(self._at_work))

    def noted(self, verb: str, outcome: str) -> None:
        """Something happened within the round that is open."""
        self._extras += 1
        number = 0 if self._open is None else self._open
        self._note(("round", self._name, f"round {number + 1}", self._extras), verb, "noted", outcome)

    def _note(self, what: tuple[str, str, str, int], verb: str, status: str | None = None, outcome: str | None = None) -> str:
        """A fact whose id is the same whenever the same thing is told again; the ordinal keeps repeated use ids apart."""
        kind, name, use_id, ordinal = what
        told = ids.named(f"{self._ctx.run.id}|{self._message.id}|{use_id}|{ordinal}|{verb}")
        self._facts.append(
            self._ctx.fact(
                id=told,
                kind=kind,
                verb=verb,
                status=status,
                tool_name=clipped(name, NAME_LIMIT),
                tool_use_id=clipped(use_id, NAME_LIMIT),
                outcome=clipped(outcome, NAME_LIMIT) if outcome else None,
            )
        )
        return told

    def take(self) -> tuple[Fact, ...]:
        """The facts that no message carries yet; the caller's message does."""
        facts, self._facts = tuple(self._facts), []
        return facts

    @property
    def has_facts(self) -> bool:
        """Whether facts wait for a message."""
        return bool(self._facts)

    def tell(self, content: str) -> None:
        """Puts a note on record, with the facts that wait."""
        self._ctx.report(clipped(content, NOTE_LIMIT), self.take())

    def tell_tools(self, calls: Sequence[ToolCall]) -> None:
        """Puts the tools of a round on record, with the facts that wait."""
        used = [{"id": clipped(call.id, NAME_LIMIT), "name": clipped(call.name, NAME_LIMIT)} for call in calls]
        names = clipped(", ".join(each["name"] for each in used), NOTE_LIMIT)
        self._ctx.report(names, self.take(), {"role": "tool", "tool-uses": used})
