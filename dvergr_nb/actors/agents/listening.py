"""Hearing an answer as it comes, and showing it no more often than anybody could read."""

from __future__ import annotations

import time
from collections.abc import AsyncIterable, Callable
from typing import Any, Final

from pydantic_ai.exceptions import UnexpectedModelBehavior
from pydantic_ai.messages import PartDeltaEvent, PartStartEvent, TextPart, TextPartDelta

SHOWN_EVERY_S: Final = 0.03
"""How often the text so far is put together: a long one that came word by word would cost its length each time."""
LONGEST: Final = 4_000_000
"""Longest answer that is heard, in characters: one that has no end would take all memory, and no message holds more."""


async def listen(events: AsyncIterable[Any], say: Callable[[str], None]) -> None:
    """Hears all events. Those that this does not know are the provider's own business. Raises for an answer without end."""
    pieces: list[str] = []
    length = 0
    shown_at, is_shown = float("-inf"), True
    async for event in events:
        piece = _text_of(event)
        if not piece:
            continue
        length += len(piece)
        if length > LONGEST:
            raise UnexpectedModelBehavior(f"it is longer than {LONGEST:,} characters, and was cut off")
        pieces.append(piece)
        is_shown = False
        if time.monotonic() - shown_at >= SHOWN_EVERY_S:
            say("".join(pieces))
            shown_at, is_shown = time.monotonic(), True
    if not is_shown:
        say("".join(pieces))


def _text_of(event: Any) -> str:
    match event:
        case PartStartEvent(part=TextPart(content=text)) | PartDeltaEvent(delta=TextPartDelta(content_delta=text)):
            return text
        case _:
            return ""
