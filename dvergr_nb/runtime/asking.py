"""Asking an actor and waiting for its reply, at an address that exists for this one question."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterable, Sequence
from concurrent.futures import Future
from typing import Any, Final, TypeVar

from dvergr_nb.errors import BadInput, NoReply
from dvergr_nb.ids import short
from dvergr_nb.records.message import Message
from dvergr_nb.records.run import Reason
from dvergr_nb.records.text import shown
from dvergr_nb.runtime.delivery import Delivery
from dvergr_nb.runtime.entry import Tools
from dvergr_nb.runtime.handle import RunHandle

Value = TypeVar("Value")

ASK_S: Final = 60.0
"""How long a question waits for its reply unless told otherwise: an actor may stay silent for ever."""
ADDRESS: Final = "_ask-"


class Asking:
    """The questions of one room."""

    def __init__(self, tools: Tools, delivery: Delivery, stop: Callable[[RunHandle, str], object]) -> None:
        self._tools = tools
        self._delivery = delivery
        self._stop = stop

    async def ask(self, actor: str, say: Callable[[str], RunHandle], limit_s: float) -> Message:
        """The reply to what `say` says, in the name of an address of its own. Raises what the Run ends with, or `NoReply`.

        Where nobody waits any more, the Run that was to answer is cancelled.
        """
        if isinstance(limit_s, bool) or not isinstance(limit_s, int | float) or not limit_s > 0:
            raise BadInput(f"timeout is a number of seconds above 0, not {shown(limit_s)}")
        limit_s = min(limit_s, threading.TIMEOUT_MAX)
        address = ADDRESS + short(self._tools.ids.message())
        reply: Future[Message] = Future()
        handle = self._tools.home.call(lambda: self._begin(actor, address, reply, say))
        try:
            async with asyncio.timeout(limit_s):
                return await asyncio.shield(asyncio.wrap_future(reply))
        except TimeoutError:
            raise NoReply(actor, limit_s, handle.id) from None
        finally:
            self._tools.home.post(lambda: self._end(address, reply, handle))

    def _begin(self, actor: str, address: str, reply: Future[Message], say: Callable[[str], RunHandle]) -> RunHandle:
        handle = say(address)
        self._delivery.askers[address] = (actor, reply)
        handle.when_over(lambda: _end_without(reply, handle))
        return handle

    def _end(self, address: str, reply: Future[Message], handle: RunHandle) -> None:
        self._delivery.askers.pop(address, None)
        if not reply.done():
            reply.cancel()
            self._stop(handle, Reason.STRUCTURED_CANCELLATION)


def _end_without(reply: Future[Message], handle: RunHandle) -> None:
    """A Run that has failed, was cancelled or waits gives no reply any more; a completed one that was silent gives none either,
    but nobody is told so.
    """
    if reply.done():
        return
    try:
        handle.value()
    except BaseException as problem:  # noqa: BLE001  # handed to who asked
        reply.set_exception(problem)


def named_of(actors: object, found: Callable[[Any], object]) -> tuple[str, ...]:
    """Those names, once all of them are found: where one is not, nobody is asked. Raises `BadInput`, or what `found` raises."""
    if isinstance(actors, str) or not isinstance(actors, Iterable):
        raise BadInput(f"those who are asked are a list of names, not {shown(actors)}")
    names = tuple(actors)
    for name in names:
        found(name)
    return names


async def together(asked: Sequence[Awaitable[Value]]) -> list[Value]:
    """All values, in order. Where one raises, the others are called off."""
    tasks = [asyncio.ensure_future(awaited(each)) for each in asked]
    try:
        return list(await asyncio.gather(*tasks))
    finally:
        await called_off(tasks)


async def called_off(tasks: Iterable[asyncio.Future[Any]]) -> None:
    """Cancels those that are not done, and waits until they are."""
    waited = list(tasks)
    for task in waited:
        task.cancel()
    await asyncio.gather(*waited, return_exceptions=True)


async def awaited(each: Awaitable[Value]) -> Value:
    """Any awaitable as a coroutine."""
    return await each
