"""Reply obligations: whoever makes a reply is told once what became of it, whatever the wrappers around it do.

| what happened | told | a turn's Run |
|---|---|---|
| the reply that carries it was stored | `on_emitted()` | completed |
| storing it was refused | `on_failed(error)` | failed, `reply-emission-failed` |
| a wrapper withheld it and said why | `on_dropped(reason)` | completed, that reason |
| the handler ended and it was still open | `on_dropped("withheld")` | completed, `withheld` |
| the handler threw | `on_dropped("handler-failed")` | failed, `error` |
| the participant left | `on_dropped("abandoned")` | cancelled, `participant-left` |
| the Run was cancelled or waits | `on_dropped(the Run's reason)` | as it ended |
| the session ended before the Run did | `on_dropped("orphaned")` | failed, `orphaned` |
"""

from __future__ import annotations

import asyncio
import dataclasses
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

from dvergr_nb.errors import BadInput
from dvergr_nb.records.run import Reason, Run, RunStatus, checked_word
from dvergr_nb.records.text import clipped, shown
from dvergr_nb.runtime.body import Done, Outcome, Pause
from dvergr_nb.runtime.logs import logger
from dvergr_nb.runtime.reply import Given, Reply, Withheld

log = logger(__name__)


class Obligation:
    """One duty to settle a reply. Settled or released once; after that nothing reaches it."""

    def __init__(
        self,
        on_emitted: Callable[[], object] | None = None,
        on_failed: Callable[[str], object] | None = None,
        on_dropped: Callable[[str], object] | None = None,
    ) -> None:
        self._on_emitted, self._on_failed, self._on_dropped = on_emitted, on_failed, on_dropped
        self.is_open = True

    def release(self) -> bool:
        """Takes it back; false where it was settled or released before."""
        was_open, self.is_open = self.is_open, False
        return was_open

    def emitted(self) -> None:
        """Its reply is stored."""
        self._settle(self._on_emitted)

    def failed(self, error: str) -> None:
        """Its reply was refused by the store."""
        self._settle(self._on_failed, error)

    def dropped(self, reason: str) -> None:
        """Its reply was never posted."""
        self._settle(self._on_dropped, reason)

    def _settle(self, tell: Callable[..., object] | None, *what: Any) -> None:
        if not self.release() or tell is None:
            return
        try:
            tell(*what)
        except BaseException:  # somebody else's code; what was posted stays posted
            log.exception("a callback of a reply obligation failed")


class Obligations:
    """Those of one call of a handler."""

    def __init__(self) -> None:
        self._all: list[Obligation] = []
        self._carried: Obligation | None = None

    def register(self, obligation: Obligation) -> None:
        """Adds one."""
        self._all.append(obligation)

    @property
    def latest(self) -> Obligation | None:
        """The last one that is still open."""
        return next((one for one in reversed(self._all) if one.is_open), None)

    def outcome(self, given: Given) -> Outcome:
        """What a handler's answer makes of the Run. Raises `BadInput` for what is no answer."""
        match given:
            case str(text):
                return Done(value=text, reply=Reply(content=text))
            case Reply():
                self._carried = _carried(given)
                return Done(value=given.content if given.value is None else given.value, reply=given)
            case Withheld(reason=reason):
                return Done(reason=checked_word(reason, "reason"))
            case Pause():
                self._carried = _carried(given.reply)
                return given
            case None:
                return Done(reason=None if self.latest is None else Reason.WITHHELD.value)
            case _:
                raise BadInput(f"a handler answers with text, a Reply or None, not {_named(given)}")

    def settle(self, run: Run | None) -> None:
        """Tells every open one what became of its reply: once the Run's end is durable, or without it where that is lost."""
        for one in self._all:
            if run is None:
                one.dropped(Reason.ORPHANED)
            elif run.reason == Reason.REPLY_EMISSION_FAILED:
                one.failed(run.error or "")
            elif one is self._carried and _has_said(run):
                one.emitted()
            else:
                one.dropped(_word(run))


def _carried(reply: object) -> Obligation | None:
    mark = reply.obligation if isinstance(reply, Reply) else None
    return mark if isinstance(mark, Obligation) else None


def _has_said(run: Run) -> bool:
    """Whether its reply is stored; where other things that it put on record were lost, that is its end, and the reply is."""
    return run.status in (RunStatus.COMPLETED, RunStatus.WAITING) or run.reason == Reason.RECORD_LOST


def _named(given: object) -> str:
    """What a handler gave that is no answer, in one line."""
    if asyncio.iscoroutine(given):
        given.close()
        return f"a coroutine; write await before {getattr(given, '__qualname__', 'it')}"
    return clipped(" ".join(repr(given).split()), 60)


def _word(run: Run) -> str:
    match run.status, run.reason:
        case RunStatus.CANCELLED, Reason.PARTICIPANT_LEFT:
            return "abandoned"
        case RunStatus.FAILED, Reason.ERROR:
            return "handler-failed"
        case _:
            return run.reason or Reason.WITHHELD.value


CURRENT: ContextVar[Obligations | None] = ContextVar("dvergr_obligations", default=None)


def _needed(verb: str) -> Obligations:
    found = CURRENT.get()
    if found is None:
        raise BadInput(f"{verb}() belongs into a handler that answers a message; room.join(actor, handler) makes it one")
    return found


def _given(obligation: object) -> Obligation | None:
    if not isinstance(obligation, Obligation | None):
        raise BadInput(f"an obligation is what reply_obligation() gives, not {shown(obligation)}")
    return obligation


def reply_obligation(
    *,
    on_emitted: Callable[[], object] | None = None,
    on_failed: Callable[[str], object] | None = None,
    on_dropped: Callable[[str], object] | None = None,
) -> Obligation:
    """Registers callbacks for the reply that the running handler will give. They are called on the session's loop."""
    for told in (on_emitted, on_failed, on_dropped):
        if told is not None and not callable(told):
            raise BadInput(f"what an obligation calls back is a function, not {shown(told)}")
    obligation = Obligation(on_emitted, on_failed, on_dropped)
    _needed("reply_obligation").register(obligation)
    return obligation


def carry_obligation(reply: str | Reply, obligation: Obligation | None = None) -> Reply:
    """The reply, marked to settle that obligation, or the last one the running handler has registered."""
    mark = _given(obligation) or _needed("carry_obligation").latest
    if not isinstance(reply, str | Reply):
        raise BadInput(f"what carries an obligation is a text or a Reply, not {shown(reply)}")
    whole = Reply(content=reply) if isinstance(reply, str) else reply
    return dataclasses.replace(whole, obligation=mark)


def withhold_reply(reply: Given, reason: str = "withheld") -> Withheld:  # noqa: ARG001  # it is what is dropped
    """What a wrapper gives back when it drops a reply: its reason reaches the Run and the reply's maker."""
    return Withheld(reason=checked_word(reason, "reason"))


def release_obligation(obligation: Obligation | None = None) -> bool:
    """Takes an obligation back, the last one of the running handler unless told otherwise; false where there is none open."""
    found = _given(obligation) or _needed("release_obligation").latest
    return found is not None and found.release()
