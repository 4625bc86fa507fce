"""The tool by which a model loads the instructions of a skill, once it needs them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from dvergr_nb.actors.tools.defining import tool_of
from dvergr_nb.actors.tools.tool import Tool, ToolFailed
from dvergr_nb.records.profile import Skill
from dvergr_nb.records.text import first_line

NAME: Final = "load_skill"


def load_skill(skills: Sequence[Skill]) -> Tool:
    """A tool that gives the instructions of one of these skills by its id. Its description names each in a line."""
    known = {skill.id: skill for skill in skills}
    listed = "\n".join(f"- {skill.id}: {first_line(skill.description, 500)}" for skill in known.values())

    async def load(id: str) -> str:  # noqa: A002  # as the model knows it
        found = known.get(id)
        if found is None:
            raise ToolFailed("no-such-skill", f"there is no skill {id!r}; there are {', '.join(known) or 'none'}")
        return found.instructions

    return tool_of(load, name=NAME, description=f"Gives the instructions of a skill. Load one before you need it:\n{listed}")
