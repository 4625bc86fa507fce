"""What board and card have in common: their script and style as text, a feed, and what stands in for them elsewhere."""

from __future__ import annotations

import json
import logging
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import Any

import anywidget
import traitlets

from dvergr_nb.records.run import Run
from dvergr_nb.records.wire import Snapshot, row
from dvergr_nb.records.wire_timeline import milliseconds
from dvergr_nb.session import Session
from dvergr_nb.widgets.acts import Acts
from dvergr_nb.widgets.feed import Feed, Scope
from dvergr_nb.widgets.hub import Hub

log = logging.getLogger(__name__)

VIEW_MIME = "application/vnd.jupyter.widget-view+json"


def static(name: str) -> str:
    """A built script or style sheet, as text: given as a path, anywidget would keep every instance alive."""
    return files("dvergr_nb.widgets").joinpath("static", name).read_text(encoding="utf-8")


class RunView(anywidget.AnyWidget):
    """A live view of Runs. What it shows is told by its feed; what its views ask is posted to the home loop."""

    snapshot = traitlets.Unicode("").tag(sync=True)
    """The last whole state as JSON text, now and then: what a saved notebook shows."""
    own_id = traitlets.Unicode("").tag(sync=True)
    """The model's own id, with which a view asks its host whether the line to the kernel is open."""

    def __init__(self, session: Session, scope: Scope, runs: Sequence[Run], **traits: Any) -> None:
        super().__init__(snapshot=_first_state(session, runs), **traits)
        self.own_id = self.model_id
        self.session = session
        self.feed, self._acts = self._wired(scope)
        self.on_msg(self._on_view_message)
        session.home.post(self._start)

    def _wired(self, scope: Scope) -> tuple[Feed, Acts]:
        """What tells it, and what does what its views ask."""
        hub = Hub.of(self.session)
        feed = Feed(hub, send=self._tell_views, save=self._keep, scope=scope, ended=self._ended)
        return feed, Acts(feed)

    def _start(self) -> None:
        if self.session.is_open:
            self.feed.start()

    def _ended(self, run: Run) -> None:
        """A Run it shows has ended, or waits."""

    def _tell_views(self, message: Mapping[str, Any]) -> None:
        self.send(message)

    def _keep(self, state: str) -> None:
        self.snapshot = state

    def _on_view_message(self, _widget: object, content: object, _buffers: object) -> None:
        """Called in whichever thread the kernel chose, so it only posts."""
        message = self._acts.read(content)
        if message is None:
            log.warning("a view sent a message that is not known: %.200r", content)
        else:
            self.session.home.post(lambda: self._acts.do(message))

    def close(self) -> None:
        """Ends the view. The Runs go on. Also called for a view that could not be made."""
        feed = self.__dict__.get("feed")
        if feed is not None:
            self.session.home.post(feed.stop)
            self.layout.close()
        super().close()

    def _plain(self) -> str:
        raise NotImplementedError

    def _html(self) -> str:
        raise NotImplementedError

    def __repr__(self) -> str:
        return self._plain()

    def bundle(self) -> dict[str, Any]:
        """The widget, and what stands in for it elsewhere."""
        view = {"version_major": 2, "version_minor": 0, "model_id": self.model_id}
        return {"text/plain": self._plain(), "text/html": self._html(), VIEW_MIME: view}

    def _repr_mimebundle_(self, **_kwargs: Any) -> tuple[dict[str, Any], dict[str, Any]]:
        return self.bundle(), {}


def _first_state(session: Session, runs: Sequence[Run]) -> str:
    rows, at = [row(run) for run in runs], milliseconds(session.clock.now())
    return json.dumps(Snapshot(type="snapshot", rev=0, at=at, rows=rows, cut=False), separators=(",", ":"))
