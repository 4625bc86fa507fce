"""Ids: time-ordered, made by the caller, text everywhere in Python.

UUID version 7 (RFC 9562, 5.7): 48 bits of milliseconds, then a counter, then chance. Rows that were made together lie
together in the store, which is why it needs no index.
"""

from __future__ import annotations

import hashlib
import random
import re
import threading
import uuid
from typing import Final, NewType, Protocol

from dvergr_nb.clock import Clock, SeededClock

RunId = NewType("RunId", str)
MessageId = NewType("MessageId", str)
BootId = NewType("BootId", str)

_SPELLING: Final = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
SHORT = 8
"""How many of an id's last characters are shown; the first 8 of a version 7 id change only once a minute."""


def short(an_id: str) -> str:
    """The end of an id, as cards and tables show it."""
    return an_id[-SHORT:]


def named(text: str) -> str:
    """The same id for the same text: a version 3 UUID of its UTF-8 bytes, without a namespace."""
    return str(uuid.UUID(bytes=hashlib.md5(text.encode(), usedforsecurity=False).digest(), version=3))


def is_id(text: str) -> bool:
    """Whether the text is a UUID in its usual spelling."""
    return isinstance(text, str) and _SPELLING.fullmatch(text) is not None


class Ids(Protocol):
    """Where new ids come from; Runs and the rest have a sequence each, so that one cannot shift the other's."""

    def run(self) -> RunId: ...

    def message(self) -> MessageId: ...


class TimeOrdered:
    """One strictly increasing sequence of version 7 ids, safe to draw from in any thread."""

    def __init__(self, clock: Clock, chance: random.Random) -> None:
        self._clock = clock
        self._chance = chance
        self._lock = threading.Lock()
        self._last = 0

    def next(self) -> str:
        """The next id. Within one millisecond a 12 bit counter keeps the order; past it, the time is moved on."""
        with self._lock:
            stamp = int(self._clock.now().timestamp() * 1000) << 12
            self._last = max(stamp, self._last + 1)
            tick, low = self._last, self._chance.getrandbits(62)
        milliseconds, counter = tick >> 12, tick & 0xFFF
        value = milliseconds << 80 | 0x7 << 76 | counter << 64 | 0b10 << 62 | low
        text = f"{value:032x}"
        return f"{text[:8]}-{text[8:12]}-{text[12:16]}-{text[16:20]}-{text[20:]}"


class SystemIds:
    """Ids of the real clock and real chance; with a seed, the same ids in the same order every time."""

    def __init__(self, clock: Clock, seed: int | None = None) -> None:
        def stream(name: str) -> TimeOrdered:
            if seed is None:
                # Not SystemRandom itself: it asks the system for every id and lets other threads in each time.
                return TimeOrdered(clock, random.Random(random.SystemRandom().getrandbits(256)))
            return TimeOrdered(SeededClock(seed), random.Random(f"{name} {seed}"))

        self._runs = stream("run")
        self._messages = stream("message")

    def run(self) -> RunId:
        return RunId(self._runs.next())

    def message(self) -> MessageId:
        return MessageId(self._messages.next())
