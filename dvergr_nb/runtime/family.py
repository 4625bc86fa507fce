"""Parents and children: a Run ends only after the Runs it contains, and what it is asked reaches them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Generic, TypeVar

Child = TypeVar("Child")


class Family(Generic[Child]):
    """The children of one Run that are not over. A child is taken before its admission is asked for, from any thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._children: dict[Child, None] = {}
        self._is_sealed = False
        self._childless: Callable[[], object] | None = None

    @property
    def members(self) -> tuple[Child, ...]:
        """Those that are not over, the oldest first."""
        with self._lock:
            return tuple(self._children)

    def adopt(self, child: Child) -> bool:
        """Takes a child; false where the Run is sealed."""
        with self._lock:
            if not self._is_sealed:
                self._children[child] = None
            return not self._is_sealed

    def seal(self) -> None:
        """Takes no child any more."""
        with self._lock:
            self._is_sealed = True

    def leave(self, child: Child) -> None:
        """A child is over. Who waits for the last one is told; on the home loop."""
        with self._lock:
            self._children.pop(child, None)
            told = None if self._children else self._childless
            if told is not None:
                self._childless = None
        if told is not None:
            told()

    def when_childless(self, then: Callable[[], object]) -> None:
        """Calls `then` once there is no child left, at once where there is none. Sealed before, on the home loop."""
        with self._lock:
            if self._children:
                self._childless = then
                return
        then()
