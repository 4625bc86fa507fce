"""The handle of a Run: what `job` gives back at once, and what a person awaits, cancels and looks at."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Generator
from concurrent.futures import Future
from typing import Any, Protocol

from dvergr_nb.errors import BadInput, RunCancelled, RunFailed, RunWaiting
from dvergr_nb.ids import MessageId, RunId, short
from dvergr_nb.records.operation import Answer, KeyTaken
from dvergr_nb.records.run import Run, RunStatus
from dvergr_nb.records.text import printable
from dvergr_nb.runtime import context
from dvergr_nb.runtime.once import Once
from dvergr_nb.runtime.ports import Noted


class Desk(Protocol):
    """What a handle asks of the session it belongs to."""

    def row_of(self, run_id: RunId) -> Run | None: ...

    def cancel_run(self, run_id: RunId, *, after_step: bool = False) -> bool: ...

    def stop_run(self, run_id: RunId, reason: str) -> bool: ...

    def activity_of(self, run_id: RunId) -> Any: ...

    def observed(self, consumer: RunId, cause: Run) -> None:
        """A Run has seen the end of another one."""

    @property
    def display(self) -> Display | None: ...


class Display(Protocol):
    """How a Run shows itself in a notebook; the extension registers one. Without it, a Run is a line of text."""

    def bundle(self, handle: RunHandle, include: Any = None, exclude: Any = None) -> Any: ...

    def card(self, handle: RunHandle) -> Any: ...

    def room_bundle(self, room: str) -> Any: ...


class RunHandle:
    """One Run, from before it is admitted to after it has ended.

    `await run` gives the body's value and raises `RunFailed`, `RunCancelled` or `RunWaiting`; interrupting that wait never
    cancels the Run. `await run.wait()` gives the handle and never raises for the Run's own end.
    """

    def __init__(self, run: Run, desk: Desk) -> None:
        self._run = run
        self._desk = desk
        self._noted: Noted | None = None
        self._not_asked_yet: Future[Answer] | None = None
        self.is_heard = False
        """Whether somebody waits for the admission and will tell why it was refused."""
        self.ready: Once[None] = Once()
        """Set on the home loop, when the Run is admitted or refused."""
        self._done: Once[Run] = Once()
        self._value: Any = None
        self._problem: BaseException | None = None

    @property
    def id(self) -> RunId:
        """The Run's id. Where a `key` was used before, the first Run's, from admission on."""
        return self._run.id

    @property
    def trigger(self) -> MessageId:
        """The message that caused it."""
        return self._run.trigger

    @property
    def admission(self) -> Future[Answer]:
        """The answer to the admission, set by the writer thread: what a sync caller that holds the loop may wait for."""
        if self._noted is not None:
            return self._noted.future
        if self._not_asked_yet is None:
            self._not_asked_yet = Future()
        return self._not_asked_yet

    def asked(self, noted: Noted) -> None:
        """Its admission was asked for."""
        self._noted, early = noted, self._not_asked_yet
        if early is not None and not early.done():
            noted.future.add_done_callback(lambda answer: _copy(answer, early))

    @property
    def label(self) -> str:
        """What people call it."""
        return self._run.name

    @property
    def row(self) -> Run:
        """The Run as it stands: live where it lives, else its durable row."""
        return self._desk.row_of(self.id) or self._run

    @property
    def result(self) -> Any:
        """What the body returned, None before that. Kept in this kernel only; the record has its clipped text."""
        return self._value

    @property
    def admitted(self) -> Admission:
        """Await it to know that the Run is durable; raises `ThreadBusy` and the like where it was refused."""
        return Admission(self)

    @property
    def is_done(self) -> bool:
        """Whether it has ended or waits, or was refused."""
        return self._done.done()

    async def wait(self, timeout: float | None = None) -> RunHandle:  # noqa: ASYNC109  # as asyncio.wait_for names it
        """The handle, once the Run has ended or waits. Raises `TimeoutError` after `timeout` seconds; the Run goes on."""
        try:
            async with asyncio.timeout(timeout):
                await self.settled()
        except TimeoutError:
            raise TimeoutError(
                f"Run {short(self.id)} ({self.label!r}) has not ended within {timeout:g} s; it goes on"
            ) from None
        self._done.result()
        return self

    async def settled(self) -> None:
        """Returns once it has ended, waits or was refused, and raises for none of them."""
        await self._done.wait()

    def when_over(self, tell: Callable[[], object]) -> None:
        """Has `tell` called once it has ended, waits or was refused, in the thread that finds out; at once where it has."""
        self._done.when_set(tell)

    def __await__(self) -> Generator[Any, None, Any]:
        consumer = context.current()
        if consumer is not None and consumer.run.id == self.id:
            raise BadInput(f"Run {short(self.id)} awaits itself, which would never end")
        yield from self.wait().__await__()
        if consumer is not None:
            self._desk.observed(consumer.run.id, self._done.result())
        return self.value()

    def value(self) -> Any:
        """The body's value of a Run that has ended; raises what awaiting the Run raises."""
        run = self._done.result()
        match run.status:
            case RunStatus.COMPLETED:
                return self._value
            case RunStatus.CANCELLED:
                raise RunCancelled(run.id, run.name, run.reason)
            case RunStatus.WAITING:
                raise RunWaiting(run.id, run.name, run.reason)
            case _:
                raise RunFailed(run.id, run.name, run.reason, run.error) from self._problem

    def stop(self, reason: str) -> bool:
        """Asks it to stop, for a reason of the runtime's own."""
        return self._desk.stop_run(self.id, reason)

    def cancel(self, *, after_step: bool = False) -> bool:
        """Asks it to stop; false where it has ended. `after_step` lets the current step finish."""
        return self._desk.cancel_run(self.id, after_step=after_step)

    def card(self) -> Any:
        """A live card, or this handle where there are no widgets."""
        display = self._desk.display
        return self if display is None else display.card(self)

    def activity(self) -> Any:
        """Everything it did, as a DataFrame."""
        return self._desk.activity_of(self.id)

    # What the runtime tells the handle ------------------------------------------------------------------------------

    def absorb(self, answer: Answer) -> None:
        """Takes the answer to the admission: with a used key, this becomes the handle of the first Run."""
        if isinstance(answer, KeyTaken):
            self._run = answer.run

    def settle_admitted(self) -> None:
        """Admitted: its row is durable."""
        self.ready.set(None)

    def settle_lost(self, problem: BaseException) -> None:
        """Not admitted, or its end cannot be known here any more: whoever waits for either is told why."""
        self.ready.fail(problem)
        self._done.fail(problem)

    def settle(self, run: Run, value: Any = None, problem: BaseException | None = None) -> None:
        """Ended, or waiting."""
        self._run, self._value, self._problem = run, value, problem
        self._done.set(run)

    def settle_as(self, other: RunHandle) -> None:
        """Ends when the other one does, with its value."""

        def copy() -> None:
            if (problem := other._done.exception()) is not None:
                self.settle_lost(problem)
            else:
                self.settle(other._run, other._value, other._problem)

        other._done.when_set(copy)

    # How it shows itself -------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        state = f", {self._run.status.value}" if self._done.done() and not self._done.exception() else ""
        return f"Run {short(self.id)}: {printable(self.label)}{state}"

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        display = self._desk.display
        return {"text/plain": repr(self)} if display is None else display.bundle(self, include, exclude)


class Admission:
    """The wait for a Run's admission."""

    def __init__(self, handle: RunHandle) -> None:
        self._handle = handle

    def __await__(self) -> Generator[Any, None, RunHandle]:
        self._handle.is_heard = True
        yield from self._handle.ready.wait().__await__()
        self._handle.ready.result()
        return self._handle


def _copy(answer: Future[Answer], to: Future[Answer]) -> None:
    if to.done():
        return
    if (problem := answer.exception()) is None:
        to.set_result(answer.result())
    else:
        to.set_exception(problem)
