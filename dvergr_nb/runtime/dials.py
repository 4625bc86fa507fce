"""What was set for an actor of a room while it works, and holds until it is set again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Dials:
    """None is as the actor's profile says."""

    model: Any = None
    """Another model, by name or as itself; the next call of the model is its."""
    temperature: float | None = None
    tool_cap: int | None = None
    """How many uses of tools a turn may have."""


UNSET: Final = Dials()
