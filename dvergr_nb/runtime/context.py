"""What a body is given: its Run, and the verbs that are the same for every kind of Run."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime as dt
import math
import numbers
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Final, Protocol

from dvergr_nb.errors import BadInput
from dvergr_nb.ids import Ids
from dvergr_nb.records.message import Fact, Message
from dvergr_nb.records.operation import Cite, Keep, Unit
from dvergr_nb.records.run import LABEL_LIMIT, LiveRun, Progress, Run
from dvergr_nb.records.text import clipped, mended, shown
from dvergr_nb.runtime.cancel import CancelToken
from dvergr_nb.runtime.dials import Dials
from dvergr_nb.runtime.ports import Found, Noted
from dvergr_nb.runtime.secrets import scrub
from dvergr_nb.runtime.wallet import RunWallet
from dvergr_nb.runtime.wanted import Wanted

if TYPE_CHECKING:
    from dvergr_nb.records.tool_use import Blob, ToolUse
    from dvergr_nb.runtime.handle import RunHandle
    from dvergr_nb.runtime.inbox import Inbox

ROUND: ContextVar[int] = ContextVar("dvergr_round", default=0)
"""The round of a turn that a tool is used in."""
PROGRESS_RECORD_S: Final = 1.0
"""Progress is recorded when its label changes, when it is done, and otherwise at most this often."""


class Reporter(Protocol):
    """Takes what a body says to the store and to those who watch. Safe in any thread."""

    @property
    def run(self) -> LiveRun: ...

    def record(
        self, kind: str | None, content: str, facts: tuple[Fact, ...], metadata: Mapping[str, Any] = ...
    ) -> Noted | None: ...

    def streamed(self, text: str) -> None: ...

    def doing(self, what: str) -> None: ...

    def spawned(self, work: Any, args: tuple[Any, ...], options: Mapping[str, Any]) -> RunHandle: ...

    def progressed(self, progress: Progress) -> None: ...

    def replied(self, text: str) -> None: ...

    def stepped(self) -> None: ...

    @property
    def inbox(self) -> Inbox | None: ...

    @property
    def wallet(self) -> RunWallet: ...

    @property
    def wanted(self) -> Wanted: ...

    @property
    def dials(self) -> Dials: ...

    @property
    def trigger(self) -> Message | None: ...

    def exhausted(self) -> None: ...

    async def spent_here(self) -> int: ...

    def noted(self, unit: Unit) -> Noted: ...

    async def blob(self, data: bytes, media_type: str) -> Blob: ...

    def at_end(self, hook: Callable[[], object]) -> None: ...

    def queried(self, frames: Mapping[str, Any] | None, sql: str, limit_s: float, rows: int) -> Found: ...

    def now(self) -> dt.datetime: ...

    async def in_thread(self, work: Callable[[], Any]) -> Any: ...

    def when_over(self, tell: Callable[[Run], object]) -> None: ...


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """What a checkpoint was told: go on, after these effects."""

    type: str = "continue"
    effects_applied: tuple[Mapping[str, Any], ...] = ()


class Recorded:
    """A record on its way. Await it to know that it is durable; a loop body that reports a lot is slowed by that."""

    def __init__(self, noted: Noted | None) -> None:
        self._noted = noted

    def __await__(self) -> Generator[Any, None, None]:
        if self._noted is not None:
            yield from asyncio.shield(asyncio.wrap_future(self._noted.future)).__await__()


class Checked:
    """The answer of a checkpoint: awaited on the loop, there already in a thread."""

    def __init__(self, context: Context) -> None:
        self._context = context
        self.decision = Decision()

    def __await__(self) -> Generator[Any, None, Decision]:
        yield  # one turn for the loop, so that a body of nothing but checkpoints does not hold it
        self._context.raise_if_cancelled()
        return self.decision


class Context:
    """One body's view of its Run. The same verbs are module functions that find it by themselves."""

    def __init__(self, reporter: Reporter, token: CancelToken, ids: Ids) -> None:
        self._reporter = reporter
        self._ids = ids
        self._recorded_at = float("-inf")
        self._recorded_label = ""
        self.token = token
        self.started_by: Context | None = None
        """The agent whose code has started this Run, where it is itself no agent's: what it does is that one's, too."""
        self.cited: list[str] = []
        """The ids of the chunks that this segment has cited, in order."""

    @property
    def run(self) -> LiveRun:
        """The Run as it stands."""
        return self._reporter.run

    def raise_if_cancelled(self) -> None:
        """Raises `CancelledError` where the Run was asked to stop, `Aborted` where its process was told to abort."""
        self.token.check()

    def checkpoint(self, state: Mapping[str, Any] | None = None, description: str = "") -> Checked:
        """The place where a body can be stopped. On the loop: `await ctx.checkpoint()`; in a worker thread a plain call.

        `state` is what an observer may see of the work so far, as plain data; `description` says it in words.
        """
        self.raise_if_cancelled()
        self._reporter.stepped()
        if description or state:
            self.activity(description or "checkpoint", kind="checkpoint")
        return Checked(self)

    def progress(self, done: float | None = None, total: float | None = None, label: str = "") -> None:
        """Says how far the work is: `done` of `total`, and what it is at. Shown at once, recorded about once a second."""
        said = Progress(
            done=_number("done", done), total=_number("total", total), label=scrub(mended(clipped(str(label), LABEL_LIMIT)))
        )
        self._reporter.progressed(said)
        self._record_progress(said)

    def _record_progress(self, said: Progress) -> None:
        now = time.monotonic()
        is_news = said.label != self._recorded_label or (said.done is not None and said.done == said.total)
        if not is_news and now - self._recorded_at < PROGRESS_RECORD_S:
            return
        self._recorded_at, self._recorded_label = now, said.label
        outcome = None if said.done is None else f"{said.done:g}" + (f"/{said.total:g}" if said.total is not None else "")
        self._reporter.record("progress", said.label, (self.fact(kind="progress", verb="report", outcome=outcome),))

    def activity(self, what: str | Mapping[str, Any], *, kind: str = "note") -> Recorded:
        """Puts something the Run did on record: a text, or a typed fact such as `{"kind": "tool", "verb": "invoke"}`.

        Facts carry `kind`, `verb`, `status`, `tool_name`, `tool_use_id`, `outcome`, `critical` and `at`. Raises `BadMessage`.
        """
        if isinstance(what, str):
            return Recorded(self._reporter.record(kind, what, ()))
        if not isinstance(what, Mapping) or not all(isinstance(name, str) for name in what):
            raise BadInput(f"an activity is a text or a fact such as {{'kind': …, 'verb': …}}, not {shown(what)}")
        fact = self.fact(**what)
        return Recorded(self._reporter.record(None, f"{fact.kind} {fact.verb}", (fact,)))

    def report(self, content: str, facts: Sequence[Fact], metadata: Mapping[str, Any] | None = None) -> Recorded:
        """Puts one activity message with several facts on record, as `fact` makes them. Raises `BadMessage`."""
        return Recorded(self._reporter.record(None, content, tuple(facts), metadata or {}))

    def fact(self, **fields: Any) -> Fact:
        """A fact of this Run, happening now unless `at` says otherwise. With an `id` of one's own it is stored once."""
        known = {field.name for field in dataclasses.fields(Fact)} - {"run_id"}
        if strange := sorted(set(fields) - known):
            raise BadInput(f"an activity fact has no {', '.join(strange)}; it may have {', '.join(sorted(known))}")
        if missing := {"kind", "verb"} - set(fields):
            raise BadInput(f"an activity fact needs {' and '.join(sorted(missing))}")
        return Fact(**{"at": self._reporter.now(), "id": self._ids.message(), **fields, "run_id": self.run.id})

    def stream(self, text: str) -> None:
        """Shows the text that is being made, as far as it has come. Live only; what counts is the reply."""
        self._reporter.streamed(text)

    def doing(self, what: str) -> None:
        """Shows which tools are at work now, empty for none. Live only; what counts are the facts."""
        self._reporter.doing(scrub(mended(clipped(what, LABEL_LIMIT))))

    def stepped(self) -> None:
        """A step of the work is done, such as a model round: counted on the Run."""
        self._reporter.stepped()

    @property
    def inbox(self) -> Inbox | None:
        """The messages that join this turn while it works; None for a body that takes none."""
        return self._reporter.inbox

    @property
    def trigger(self) -> Message | None:
        """The message that caused the Run, where it was said in this kernel."""
        return self._reporter.trigger

    @property
    def wanted(self) -> Wanted:
        """What whoever spoke wants of this one turn."""
        return self._reporter.wanted

    @property
    def dials(self) -> Dials:
        """What was set for its actor in the room, as it stands now."""
        return self._reporter.dials

    async def spent_here(self) -> int:
        """What its actor has spent in this room so far, over all its Runs, in micro-dollars, as far as prices are known."""
        return await self._reporter.spent_here()

    async def is_broke(self) -> bool:
        """Whether nothing is left to spend; then all charges are on record, and so is that."""
        if not self.wallet.is_exhausted:
            return False
        await self.wallet.settled()
        self._reporter.exhausted()
        return True

    @property
    def wallet(self) -> RunWallet:
        """What the Run may spend and has spent."""
        return self._reporter.wallet

    def at_end(self, hook: Callable[[], object]) -> None:
        """Has `hook` run on the loop when the Run ends or waits, whatever its end."""
        self._reporter.at_end(hook)

    def now(self) -> dt.datetime:
        """The session's time."""
        return self._reporter.now()

    def when_over(self, tell: Callable[[Run], object]) -> None:
        """Has `tell` called with the row once this segment of the Run has ended or waits; on the loop, so it must be quick."""
        self._reporter.when_over(tell)

    def cite(self, chunk_ids: str | Sequence[str] | Mapping[str, str], *, round: int | None = None) -> Recorded:  # noqa: A002  # as records name it
        """Notes that the work has used these chunks of text; a mapping is ids with titles. Kept with the Run, once a round."""
        from dvergr_nb.records.tool_use import Citation

        if isinstance(chunk_ids, str):
            chunk_ids = [chunk_ids]
        titles = dict(chunk_ids) if isinstance(chunk_ids, Mapping) else dict.fromkeys(chunk_ids, "")
        for each in titles.items():
            if not all(isinstance(word, str) and len(word) <= LABEL_LIMIT for word in each) or not each[0].strip():
                raise BadInput(f"a chunk is cited by its id, text of 1 to {LABEL_LIMIT} characters, not {shown(each[0])}")
        run, now = self.run, self._reporter.now()
        citations = tuple(
            Citation(
                tenant_id=run.tenant_id,
                room=run.room,
                run_id=run.id,
                round=ROUND.get() if round is None else round,
                chunk_id=scrub(mended(chunk_id)),
                title=scrub(mended(title)),
                at=now,
            )
            for chunk_id, title in titles.items()
        )
        self.cited += [citation.chunk_id for citation in citations]
        return Recorded(self._reporter.noted(Cite(citations=citations)) if citations else None)

    def keep(self, *uses: ToolUse) -> Recorded:
        """Keeps what tools were given and gave, apart from the facts of the record."""
        return Recorded(self._reporter.noted(Keep(uses=uses)))

    async def blob(self, data: bytes, media_type: str = "application/octet-stream") -> Blob:
        """Keeps bytes beside the store, found by their SHA-256; the same bytes are kept once."""
        if not isinstance(data, bytes | bytearray | memoryview):
            raise BadInput(f"a blob is bytes, not {type(data).__name__}")
        return await self._reporter.blob(bytes(data), media_type)

    def query_room(self, sql: str, *, limit_s: float = 10.0, rows: int = 1_000) -> Found:
        """What a SELECT gives over `runs`, `messages` and `activity` of this room. Takes a while: in a worker thread."""
        return self._reporter.queried(None, sql, limit_s, rows)

    def query_frames(self, frames: Mapping[str, Any], sql: str, *, limit_s: float = 10.0, rows: int = 1_000) -> Found:
        """What a SELECT gives over copies of data frames, by their names. Takes a while: in a worker thread."""
        return self._reporter.queried(frames, sql, limit_s, rows)

    def spawn(self, work: Any, *args: Any, **options: Any) -> RunHandle:
        """Starts `work` as a child Run, in this Run's room; options as those of `d.job`.

        This Run ends only after its children, and cancelling it cancels them. Raises `Sealed` where it is ending.
        """
        return self._reporter.spawned(work, args, options)

    def reply(self, text: str) -> None:
        """Gives the Run an output message. It is stored together with the Run's end."""
        if not isinstance(text, str):
            raise BadInput(f"a reply is text, not {type(text).__name__}")
        self._reporter.replied(text)

    async def in_thread(self, work: Callable[[], Any]) -> Any:
        """What the function returns, run in a worker thread. It is awaited to its end: a thread cannot be interrupted."""
        return await self._reporter.in_thread(work)


def _number(name: str, value: object) -> float | None:
    """A plain number; those of numpy are numbers too."""
    if value is None:
        return None
    try:
        if not isinstance(value, bool) and isinstance(value, numbers.Real) and not math.isnan(value):
            return int(value) if isinstance(value, numbers.Integral) else float(value)
    except OverflowError:  # a whole number beyond all floats, which nothing here could reckon with
        raise BadInput(f"progress needs a number for {name} that is not that large") from None
    raise BadInput(f"progress needs a number for {name}, not {shown(value)}")


CURRENT: ContextVar[Context | None] = ContextVar("dvergr_context", default=None)


def current() -> Context | None:
    """The context of the Run this code belongs to, None outside of one."""
    return CURRENT.get()


def _needed(verb: str) -> Context:
    found = CURRENT.get()
    if found is None:
        raise BadInput(f"{verb}() belongs into the body of a Run; start one with d.job(…) or %%job")
    return found


def checkpoint(state: Mapping[str, Any] | None = None, description: str = "") -> Checked | Nothing:
    """`ctx.checkpoint` of the current Run; outside of a Run it does nothing."""
    found = CURRENT.get()
    return Nothing() if found is None else found.checkpoint(state, description)


def progress(done: float | None = None, total: float | None = None, label: str = "") -> None:
    """`ctx.progress` of the current Run."""
    _needed("progress").progress(done, total, label)


def spawn(work: Any, *args: Any, **options: Any) -> RunHandle:
    """`ctx.spawn` of the current Run."""
    return _needed("spawn").spawn(work, *args, **options)


def raise_if_cancelled() -> None:
    """`ctx.raise_if_cancelled` of the current Run; outside of a Run it does nothing."""
    found = CURRENT.get()
    if found is not None:
        found.raise_if_cancelled()


class Nothing:
    """The checkpoint of code that belongs to no Run: there is nothing to wait for."""

    decision = Decision()

    def __repr__(self) -> str:
        return "checkpoint outside of a Run: nothing to wait for"

    def __await__(self) -> Generator[Any, None, Decision]:
        yield from ()
        return self.decision
