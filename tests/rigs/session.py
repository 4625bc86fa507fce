"""Sessions for tests: a real store, which can be told to refuse a named kind of operation, and a record of what was told."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from dvergr_nb.errors import StoreFailed
from dvergr_nb.records.event import Event
from dvergr_nb.records.operation import Answer, Unit
from dvergr_nb.runtime.body import Done, Outcome
from dvergr_nb.runtime.context import Context
from dvergr_nb.runtime.ports import Then
from dvergr_nb.session import Session
from dvergr_nb.store.store import Store


class Refusing:
    """A real store in front of which operations of the named kinds are refused."""

    def __init__(self, store: Store, deliver: Callable[[Callable[[], None]], None]) -> None:
        self.real = store
        self.refused: tuple[type, ...] = ()
        self.tries = 0
        self._tried = asyncio.Event()
        self._deliver = deliver

    def submit(self, unit: Unit, then: Then | None = None) -> Future[Answer]:
        if not isinstance(unit, self.refused):
            return self.real.submit(unit, then)
        self.tries += 1
        self._deliver(self._tried.set)
        answer: Future[Answer] = Future()
        answer.set_exception(StoreFailed("store", f"the store refuses {type(unit).__name__}"))
        if then is not None:
            self._deliver(lambda: then(answer))
        return answer

    def note(self, unit: Unit, then: Then | None = None) -> Any:
        if not isinstance(unit, self.refused):
            return self.real.note(unit, then)
        return SimpleNamespace(future=self.submit(unit, then))

    async def until_refused(self, times: int) -> None:
        """Returns once so many operations were refused."""
        while self.tries < times:
            self._tried.clear()
            await self._tried.wait()

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)


class RefusingSession(Session):
    """A session whose store can be told to refuse: `session.store.refused = (End,)`."""

    def _opened(self, path: str) -> Any:
        return Refusing(super()._opened(path), self.home.post)


@pytest.fixture
def opened() -> Callable[..., AbstractAsyncContextManager[RefusingSession]]:
    """`async with opened() as session`: a session on the test's loop whose store can be told to refuse."""

    @asynccontextmanager
    async def open_one(path: str = ":memory:", **who: str) -> AsyncIterator[RefusingSession]:
        session = RefusingSession(path, tenant_id=who.get("tenant_id"), user_id=who.get("user_id"))
        try:
            yield session
        finally:
            session.close(force=True)

    return open_one


class Told:
    """A subscriber that keeps what it is told and can be waited for."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self._changed = asyncio.Event()

    def __call__(self, event: Event) -> None:
        self.events.append(event)
        self._changed.set()

    @property
    def types(self) -> list[str]:
        """What was told, without progress and activity."""
        return [event.type for event in self.events if event.type not in ("run/progress", "run/activity")]

    async def until(self, enough: Callable[[Sequence[Event]], bool]) -> None:
        """Returns once what was told is enough."""
        while not enough(self.events):
            self._changed.clear()
            await self._changed.wait()

    async def until_type(self, wanted: str) -> Event:
        """The first event of that type."""
        await self.until(lambda events: any(event.type == wanted for event in events))
        return next(event for event in self.events if event.type == wanted)


class Body:
    """A body made of a coroutine function."""

    place = "loop"

    def __init__(self, work: Callable[[Context], Any]) -> None:
        self._work = work

    async def execute(self, ctx: Context) -> Outcome:
        value = await self._work(ctx)
        return value if not isinstance(value, str | None) else Done(value=value, reply=value)


class Gate:
    """A body that tells when it works and waits until it is let through."""

    place = "loop"

    def __init__(self, outcome: Outcome | None = None) -> None:
        self.began = asyncio.Event()
        self.open = asyncio.Event()
        self._outcome = outcome or Done()

    async def execute(self, ctx: Context) -> Outcome:
        self.began.set()
        await self.open.wait()
        return self._outcome
