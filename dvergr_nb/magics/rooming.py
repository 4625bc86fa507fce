"""`%room`: what is said in a room and who takes part; live where there are widgets, else in words."""

from __future__ import annotations

from typing import Any, Final

from dvergr_nb.api import KERNEL
from dvergr_nb.ids import short
from dvergr_nb.magics import refs
from dvergr_nb.magics._parse import Line, Parser
from dvergr_nb.magics.tables import Lines, aligned, plain
from dvergr_nb.records.message import EVERYONE, Message
from dvergr_nb.records.query import MessageFilter
from dvergr_nb.records.room import Present
from dvergr_nb.records.text import first_line
from dvergr_nb.session import Session

SAID_SHOWN: Final = 20
SAID_CHARS: Final = 80
COLUMNS: Final = ("said (UTC)", "thread", "from", "to", "message")


def parser() -> Parser:
    """What stands behind `%room`."""
    described = Parser("%room", "A live view of a room: its threads, their turns and who is there; without widgets, in words.")
    described.add_argument("room", nargs="?", metavar="ROOM", help="the room; the session's unless given")
    return described


def room(given: Line) -> Any:
    """The view, live as long as this kernel. It opens no room."""
    session = KERNEL.current()
    name = refs.room(session, given.room) or session.room
    if session.display is not None:
        from dvergr_nb.widgets.room_view import RoomView

        return RoomView(session, room=name)
    return told(session, name)


def told(session: Session, name: str) -> Lines:
    """A heading, who takes part and how they stand, and what was said last."""
    found = session.store.messages(MessageFilter(room=name, limit=SAID_SHOWN + 1, only_said=True))
    rows = [COLUMNS, *map(_row, found[-SAID_SHOWN:])]
    present = session.rooms.present(name)
    closed = ", closed" if session.rooms.is_closed(name) else ""
    return Lines(
        f"Room {plain(name)}{closed}",
        *(aligned([_standing(each) for each in present]) or ["nobody takes part in this kernel"]),
        *(["older messages: " + f"d.room({name!r}).messages(limit=None)"] if len(found) > SAID_SHOWN else []),
        *(aligned(rows) if found else ["nothing was said yet"]),
    )


def _standing(each: Present) -> tuple[str, ...]:
    works = f"works on Run {short(each.working)}" if each.working else "is free"
    waits = f", {len(each.queued)} queued" if each.queued else ""
    return (plain(each.actor), plain(each.program), f"{works}{waits}")


def _row(message: Message) -> tuple[str, ...]:
    return (
        f"{message.created_at:%Y-%m-%d %H:%M:%S}",
        short(message.thread_root_id),
        plain(message.sender, 20),
        plain(message.to or EVERYONE, 20),
        plain(first_line(message.content, SAID_CHARS), SAID_CHARS),
    )
