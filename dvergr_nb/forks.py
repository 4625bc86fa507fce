"""The child of a fork: what its parent works with is not its own, and must be left as it is.

A child that goes on with its parent's store would write beside it, and one that outlives it would hold its lock.
"""

from __future__ import annotations

import os
import weakref
from typing import Final, Protocol


class Parental(Protocol):
    """Something that belongs to the process that made it."""

    def leave(self) -> None:
        """Called in the child: lets go of it without a trace."""


_MADE: Final[weakref.WeakSet[Parental]] = weakref.WeakSet()


def left_by_children(thing: Parental) -> None:
    """Has every child forked from now on leave it, for as long as it exists."""
    _MADE.add(thing)


def _forked() -> None:
    for thing in list(_MADE):
        thing.leave()


os.register_at_fork(after_in_child=_forked)
