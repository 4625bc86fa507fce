"""A profile at work: the turn's loop over `agent.iter()`, round by round, with the tools used by ourselves.

The model is asked by pydantic-ai. What it wants of tools is done here, so that every use is checked, bounded and on record, and
so that a round that was cut, or failed and is tried again, begins from exactly what was settled before it.
"""

from __future__ import annotations

import operator
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

from pydantic_ai import Agent

from dvergr_nb.actors.agents.history import History
from dvergr_nb.actors.agents.instructions import instructions_of
from dvergr_nb.actors.agents.rounds import ModelRounds
from dvergr_nb.actors.agents.spans import TurnSpans
from dvergr_nb.actors.models.resolving import Asked
from dvergr_nb.actors.tools.tool import Tool
from dvergr_nb.records.message import Message
from dvergr_nb.records.profile import Profile, Skill
from dvergr_nb.runtime.context import Context


@dataclass(frozen=True, slots=True, kw_only=True)
class Kit:
    """What an agent works with in this kernel."""

    profile: Profile
    tools: Callable[[Sequence[Skill]], Mapping[str, Tool]]
    """The profile's tools by name, found when a turn begins, so that a cell that is run again counts. Raises `BadTool`."""
    asked: Callable[[Any], Awaitable[Asked]]
    """The model of that reference, the profile's for None. Raises `BadModel`."""
    conversation: Callable[[Message], Awaitable[History]]
    """What was said on the thread before a message."""


class ModelProgram:
    """A program that asks a model."""

    kind = "llm"

    def __init__(self, kit: Kit) -> None:
        self._kit = kit
        self._agent: tuple[tuple[Any, ...], Agent[Any, Any]] | None = None
        """The agent that was made last, and what for: most turns want the same."""

    @property
    def name(self) -> str:
        """What the record calls it."""
        return self._kit.profile.model

    @asynccontextmanager
    async def begin(self, message: Message, ctx: Context) -> AsyncIterator[ModelRounds]:
        """The work on one message."""
        kit, wanted = self._kit, ctx.wanted
        skills = (*kit.profile.skills, *wanted.skills) if wanted.skills else kit.profile.skills
        tools = kit.tools(skills)
        agent = self._agent_for(skills, tools, wanted.output_type)
        spans = TurnSpans(kit.profile, message, ctx)
        rounds = ModelRounds(
            agent=agent,
            profile=kit.profile,
            tools=tools,
            asked=kit.asked,
            message=message,
            before=await kit.conversation(message),
            ctx=ctx,
            spans=spans,
        )
        try:
            with spans.turn():
                yield rounds
        finally:
            await rounds.close()

    def _agent_for(self, skills: Sequence[Skill], tools: Mapping[str, Tool], output_type: Any) -> Agent[Any, Any]:
        what = (skills, output_type, *tools.values())
        if self._agent is None or len(self._agent[0]) != len(what) or any(map(operator.is_not, self._agent[0], what)):
            self._agent = what, agent_of(self._kit.profile, skills, tools, output_type)
        return self._agent[1]


def agent_of(profile: Profile, skills: Sequence[Skill], tools: Mapping[str, Tool], output_type: Any) -> Agent[Any, Any]:
    """The agent that pydantic-ai runs: instructions, declared tools, and the type of its output."""
    from dvergr_nb.actors.agents.declared import declared

    agent = Agent[Any, Any](
        name=profile.id,
        instructions=instructions_of(profile, skills) or None,
        output_type=str if output_type is None else output_type,
        tools=[declared(tool) for tool in tools.values()],
        retries=profile.retries,
    )
    agent.instrument = False  # spans are our own: those of pydantic-ai would tell the same again, with all that is said
    return agent
