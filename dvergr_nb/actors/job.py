"""Jobs: a coroutine on the loop, or a plain function in a worker thread, as the body of a Run."""

from __future__ import annotations

import asyncio
import functools
import inspect
import reprlib
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from itertools import islice
from typing import Any, Final

from dvergr_nb.errors import BadInput
from dvergr_nb.records.text import clipped, first_line, mended, shown
from dvergr_nb.runtime.body import Done, Outcome
from dvergr_nb.runtime.context import Context

REPLY_LIMIT: Final = 4_000
"""Longest durable text of a result, in characters."""
SOURCE_LIMIT: Final = 20_000


class _Brief(reprlib.Repr):
    """A repr that stays short and quick however large the value is."""

    def __init__(self) -> None:
        super().__init__()
        self.maxlevel = 5
        self.maxlist = self.maxtuple = self.maxset = self.maxfrozenset = self.maxdeque = self.maxdict = 40
        self.maxstring = self.maxlong = self.maxother = REPLY_LIMIT

    def repr1(self, x: Any, level: int) -> str:
        """Reprlib sorts all of a dict or set, and writes all of some bytes and of what derives from a dict or list."""
        match x:
            case bytes() | bytearray():
                return repr(x[: self.maxstring])
            case dict() if len(x) > self.maxdict:
                return self.repr_dict(dict(islice(x.items(), self.maxdict + 1)), level)
            case set() | frozenset() if len(x) > self.maxset:
                return self.repr_set(set(islice(x, self.maxset + 1)), level)
            case list() if len(x) > self.maxlist:
                return self.repr_list(x, level)
            case _:
                return super().repr1(x, level)


BRIEF: Final = _Brief()


def brief(value: object) -> str | None:
    """The durable text of a result: its clipped repr, of a text the text itself, None for None."""
    if value is None:
        return None
    if isinstance(value, str):
        return mended(clipped(value, REPLY_LIMIT))
    try:
        return mended(clipped(BRIEF.repr(value), REPLY_LIMIT))
    except Exception as problem:  # noqa: BLE001  # a value's own code, so part of the body
        return f"<{type(value).__name__}, whose repr raised {type(problem).__name__}>"


class FunctionJob:
    """A plain function in a worker thread. It cannot be interrupted; it may check."""

    place = "thread"

    def __init__(self, call: Callable[[Context], Any]) -> None:
        self._call = call

    async def execute(self, ctx: Context) -> Outcome:
        """Calls it, and awaits on the loop what it returns where that is an awaitable."""

        def work() -> tuple[Any, str | None]:
            value = self._call(ctx)
            return value, None if inspect.isawaitable(value) else brief(value)

        value, reply = await ctx.in_thread(work)
        return _done(await value) if inspect.isawaitable(value) else Done(value=value, reply=reply)


class CoroutineJob:
    """A coroutine on the home loop."""

    place = "loop"

    def __init__(self, call: Callable[[Context], Awaitable[Any]]) -> None:
        self._call = call

    async def execute(self, ctx: Context) -> Outcome:
        """Awaits it."""
        return _done(await self._call(ctx))


def _done(value: object) -> Done:
    return Done(value=value, reply=brief(value))


Job = FunctionJob | CoroutineJob


def job_of(work: object, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Job:
    """The body that runs `work`. Raises `BadInput` where it cannot be called like that; nothing has begun then."""
    if asyncio.iscoroutine(work):
        return CoroutineJob(_once(work, args, kwargs))
    if inspect.isasyncgenfunction(work) or inspect.isgeneratorfunction(work):
        raise BadInput(f"a job returns once; {_name(work)} is a generator: collect it inside a function of your own")
    if not callable(work):
        raise BadInput(f"a job is a function, a coroutine function or a coroutine, not {shown(work)}")
    bound = _bound(work, args, kwargs)
    is_async = inspect.iscoroutinefunction(work) or inspect.iscoroutinefunction(getattr(work, "__call__", None))  # noqa: B004
    return CoroutineJob(bound) if is_async else FunctionJob(bound)


def _once(
    work: Coroutine[Any, Any, Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]
) -> Callable[[Context], Awaitable[Any]]:
    if args or kwargs:
        work.close()
        raise BadInput("a coroutine takes no more arguments; give job() the coroutine function and its arguments instead")
    return lambda _ctx: work


def _bound(work: Callable[..., Any], args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Callable[[Context], Any]:
    """The call, its arguments checked, with `ctx` filled in where the function names a parameter so."""
    try:
        signature = inspect.signature(work)
    except (TypeError, ValueError):  # some C functions have none; they find out themselves
        return lambda _ctx: work(*args, **kwargs)
    takes_ctx = "ctx" in signature.parameters and "ctx" not in kwargs
    try:
        signature.bind(*args, **kwargs, **({"ctx": None} if takes_ctx else {}))
    except TypeError as problem:
        raise BadInput(
            f"{_name(work)}{signature} cannot be called like that: {problem}; keywords job() does not know go to it"
        ) from None
    if takes_ctx:
        return lambda ctx: work(*args, **kwargs, ctx=ctx)
    return lambda _ctx: work(*args, **kwargs)


def _name(work: object) -> str:
    inner = work.func if isinstance(work, functools.partial) else work
    return getattr(inner, "__qualname__", None) or type(inner).__name__


def label_of(work: object) -> str:
    """A name for the job where the person gives none."""
    return _name(work).removeprefix("<locals>.").split("<locals>.")[-1]


def source_of(work: object) -> str:
    """What the trigger message says was asked for: the source of the work where it can be had."""
    inner = work.func if isinstance(work, functools.partial) else work
    code = getattr(inner, "__code__", None) or getattr(inner, "cr_code", None)
    source = _source(code) if code is not None else None
    return source or first_line(repr(work), 400)


@functools.lru_cache(maxsize=256)
def _source(code: Any) -> str | None:
    try:
        return clipped(inspect.getsource(code), SOURCE_LIMIT)
    except (OSError, TypeError):
        return None
