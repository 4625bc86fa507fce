"""The board: all Runs of a room, or of all rooms; those that live, and the newest of those that have ended."""

from __future__ import annotations

from typing import Final

import traitlets

from dvergr_nb.api import KERNEL
from dvergr_nb.errors import BadInput
from dvergr_nb.records.run import checked_word
from dvergr_nb.session import Session
from dvergr_nb.widgets import fallback
from dvergr_nb.widgets._base import RunView, static
from dvergr_nb.widgets.feed import Scope

BOARD_LIMIT: Final = 1_000
"""How many Runs a board holds unless told otherwise."""


class RunBoard(RunView):
    """A live board. Without a room it shows all rooms; without a session, those of the current one."""

    _esm = static("run_board.js")
    _css = static("run_board.css")

    room = traitlets.Unicode("").tag(sync=True)

    def __init__(self, session: Session | None = None, *, room: str | None = None, limit: int = BOARD_LIMIT) -> None:
        if not isinstance(limit, int) or limit < 1:
            raise BadInput(f"limit must be a whole number from 1, not {limit!r}")
        venue = session or KERNEL.current()
        shown = None if room is None else checked_word(room, "room")
        super().__init__(venue, Scope(room=shown, limit=limit), venue.active_runs(shown), room=shown or "")

    def _plain(self) -> str:
        return fallback.board_text(self.room)

    def _html(self) -> str:
        return fallback.board_html(self.room)
