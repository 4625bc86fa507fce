"""What a person does in a room view: posts, has something answered, asks for older messages, opens a long one."""

from __future__ import annotations

from collections import OrderedDict
from concurrent.futures import Future
from typing import Any, Final, Literal

from dvergr_nb.errors import DvergrError, RoomClosed
from dvergr_nb.ids import MessageId
from dvergr_nb.records.message import Message
from dvergr_nb.records.room import Unanswered
from dvergr_nb.records.text import clipped
from dvergr_nb.records.wire_room import Answer, AskWhole, FromRoomView, Post, Whole, from_room_view, is_said, whole
from dvergr_nb.records.wire_timeline import milliseconds
from dvergr_nb.widgets.acts import ERROR_LIMIT, REMEMBERED, Act, Acts
from dvergr_nb.widgets.room_feed import RoomFeed

Outcome = Literal["posted", "requested", "over", "failed"]
GONE: Final = "this message is not in the room"


class RoomActs(Acts):
    """The acts of the views of one room. What is said or asked twice is done once, and both are answered."""

    def __init__(self, feed: RoomFeed) -> None:
        super().__init__(feed)
        self._room = feed
        self._outcomes: OrderedDict[str, tuple[Outcome, str | None] | None] = OrderedDict()
        """What became of each message and answer by the id of its act; None while it is not known."""

    def read(self, content: object) -> FromRoomView | None:
        """What a room view said."""
        return from_room_view(content)

    def do(self, message: FromRoomView) -> None:
        """Does what was asked, and answers; also what was answered before, where the answer may have been lost."""
        if message["type"] in ("post", "answer") and message["id"] in self._outcomes:
            self._tell(message["id"])
        else:
            super().do(message)

    def _begin(self, message: Act) -> None:
        match message["type"]:
            case "post":
                self._expect(message["id"])
                self._store(message)
            case "answer":
                self._expect(message["id"])
                self._find(message)
            case "older":
                self._room.read_older(lambda problem: self._looked(message["id"], problem))
            case "whole":
                self._show_whole(message)
            case _:
                super()._begin(message)

    def _looked(self, act: str, problem: BaseException | None) -> None:
        if problem is None:
            self._feed.acknowledge(act, "requested")
        else:
            self._feed.acknowledge(act, "failed", _sentence(problem))

    def _show_whole(self, message: AskWhole) -> None:
        act, message_id = message["id"], MessageId(message["message_id"])
        store = self._feed.hub.session.store
        self._ask(act, lambda: store.message(message_id), lambda found: self._tell_whole(act, found))

    def _tell_whole(self, act: str, found: Message | None) -> None:
        if found is None or found.room != self._room.room or not is_said(found):
            self._feed.acknowledge(act, "failed", GONE)
            return
        at = milliseconds(self._feed.hub.session.clock.now())
        self._feed.tell(Whole(type="whole", id=act, message_id=found.id, at=at, text=whole(found.content)))

    def _expect(self, act: str) -> None:
        self._outcomes[act] = None
        if len(self._outcomes) > REMEMBERED:
            self._outcomes.popitem(last=False)

    def _store(self, message: Post) -> None:
        session, act = self._feed.hub.session, message["id"]
        reply_to = None if message["reply_to"] is None else MessageId(message["reply_to"])
        try:
            if session.rooms.is_closed(self._room.room):
                raise RoomClosed(self._room.room)  # posting by name would open it again
            posted = session.rooms.post(self._room.room, message["text"], to=message["to"], reply_to=reply_to)
        except DvergrError as problem:
            self._settle(act, "failed", problem)
            return
        posted.durable.add_done_callback(lambda stored: session.home.post(lambda: self._stored(act, stored)))

    def _stored(self, act: str, stored: Future[Any]) -> None:
        problem = stored.exception()
        self._settle(act, "posted" if problem is None else "failed", problem)

    def _find(self, message: Answer) -> None:
        """Looks whether it is still unanswered: what the view shows may be older than an answer."""
        act = message["id"]
        then, otherwise = lambda found: self._answer(act, found), lambda problem: self._settle(act, "failed", problem)
        self._room.lookout.find(message["message_id"], message["actor"], then, otherwise)

    def _answer(self, act: str, found: Unanswered | None) -> None:
        if found is None:
            self._settle(act, "over")
            return
        rooms = self._feed.hub.session.rooms
        try:
            if rooms.is_closed(self._room.room):
                raise RoomClosed(self._room.room)  # asking for it by name would open it again
            rooms.open(self._room.room).answer(found)
        except DvergrError as problem:
            self._settle(act, "failed", problem)
        else:
            self._settle(act, "requested")

    def _settle(self, act: str, outcome: Outcome, problem: BaseException | None = None) -> None:
        self._outcomes[act] = (outcome, None if problem is None else _sentence(problem))
        self._tell(act)

    def _tell(self, act: str) -> None:
        if (known := self._outcomes[act]) is not None:
            self._feed.acknowledge(act, *known)


def _sentence(problem: BaseException) -> str:
    """A mistake of the person is said as it is; what else may go wrong is said with its type."""
    told = str(problem) if isinstance(problem, DvergrError) else f"{type(problem).__name__}: {problem}"
    return clipped(told, ERROR_LIMIT)
