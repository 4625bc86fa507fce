"""What a view asks for, done once: on the home loop, and idempotent on the id that the browser gave the act."""

from __future__ import annotations

import contextlib
from collections import OrderedDict
from collections.abc import Callable
from typing import Final, TypeVar

from dvergr_nb.errors import BlobMissing
from dvergr_nb.records.text import clipped
from dvergr_nb.records.timeline import Timeline
from dvergr_nb.records.wire import AskDetails, Cancel, Details, from_view
from dvergr_nb.records.wire_room import FromRoomView, RoomAct
from dvergr_nb.records.wire_timeline import milliseconds, timeline_wire
from dvergr_nb.records.wire_use import AskReply, AskUse, ReplyTold, UseTold, reply_told, shown_pictures, use_told
from dvergr_nb.runtime.logs import logger
from dvergr_nb.widgets.feed import Feed

log = logger(__name__)

RunAct = Cancel | AskDetails | AskUse | AskReply
Act = RunAct | RoomAct
Value = TypeVar("Value")

REMEMBERED: Final = 1_000
"""How many acts are known again when their message comes twice."""
ERROR_LIMIT: Final = 300


class Acts:
    """The acts of the views of one widget. Every method is called on the home loop."""

    def __init__(self, feed: Feed) -> None:
        self._feed = feed
        self._done: OrderedDict[str, None] = OrderedDict()

    def read(self, content: object) -> FromRoomView | None:
        """What a view said, None where it is none of the messages known. Safe in any thread."""
        return from_view(content)

    def do(self, message: FromRoomView) -> None:
        """Does what was asked, and answers."""
        if message["type"] == "resync":
            self._feed.resync()
        elif message["type"] == "ping":
            self._feed.answer_ping()
        elif self._is_new(message["id"]):
            self._try(message["id"], lambda: self._begin(message))

    def _is_new(self, act: str) -> bool:
        if act in self._done:
            return False
        self._done[act] = None
        if len(self._done) > REMEMBERED:
            self._done.popitem(last=False)
        return True

    def _begin(self, message: Act) -> None:
        """Does something new. A view of Runs asks for Runs only."""
        if message["type"] in ("cancel", "details", "use", "reply"):
            self._act(message)

    def _act(self, message: RunAct) -> None:
        act, run_id = message["id"], message["run_id"]
        session = self._feed.hub.session
        if not self._feed.shows(run_id):
            self._feed.acknowledge(act, "unknown")
        elif message["type"] == "details":
            self._ask(act, lambda: session.details(run_id), lambda drawn: self._show(act, run_id, drawn))
        elif message["type"] == "use":
            self._ask(act, lambda: self._use(message), lambda told: self._tell_or(act, told, "nothing was kept of this call"))
        elif message["type"] == "reply":
            self._ask(act, lambda: self._reply(message), lambda told: self._tell_or(act, told, "it has no reply"))
        elif run_id in self._feed.hub.live:
            self._cancelled(act, session.cancel_run(run_id))
        else:
            self._ask(act, lambda: session.cancel_run(run_id), lambda was_asked: self._cancelled(act, was_asked))

    def _ask(self, act: str, ask: Callable[[], Value], then: Callable[[Value], None]) -> None:
        """Where the store must be read: in a thread, so that the loop does not wait for the disk."""
        self._feed.hub.session.home.in_thread(ask, lambda answer: self._try(act, lambda: then(answer.result())))

    def _cancelled(self, act: str, was_asked: bool) -> None:
        self._feed.acknowledge(act, "requested" if was_asked else "over")

    def _show(self, act: str, run_id: str, drawn: Timeline) -> None:
        self._feed.tell(Details(type="details", id=act, run_id=run_id, at=self._now(), timeline=timeline_wire(drawn)))

    def _use(self, ask: AskUse) -> UseTold | None:
        """Reads the store, in a thread. A picture that is gone is told by its size."""
        session = self._feed.hub.session
        use = next((use for use in session.tool_uses(ask["run_id"]) if use.id == ask["use_id"]), None)
        if use is None:
            return None
        pictures = {}
        for blob in shown_pictures(use):
            with contextlib.suppress(BlobMissing):
                pictures[blob.sha256] = session.store.blob(blob.sha256)
        return use_told(ask, use, pictures, self._now())

    def _reply(self, ask: AskReply) -> ReplyTold | None:
        """Reads the store, in a thread."""
        reply = self._feed.hub.session.details(ask["run_id"]).result
        return None if reply is None else reply_told(ask, reply, self._now())

    def _tell_or(self, act: str, told: UseTold | ReplyTold | None, otherwise: str) -> None:
        if told is None:
            self._feed.acknowledge(act, "failed", otherwise)
        else:
            self._feed.tell(told)

    def _now(self) -> float:
        return milliseconds(self._feed.hub.session.clock.now())

    def _try(self, act: str, work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as problem:
            log.exception("an act of a view failed")
            self._feed.acknowledge(act, "failed", clipped(f"{type(problem).__name__}: {problem}", ERROR_LIMIT))
