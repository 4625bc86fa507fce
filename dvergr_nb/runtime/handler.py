"""Handlers: whatever a person lets answer messages, as one kind of coroutine function."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, cast

from dvergr_nb.errors import BadInput
from dvergr_nb.records.message import Message
from dvergr_nb.records.text import clipped, shown
from dvergr_nb.runtime import obligation
from dvergr_nb.runtime.context import Context
from dvergr_nb.runtime.reply import Given, Handler, Reply, Wrapper
from dvergr_nb.runtime.wanted import NOTHING, WISHES, Wanted

PROGRAM: Final = "program_kind"
"""Attribute of a handler: a word for what answers, kept as the Run's provenance; `function` where it has none."""
STEERABLE: Final = "is_steerable"
"""Attribute of a handler: whether it takes messages that come while it works from `ctx.inbox`, and closes that at its end."""

PROVENANCE: Final = "provenance"
"""Attribute of a handler: what its Run's row says of the definition that acted, as `Provenance` names it."""
BUDGET: Final = "budget"
"""Attribute of a handler: micro-dollars its Run may spend unless told otherwise; None or absent for no wallet."""

CHECK: Final = "check"
"""Attribute of a handler: called with what is wanted of a turn before there is a Run of it; raises `BadInput`."""


def program_of(handler: Handler) -> str:
    """A word for what answers."""
    return str(getattr(handler, PROGRAM, "function"))


def provenance_of(handler: Handler) -> Mapping[str, Any]:
    """What its Run's row says of the definition that acts."""
    return {**getattr(handler, PROVENANCE, {}), "program_kind": program_of(handler)}


def check(handler: Handler, wanted: Wanted) -> None:
    """Raises `BadInput` where the handler knows that it could not do what is wanted."""
    found = getattr(handler, CHECK, None)
    if found is not None:
        found(wanted)
    elif wanted != NOTHING:
        given = ", ".join(name for name in WISHES if getattr(wanted, name))
        raise BadInput(f"{given} is for agents; what answers here is a {program_of(handler)}, see d.agent")


def budget_of(handler: Handler) -> int | None:
    """What its Run may spend unless told otherwise, in micro-dollars."""
    budget = getattr(handler, BUDGET, None)
    return budget if isinstance(budget, int) else None


def is_steerable(handler: Handler) -> bool:
    """Whether messages can join its turns."""
    return bool(getattr(handler, STEERABLE, False))


def handler_of(work: object, wrappers: Sequence[Wrapper]) -> Handler:
    """The handler that calls `work(message)` or `work(message, ctx)`, inside the wrappers, the last one outermost.

    A plain function works in a worker thread. Raises `BadInput` where it cannot be called like that.
    """
    if not callable(work):
        raise BadInput(f"who joins a room answers with a function of the message, not {shown(work)}")
    handler = _obliged(_called(work))
    if not isinstance(wrappers, Iterable):
        raise BadInput(f"wrappers are a list of functions that take a handler, not {shown(wrappers)}")
    for wrap in wrappers:
        handler = _wrapped(wrap, handler)
    return handler


def _wrapped(wrap: object, handler: Handler) -> Handler:
    if not callable(wrap):
        raise BadInput(f"a wrapper is a function that takes a handler, not {shown(wrap)}")
    made = wrap(handler)
    if not callable(made):
        name = clipped(str(getattr(wrap, "__name__", wrap)), 60)
        raise BadInput(f"the wrapper {name} gave {shown(made)} instead of a handler; have it return one")
    return cast("Handler", made)


def _called(work: Callable[..., Any]) -> Handler:
    takes_ctx = _takes_ctx(work)
    is_async = inspect.iscoroutinefunction(work) or inspect.iscoroutinefunction(getattr(work, "__call__", None))  # noqa: B004

    async def handle(message: Message, ctx: Context) -> Given:
        def call() -> Any:
            return work(message, ctx) if takes_ctx else work(message)

        given = call() if is_async else await ctx.in_thread(call)
        return await given if inspect.isawaitable(given) else given  # type: ignore[no-any-return]  # checked by its outcome

    for name in (PROGRAM, STEERABLE, PROVENANCE, BUDGET, CHECK):
        if hasattr(work, name):
            setattr(handle, name, getattr(work, name))
    return handle


def _takes_ctx(work: Callable[..., Any]) -> bool:
    try:
        signature = inspect.signature(work)
    except (TypeError, ValueError):  # some C functions have none
        return False
    takes = [count for count in (1, 2) if _binds(signature, count)]
    if takes == [1, 2]:  # what has a default may be there for something else, as in `lambda message, n=n: …`
        names, kinds = list(signature.parameters), [each.kind for each in signature.parameters.values()]
        return inspect.Parameter.VAR_POSITIONAL in kinds or names[1] == "ctx"
    if takes:
        return takes == [2]
    raise BadInput(f"who joins a room answers with a function of (message) or (message, ctx), not one of {signature}")


def _binds(signature: inspect.Signature, count: int) -> bool:
    try:
        signature.bind(*(None,) * count)
    except TypeError:
        return False
    return True


def _obliged(handler: Handler) -> Handler:
    """Notes that a reply was made, so that one that is dropped further out is known to be dropped."""

    @functools.wraps(handler)
    async def handle(message: Message, ctx: Context) -> Given:
        given = await handler(message, ctx)
        if isinstance(given, Reply) and given.obligation is not None:
            return given
        if isinstance(given, str | Reply):
            return obligation.carry_obligation(given, obligation.reply_obligation())
        return given

    return handle
