"""What whoever speaks to an agent wants of that one turn: an object of this kernel, never stored."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from dvergr_nb.errors import BadInput
from dvergr_nb.records.text import shown

if TYPE_CHECKING:
    from dvergr_nb.records.profile import Skill


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Wishes for one turn; what is None is as the agent's profile says."""

    model: Any = None
    """Another model, by name or as itself."""
    skills: tuple[Skill, ...] = ()
    """More of them."""
    output_type: Any = None
    """What the reply is to be: a type that pydantic can check."""
    max_steps: int | None = None
    """Fewer rounds."""


NOTHING: Final = Wanted()
WISHES: Final = ("model", "skills", "output_type", "max_steps")


def several(skills: Any) -> tuple[Skill, ...]:
    """Skills as a wish holds them; what each of them is, is checked later. Raises `BadInput`."""
    if isinstance(skills, str) or not isinstance(skills, Sequence):
        raise BadInput(f"skills are a list of d.Skill, not {shown(skills)}")
    return tuple(skills)
