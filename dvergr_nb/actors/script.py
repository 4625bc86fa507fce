"""The steps of a script: what a scripted actor does for one message.

A content is a text, a step, a list of contents, None for nothing at all, or a function that gives one of these once the
script comes to it: of `(message)`, `(message, joined)` or `(message, joined, results)`, plain or async. `joined` are the
messages that steered the turn so far, `results` what its tools gave.
"""

from __future__ import annotations

import inspect
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from dvergr_nb.actors.program import Broken, Suspend
from dvergr_nb.errors import BadInput
from dvergr_nb.records.run import PAUSES, Reason, checked_word
from dvergr_nb.records.text import shown

if TYPE_CHECKING:
    from dvergr_nb.actors.models.lines import Call

SILENT: Final = "[no_reply]"
"""What a model says that does not want to say anything."""

Content = Any
"""What the module's docstring says; `steps_of` is the check."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Say:
    """Text, added to what the round has said. With a pace it is streamed word by word."""

    text: str
    pace: float | None = None
    """Seconds per word, None for that of the whole script."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """One use of a pretended tool; it ends the round. Uses in a row are one round's, one after another."""

    tool: str
    result: Any = None
    takes: float = 0.0
    fails: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Together:
    """Several uses of one round at once."""

    uses: tuple[Use, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Time that passes inside the model call."""

    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """What the model call pretends to have cost."""

    amount: int | None
    """Micro-dollars; None for a price that nobody knows."""
    model: str
    input_tokens: int = 0
    output_tokens: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Raise:
    """An exception out of the model call."""

    error: BaseException | str


@dataclass(frozen=True, slots=True)
class Silent:
    """The script ends, and its actor asks not to be heard."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """A function that is asked for the steps to come."""

    call: Callable[..., Any]
    takes: int = field(default=1)
    """How many of message, joined and results it is given."""


Step = Say | Use | Together | Wait | Cost | Raise | Silent | Ask | Suspend | Broken
STEPS: Final = (Say, Use, Together, Wait, Cost, Raise, Silent, Ask, Suspend, Broken)
PRETENDED: Final = "pretended"
"""Who provides the model of a script, as it stands on record."""


def say(text: str, pace: float | None = None) -> Say:
    """Says the text; with `pace`, seconds per word, it is streamed word by word."""
    if not isinstance(text, str):
        raise BadInput(f"a script says text, not {shown(text)}")
    return Say(text=text, pace=None if pace is None else seconds_of(pace, "pace"))


def use(tool: str, result: Any = None, *, takes: float = 0.0, fails: str | None = None) -> Use:
    """Pretends to use a tool for so many seconds. `fails` is the word for how it fails.

    `result` is what the tool gives to later functions of the script; a function, plain or async, is called for it.
    """
    checked_word(tool, "a tool's name")
    if fails is not None:
        checked_word(fails, "the word for a failure")
    return Use(tool=tool, result=result, takes=seconds_of(takes, "takes"), fails=fails)


def call(tool: str, /, **arguments: Any) -> Call:
    """Has a scripted model, not a scripted actor, want a tool: `script.call("query_frame", sql="select 1")`."""
    from dvergr_nb.actors.models import lines

    return lines.call(tool, **arguments)


def together(*uses: Use) -> Together:
    """Uses several tools in one round at once."""
    if not uses or not all(isinstance(each, Use) for each in uses):
        raise BadInput("what is done together are uses of tools: script.together(script.use(…), script.use(…))")
    return Together(uses=uses)


def wait(seconds: float) -> Wait:
    """Lets time pass inside the model call, where a steer cuts it."""
    return Wait(seconds=seconds_of(seconds, "wait"))


def cost(usd: float | None, *, model: str = "scripted", input_tokens: int = 0, output_tokens: int = 0) -> Cost:
    """Takes so many dollars from what the turn may spend, as a call of a model does; None for an unknown price.

    It stands on record as `pretended`, and belongs to the round whose text or tools follow. Raises `BadInput`.
    """
    from dvergr_nb.records.money import micro

    amount = usd if usd is None or usd == 0 else micro(usd, "a cost")
    for tokens in (input_tokens, output_tokens):
        if not isinstance(tokens, int) or isinstance(tokens, bool) or tokens < 0:
            raise BadInput(f"tokens are a whole number from 0, not {shown(tokens)}")
    word = checked_word(model, "model")
    return Cost(
        amount=None if amount is None else int(amount), model=word, input_tokens=input_tokens, output_tokens=output_tokens
    )


def fail(error: BaseException | str, *, raises: bool = True) -> Raise | Broken:
    """Raises, which fails the turn. With `raises=False` the model ends in an error instead, and what it said stands."""
    if not isinstance(error, BaseException | str):
        raise BadInput(f"a script fails with an exception or a text, not {shown(error)}")
    return Raise(error=error) if raises else Broken(error=str(error))


def suspend(reason: str = Reason.ATTENTION_SUSPENDED) -> Suspend:
    """Ends the turn as waiting, for that reason."""
    word = checked_word(reason, "reason")
    if word in PAUSES:
        raise BadInput(f"a turn that waits for {word} asks a person something, which a script cannot; use another reason")
    return Suspend(reason=word)


def silence() -> Silent:
    """Ends the script, silent as a model is: nothing is posted, and the Run says `silent`."""
    return Silent()


def seconds_of(value: object, what: str) -> float:
    """A number of seconds from 0. Raises `BadInput`."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not (0 <= value <= threading.TIMEOUT_MAX):
        raise BadInput(f"{what} is a number of seconds from 0, not {shown(value)}")
    return float(value)


def steps_of(content: Content) -> tuple[Step, ...]:
    """The steps of a content. Raises `BadInput` for what is none."""
    match content:
        case None:
            return ()
        case str():
            return (Say(text=content),)
        case list() | tuple():
            return tuple(step for part in content for step in steps_of(part))
        case step if isinstance(step, STEPS):
            return (step,)
        case call if callable(call):
            return (Ask(call=call, takes=_arity(call)),)
        case _:
            raise BadInput(f"a script is made of texts, steps and functions of the message, not {shown(content)}")


def _arity(call: Callable[..., Any]) -> int:
    """How many of message, joined and results the function takes: as many as it can."""
    try:
        signature = inspect.signature(call)
    except (TypeError, ValueError):  # some C functions have none
        return 1
    parameters: Mapping[str, inspect.Parameter] = signature.parameters
    if any(each.kind is inspect.Parameter.VAR_POSITIONAL for each in parameters.values()):
        return 3
    for count in (3, 2, 1, 0):
        try:
            signature.bind(*(None,) * count)
        except TypeError:
            continue
        return count
    raise BadInput(f"a function in a script takes (message), (message, joined) or (message, joined, results), not {signature}")
