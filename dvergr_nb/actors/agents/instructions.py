"""What an agent is told before anything is said: its profile's instructions, and what this package adds to them."""

from __future__ import annotations

from collections.abc import Sequence

from dvergr_nb.records.profile import Profile, Skill

TEMPLATE_VERSION = 1
"""Of the wording below; a profile keeps the one it was made with, and so does each of its Runs."""


def instructions_of(profile: Profile, skills: Sequence[Skill]) -> str:
    """The whole text. Skills are named only: their instructions are loaded by `load_skill`."""
    parts = [profile.instructions.strip()]
    if skills:
        listed = "\n".join(f"- {skill.id}: {skill.description.strip()}" for skill in skills)
        parts.append(f"Before a task that one of these skills fits, load it with load_skill(id):\n{listed}")
    return "\n\n".join(part for part in parts if part)
