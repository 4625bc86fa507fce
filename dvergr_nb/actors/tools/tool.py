"""A tool: a name, what it is for, what it takes, and a function that does it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from dvergr_nb.records.tool_use import Blob
from dvergr_nb.runtime.context import Context

DEFERRED: Final = ("requires_approval", "effect", "idempotency")
"""Options of a tool that come with pauses and receipts; until then they are refused when the tool is defined."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Rich:
    """What a tool gives besides a text for its model: pictures and the like, kept as they are."""

    text: str
    blobs: tuple[Blob, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """One tool. Its name is unique among those of an agent."""

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
