"""How a plain typed function becomes a tool: what it takes from its annotations, what it is for from its docstring."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any, Final, overload

from dvergr_nb.actors.tools.docstring import parameters_of, summary_of
from dvergr_nb.actors.tools.thread import in_own_thread
from dvergr_nb.actors.tools.tool import Tool
from dvergr_nb.agent_errors import BadTool
from dvergr_nb.records.profile import NAME, TEXT_LIMIT
from dvergr_nb.records.text import mended, shown
from dvergr_nb.runtime.context import Context

NOT_GIVEN: Final[Any] = object()
DEFINED: Final[dict[str, Tool]] = {}
"""The tools that cells of this kernel have defined with `tool`, by name; the latest of a name."""


@overload
def tool(
    fn: Callable[..., Any], *, name: str | None = ..., description: str | None = ..., timeout: float | None = ...
) -> Tool: ...


@overload
def tool(
    fn: None = None,
    *,
    name: str | None = ...,
    description: str | None = ...,
    timeout: float | None = ...,
    requires_approval: Any = ...,
    effect: Any = ...,
    idempotency: Any = ...,
) -> Callable[[Callable[..., Any]], Tool]: ...


def tool(
    fn: Callable[..., Any] | None = None,
    *,
    name: str | None = None,
    description: str | None = None,
    timeout: float | None = None,
    requires_approval: Any = NOT_GIVEN,
    effect: Any = NOT_GIVEN,
    idempotency: Any = NOT_GIVEN,
) -> Tool | Callable[[Callable[..., Any]], Tool]:
    """Makes a tool of a function, as `@tool`, `@tool(timeout=10)` or `tool(function)`; called, it is that function still.

    Every parameter needs a type that a model can give; one named `ctx` is given the context of the Run instead. The first
    paragraph of the docstring says what the tool is for, its `Args:` what the parameters mean. A plain function works in a
    thread of its own; when its turn is stopped or `timeout` seconds are over, the turn goes on at once and the thread is left
    to its end. Raises `BadTool`.
    """
    given = {"requires_approval": requires_approval, "effect": effect, "idempotency": idempotency}
    label = name or getattr(fn, "__name__", "") or "tool"
    if early := [option for option, value in given.items() if value is not NOT_GIVEN]:
        raise BadTool(label, f"tool {label!r}: {' and '.join(early)} come with a later version; leave them out until then")

    def define(function: Callable[..., Any]) -> Tool:
        made = tool_of(function, name=name, description=description, timeout=timeout)
        DEFINED[made.name] = made
        return made

    return define if fn is None else define(fn)


def tool_of(
    function: Callable[..., Any], *, name: str | None = None, description: str | None = None, timeout: float | None = None
) -> Tool:
    """The tool that a function makes, known to nobody yet. Raises `BadTool`."""
    called = _checked_name(function, name)
    what = _checked_description(called, summary_of(function) if description is None else description)
    _check_timeout(called, timeout)

    from dvergr_nb.actors.tools.arguments import Arguments

    arguments = Arguments(called, function, parameters_of(function))
    return Tool(
        name=called,
        description=what,
        schema=arguments.schema,
        call=_call_of(function, arguments.injected),
        check=arguments.check,
        timeout=timeout,
        function=function,
    )


def _call_of(function: Callable[..., Any], injected: tuple[str, ...]) -> Callable[[Mapping[str, Any], Context], Any]:
    async def awaited(arguments: Mapping[str, Any], ctx: Context) -> Any:
        return await function(**arguments, **dict.fromkeys(injected, ctx))

    async def threaded(arguments: Mapping[str, Any], ctx: Context) -> Any:
        value = await in_own_thread(lambda: function(**arguments, **dict.fromkeys(injected, ctx)))
        return await value if inspect.isawaitable(value) else value

    return awaited if inspect.iscoroutinefunction(function) else threaded


def _checked_name(function: object, name: object) -> str:
    if not (inspect.isfunction(function) or inspect.ismethod(function)):
        raise BadTool(str(name or ""), f"a tool is made of a function, def or async def, not of {shown(function)}")
    if function.__name__ == "<lambda>":
        raise BadTool(str(name or ""), "a tool is a function with a name and typed parameters; write the lambda as a def")
    called = function.__name__ if name is None else name
    if not isinstance(called, str) or not NAME.fullmatch(called):
        raise BadTool(
            str(called),
            f"models call a tool by 1 to 64 ASCII letters, digits, - and _, the first no digit, not {shown(called)}; "
            "give it another with name=",
        )
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        raise BadTool(called, f"tool {called!r} is a generator, and a tool returns once; collect a list inside of it")
    return called


def _checked_description(name: str, text: object) -> str:
    if not isinstance(text, str) or len(text) > TEXT_LIMIT:
        raise BadTool(name, f"the description of tool {name!r} is text of at most {TEXT_LIMIT:,} characters, not {shown(text)}")
    return mended(text.strip()) or name.replace("_", " ")


def _check_timeout(name: str, timeout: object) -> None:
    is_number = isinstance(timeout, int | float) and not isinstance(timeout, bool)
    if timeout is not None and not (is_number and math.isfinite(timeout) and timeout > 0):  # type: ignore[arg-type,operator]  # just told apart
        raise BadTool(name, f"the timeout of tool {name!r} is a number of seconds above 0, not {shown(timeout)}")
