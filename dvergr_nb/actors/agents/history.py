"""What a model sees of a thread: the messages on record, as a conversation from its own point of view."""

from __future__ import annotations

from collections.abc import Sequence

from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart

from dvergr_nb.records.message import PERSON, Message

LIMIT = 200
"""How many messages of a thread a model is shown, the latest."""


def conversation(actor: str, thread: Sequence[Message], until: Message) -> list[ModelMessage]:
    """What was said on the thread before that message, oldest first; empty where it begins the thread."""
    said = [message for message in thread if (message.created_at, message.id) < (until.created_at, until.id)]
    return [_own(each) if each.sender == actor else ModelRequest(parts=[prompt(each)]) for each in said[-LIMIT:]]


def _own(message: Message) -> ModelResponse:
    return ModelResponse(parts=[TextPart(message.content)], timestamp=message.created_at)


def prompt(message: Message) -> UserPromptPart:
    """A message as its reader is shown it: who else than the person says it stands before it."""
    by = "" if message.sender == PERSON else f"[{message.sender} · {message.created_at:%H:%M}] "
    return UserPromptPart(f"{by}{message.content}", timestamp=message.created_at)
