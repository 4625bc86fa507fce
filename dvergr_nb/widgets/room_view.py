"""The room view: messages by thread with their turns, who is there, and a box for a new message."""

from __future__ import annotations

from typing import Final

import traitlets

from dvergr_nb.api import KERNEL
from dvergr_nb.errors import BadInput
from dvergr_nb.records.run import RunKind, checked_word
from dvergr_nb.session import Session
from dvergr_nb.widgets import fallback
from dvergr_nb.widgets._base import RunView, static
from dvergr_nb.widgets.acts import Acts
from dvergr_nb.widgets.feed import Feed, Scope
from dvergr_nb.widgets.hub import Hub
from dvergr_nb.widgets.room_acts import RoomActs
from dvergr_nb.widgets.room_feed import RoomFeed

SAID_LIMIT: Final = 500
"""How many messages a room view holds unless told otherwise, the last ones; older ones come when they are asked for."""


class RoomView(RunView):
    """A live view of one room, by its name. Without a session, of the current one."""

    _esm = static("room_view.js")
    _css = static("room_view.css")

    room = traitlets.Unicode("").tag(sync=True)

    def __init__(self, session: Session | None = None, room: str = "main", *, limit: int = SAID_LIMIT) -> None:
        if not isinstance(limit, int) or limit < 1:
            raise BadInput(f"limit must be a whole number from 1, not {limit!r}")
        venue, name = session or KERNEL.current(), checked_word(room, "room")
        self._limit = limit
        turns = [run for run in venue.active_runs(name) if run.kind == RunKind.AGENT_TURN]
        super().__init__(venue, Scope(room=name), turns, room=name)

    def _wired(self, scope: Scope) -> tuple[Feed, Acts]:
        hub = Hub.of(self.session)
        feed = RoomFeed(hub, room=scope.room or "", limit=self._limit, send=self._tell_views, save=self._keep)
        return feed, RoomActs(feed)

    def _plain(self) -> str:
        return fallback.room_text(self.room)

    def _html(self) -> str:
        return fallback.room_html(self.room)
