"""Which tools agents have in this kernel: those bound to an agent, then those that a cell has defined under a name."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from dvergr_nb.actors.tools.defining import DEFINED, tool_of
from dvergr_nb.actors.tools.tool import Tool
from dvergr_nb.agent_errors import BadTool
from dvergr_nb.records.text import shown

Given = Tool | Callable[..., Any] | str
"""A tool, a plain function that becomes one, or the name of one that is there."""


class Toolbox:
    """The tools of one session's agents. An agent's own is seen by no other agent."""

    def __init__(self, defined: Mapping[str, Tool] = DEFINED) -> None:
        self._defined = defined
        self._own: dict[str, dict[str, Tool]] = {}

    def bind(self, agent_id: str, tools: Sequence[Given | Sequence[Given]]) -> tuple[str, ...]:
        """Gives tools to an agent, besides those it has, and says their names. All or none: raises `BadTool`.

        A list among them stands for the tools in it, as `files("data")` gives them.
        """
        named = self._named(agent_id, tools)
        self._own.setdefault(agent_id, {}).update((name, own) for name, own in named if own is not None)
        return tuple(name for name, _ in named)

    def names(self, agent_id: str, tools: Sequence[Given | Sequence[Given]]) -> tuple[str, ...]:
        """What `bind` would say. Nothing is given yet. Raises `BadTool`."""
        return tuple(name for name, _ in self._named(agent_id, tools))

    def _named(self, agent_id: str, tools: Sequence[Given | Sequence[Given]]) -> list[tuple[str, Tool | None]]:
        if isinstance(tools, str | Mapping) or not isinstance(tools, Sequence):
            raise BadTool("", f"the tools of an agent are a list of functions, tools and names, not {shown(tools)}")
        given = [each for one in tools for each in (one if isinstance(one, list | tuple) else (one,))]
        named = [self._resolved(agent_id, each) for each in given]
        names = [name for name, _ in named]
        if twice := sorted({name for name in names if names.count(name) > 1}):
            raise BadTool(twice[0], f"{agent_id} is given two tools named {twice[0]!r}; give one of them another with name=")
        return named

    def found(self, agent_id: str, name: str) -> Tool:
        """The tool that an agent calls by that name. Raises `BadTool` where no cell of this kernel has defined it."""
        found = self._own.get(agent_id, {}).get(name) or self._defined.get(name)
        if found is None:
            raise BadTool(
                name, f"{agent_id} needs tool {name!r}, which no cell of this kernel has defined; run the cell that does"
            )
        return found

    def _resolved(self, agent_id: str, given: object) -> tuple[str, Tool | None]:
        """The name, and the tool where that is the agent's own from now on."""
        if isinstance(given, Tool):
            return given.name, given
        if not isinstance(given, str):
            made = tool_of(given)  # type: ignore[arg-type]  # it says itself what is no function
            return made.name, made
        known = {**self._defined, **self._own.get(agent_id, {})}
        if given not in known:
            near = difflib.get_close_matches(given, known, 1, 0.6)
            advice = f"did you mean {near[0]!r}?" if near else "define it with @d.tool, or give the function itself"
            raise BadTool(given, f"no tool {shown(given)} is defined in this kernel; {advice}")
        return given, None
