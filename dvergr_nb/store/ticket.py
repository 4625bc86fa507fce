"""A unit on its way to the disk, and then what became of it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Final, Protocol

from dvergr_nb.errors import DvergrError
from dvergr_nb.records.operation import Answer, End, Post, Record, Unit

Outcome = Answer | DvergrError

UNIT_CHARACTERS: Final = 10_000
"""A unit that brings more weighs as several, so that a queue of long texts is as full as one of many."""


class Settled(Protocol):
    """A unit that is settled."""

    def exception(self) -> BaseException | None: ...

    def result(self) -> Answer: ...


Then = Callable[[Settled], None]


class Ticket:
    """A unit on its way, and then its outcome. A future is made only for who asks for one: few reports are waited for."""

    __slots__ = ("_future", "_outcome", "size", "then", "unit")

    def __init__(self, unit: Unit, then: Then | None) -> None:
        self.unit = unit
        self.then = then
        self.size = _characters(unit)
        """About how many characters it brings."""
        self._outcome: Outcome | None = None
        self._future: Future[Answer] | None = None

    @property
    def weight(self) -> int:
        """How many units it counts as."""
        return 1 + self.size // UNIT_CHARACTERS

    @property
    def future(self) -> Future[Answer]:
        """Set when the unit is settled. Whoever gives up waiting for it takes nothing back."""
        with _SETTLING:
            if self._future is None:
                self._future = Future()
                self._future.set_running_or_notify_cancel()
                if self._outcome is not None:
                    _set(self._future, self._outcome)
            return self._future

    def settle(self, outcome: Outcome) -> None:
        """Says what became of it. On the writer's thread, once."""
        with _SETTLING:
            self._outcome, future = outcome, self._future
        if future is not None:
            _set(future, outcome)

    def exception(self) -> BaseException | None:
        """Of a settled unit: the error that kept it out."""
        return self._outcome if isinstance(self._outcome, DvergrError) else None

    def result(self) -> Answer:
        """Of a settled unit: its answer. Raises the error that kept it out."""
        if self._outcome is None or isinstance(self._outcome, DvergrError):
            return self.future.result(0)
        return self._outcome


_SETTLING: Final = threading.Lock()
"""Held while a ticket's outcome and its future are brought together; for moments only, so one lock serves all."""


def _set(future: Future[Answer], outcome: Outcome) -> None:
    if isinstance(outcome, DvergrError):
        future.set_exception(outcome)
    else:
        future.set_result(outcome)


def _characters(unit: Unit) -> int:
    match unit:
        case Record(message=message) | Post(message=message):
            return len(message.content)
        case End(messages=messages):
            return sum(len(message.content) for message in messages)
        case _:
            return 0
