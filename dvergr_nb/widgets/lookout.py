"""What nobody will answer by itself: read from the store when that may have changed, never twice at once, never often."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from dvergr_nb.records.room import Unanswered
from dvergr_nb.widgets.hub import Hub

LOOK_S: Final = 0.5
"""Shortest time between two looks."""
LIMIT: Final = 1_000
"""How many pairs of a message and an actor are looked at, the oldest ones."""


class Lookout:
    """Looks for the unanswered messages of one room. Every method is called on the home loop."""

    def __init__(self, hub: Hub, room: str, tell: Callable[[Sequence[Unanswered]], object]) -> None:
        self._hub = hub
        self._room = room
        self._tell = tell
        self._timer: Any = None
        self._is_looking = False
        self._is_missed = False
        self._is_over = True

    def start(self) -> None:
        """Looks now."""
        self._is_over = False
        self._look()

    def stop(self) -> None:
        """Looks no more."""
        self._is_over = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def soon(self) -> None:
        """Something has happened that may have changed it."""
        if self._is_looking:
            self._is_missed = True
        elif self._timer is None and not self._is_over:
            self._timer = self._hub.session.home.later(LOOK_S, self._look)

    def find(
        self,
        message_id: str,
        actor: str,
        then: Callable[[Unanswered | None], object],
        otherwise: Callable[[BaseException], object],
    ) -> None:
        """Hands on whether that message is still unanswered by that actor, as the store has it now."""

        def pick(found: Sequence[Unanswered]) -> None:
            then(next((each for each in found if (each.message.id, each.actor) == (message_id, actor)), None))

        self._hub.read(self._read, pick, otherwise)

    def _look(self) -> None:
        self._timer = None
        self._is_looking, self._is_missed = True, False
        self._hub.read(self._read, self._take, lambda _: self._rest())

    def _read(self) -> Sequence[Unanswered]:
        return self._hub.session.rooms.unanswered(self._room, LIMIT)

    def _take(self, found: Sequence[Unanswered]) -> None:
        self._rest()
        if not self._is_over:
            self._tell(found)

    def _rest(self) -> None:
        self._is_looking = False
        if self._is_missed:
            self.soon()
