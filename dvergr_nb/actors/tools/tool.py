"""A tool: a name, what it is for, what it takes, and a function that does it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from dvergr_nb.agent_errors import BadTool
from dvergr_nb.records.text import first_line, printable
from dvergr_nb.records.tool_use import Blob
from dvergr_nb.runtime.context import Context


@dataclass(frozen=True, slots=True, kw_only=True)
class Rich:
    """What a tool gives besides a text for its model: pictures and the like, kept as they are."""

    text: str
    blobs: tuple[Blob, ...] = ()


class ToolFailed(Exception):
    """Raised by a tool that has a sentence for its model, which is told it always; `outcome` is the word for the record."""

    def __init__(self, outcome: str, sentence: str, blobs: tuple[Blob, ...] = ()) -> None:
        super().__init__(sentence)
        self.outcome = outcome
        self.blobs = blobs


@dataclass(frozen=True, slots=True, kw_only=True, eq=False, repr=False)
class Tool:
    """One tool. Its name is unique among those of an agent. Called, it is the function that it was made of."""

    name: str
    description: str
    schema: Mapping[str, Any] = field(default_factory=dict)
    """JSON schema of its arguments, an object."""
    call: Callable[[Mapping[str, Any], Context], Awaitable[Any]]
    """Does it, with checked arguments. Gives text, `Rich`, or anything that can be JSON."""
    check: Callable[[Mapping[str, Any]], Mapping[str, Any]]
    """The arguments as the function takes them. Raises `BadInput` with a sentence that its model can act on."""
    timeout: float | None = None
    """Seconds; past them its model is told that it took too long."""
    function: Callable[..., Any] | None = None
    """What it was made of, where that is a function of somebody."""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """The function itself, as if it were no tool. Raises `BadTool` where there is none."""
        if self.function is None:
            raise BadTool(self.name, f"tool {self.name!r} is for agents only: name it in d.agent(…, tools=[…])")
        return self.function(*args, **kwargs)

    def __repr__(self) -> str:
        takes = ", ".join(self.schema.get("properties", {}))
        return f"Tool {self.name}({printable(takes)}): {printable(first_line(self.description, 120))}"
