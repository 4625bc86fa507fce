"""The stage of an episode: a child room that exists as long as the talk, in which the Runs are children of the episode's."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Final

from dvergr_nb.errors import BadInput
from dvergr_nb.ids import short
from dvergr_nb.records.room import checked_actor
from dvergr_nb.records.text import clipped, shown
from dvergr_nb.runtime.context import Context
from dvergr_nb.runtime.handle import RunHandle
from dvergr_nb.runtime.handler import handler_of
from dvergr_nb.runtime.room import Room
from dvergr_nb.runtime.rooms import Rooms

ENVIRONMENT: Final = "environment"
"""The actor of an episode: it hands each actor what the last one said. It takes no part, so nothing wakes it."""
CLOSE_S: Final = 5.0

NAME_CHARS: Final = 150
"""How much of the name of the room that asks is in the name of the child room."""

Cast = Mapping[str, object] | Sequence[str]
"""Who talks: names with their handlers, or names of those who take part in the room that asks."""


def handlers_of(room: Room, cast: Cast) -> Mapping[str, object]:
    """What each of them answers with. Raises `NoSuchActor` for a name without a handler that takes no part."""
    if isinstance(cast, Mapping):
        for name, work in cast.items():
            checked_actor(name)
            handler_of(work, ())
        return dict(cast)
    if isinstance(cast, str) or not isinstance(cast, Sequence):
        raise BadInput(f"an episode's actors are a list of names or names with handlers, not {shown(cast)}")
    return {name: room.found(name).handler for name in cast}


class RoomStage:
    """A stage in a room of its own; all of it is one thread."""

    def __init__(self, room: Room, ctx: Context) -> None:
        self._room = room
        self._ctx = ctx
        self._last: RunHandle | None = None

    async def say(self, actor: str, text: str) -> str | None:
        """The reply; None where the actor stays silent. Raises what its Run ends with."""
        self._last = self._room.turn(
            actor, text, thread=self._last, on_busy="queue", parent=self._ctx.run.id, sender=ENVIRONMENT
        )
        reply = await self._last
        return reply if isinstance(reply, str) else None


@asynccontextmanager
async def child_room(rooms: Rooms, parent: str, handlers: Mapping[str, object], ctx: Context) -> AsyncIterator[RoomStage]:
    """Opens the child room and has the actors join; closes it when the talk is over."""
    name = f"{clipped(parent, NAME_CHARS)}/episode-{short(ctx.run.id)}"
    room = rooms.open(name, title=f"episode in {clipped(parent, NAME_CHARS)}", parent=parent)
    try:
        for actor, handler in handlers.items():
            room.join(actor, handler)
        yield RoomStage(room, ctx)
    finally:
        await room.close(CLOSE_S)
        rooms.forget(room)
