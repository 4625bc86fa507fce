"""A value that is set once and told to whoever waits: a small future, for there may be thousands of them."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any, Final, Generic, TypeVar

from dvergr_nb.runtime.home import Home

Value = TypeVar("Value")

_SETTING: Final = threading.Lock()
"""Held while a value and those who wait for it are brought together; for moments only, so one serves all."""


class Once(Generic[Value]):
    """Safe in any thread. What was set first counts."""

    __slots__ = ("_is_set", "_problem", "_told", "_value")

    def __init__(self) -> None:
        self._is_set = False
        self._value: Any = None
        self._problem: BaseException | None = None
        self._told: list[Callable[[], object]] | None = None

    def done(self) -> bool:
        """Whether it is set."""
        return self._is_set

    def exception(self) -> BaseException | None:
        """What it was set to raise, if anything."""
        return self._problem

    def result(self) -> Value:
        """The value; raises what it was set to raise. Only once it is set."""
        if self._problem is not None:
            raise self._problem
        if not self._is_set:
            raise asyncio.InvalidStateError("it is not set yet")
        return self._value  # type: ignore[no-any-return]  # the value it was set to

    def set(self, value: Value) -> None:
        """Sets it, where it is not set yet, and tells those who wait."""
        self._settle(value, None)

    def fail(self, problem: BaseException) -> None:
        """Sets it to raise that."""
        self._settle(None, problem)

    def _settle(self, value: Any, problem: BaseException | None) -> None:
        with _SETTING:
            if self._is_set:
                return
            self._is_set, self._value, self._problem = True, value, problem
            told, self._told = self._told or (), None
        for tell in told:
            tell()

    def when_set(self, tell: Callable[[], object]) -> None:
        """Has `tell` called once it is set, in the thread that sets it; at once where it is."""
        with _SETTING:
            if not self._is_set:
                self._told = [*(self._told or ()), tell]
                return
        tell()

    async def wait(self) -> None:
        """Returns once it is set, on whichever loop waits; raises nothing of its own."""
        if self._is_set:
            return
        here = Home.here()
        is_set = here.loop.create_future()

        def mark() -> None:
            if not is_set.done():
                is_set.set_result(None)

        self.when_set(lambda: mark() if here.is_here else here.post(mark))
        await is_set
