"""What a caller wants of one turn, checked before there is a Run of it."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

from dvergr_nb.errors import BadInput
from dvergr_nb.records.profile import Caps, checked
from dvergr_nb.records.text import first_line, shown

if TYPE_CHECKING:
    from dvergr_nb.records.profile import Profile
    from dvergr_nb.runtime.wanted import Wanted


def check_wishes(profile: Profile, wanted: Wanted) -> None:
    """Raises `BadInput` for skills, a number of rounds or a type of output that cannot be."""
    if wanted.skills:
        checked(dataclasses.replace(profile, skills=(*profile.skills, *wanted.skills)))
    if wanted.max_steps is not None:
        Caps(max_steps=wanted.max_steps)
    if wanted.output_type is not None:
        _check_output_type(wanted.output_type)


def _check_output_type(output_type: Any) -> None:
    """By making an agent of it, for it may be more than a type: a list of them, a function, or what pydantic-ai has for it."""
    if isinstance(output_type, str):  # a name of a type, which nobody could look up
        raise BadInput(f"output_type is a type itself, not its name {shown(output_type)}")
    from pydantic_ai import Agent

    try:
        Agent(output_type=output_type)
    except Exception as problem:  # noqa: BLE001  # a type may bring code of its own for this, and raise anything
        raise BadInput(f"output_type is a type that pydantic can check, not {shown(output_type)}: {_why(problem)}") from None


def _why(problem: Exception) -> str:
    return first_line(str(problem), 200)
