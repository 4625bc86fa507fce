"""Makes records for tests, and opens stores."""

from __future__ import annotations

import datetime as dt
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dvergr_nb.clock import SystemClock
from dvergr_nb.errors import DvergrError
from dvergr_nb.ids import BootId, MessageId, RunId, SystemIds
from dvergr_nb.records.message import ACTIVITY, Message
from dvergr_nb.records.operation import Admit, Answer, End, Post, Record, Unit
from dvergr_nb.records.pause import Envelope
from dvergr_nb.records.run import Reason, Run, RunStatus
from dvergr_nb.store.store import Store, open_store

BOOT = BootId("boot-1")
LIMIT_S = 30.0

clock = SystemClock()
ids = SystemIds(clock)


def now() -> dt.datetime:
    return clock.now()


def message(**facts: Any) -> Message:
    """A top-level message of its own, unless facts say otherwise."""
    own = ids.message()
    known: dict[str, Any] = {
        "id": own,
        "tenant_id": "t",
        "user_id": "u",
        "room": "main",
        "sender": "ann",
        "thread_root_id": facts.get("id", own),
        "created_at": now(),
    }
    return Message(**(known | facts))


def reply(parent: Message, **facts: Any) -> Message:
    """A reply in the room of its parent."""
    return message(**({"reply_to": parent.id, "thread_root_id": parent.thread_root_id, "room": parent.room} | facts))


def run(trigger: Message, **facts: Any) -> Run:
    """A Run that the message causes."""
    at = now()
    known: dict[str, Any] = {
        "id": ids.run(),
        "tenant_id": trigger.tenant_id,
        "user_id": "u",
        "room": trigger.room,
        "actor": "researcher",
        "trigger": trigger.id,
        "created_at": at,
        "started_at": at,
        "updated_at": at,
        "boot_id": BOOT,
    }
    return Run(**(known | facts))


def admit(trigger: Message | None = None, *, key: str | None = None, **facts: Any) -> Admit:
    """A Run with a trigger of its own."""
    trigger = trigger or message(content="do it")
    return Admit(run=run(trigger, **facts), message=trigger, key=key)


def said(of: Run, content: str = "a line", **facts: Any) -> Record:
    """An activity message of the Run."""
    known: dict[str, Any] = {
        "to": ACTIVITY,
        "sender": of.actor,
        "room": of.room,
        "tenant_id": of.tenant_id,
        "content": content,
        "kind": "print",
        "run_id": of.id,
        "reply_to": of.trigger,
        "thread_root_id": of.trigger,
    }
    return Record(message=message(**(known | facts)))


def end(of: Run, status: RunStatus = RunStatus.COMPLETED, **facts: Any) -> End:
    """The Run's end."""
    known: dict[str, Any] = {"run_id": of.id, "tenant_id": of.tenant_id, "status": status, "at": now()}
    return End(**(known | facts))


def pause(of: Run, *envelope_ids: str) -> End:
    """The Run waits for a person's approval."""
    names = envelope_ids or ("call-1",)
    envelopes = tuple(Envelope(id=name, kind="approval", body={"tool": name}) for name in names)
    return end(of, RunStatus.WAITING, reason=Reason.APPROVAL.value, envelopes=envelopes)


def here(fn: Callable[[], None]) -> None:
    """A home loop that is wherever it is called."""
    fn()


def opened(path: str | Path = ":memory:", **facts: Any) -> Store:
    """An open store of tenant `t`."""
    known: dict[str, Any] = {
        "tenant_id": "t",
        "user_id": "u",
        "boot_id": BOOT,
        "clock": clock,
        "holder": "a test",
        "deliver": here,
    }
    return open_store(path, **(known | facts))


def done(store: Store, unit: Unit) -> Any:
    """The answer to a unit, or the error that kept it out."""
    return store.submit(unit).result(LIMIT_S)


def post(store: Store, *messages: Message) -> None:
    """Stores messages."""
    for each in messages:
        done(store, Post(message=each))


@contextmanager
def held(store: Store) -> Iterator[None]:
    """Holds the writer, so that what is submitted meanwhile makes one batch."""
    gate, reached = threading.Event(), threading.Event()

    def wait(_: object) -> None:
        reached.set()
        assert gate.wait(LIMIT_S)

    store._writer.errand(wait)
    assert reached.wait(LIMIT_S)
    try:
        yield
    finally:
        gate.set()


def together(store: Store, units: Sequence[Unit]) -> list[Answer | DvergrError]:
    """The outcomes of units that are written as one batch."""
    with held(store):
        futures = [store.submit(unit) for unit in units]
    return [outcome(future) for future in futures]


def outcome(future: Future[Answer]) -> Answer | DvergrError:
    """An answer, or the error in its place."""
    problem = future.exception(LIMIT_S)
    if problem is None:
        return future.result()
    assert isinstance(problem, DvergrError), problem
    return problem


def run_id() -> RunId:
    return ids.run()


def message_id() -> MessageId:
    return ids.message()
