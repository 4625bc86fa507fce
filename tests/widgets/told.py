"""What views are told, kept in order, and awaited."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from dvergr_nb.records.message import Message as Stored
from dvergr_nb.session import Session
from dvergr_nb.widgets.feed import Feed, Scope
from dvergr_nb.widgets.hub import Hub
from dvergr_nb.widgets.room_feed import RoomFeed

LIMIT_S = 30.0

Message = Mapping[str, Any]


class Told:
    """The messages of one feed, and the states it saved."""

    def __init__(self) -> None:
        self.messages: list[Message] = []
        self.times: list[float] = []
        self.saved: list[str] = []
        self._news = asyncio.Event()

    def send(self, message: Message) -> None:
        self.messages.append(message)
        self.times.append(asyncio.get_running_loop().time())
        self._news.set()

    def save(self, state: str) -> None:
        self.saved.append(state)
        self._news.set()

    def of(self, kind: str) -> list[Message]:
        return [message for message in self.messages if message["type"] == kind]

    def rows(self) -> dict[str, Message]:
        """What a view that heard every message shows, by label."""
        return {row["label"]: row for row in self.runs()}

    def runs(self) -> list[Message]:
        """The same, in the order told."""
        rows: dict[str, Message] = {}
        for message in self.messages:
            if message["type"] == "snapshot":
                rows = {}
            if message["type"] in ("snapshot", "patch"):
                rows |= {row["id"]: row for row in message["rows"]}
                for run_id in message.get("gone", ()):
                    rows.pop(run_id, None)
        return list(rows.values())

    def room(self) -> dict[str, Any]:
        """What a room view that heard every message knows of its room."""
        facts: dict[str, Any] = {}
        for message in self.messages:
            facts |= message.get("room", {})
        return facts

    def said(self) -> list[Message]:
        """The messages that a room view shows, oldest first."""
        said: dict[str, Message] = {}
        for message in self.messages:
            if message["type"] == "snapshot":
                said = {}
            said |= {each["id"]: each for each in message.get("room", {}).get("said", ())}
        return sorted(said.values(), key=lambda each: (each["at"], each["id"]))

    async def until(self, is_so: Callable[[], object]) -> None:
        """Returns once it is so; looked at after every message."""
        async with asyncio.timeout(LIMIT_S):
            while not is_so():
                self._news.clear()
                await self._news.wait()


def feed_of(session: Session, told: Told, **scope: Any) -> Feed:
    """A feed that has started."""
    feed = Feed(Hub.of(session), send=told.send, save=told.save, scope=Scope(**scope))
    feed.start()
    return feed


def room_feed_of(session: Session, told: Told, room: str, limit: int = 500) -> RoomFeed:
    """The feed of a room that has started."""
    feed = RoomFeed(Hub.of(session), room=room, limit=limit, send=told.send, save=told.save)
    feed.start()
    return feed


async def left_unanswered(session: Session, room: str, text: str, to: str) -> Stored:
    """A message that was stored after its room admitted nothing any more, so that no Run answers it; the room is open again."""
    venue = session.rooms.open(room)
    posting = venue.post(text, to=to)
    fence = venue.fence()
    await posting
    venue.reopen(fence)
    return posting.message


class Gate:
    """A body that goes on when it is told to."""

    def __init__(self) -> None:
        self._event = asyncio.Event()

    def open(self) -> None:
        self._event.set()

    async def body(self, ctx: Any) -> str:
        await self._event.wait()
        return "done"
