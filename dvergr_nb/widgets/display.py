"""How Runs show themselves once the extension is loaded: as cards, one per Run, drawn wherever it is shown."""

from __future__ import annotations

from typing import Any

from dvergr_nb.ids import RunId
from dvergr_nb.runtime.handle import RunHandle
from dvergr_nb.session import Session
from dvergr_nb.widgets import fallback
from dvergr_nb.widgets.hub import Hub
from dvergr_nb.widgets.run_card import RunCard


class RunDisplay:
    """The display of one session; the extension sets it as `session.display`."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._cards: dict[RunId, RunCard] = {}
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
        return {key: value for key, value in data.items() if (not include or key in include) and key not in (exclude or ())}
