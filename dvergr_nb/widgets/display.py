"""How Runs and rooms show themselves once the extension is loaded: as cards and room views, drawn wherever they are shown."""

from __future__ import annotations

from typing import Any

from dvergr_nb.ids import RunId
from dvergr_nb.runtime.handle import RunHandle
from dvergr_nb.session import Session
from dvergr_nb.widgets import fallback
from dvergr_nb.widgets.hub import Hub
from dvergr_nb.widgets.room_view import RoomView
from dvergr_nb.widgets.run_card import RunCard


class RunDisplay:
    """The display of one session; the extension sets it as `session.display`."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._cards: dict[RunId, RunCard] = {}
        self._rooms: dict[str, RoomView] = {}
        session.home.post(Hub.of(session).watch_again)

    def card(self, handle: RunHandle) -> RunCard:
        """The live card of a Run; the same one as long as it is open."""
        card = self._cards.get(handle.id)
        if card is None or card.comm is None:
            card = self._cards[handle.id] = RunCard(handle, session=self._session)
        return card

    def bundle(self, handle: RunHandle, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """The card for notebooks, HTML and text for everything else."""
        run = handle.row
        data = self.card(handle).bundle()
        data |= {"text/plain": fallback.card_text(run), "text/html": fallback.card_html(run)}
        return _chosen(data, include, exclude)

    def room_view(self, room: str) -> RoomView:
        """The live view of a room; the same one as long as it is open."""
        view = self._rooms.get(room)
        if view is None or view.comm is None:
            view = self._rooms[room] = RoomView(self._session, room)
        return view

    def room_bundle(self, room: str, include: Any = None, exclude: Any = None) -> dict[str, Any]:
        """The room view for notebooks, HTML and text for everything else."""
        return _chosen(self.room_view(room).bundle(), include, exclude)


def _chosen(data: dict[str, Any], include: Any, exclude: Any) -> dict[str, Any]:
    return {key: value for key, value in data.items() if (not include or key in include) and key not in (exclude or ())}
