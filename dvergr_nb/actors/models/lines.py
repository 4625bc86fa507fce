"""The steps of a scripted model, and where in them a conversation stands."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from dvergr_nb.errors import BadInput
from dvergr_nb.records.text import shown


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A tool that a scripted model wants used."""

    tool: str
    arguments: Mapping[str, Any]


class Line(NamedTuple):
    """Something that was said in the conversation."""

    who: str
    """`user`, which is everybody else, or `model`."""
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where a conversation stands: how many turns it has had, and how many answers the running one."""

    turn: int
    answer: int
    given: tuple[Any, ...]
    """What the tools of the running turn gave, in order."""


Step = Any
"""A text, a `Call`, a list of these, an exception, or a function that gives one of them; `checked` is the check."""


def call(tool: str, /, **arguments: Any) -> Call:
    """Has a scripted model use a tool: `call("query_frame", sql="select 1")`."""
    if not isinstance(tool, str) or not tool.strip():
        raise BadInput(f"a script calls a tool by its name, not {shown(tool)}")
    return Call(tool=tool, arguments=arguments)


def checked(step: Step) -> Step:
    """The step, lists as tuples. Raises `BadInput` for what cannot be one."""
    match step:
        case str() if step.strip():
            return step
        case Call():
            return step
        case list() | tuple() if step and all(isinstance(each, str | Call) for each in step):
            return tuple(step)
        case BaseException():
            return step
        case type() if issubclass(step, Exception):
            return step()
        case _ if callable(step) and not isinstance(step, type):
            return step
        case _:
            raise BadInput(f"a script is made of texts, calls, lists of calls, exceptions and functions, not {shown(step)}")


async def played(step: Step, place: Place, messages: Sequence[ModelMessage]) -> Sequence[str | Call]:
    """What the step says and calls. Raises it where it is an exception."""
    while callable(step):
        step = checked(await _asked(step, place, messages))
    match step:
        case BaseException():
            raise step.with_traceback(None)
        case tuple():
            return step
        case _:
            return (step,)


async def _asked(function: Callable[..., Any], place: Place, messages: Sequence[ModelMessage]) -> Any:
    """Of `()`, `(given)` or `(given, conversation)`, plain or async."""
    known = (list(place.given), conversation(messages))
    kinds = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    takes = [each for each in inspect.signature(function).parameters.values() if each.kind in kinds]
    step = function(*known[: len(takes)])
    return await step if inspect.isawaitable(step) else step


# The conversation ----------------------------------------------------------------------------------------------------


def place_in(messages: Iterable[ModelMessage]) -> Place:
    """Where a conversation stands.

    A turn has ended with an answer that calls no tool, and the next begins with a prompt after it. What the store keeps of
    earlier turns is their prompts and last answers, which is enough for that; a turn that goes on has its calls before it.
    """
    turn, answer, has_ended = 0, 0, False
    given: list[Any] = []
    for message in messages:
        if isinstance(message, ModelResponse):
            if message.state != "interrupted":
                answer, has_ended = answer + 1, not message.tool_calls
            continue
        if has_ended and any(isinstance(part, UserPromptPart) for part in message.parts):
            turn, answer, has_ended, given = turn + 1, 0, False, []
        given += [part.content for part in message.parts if isinstance(part, ToolReturnPart)]
    return Place(turn=turn, answer=answer, given=tuple(given))


def conversation(messages: Iterable[ModelMessage]) -> list[Line]:
    """What was said, oldest first; tools and instructions are no part of it."""
    return [line for message in messages for line in _lines(message)]


def _lines(message: ModelMessage) -> list[Line]:
    if isinstance(message, ModelRequest):
        return [Line("user", str(part.content)) for part in message.parts if isinstance(part, UserPromptPart)]
    return [Line("model", part.content) for part in message.parts if isinstance(part, TextPart)]


def size_of(messages: Iterable[ModelMessage]) -> int:
    """How many tokens a model might count in them; always the same number for the same messages."""
    return sum(tokens_of(_text(part)) for message in messages for part in message.parts)


def _text(part: Any) -> str:
    return part.args_as_json_str() if isinstance(part, ToolCallPart) else str(getattr(part, "content", ""))


def tokens_of(text: str) -> int:
    """How many tokens a model might count in a text: one for four characters."""
    return (len(text) + 3) // 4
