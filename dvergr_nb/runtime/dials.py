"""What was set for an actor of a room while it works, and holds until it is set again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from dvergr_nb.errors import BadInput
from dvergr_nb.records.text import shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Dials:
    """None is as the actor's profile says."""

    model: Any = None
    """Another model, by name or as itself; the next call of the model is its."""
    temperature: float | None = None
    tool_cap: int | None = None
    """How many uses of tools a turn may have."""

    def __post_init__(self) -> None:
        """Raises `BadInput`."""
        warm, cap = self.temperature, self.tool_cap
        if warm is not None and (isinstance(warm, bool) or not isinstance(warm, int | float) or not 0 <= warm < float("inf")):
            raise BadInput(f"a temperature is a number from 0, not {shown(warm)}")
        if cap is not None and (isinstance(cap, bool) or not isinstance(cap, int) or cap < 0):
            raise BadInput(f"a cap of tool uses is a whole number from 0, not {shown(cap)}")


UNSET: Final = Dials()
