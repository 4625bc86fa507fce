"""A turn of one round that uses tools, in a real turn and journal; what is kept of it is kept here."""

from __future__ import annotations

import hashlib
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from typing import Any

from dvergr_nb.actors.program import Answer, Complete, End, Round, ToolCall
from dvergr_nb.actors.tools.running import run_tool
from dvergr_nb.actors.tools.tool import Tool
from dvergr_nb.actors.turn import turn_of
from dvergr_nb.records.message import Message
from dvergr_nb.records.operation import Cite, Keep, Unit
from dvergr_nb.records.profile import OnToolError
from dvergr_nb.records.tool_use import Blob, Citation, ToolUse
from dvergr_nb.runtime.context import Context
from dvergr_nb.runtime.reply import Given
from tests.actors.turns import Turn

Arguments = str | Mapping[str, Any]


class Uses(Turn):
    """`Uses((tool, arguments), …)`: one round that calls these tools one after the other."""

    kind, name = "test", "model"

    def __init__(self, *calls: tuple[Tool, Arguments], on_error: OnToolError = "tell") -> None:
        super().__init__(turn_of(self))
        self.told: list[str] = []
        self.kept: list[ToolUse] = []
        self.cited: list[Citation] = []
        self.hooks: list[Callable[[], object]] = []
        self.blobs: dict[str, bytes] = {}
        self._calls = calls
        self._on_error = on_error
        self._ctx: Context | None = None

    # The program -----------------------------------------------------------------------------------------------------

    def begin(self, *of_program: Any) -> Any:
        """A turn begins without arguments, a program with its message and context."""
        return self._begun(*of_program) if of_program else super().begin()

    @asynccontextmanager
    async def _begun(self, message: Message, ctx: Context) -> AsyncIterator[Uses]:
        self._ctx = ctx
        yield self

    async def call(self, given: Round) -> Answer:
        """Asks for all tools at once."""
        calls = tuple(ToolCall(id=f"call-{number}", name=tool.name) for number, (tool, _) in enumerate(self._calls))
        return Answer(text="used", tool_calls=calls)

    async def use(self, calls: tuple[ToolCall, ...], given: Round) -> End:
        """Uses them in order."""
        assert self._ctx is not None
        for call, (tool, arguments) in zip(calls, self._calls, strict=True):
            self.told.append(await run_tool(tool, call, arguments, self._ctx, given, on_error=self._on_error))
        return Complete()

    # What the context reports ----------------------------------------------------------------------------------------

    def noted(self, unit: Unit) -> None:
        """Keeps what is kept apart from the facts."""
        match unit:
            case Keep(uses=uses):
                self.kept.extend(uses)
            case Cite(citations=citations):
                self.cited.extend(citations)

    async def blob(self, data: bytes, media_type: str) -> Blob:
        """Keeps bytes."""
        sha256 = hashlib.sha256(data).hexdigest()
        self.blobs[sha256] = data
        return Blob(sha256=sha256, media_type=media_type, size=len(data))

    def at_end(self, hook: Callable[[], object]) -> None:
        """Keeps what is to run at the end."""
        self.hooks.append(hook)

    async def given(self) -> Given:
        """What the turn comes to; then what is to run at its end has run."""
        try:
            return await super().given()
        finally:
            while self.hooks:
                self.hooks.pop()()

    is_exhausted = False
    """As its own wallet."""

    async def settled(self) -> None:
        """As its own wallet, which has nothing on its way."""

    # Looking ---------------------------------------------------------------------------------------------------------

    @property
    def outcome(self) -> tuple[str, str | None]:
        """Status and outcome of the last fact about a tool."""
        facts = [fact for entry in self.activity for fact in entry.facts if fact.kind == "tool"]
        return facts[-1].status or "", facts[-1].outcome


async def used(tool: Tool, arguments: Arguments = "", **how: Any) -> Uses:
    """A turn that has used that tool once."""
    turn = Uses((tool, arguments), **how)
    await turn.given()
    return turn


async def told(tool: Tool, **arguments: Any) -> str:
    """What its model is told of one use."""
    return (await used(tool, arguments)).told[0]
