"""How a Run ends: which end wins when several meet, and writing it down until it is written.

Precedence: cancelled, then failed, then waiting, then completed; the reason follows the status.
"""

from __future__ import annotations

import dataclasses
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from dvergr_nb.agent_errors import ModelError, StepLimit, WalletShort
from dvergr_nb.errors import BadInput, Refused, SessionClosed
from dvergr_nb.ids import short
from dvergr_nb.records import pause
from dvergr_nb.records.message import ACTIVITY, RUNS
from dvergr_nb.records.operation import End
from dvergr_nb.records.pause import Envelope
from dvergr_nb.records.run import ERROR_LIMIT, PAUSES, Reason, RunStatus, checked_word
from dvergr_nb.records.text import clipped, mended
from dvergr_nb.runtime.body import Done, Failed, Pause
from dvergr_nb.runtime.cancel import FAILING, Stop
from dvergr_nb.runtime.home import Home
from dvergr_nb.runtime.logs import logger
from dvergr_nb.runtime.ports import Settled, Store
from dvergr_nb.runtime.reply import Reply
from dvergr_nb.runtime.secrets import scrub, tells_none

log = logger(__name__)

FIRST_RETRY_S: Final = 0.025
LAST_RETRY_S: Final = 5.0
"""A terminal write that fails is tried again after 25 ms, doubling to 5 s."""
TRACEBACK_LIMIT: Final = 20_000
REASONS: Final[Mapping[type[BaseException], Reason]] = {
    StepLimit: Reason.STEP_LIMIT,
    WalletShort: Reason.RESOURCE_ALLOCATION_FAILED,
}
"""Errors that are a reason of their own."""
PLAIN: Final = (ModelError, StepLimit, WalletShort)
"""Errors whose sentence says it all, so that no traceback is kept."""
OWN_CODE: Final = str(Path(__file__).parent.parent)


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """What a segment came to, before it is written."""

    status: RunStatus
    reason: str | None = None
    error: str | None = None
    traceback: str | None = None
    reply: str | Reply | None = None
    envelopes: tuple[Envelope, ...] = ()
    value: Any = None
    publish: Callable[[], object] | None = None
    problem: BaseException | None = None


def ending(outcome: object, stop: Stop | None) -> Ending:
    """The end that wins. A body that returns after it was asked to stop has stopped: its reply is not kept."""
    if stop is not None and stop.reason not in FAILING:
        return Ending(status=RunStatus.CANCELLED, reason=stop.reason)
    if stop is not None:
        return Ending(status=RunStatus.FAILED, reason=stop.reason, error=stop.detail or None)
    try:
        return _came_to(outcome)
    except BaseException as problem:  # noqa: BLE001  # refused, or the code of a value that was looked at; either way the body's
        return _failed(problem)


def _came_to(outcome: object) -> Ending:
    """What a body returned or raised. Raises `BadInput` where it returned what cannot be written down."""
    match outcome:
        case Pause(reason=reason, envelopes=envelopes, reply=reply):
            return _waiting(checked_word(reason, "reason"), envelopes, _text(reply))
        case Done(value=value, reply=reply, reason=reason, publish=publish):
            word = None if reason is None else checked_word(reason, "reason")
            return Ending(status=RunStatus.COMPLETED, reason=word, reply=_text(reply), value=value, publish=publish)
        case Failed(reason=reason, problem=problem):
            return _failed(problem, checked_word(reason, "reason"))
        case BaseException() as problem:
            return _failed(problem)
        case other:
            return _failed(TypeError(f"a body returns Done, Pause or Failed, not {type(other).__name__}"))


def _text(reply: object) -> str | Reply | None:
    if not isinstance(reply, str | Reply | None):
        raise BadInput(f"the reply of a Run is text or None, not {type(reply).__name__}")
    return reply


def _waiting(reason: str, envelopes: object, reply: str | Reply | None) -> Ending:
    if not isinstance(envelopes, tuple | list):
        raise BadInput(f"envelopes of a pause are a tuple, not {type(envelopes).__name__}")
    asked = tuple(pause.checked(envelope) for envelope in envelopes)
    if (reason in PAUSES) != bool(asked):
        rule = "needs an envelope for a person to decide" if reason in PAUSES else "has no envelopes"
        raise BadInput(f"a Run that waits for {reason} {rule}")
    return Ending(status=RunStatus.WAITING, reason=reason, envelopes=asked, reply=reply)


def _failed(problem: BaseException, reason: str = Reason.ERROR) -> Ending:
    return Ending(
        status=RunStatus.FAILED,
        reason=REASONS.get(type(problem), reason),
        error=described(problem),
        traceback=None if isinstance(problem, PLAIN) else told(problem),
        problem=problem if _may_be_shown(problem) else None,
    )


def _may_be_shown(problem: BaseException) -> bool:
    """Whether who awaits the Run may be given it as the cause, with all that it comes from: no secret is in any of it."""
    try:
        return tells_none(problem)
    except BaseException as worse:  # noqa: BLE001  # the exception's own code, so part of the body
        log.debug("an exception could not be looked through: %s", type(worse).__name__)
        return False


def described(problem: BaseException) -> str:
    """The exception's type and text, as the record keeps them, without secrets."""
    try:
        text = clipped(str(problem), ERROR_LIMIT)
    except BaseException as worse:  # noqa: BLE001  # the exception's own code, so part of the body, and it ends nothing else
        text = f"(its text could not be made: {type(worse).__name__})"
    return scrub(mended(clipped(f"{type(problem).__name__}: {text}" if text else type(problem).__name__, ERROR_LIMIT)))


def told(problem: BaseException) -> str:
    """The traceback as text, without secrets and without the frames of this package."""
    try:
        summary = traceback.TracebackException.from_exception(problem, capture_locals=False)
        summary.stack = traceback.StackSummary.from_list([f for f in summary.stack if not f.filename.startswith(OWN_CODE)])
        return scrub(mended(clipped("".join(summary.format()), TRACEBACK_LIMIT)))
    except BaseException as worse:  # noqa: BLE001  # likewise
        return f"{type(problem).__name__}: (its traceback could not be made: {type(worse).__name__})"


def unposted(reply_error: str) -> Ending:
    """The end of a Run whose reply the room cannot take."""
    return Ending(
        status=RunStatus.FAILED, reason=Reason.REPLY_EMISSION_FAILED, error=scrub(mended(clipped(reply_error, ERROR_LIMIT)))
    )


def write_end(store: Store, home: Home, end: End, then: Callable[[Settled, End], object]) -> None:
    """Writes the end until it is written. The Run stays live meanwhile; `then` hears of it once, on the home loop, with the
    end as it was written.

    Final answers: the row has left the status that the move starts from, the store was closed, or the bare end breaks a rule.
    Where the output itself is refused, the end is written without it, as failed: `reply-emission-failed` where it was for the
    room, else `record-lost`.
    """
    _Writing(store, home, end, then).attempt()


class _Writing:
    def __init__(self, store: Store, home: Home, end: End, then: Callable[[Settled, End], object]) -> None:
        self._store, self._home, self._end, self._then = store, home, end, then
        self._delay = FIRST_RETRY_S
        self._warned = False

    def attempt(self) -> None:
        self._store.note(self._end, self._judge)

    def _judge(self, answer: Settled) -> None:
        problem = answer.exception()
        if isinstance(problem, BadInput) and (self._end.messages or self._end.envelopes):
            self._end = _without_output(self._end, problem)
            self.attempt()
        elif problem is None or isinstance(problem, (Refused, SessionClosed, BadInput)):
            if self._warned and problem is None:
                log.info("the end of Run %s is written now", short(self._end.run_id))
            self._then(answer, self._end)
        else:
            self._try_again(problem)

    def _try_again(self, problem: BaseException) -> None:
        if not self._warned:
            log.warning("the end of Run %s could not be written, trying again: %s", short(self._end.run_id), problem)
            self._warned = True
        self._home.later(self._delay, self.attempt)
        self._delay = min(self._delay * 2, LAST_RETRY_S)


def _without_output(end: End, problem: BadInput) -> End:
    was_said = any(message.to not in (RUNS, ACTIVITY) for message in end.messages)
    lost = RunStatus.FAILED, Reason.REPLY_EMISSION_FAILED if was_said else Reason.RECORD_LOST
    status, reason = (end.status, end.reason) if end.status is RunStatus.CANCELLED else lost
    return dataclasses.replace(end, messages=(), envelopes=(), status=status, reason=reason, error=end.error or str(problem))
