"""A message on its way to a room."""

from __future__ import annotations

import asyncio
from collections.abc import Generator
from concurrent.futures import Future
from typing import Any, Final

from dvergr_nb.records.operation import Answer
from dvergr_nb.records.text import first_line, printable
from dvergr_nb.runtime.delivery import Flight
from dvergr_nb.runtime.handle import RunHandle
from dvergr_nb.runtime.ports import Noted

SHOWN: Final = 60
"""How much of its text a message shows, in characters."""


class Posting:
    """A message on its way. Await it to know that it is stored and delivered."""

    def __init__(self, flight: Flight, noted: Noted) -> None:
        self._flight = flight
        self._noted = noted
        self.message = flight.message

    @property
    def durable(self) -> Future[Answer]:
        """Set once the message is stored, by the writer thread."""
        return self._noted.future

    @property
    def runs(self) -> tuple[RunHandle, ...]:
        """The Runs that it has caused or joined; complete once it was awaited."""
        return tuple(self._flight.runs)

    def __await__(self) -> Generator[Any, None, Posting]:
        yield from asyncio.shield(asyncio.wrap_future(self._flight.landed)).__await__()
        return self

    def __repr__(self) -> str:
        return f"Message {self.message.id[-8:]}: {printable(first_line(self.message.content, SHOWN))}"
