"""Closing a room: it admits nothing more, what works in it is asked to stop and waited for."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from dvergr_nb.errors import BadInput, RoomNotDrained
from dvergr_nb.ids import RunId
from dvergr_nb.records.text import shown
from dvergr_nb.runtime.handle import RunHandle


def checked_drain(drain_s: object) -> float:
    """A number of seconds from 0, at most what a loop can wait. Raises `BadInput`."""
    if isinstance(drain_s, bool) or not isinstance(drain_s, int | float) or not drain_s >= 0:
        raise BadInput(f"drain_s is a number of seconds from 0, not {shown(drain_s)}")
    return min(drain_s, threading.TIMEOUT_MAX)


@dataclass(frozen=True, slots=True)
class Fence:
    """The right to open a room again that was fenced; a newer fence takes it away."""

    room: str
    run_ids: tuple[RunId, ...]
    """The Runs that had been admitted."""
    token: object = field(default_factory=object, repr=False)


class Shutting:
    """The door of one room."""

    def __init__(self, room: str, handles: Callable[[], Sequence[RunHandle]], cancel: Callable[[], object]) -> None:
        self._room = room
        self._handles = handles
        self._cancel = cancel
        self.fence: Fence | None = None
        self.is_closed = False
        """Whether it is fenced and has drained."""
        self._left: Fence | None = None
        """That of a closing whose wait was given up."""

    @property
    def admits(self) -> bool:
        """Whether Runs and messages may begin."""
        return self.fence is None

    def shut(self) -> Fence:
        """Admits nothing from now on. What was admitted goes on."""
        self.fence = Fence(self._room, tuple(handle.id for handle in self._handles()))
        return self.fence

    def reopen(self, fence: Fence | None = None) -> bool:
        """Admits again. With a fence only where no newer one stands; without one only a room that has drained."""
        if self.fence is None or (not self._has_drained if fence is None else fence is not self.fence):
            return False
        self.fence, self.is_closed = None, False
        return True

    @property
    def _has_drained(self) -> bool:
        """Also where nobody has waited for it to the end."""
        return self.is_closed or (self._left is self.fence and not self._handles())

    async def drain(self, drain_s: float) -> tuple[RunHandle, ...]:
        """Asks everything there to stop, and waits; what has ended. Raises `RoomNotDrained`, and the room stays fenced.

        Where it was reopened meanwhile, it is not closed.
        """
        ended: list[RunHandle] = []
        fence, self._left = self.fence, None
        self._cancel()
        try:
            async with asyncio.timeout(drain_s):
                while self.fence is fence and (handles := self._handles()):
                    await asyncio.gather(*(handle.settled() for handle in handles))
                    ended += handles
        except TimeoutError:
            left = [(handle.id, handle.label) for handle in self._handles()]
            if left:
                raise RoomNotDrained(self._room, drain_s, left) from None
        finally:
            self._left = fence
        self.is_closed = self.fence is fence
        return tuple(dict.fromkeys(ended))
