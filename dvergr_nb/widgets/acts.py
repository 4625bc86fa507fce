"""What a view asks for, done once: on the home loop, and idempotent on the id that the browser gave the act."""

from __future__ import annotations

import logging
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from typing import Final

from dvergr_nb.records.text import clipped
from dvergr_nb.records.timeline import Timeline
from dvergr_nb.records.wire import AskDetails, Cancel, Details, FromView, milliseconds, timeline_wire
from dvergr_nb.widgets.feed import Feed

log = logging.getLogger(__name__)

REMEMBERED: Final = 1_000
"""How many acts are known again when their message comes twice."""
ERROR_LIMIT: Final = 300


class Acts:
    """The acts of the views of one widget. Every method is called on the home loop."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._done: OrderedDict[str, None] = OrderedDict()

    def do(self, message: FromView) -> None:
        """Does what was asked, and answers."""
        if message["type"] == "resync":
            self._feed.resync()
        elif message["type"] == "ping":
            self._feed.answer_ping()
        elif self._is_new(message["id"]):
            self._try(message["id"], lambda: self._act(message))

    def _is_new(self, act: str) -> bool:
        if act in self._done:
            return False
        self._done[act] = None
        if len(self._done) > REMEMBERED:
            self._done.popitem(last=False)
        return True

    def _act(self, message: Cancel | AskDetails) -> None:
        act, run_id = message["id"], message["run_id"]
        session = self._feed.hub.session
        if run_id not in self._feed.rows:
            self._feed.acknowledge(act, "unknown")
        elif message["type"] == "cancel":
            self._feed.acknowledge(act, "requested" if session.cancel_run(run_id) else "over")
        else:
            session.home.in_thread(lambda: session.details(run_id), lambda read: self._show(act, run_id, read))

    def _show(self, act: str, run_id: str, read: Future[Timeline]) -> None:
        def show() -> None:
            drawn = timeline_wire(read.result())
            at = milliseconds(self._feed.hub.session.clock.now())
            self._feed.tell(Details(type="details", id=act, run_id=run_id, at=at, timeline=drawn))

        self._try(act, show)

    def _try(self, act: str, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as problem:
            log.exception("an act of a view failed")
            self._feed.acknowledge(act, "failed", clipped(f"{type(problem).__name__}: {problem}", ERROR_LIMIT))
