"""Waiting for several at once: Runs, or anything else that can be awaited.

A Run is only looked at, so giving up the wait changes nothing about it; one that the racing Run has spawned is its own, and
is cancelled where it loses. Anything else, such as an `ask`, is cancelled with the wait.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Iterable
from typing import Any

from dvergr_nb.errors import BadInput
from dvergr_nb.records.run import Reason
from dvergr_nb.records.text import shown
from dvergr_nb.runtime import context
from dvergr_nb.runtime.asking import awaited, called_off
from dvergr_nb.runtime.handle import RunHandle


async def join(*awaited_ones: Awaitable[Any]) -> list[Any]:
    """The values of all of them, in order, once all are over; then the first problem is raised, where there is one."""
    _check(awaited_ones)
    tasks = [asyncio.ensure_future(awaited(each)) for each in awaited_ones]
    try:
        if tasks:
            await asyncio.wait(tasks)
    finally:
        await called_off(tasks)
    return [task.result() for task in tasks]


async def race(*awaited_ones: Awaitable[Any]) -> Any:
    """The value of the first that is over, or what it raises. Losers of its own are cancelled, `structured-cancellation`."""
    if not awaited_ones:
        raise BadInput("a race needs somebody in it")
    _check(awaited_ones)
    tasks = {asyncio.ensure_future(awaited(each)): each for each in awaited_ones}
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        return next(task for task in tasks if task in done).result()
    finally:
        _cancel_own(each for task, each in tasks.items() if not task.done())
        await called_off(tasks)


def _check(awaited_ones: Iterable[object]) -> None:
    """Before anything is begun with. Raises `BadInput`."""
    for each in awaited_ones:
        if not inspect.isawaitable(each):
            raise BadInput(f"what is waited for are Runs or awaitables, one by one, as in join(*runs), not {shown(each)}")


def _cancel_own(losers: Iterable[Awaitable[Any]]) -> None:
    racing = context.current()
    for each in losers:
        if racing is not None and isinstance(each, RunHandle) and each.row.parent == racing.run.id:
            each.stop(Reason.STRUCTURED_CANCELLATION)
