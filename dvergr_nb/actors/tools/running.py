"""One use of a tool: its arguments checked, its time limited, what it gives told to its model and kept apart from the facts."""

from __future__ import annotations

import asyncio
import datetime as dt
import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from dvergr_nb.actors.journal import NAME_LIMIT
from dvergr_nb.actors.program import Round, ToolCall
from dvergr_nb.actors.tools import result
from dvergr_nb.actors.tools.tool import Rich, Tool, ToolFailed
from dvergr_nb.errors import BadInput
from dvergr_nb.records.profile import OnToolError
from dvergr_nb.records.text import clipped, mended, shown
from dvergr_nb.records.tool_use import ARGUMENTS_LIMIT, RESULT_LIMIT, Blob, ToolUse
from dvergr_nb.runtime.context import ROUND, Context
from dvergr_nb.runtime.secrets import scrub
from dvergr_nb.runtime.settle import described

INVALID: Final = "invalid-arguments"
TIMED_OUT: Final = "timeout"


@dataclass(frozen=True, slots=True, kw_only=True)
class _Came:
    """What one use came to."""

    status: str
    told: Rich
    outcome: str | None = None
    """Why it failed, in a word."""
    problem: BaseException | None = None
    """What the tool has raised."""


async def run_tool(
    tool: Tool,
    call: ToolCall,
    arguments: str | Mapping[str, Any],
    ctx: Context,
    given: Round,
    *,
    on_error: OnToolError = "tell",
) -> str:
    """Uses a tool once and gives what its model is told: its result, or in words why there is none.

    `arguments` are JSON as a provider gives them, or what that says. What the tool raises is told, or raised where `on_error`
    is "fail". A request to stop is passed on at once; also then it is kept what the tool was given.
    """
    started_at = ctx.now()
    came = _Came(status="cancelled", told=Rich(text=""))
    with given.using(call) as using:
        token = ROUND.set(given.number)
        try:
            came = await _came_to(tool, arguments, ctx)
        finally:
            ctx.keep(_row(using.fact_id, call, arguments, ctx, came, started_at=started_at))
            ROUND.reset(token)
        if came.problem is not None and on_error == "fail":
            raise came.problem
        if came.outcome is not None:
            using.failed(came.outcome)
    return came.told.text


async def _came_to(tool: Tool, arguments: str | Mapping[str, Any], ctx: Context) -> _Came:
    limit = asyncio.timeout(tool.timeout)
    try:
        try:
            taken = tool.check(parsed(arguments))
        except BadInput as problem:
            return _failed(INVALID, str(problem))
        async with limit:
            value = await tool.call(taken, ctx)
        return _Came(status="completed", told=await result.told(value, ctx))
    except ToolFailed as failure:
        return _failed(failure.outcome, str(failure), blobs=failure.blobs)
    except BaseException as problem:  # a tool's body: whatever it raises is told to its model
        if isinstance(problem, asyncio.CancelledError) and _is_stopped(ctx):
            raise
        if isinstance(problem, TimeoutError) and limit.expired():
            return _failed(TIMED_OUT, f"{tool.name} took longer than {tool.timeout:g} s and was given up")
        return _failed(type(problem).__name__, described(problem), problem)


def _failed(outcome: str, said: str, problem: BaseException | None = None, *, blobs: tuple[Blob, ...] = ()) -> _Came:
    told = Rich(text=clipped(mended(scrub(said)), RESULT_LIMIT), blobs=blobs)
    return _Came(status="failed", told=told, outcome=clipped(outcome, NAME_LIMIT), problem=problem)


def _is_stopped(ctx: Context) -> bool:
    """Whether an interruption is a request to stop; else the tool has raised it by itself."""
    task = asyncio.current_task()
    return ctx.token.stop is not None or (task is not None and task.cancelling() > 0)


def _row(
    fact_id: str,
    call: ToolCall,
    arguments: str | Mapping[str, Any],
    ctx: Context,
    came: _Came,
    *,
    started_at: dt.datetime,
) -> ToolUse:
    run = ctx.run
    return ToolUse(
        id=fact_id,
        tenant_id=run.tenant_id,
        room=run.room,
        run_id=run.id,
        round=ROUND.get(),
        name=clipped(mended(call.name), NAME_LIMIT),
        tool_use_id=clipped(mended(call.id), NAME_LIMIT),
        arguments=clipped(mended(scrub(_written(arguments))), ARGUMENTS_LIMIT),
        result=came.told.text,
        status=came.status,
        blobs=came.told.blobs,
        started_at=started_at,
        ended_at=ctx.now(),
    )


# Arguments -----------------------------------------------------------------------------------------------------------


def parsed(arguments: str | Mapping[str, Any]) -> Mapping[str, Any]:
    """What a model has given, by name; nothing at all is no arguments. Raises `BadInput`."""
    if not isinstance(arguments, str):
        return arguments
    if not arguments.strip():
        return {}
    try:
        given = json.loads(arguments, parse_constant=_refuse)
    except (ValueError, RecursionError) as problem:
        raise BadInput(f"the arguments are no JSON ({problem}); give one JSON object, such as {{}}") from None
    if not isinstance(given, dict):
        raise BadInput(f"the arguments are one JSON object of names and values, not {shown(given)}")
    return given


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON value")


def _written(arguments: str | Mapping[str, Any]) -> str:
    return arguments if isinstance(arguments, str) else result.as_text(dict(arguments))
