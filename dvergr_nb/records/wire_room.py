"""What a room view and Python say to each other beside what every view says: who is there, and what was said."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Literal, NotRequired, TypedDict

from dvergr_nb.records.message import EVERYONE, PERSON, Message
from dvergr_nb.records.room import Present, Unanswered, is_reserved
from dvergr_nb.records.run import WORD_LIMIT
from dvergr_nb.records.text import clipped
from dvergr_nb.records.wire import FromPython, FromView, Patch, Snapshot, from_view, is_sane
from dvergr_nb.records.wire_timeline import milliseconds

TEXT_LIMIT: Final = 700
"""How much of a message comes by itself, in characters; the rest is asked for."""
LINES_LIMIT: Final = 12
WHOLE_LIMIT: Final = 50_000
"""How much of a message is told when it is asked for, in characters."""
PRESENT_LIMIT: Final = 50
"""How many participants are named: first those who work or have something queued."""


class PresentWire(TypedDict):
    """One participant: the Run it works on, and those that wait for it, in the order in which they will begin."""

    actor: str
    program: str
    working: NotRequired[str]
    queued: NotRequired[list[str]]


class SaidWire(TypedDict):
    """One message. Where `text` is only its beginning, `length` is how many characters there are."""

    id: str
    thread: str
    who: str
    at: float
    text: str
    person: NotRequired[bool]
    to: NotRequired[str]
    run: NotRequired[str]
    length: NotRequired[int]


class UnansweredWire(TypedDict):
    """A message that an actor was given and will not answer by itself. `here`: the actor takes part, so it can be asked to."""

    message: str
    actor: str
    here: NotRequired[bool]


class RoomWire(TypedDict):
    """News of a room; what is left out has not changed. `keep`: how many messages are shown, the last ones.

    `others`: how many more take part than `present` names. `older`: the store holds messages before the first one.
    """

    title: NotRequired[str]
    closed: NotRequired[bool]
    present: NotRequired[list[PresentWire]]
    others: NotRequired[int]
    said: NotRequired[list[SaidWire]]
    older: NotRequired[bool]
    unanswered: NotRequired[list[UnansweredWire]]
    keep: NotRequired[int]


class RoomSnapshot(Snapshot):
    """The whole state of a room view."""

    room: RoomWire


class RoomPatch(Patch):
    """What is new in a room view."""

    room: NotRequired[RoomWire]


class Whole(TypedDict):
    """The answer to `AskWhole`: all of a message, or as much of it as is ever shown."""

    type: Literal["whole"]
    id: str
    message_id: str
    at: float
    text: str


class Post(TypedDict):
    """A person pressed Send. Without `to` the room's rule decides who is addressed."""

    type: Literal["post"]
    id: str
    text: str
    to: str | None
    reply_to: str | None


class Answer(TypedDict):
    """A person asked that an actor answers a message that it has not answered."""

    type: Literal["answer"]
    id: str
    message_id: str
    actor: str


class Older(TypedDict):
    """A person asked for older messages."""

    type: Literal["older"]
    id: str


class AskWhole(TypedDict):
    """A person opened a long message."""

    type: Literal["whole"]
    id: str
    message_id: str


FromRoom = FromPython | RoomSnapshot | RoomPatch | Whole
RoomAct = Post | Answer | Older | AskWhole
FromRoomView = FromView | RoomAct


def present_wire(present: Sequence[Present]) -> tuple[list[PresentWire], int]:
    """The participants as a view shows them, and how many more there are."""
    busiest = sorted(present, key=lambda each: not (each.working or each.queued))[:PRESENT_LIMIT]
    named = {each.actor for each in busiest}
    return [_present(each) for each in present if each.actor in named], len(present) - len(busiest)


def _present(each: Present) -> PresentWire:
    wire: PresentWire = {"actor": each.actor, "program": each.program}
    if each.working is not None:
        wire["working"] = each.working
    if each.queued:
        wire["queued"] = list(each.queued)
    return wire


def unanswered_wire(unanswered: Sequence[Unanswered], present: Sequence[Present]) -> list[UnansweredWire]:
    """What nobody will answer by itself, as a view shows it."""
    here = {each.actor for each in present}
    return [_unanswered(each, each.actor in here) for each in unanswered]


def _unanswered(each: Unanswered, is_here: bool) -> UnansweredWire:
    wire: UnansweredWire = {"message": each.message.id, "actor": each.actor}
    if is_here:
        wire["here"] = True
    return wire


def is_said(message: Message) -> bool:
    """Whether it was said to somebody: what Runs report, take in and put out is not."""
    return message.to is None or not is_reserved(message.to)


def said_wire(message: Message) -> SaidWire:
    """The message as a view shows it."""
    text = beginning(message.content)
    wire: SaidWire = {
        "id": message.id,
        "thread": message.thread_root_id,
        "who": message.sender,
        "at": milliseconds(message.created_at),
        "text": text,
    }
    if message.sender == PERSON and message.run_id is None:
        wire["person"] = True
    if message.to is not None:
        wire["to"] = message.to
    if message.run_id is not None:
        wire["run"] = message.run_id
    if text != message.content:
        wire["length"] = len(message.content)
    return wire


def beginning(text: str) -> str:
    """The text, or its first characters and lines."""
    head = clipped(text, TEXT_LIMIT)
    lines = head.split("\n")
    return head if len(lines) <= LINES_LIMIT else "\n".join(lines[:LINES_LIMIT])


def whole(text: str) -> str:
    """The text as far as a view shows any."""
    return clipped(text, WHOLE_LIMIT)


def from_room_view(content: object) -> FromRoomView | None:
    """What a room view said, or None where it is none of the messages known."""
    match content:
        case {"type": "post", "id": str(act), "text": str(text), "to": str() | None as to, "reply_to": str() | None as root}:
            sane = is_sane(act) and (to is None or to == EVERYONE or len(to) <= WORD_LIMIT) and (root is None or is_sane(root))
            return Post(type="post", id=act, text=text, to=to, reply_to=root) if sane else None
        case {"type": "answer", "id": str(act), "message_id": str(message_id), "actor": str(actor)}:
            sane = is_sane(act, message_id) and 0 < len(actor) <= WORD_LIMIT
            return Answer(type="answer", id=act, message_id=message_id, actor=actor) if sane else None
        case {"type": "older", "id": str(act)} if is_sane(act):
            return Older(type="older", id=act)
        case {"type": "whole", "id": str(act), "message_id": str(message_id)} if is_sane(act, message_id):
            return AskWhole(type="whole", id=act, message_id=message_id)
        case _:
            return from_view(content)
