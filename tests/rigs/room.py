"""Handlers for tests of rooms: they tell what they began with, and answer when they are let through."""

from __future__ import annotations

import asyncio
from typing import Any

from dvergr_nb.records.message import ACTIVITY, Message
from dvergr_nb.records.query import MessageFilter
from dvergr_nb.runtime.context import Context


class Held:
    """Answers each message with `done …`, once it is let through."""

    def __init__(self) -> None:
        self.began: list[str] = []
        self._free = False
        self._through: set[str] = set()
        self._changed = asyncio.Event()

    async def __call__(self, message: Message, ctx: Context) -> str:
        self.began.append(message.content)
        self._tell()
        while not self._free and message.content not in self._through:
            await self._changed.wait()
        return f"done {message.content}"

    def _tell(self) -> None:
        """Wakes everybody who waits, and only them."""
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    def let(self, *contents: str) -> None:
        """Lets those messages through; without any, all that have come and will come."""
        self._through.update(contents)
        self._free = self._free or not contents
        self._tell()

    async def until(self, *contents: str) -> None:
        """Returns once it has begun with all of them."""
        while not set(contents) <= set(self.began):
            await self._changed.wait()


class Stubborn:
    """Does not stop when it is asked to: it goes on until it is let go."""

    def __init__(self) -> None:
        self.began = asyncio.Event()
        self.open = asyncio.Event()

    async def __call__(self, message: Message, ctx: Context) -> str:
        return await self.hold()

    async def hold(self) -> str:
        """Begins and goes on."""
        self.began.set()
        while not self.open.is_set():
            try:
                await self.open.wait()
            except asyncio.CancelledError:
                continue
        return "done at last"


class Heard:
    """Answers at once with nothing, and keeps what it was given."""

    def __init__(self, answer: str | None = None) -> None:
        self.contents: list[str] = []
        self._answer = answer

    async def __call__(self, message: Message, ctx: Context) -> str | None:
        self.contents.append(message.content)
        return self._answer


def said_by(room: Any, actor: str) -> list[str]:
    """What somebody said in a room, oldest first."""
    return [each.content for each in room.messages(limit=None) if each.sender == actor]


def end_of(run: Any) -> tuple[str, str | None]:
    """How a Run stands on record: status and reason, as plain words."""
    row = run.row
    return row.status.value, row.reason


def activity_of(session: Any, run: Any) -> list[Message]:
    """The activity messages of a Run."""
    return [each for each in session.store.messages(MessageFilter(run=run.id)) if each.to == ACTIVITY]
