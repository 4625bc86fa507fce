"""What a handler gives back for a message: a reply, a reply withheld, or nothing."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

from dvergr_nb.records.message import Fact, Message
from dvergr_nb.runtime.body import Pause
from dvergr_nb.runtime.context import Context


@dataclass(frozen=True, slots=True)
class Reply:
    """A reply on its way to the room, in the thread of the message it answers."""

    content: str
    _: KW_ONLY
    to: str | None = None
    """An actor, `"*"` for everyone, None for who sent the message."""
    facts: tuple[Fact, ...] = ()
    """What is on record about how it came about; ids and Run as `Context.fact` makes them."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    value: Any = field(default=None, compare=False)
    """What awaiting the Run gives, where that is not the text; it stays in the kernel."""
    obligation: object | None = field(default=None, repr=False, compare=False)
    """What posting it settles; never part of the message."""


@dataclass(frozen=True, slots=True)
class Withheld:
    """A reply that a wrapper has dropped, and why. The Run ends completed with that reason."""

    reason: str = "withheld"


Given = str | Reply | Withheld | Pause | None
Handler = Callable[[Message, Context], Awaitable[Given]]
"""Answers one message. What it raises fails the Run; it never ends the participant."""
Wrapper = Callable[[Handler], Handler]
"""Makes a handler of a handler, keeping its attributes (`functools.wraps`)."""


def as_reply(given: Given) -> Given:
    """The same, a bare text as a `Reply`: what wrappers look at."""
    return Reply(content=given) if isinstance(given, str) else given
