"""What a Run executes, seen from the runtime: a body and how it ended."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Protocol

from dvergr_nb.errors import BadInput
from dvergr_nb.records.pause import Envelope
from dvergr_nb.records.text import shown

if TYPE_CHECKING:
    from dvergr_nb.runtime.context import Context
    from dvergr_nb.runtime.reply import Reply


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """The body returned. `value` stays in the kernel; `reply` is what the record keeps of it."""

    value: Any = None
    reply: str | Reply | None = None
    """A text goes to `_runs`, a `Reply` to the room."""
    reason: str | None = None
    """A word that says more about a completed Run, for instance `silent`."""
    publish: Callable[[], object] | None = None
    """Called on the loop once the end is durable and before anyone is told: the Run is still live meanwhile. Where it raises
    it is called again, a bounded number of times.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class Pause:
    """The body stopped where it can go on: a pausing reason with its envelopes, or another waiting reason without."""

    reason: str
    envelopes: tuple[Envelope, ...] = ()
    reply: str | Reply | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Failed:
    """The body failed, and knows a word for it."""

    reason: str
    problem: BaseException


Outcome = Done | Pause | Failed


PLACES: Final = ("loop", "thread")


class Body(Protocol):
    """One segment of a Run's work."""

    place: str
    """`loop` or `thread`."""

    async def execute(self, ctx: Context) -> Outcome:
        """Does the work. What it raises fails the Run; `CancelledError` after a request cancels it."""


def place_of(body: object) -> str:
    """Where a body works. Raises `BadInput` for what is no body, so that nothing begins that could never be executed."""
    place = getattr(body, "place", None)
    if not isinstance(place, str) or place not in PLACES or not callable(getattr(body, "execute", None)):
        given = shown(body)
        raise BadInput(f"a body has a place, 'loop' or 'thread', and execute(ctx), unlike {given}; d.job takes functions")
    return place
