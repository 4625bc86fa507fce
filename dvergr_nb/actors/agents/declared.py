"""Our tools as pydantic-ai declares them to a model."""

from __future__ import annotations

from typing import Any

from pydantic_ai import RunContext
from pydantic_ai.tools import Tool as Declared

from dvergr_nb.actors.tools.tool import Tool


def declared(tool: Tool) -> Declared[Any]:
    """The declaration. Where pydantic-ai itself uses the tool, beside an output that it must check, that is done by us too."""

    async def use(ctx: RunContext[Any], **arguments: Any) -> str:
        text: str = await ctx.deps.used(tool.name, ctx.tool_call_id or "", arguments)
        return text

    return Declared.from_schema(use, tool.name, tool.description, dict(tool.schema), takes_ctx=True)
