"""What a Run says, without secrets: its messages before they are stored, and its live text where somebody looks at it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from operator import attrgetter
from typing import Any, Final

from dvergr_nb.records.message import FACT_WORDS, PERSON, Message
from dvergr_nb.records.text import ELLIPSIS
from dvergr_nb.runtime.context import current
from dvergr_nb.runtime.secrets import last, scrub

LIMIT: Final = 2_000
"""How much of a streamed text is shown, from its end, in characters."""
WORDS_OF: Final = attrgetter(*FACT_WORDS)


class Said:
    """The live text of one Run. Told in any thread, and that costs next to nothing: a stream may come in very small pieces."""

    __slots__ = ("_now",)

    def __init__(self) -> None:
        self._now: tuple[str, list[str]] = ("", [""])
        """The text, and once somebody has looked, what is shown of it."""

    def stream(self, text: str) -> None:
        """All of a text that goes on."""
        self._now = text, []

    def line(self, text: str) -> None:
        """A text as it shall be shown, its secrets gone."""
        self._now = text, [text]

    @property
    def shown(self) -> str:
        """The end of the text. Of a secret that has come only half, hardly a beginning."""
        text, shown = self._now
        if not shown:
            shown.append(last(text, LIMIT))
        return shown[0]


def without_secrets(message: Message) -> Message:
    """The message as it may be stored; itself where there is nothing to hide."""
    words = [word for fact in message.facts for word in WORDS_OF(fact) if word is not None]
    together = "\0".join([message.content, *words])
    is_clean = ELLIPSIS not in together and scrub(together) == together
    if is_clean and not message.metadata:
        return message
    facts = tuple(dataclasses.replace(fact, **_words(fact)) for fact in message.facts)
    return dataclasses.replace(message, content=scrub(message.content), facts=facts, metadata=_plain(message.metadata))


def own_words(message: Message) -> Message:
    """A message that is about to be said: what a person types is theirs, what the code of a Run says is without secrets."""
    is_typed = message.sender == PERSON and current() is None
    return message if is_typed else without_secrets(message)


def own_text(text: str) -> str:
    """A text that a person types as it is; one that the code of a Run gives, without secrets."""
    return text if current() is None or not isinstance(text, str) else scrub(text)


def _words(fact: object) -> dict[str, Any]:
    return {name: scrub(word) for name in FACT_WORDS if isinstance(word := getattr(fact, name), str)}


def _plain(value: Any) -> Any:
    """Plain data without secrets."""
    match value:
        case str():
            return scrub(value)
        case Mapping():
            return {scrub(str(name)): _plain(each) for name, each in value.items()}
        case list() | tuple():
            return [_plain(each) for each in value]
        case _:
            return value
