"""What a person does in a room view: posts, asks for older messages, opens a long one."""

from __future__ import annotations

from collections import OrderedDict
from concurrent.futures import Future
from typing import Any, Final, Literal

from dvergr_nb.errors import DvergrError, RoomClosed
from dvergr_nb.ids import MessageId
from dvergr_nb.records.message import Message
from dvergr_nb.records.text import clipped
from dvergr_nb.records.wire import milliseconds
from dvergr_nb.records.wire_room import AskWhole, FromRoomView, Post, Whole, from_room_view, is_said, whole
from dvergr_nb.widgets.acts import ERROR_LIMIT, REMEMBERED, Act, Acts
from dvergr_nb.widgets.room_feed import RoomFeed

Outcome = Literal["posted", "failed"]
GONE: Final = "this message is not in the room"


class RoomActs(Acts):
    """The acts of the views of one room. A message that is sent twice is posted once, and both are answered."""

    def __init__(self, feed: RoomFeed) -> None:
        super().__init__(feed)
        self._room = feed
        self._posted: OrderedDict[str, tuple[Outcome, str | None] | None] = OrderedDict()
        """What became of each message by the id of its act; None while it is being stored."""

    def read(self, content: object) -> FromRoomView | None:
        """What a room view said."""
        return from_room_view(content)

    def do(self, message: FromRoomView) -> None:
        """Does what was asked, and answers; also what was answered before, where the answer may have been lost."""
        if message["type"] == "post" and message["id"] in self._posted:
            self._answer(message["id"])
        else:
            super().do(message)

    def _begin(self, message: Act) -> None:
        match message["type"]:
            case "post":
                self._post(message)
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

    def _post(self, message: Post) -> None:
        self._posted[message["id"]] = None
        if len(self._posted) > REMEMBERED:
            self._posted.popitem(last=False)
        self._store(message)

    def _store(self, message: Post) -> None:
        session, act = self._feed.hub.session, message["id"]
        reply_to = None if message["reply_to"] is None else MessageId(message["reply_to"])
        try:
            if session.rooms.is_closed(self._room.room):
                raise RoomClosed(self._room.room)  # posting by name would open it again
            posted = session.rooms.post(self._room.room, message["text"], to=message["to"], reply_to=reply_to)
        except DvergrError as problem:
            self._settle(act, problem)
            return
        posted.durable.add_done_callback(lambda stored: session.home.post(lambda: self._stored(act, stored)))

    def _stored(self, act: str, stored: Future[Any]) -> None:
        self._settle(act, stored.exception())

    def _settle(self, act: str, problem: BaseException | None) -> None:
        self._posted[act] = ("posted", None) if problem is None else ("failed", _sentence(problem))
        self._answer(act)

    def _answer(self, act: str) -> None:
        if (known := self._posted[act]) is not None:
            self._feed.acknowledge(act, *known)


def _sentence(problem: BaseException) -> str:
    """A mistake of the person is said as it is; what else may go wrong is said with its type."""
    told = str(problem) if isinstance(problem, DvergrError) else f"{type(problem).__name__}: {problem}"
    return clipped(told, ERROR_LIMIT)
