"""What a model sees of a thread: the messages on record, as a conversation from its own point of view."""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart

from dvergr_nb.ids import MessageId
from dvergr_nb.records.message import PERSON, Message

LIMIT = 200
"""How many messages of a thread a model is shown, the latest."""


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """What was said on a thread before a message."""

    shown: Sequence[ModelMessage]
    """Oldest first; empty where the message begins its thread."""
    ids: frozenset[MessageId]
    """Of the messages in it."""


def conversation(actor: str, thread: Sequence[Message], until: Message) -> History:
    """What the actor knows of a thread when it begins with that message: all before it, and whatever it has said itself.

    A message that had to wait was said before the replies to those ahead of it; what waits behind it comes in its turn.
    """
    said = [each for each in thread if each.id != until.id and (each.sender == actor or _when(each) < _when(until))]
    said = _answered_in_order(said[-LIMIT:], actor)
    begins = next((place for place, each in enumerate(said) if each.sender != actor), len(said))
    shown = [_own(each) if each.sender == actor and place > begins else _asked(each) for place, each in enumerate(said)]
    return History(shown=shown, ids=frozenset(each.id for each in said))


def _answered_in_order(said: Sequence[Message], actor: str) -> list[Message]:
    """Each reply before the next message that has a reply of its own: that one had to wait."""
    answered = {each.reply_to for each in said if each.sender == actor}
    begins = {each.id: place for place, each in enumerate(said) if each.id in answered}

    def place_of(place: int, each: Message) -> tuple[int, bool]:
        trigger = begins.get(each.reply_to) if each.reply_to is not None and each.sender == actor else None
        if trigger is None:
            return place, True
        return min((begin for begin in begins.values() if trigger < begin < place), default=place), False

    return [each for _, each in sorted(enumerate(said), key=lambda numbered: place_of(*numbered))]


def _when(message: Message) -> tuple[dt.datetime, str]:
    return message.created_at, message.id


def _asked(message: Message) -> ModelRequest:
    """As a request; so is what the actor itself has begun with, for providers refuse a conversation that a model begins."""
    return ModelRequest(parts=[prompt(message)])


def _own(message: Message) -> ModelResponse:
    return ModelResponse(parts=[TextPart(message.content)], timestamp=message.created_at)


def prompt(message: Message) -> UserPromptPart:
    """A message as its reader is shown it: who else than the person says it stands before it."""
    by = "" if message.sender == PERSON else f"[{message.sender} · {message.created_at:%H:%M}] "
    return UserPromptPart(f"{by}{message.content}", timestamp=message.created_at)
