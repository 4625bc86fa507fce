"""Stopping: a token per Run. It belongs to the Run, so that the actor's next Run is untouched."""

from __future__ import annotations

import asyncio
import datetime as dt
import threading
import types
from collections.abc import Callable, Coroutine, Generator
from dataclasses import dataclass
from typing import Any, Final, TypeVar, cast

from dvergr_nb.records.run import Reason
from dvergr_nb.runtime.logs import logger

log = logger(__name__)

T = TypeVar("T")
Hook = Callable[[], object]

FAILING: Final = frozenset({Reason.TIMEOUT})
"""Stops that fail a Run. Any other cancels it, and cancelled wins over failed."""


class Aborted(asyncio.CancelledError):
    """Raised in a body whose process was told to abort; the text is the reason given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """A request to stop: the reason the Run will have, when it was asked, and what to say of it."""

    reason: str
    at: dt.datetime
    detail: str = ""
    after_step: bool = False
    """Whether the current step may still finish: nothing is interrupted, the next check stops."""

    @property
    def why(self) -> str:
        """What to say of it."""
        return self.detail or self.reason


class CancelToken:
    """Whether a Run was asked to stop. Safe in any thread; sticky, also before the body exists."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._stop: Stop | None = None
        self._hooks: dict[object, Hook] = {}
        self._has_checked = False

    @property
    def stop(self) -> Stop | None:
        """The request that counts, None while there is none."""
        return self._stop

    @property
    def has_checked(self) -> bool:
        """Whether the body has ever looked, so that a request can reach it."""
        return self._has_checked

    def request(self, stop: Stop) -> bool:
        """Notes the request and runs the hooks, every time. True for the first one."""
        with self._lock:
            first = self._stop is None
            if self._stop is None or _outranks(stop, self._stop):
                self._stop = stop
            hooks = list(self._hooks.values())
        for hook in hooks:
            run_hook(hook)
        return first

    def check(self) -> None:
        """The body looks: raises `Aborted` or `CancelledError` where a stop was requested."""
        self._has_checked = True
        self.raise_stop()

    def raise_stop(self) -> None:
        """Raises what a request to stop means, without counting as a look of the body."""
        if self._stop is not None:
            raise self.meaning(asyncio.CancelledError(self._stop.why))

    def meaning(self, interruption: asyncio.CancelledError) -> asyncio.CancelledError:
        """What an interruption says to the body: `Aborted` with its reason where that was asked for, else what it was."""
        if self._stop is not None and self._stop.reason == Reason.ABORTED:
            return Aborted(self._stop.detail or "aborted by manager")
        return interruption

    def add_hook(self, key: object, hook: Hook) -> None:
        """Has `hook` run on every request; at once where one came before. The same key replaces its hook."""
        with self._lock:
            self._hooks[key] = hook
            late = self._stop is not None
        if late:
            run_hook(hook)

    def remove_hook(self, key: object) -> None:
        """Forgets the hook of that key, where there is one."""
        with self._lock:
            self._hooks.pop(key, None)


@types.coroutine
def told(work: Coroutine[Any, Any, T], token: CancelToken) -> Generator[Any, Any, T]:
    """Does the work; whatever it awaits when it is interrupted, it hears what was asked for. A task knows only one way."""
    given: Any = None
    problem: BaseException | None = None
    while True:
        try:
            awaited = work.send(given) if problem is None else work.throw(problem)
        except StopIteration as returned:
            return cast(T, returned.value)
        given, problem = None, None
        try:
            given = yield awaited
        except asyncio.CancelledError as interruption:
            problem = token.meaning(interruption)
        except BaseException as other:  # noqa: BLE001  # an awaited future's own, passed on to whoever awaits it
            problem = other


def _outranks(new: Stop, old: Stop) -> bool:
    if (new.reason in FAILING) != (old.reason in FAILING):
        return old.reason in FAILING
    return old.after_step and not new.after_step


def run_hook(hook: Hook) -> None:
    """Runs a hook. What it raises is logged."""
    try:
        hook()
    except BaseException:  # likewise somebody else's code, which may end neither the loop nor the request
        log.exception("a hook of a Run failed")
