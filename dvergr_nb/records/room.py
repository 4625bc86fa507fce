"""The room: the durable venue of messages and Runs, and who is in it."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Final

from dvergr_nb.errors import BadInput
from dvergr_nb.ids import RunId
from dvergr_nb.records.message import EVERYONE, PERSON, Message
from dvergr_nb.records.run import checked_word
from dvergr_nb.records.text import printable, shown

DEFAULT_ROOM: Final = "main"
RESERVED: Final = "_"
"""Addresses that begin so have no participant behind them: they wake nobody and are never counted."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """One room. `name` is unique within a tenant."""

    tenant_id: str
    name: str
    title: str
    created_at: dt.datetime
    parent: str | None = None
    """The room it was made in, for the talk of an episode."""
    exclusive_threads: bool = False
    """Whether a thread has at most one open Run, whoever acts; else one per actor. Fixed when the room is made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One stay of an actor in a room. What it answers with lives in a kernel; that it was there is on record."""

    tenant_id: str
    room: str
    actor: str
    program: str
    """What answers for it: `scripted`, `echo`, `function`, …"""
    joined_at: dt.datetime
    left_at: dt.datetime | None = None
    """None while it takes part. A stay whose kernel died has ended with the last message of the room before that."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Present:
    """One participant as it stands in this kernel."""

    actor: str
    program: str
    working: RunId | None = None
    """The Run it works on."""
    queued: tuple[RunId, ...] = ()
    """The Runs that wait for it, in the order in which they will begin."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Unanswered:
    """A message that an actor of the room was given and that no Run of its answers: it is listed, never started by itself."""

    message: Message
    actor: str

    def __repr__(self) -> str:
        """One line: who was given which message."""
        return f"unanswered by {printable(self.actor)}: {self.message!r}"


def is_reserved(actor: str) -> bool:
    """Whether nobody listens on that address."""
    return actor.startswith(RESERVED)


def is_agent(actor: str) -> bool:
    """Whether the participant counts when it is asked who is addressed: people and reserved addresses do not."""
    return actor != PERSON and not is_reserved(actor)


def checked_actor(actor: object) -> str:
    """The name of somebody who may join a room. Raises `BadInput` for a reserved one."""
    word = checked_word(actor, "actor")
    if word == PERSON:
        raise BadInput(f"{PERSON!r} is the person at the keyboard, who answers with a cell; use another name")
    if is_reserved(word) or word == EVERYONE:
        raise BadInput(f"{word!r} is a reserved address, as all names that begin with {RESERVED!r}; use another name")
    return word


def checked_title(title: object) -> str:
    """A title of one line. Raises `BadInput`."""
    if not isinstance(title, str):
        raise BadInput(f"a room's title is text, not {shown(title)}")
    return checked_word(title, "title")
