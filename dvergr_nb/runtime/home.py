"""The home loop: where every Run of a session lives, and the only two ways to cross into it."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any, Final, TypeVar

from dvergr_nb.errors import LoopBusy
from dvergr_nb.runtime.contain import contain

T = TypeVar("T")

CALL_LIMIT_S: Final = 30.0
"""How long `call` waits for a loop that a cell holds."""


class Home:
    """One event loop and its thread. Nothing outside this class touches the loop from another thread."""

    def __init__(self, loop: asyncio.AbstractEventLoop, thread_id: int) -> None:
        self.loop = loop
        self._thread_id = thread_id

    @classmethod
    def here(cls) -> Home:
        """The running loop: the kernel's, or that of `asyncio.run`. Without one, a loop in a daemon thread of its own."""
        try:
            return cls(asyncio.get_running_loop(), threading.get_ident())
        except RuntimeError:
            return cls.apart()

    @classmethod
    def apart(cls) -> Home:
        """A loop in a daemon thread of its own, for a program whose own loop runs only now and then."""
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever, name="dvergr-loop", daemon=True)
        thread.start()
        home = cls(loop, thread.ident or 0)
        home._owned = thread
        return home

    _owned: threading.Thread | None = None

    @property
    def is_here(self) -> bool:
        """Whether the caller is on the loop's thread."""
        return threading.get_ident() == self._thread_id

    @property
    def is_gone(self) -> bool:
        """Whether the loop was closed, as `asyncio.run` does at its end."""
        return self.loop.is_closed()

    def post(self, act: Callable[[], object]) -> None:
        """Has the loop do it soon. From any thread; never waits. A loop that is gone does nothing any more."""
        try:
            self.loop.call_soon_threadsafe(act)
        except RuntimeError:
            if not self.is_gone:
                raise

    def call(self, act: Callable[[], T], limit_s: float = CALL_LIMIT_S) -> T:
        """Does it now where the caller is on the loop's thread, else posts it and waits.

        Raises `LoopBusy` where the loop has not come to it after `limit_s` seconds; then it is never done.
        """
        if self.is_here or self.is_gone:
            return act()
        answer: Future[T] = Future()
        self.post(lambda: _settle(answer, act) if answer.set_running_or_notify_cancel() else None)
        try:
            return answer.result(limit_s)
        except FutureTimeout:
            if answer.cancel():
                raise LoopBusy(limit_s) from None
            return answer.result()
        except KeyboardInterrupt:
            answer.cancel()
            raise

    def later(self, delay_s: float, act: Callable[[], object]) -> asyncio.TimerHandle:
        """Has the loop do it after a delay. Only on the loop's thread."""
        return self.loop.call_later(delay_s, act)

    def spawn(self, work: Coroutine[Any, Any, T], context: contextvars.Context) -> asyncio.Task[T]:
        """Starts a task on the loop, which from then on guards the tasks it makes. The caller keeps the reference.

        Only on the loop's thread. A factory of somebody else's could run the task's first step within this call.
        """
        contain(self.loop)
        return asyncio.Task(work, loop=self.loop, context=context)

    def in_thread(self, act: Callable[[], T], then: Callable[[Future[T]], object]) -> None:
        """Does it in a daemon thread and hands the settled future to `then` on the loop."""
        answer: Future[T] = Future()

        def work() -> None:
            _settle(answer, act)
            self.post(lambda: then(answer))

        threading.Thread(target=work, name="dvergr-read", daemon=True).start()

    def close(self) -> None:
        """Stops the loop where it is our own; a kernel's loop is left alone."""
        if self._owned is not None and not self.is_gone:
            self.post(self.loop.stop)
            if not self.is_here:
                self._owned.join(5)
                self.loop.close()


def _settle(answer: Future[T], act: Callable[[], T]) -> None:
    try:
        answer.set_result(act())
    except BaseException as problem:  # noqa: BLE001  # handed to whoever reads the future
        answer.set_exception(problem)
