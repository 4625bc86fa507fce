"""The Run: one causally bounded execution by an actor in a room, caused by exactly one trigger message."""

from __future__ import annotations

import dataclasses
import datetime as dt
import enum
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from dvergr_nb.errors import BadRun
from dvergr_nb.ids import BootId, MessageId, RunId, is_id, short
from dvergr_nb.records.text import clipped, mended, shown


class RunStatus(enum.StrEnum):
    """Where a Run is in its life. The value is the stored word."""

    QUEUED = "queued"
    """Its trigger is durable or on its way; not admitted yet. Live only."""
    RUNNING = "running"
    """Admitted. After a crash it means unfinished, not working."""
    CANCELLING = "cancelling"
    """Asked to stop, not yet acknowledged. Live only: the row says running."""
    WAITING = "waiting"
    """Stopped at a boundary where it can go on. Not live, not ended."""
    COMPLETED = "completed"
    """Ended well, with or without a reply."""
    FAILED = "failed"
    """Ended by an error, a limit, or the end of its kernel."""
    CANCELLED = "cancelled"
    """Ended because it was asked to, and its executor has acknowledged."""

    @property
    def is_terminal(self) -> bool:
        """Whether the Run has ended for good."""
        return self in TERMINAL

    @property
    def is_durable(self) -> bool:
        """Whether a row may say so."""
        return self not in LIVE_ONLY


LIVE_ONLY: Final = frozenset({RunStatus.QUEUED, RunStatus.CANCELLING})
TERMINAL: Final = frozenset({RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELLED})
MOVES: Final[Mapping[RunStatus, frozenset[RunStatus]]] = {
    RunStatus.RUNNING: frozenset({RunStatus.WAITING, *TERMINAL}),
    RunStatus.WAITING: frozenset({RunStatus.RUNNING, RunStatus.CANCELLED}),
}
"""From which status to which: all the moves a row may make."""


class Reason(enum.StrEnum):
    """Why a Run has the status it has. Wrappers of a reply may add words of their own, so a row's reason is a `str`."""

    SILENT = "silent"
    WITHHELD = "withheld"
    BUDGET_EXHAUSTED = "budget-exhausted"
    ATTENTION_SUSPENDED = "attention-suspended"
    APPROVAL = "approval"
    RESULT_REVIEW = "result-review"
    ONCE_EFFECT = "once-effect"
    ERROR = "error"
    REPLY_EMISSION_FAILED = "reply-emission-failed"
    ORPHANED = "orphaned"
    TIMEOUT = "timeout"
    STEP_LIMIT = "step-limit"
    RECORD_LOST = "record-lost"
    CANCEL_REQUESTED = "cancel-requested"
    PARTICIPANT_LEFT = "participant-left"
    ABORTED = "aborted"
    STRUCTURED_CANCELLATION = "structured-cancellation"
    RESOURCE_ALLOCATION_FAILED = "resource-allocation-failed"


PAUSES: Final = frozenset({Reason.APPROVAL, Reason.RESULT_REVIEW, Reason.ONCE_EFFECT})
"""Reasons of a waiting Run that holds its thread until its envelopes are decided."""


class RunKind(enum.StrEnum):
    """The kinds this package makes. Any other word is accepted and kept."""

    AGENT_TURN = "agent-turn"
    AGENT_TASK = "agent-task"
    WORKFLOW = "workflow"
    EXPERIMENT = "experiment"
    EPISODE = "episode"


@dataclass(frozen=True, slots=True, kw_only=True)
class Provenance:
    """Which definition acted. Known at admission, never changed."""

    profile_id: str | None = None
    profile_version: int | None = None
    profile_hash: str | None = None
    template_version: int | None = None
    program_kind: str | None = None

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> Provenance:
        """From loose facts. Raises `BadRun` (`invalid-provenance`) for any other key: causal identity is not provenance."""
        if not isinstance(facts, Mapping):
            raise BadRun("invalid-provenance", f"provenance is a mapping, not {shown(facts)}")
        known = {field.name for field in dataclasses.fields(cls)}
        if strange := sorted(set(facts) - known):
            raise BadRun(
                "invalid-provenance",
                f"provenance {', '.join(map(repr, strange))} may not override causal identity; "
                f"known: {', '.join(sorted(known))}",
            )
        for name, value in facts.items():
            kind = int if name.endswith("version") else str
            if value is not None and (not isinstance(value, kind) or isinstance(value, bool)):
                raise BadRun("invalid-provenance", f"provenance {name} must be {kind.__name__}, not {shown(value)}")
        mend: dict[str, Any] = {name: mended(value) if isinstance(value, str) else value for name, value in facts.items()}
        return cls(**mend)


LABEL_LIMIT: Final = 200
TAG_LIMIT: Final = 64
ERROR_LIMIT: Final = 2_000
WORD_LIMIT: Final = 200
"""Longest room, actor, kind or reason, in characters."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """The durable row. Its thread is not here: it is the thread of `trigger`."""

    id: RunId
    tenant_id: str
    """Who owns the row; every read and every move is filtered by it."""
    user_id: str
    """Who asked."""
    kind: str = RunKind.AGENT_TURN
    room: str
    actor: str
    """Who performs it."""
    label: str = ""
    """What a person calls it: a job's name, the first line of a turn's message."""
    tags: tuple[str, ...] = ()
    trigger: MessageId
    """The exact message that caused it."""
    parent: RunId | None = None
    """The Run that contains it, where one was named; never inferred."""
    status: RunStatus = RunStatus.RUNNING
    reason: str | None = None
    error: str | None = None
    """For a failed Run: the exception's type and text, at most 2,000 characters."""
    created_at: dt.datetime
    started_at: dt.datetime
    updated_at: dt.datetime
    ended_at: dt.datetime | None = None
    """Set exactly when the status is terminal."""
    revision: int = 0
    """How many moves the row has made."""
    boot_id: BootId
    """The kernel life that owns it."""
    provenance: Provenance = Provenance()
    steps: int = 0
    """Model rounds or checkpoints done so far."""
    start_turn_count: int = 0
    cost: int = 0
    """What its own calls of models have cost, in micro-dollars, as far as prices are known."""
    unpriced: int = 0
    """How many of its calls have no known cost."""

    def __repr__(self) -> str:
        """One line: which Run, and how it stands. Its fields are all there, by name."""
        reason = f", {self.reason}" if self.reason else ""
        return f"Run {short(self.id)}: {self.name}, {self.status.value}{reason}"

    @property
    def name(self) -> str:
        """How people read it: a job by its label, a turn by its actor."""
        return self.actor if self.kind == RunKind.AGENT_TURN else self.label or self.actor

    @property
    def is_paused(self) -> bool:
        """Whether it waits for a person to decide its envelopes."""
        return self.status is RunStatus.WAITING and self.reason in PAUSES


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """How far a body says it is."""

    done: float | None = None
    total: float | None = None
    """None where the end is not known."""
    label: str = ""

    @property
    def fraction(self) -> float | None:
        """Between 0 and 1, None where it cannot be said."""
        if self.done is None or not self.total or self.total < 0:
            return None
        return min(1.0, max(0.0, self.done / self.total))


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class LiveRun(Run):
    """A Run as it lives: the row and what only the kernel knows. `status` may be `queued` or `cancelling`."""

    progress: Progress | None = None
    activities: int = 0
    """Distinct correlated activity messages."""
    said: str = ""
    """The last line its body printed, or the text it streams."""
    doing: str = ""
    """The tools at work now, by name."""
    place: str = "loop"
    """`loop` or `thread`: where the body runs, which decides whether a cancel can reach it."""
    checks: bool = True
    """Whether a cancel request can reach the body: false for a worker thread that has never checked."""
    cancel_requested_at: dt.datetime | None = None
    budget: int | None = None
    """What it was given to spend, in micro-dollars; None where nobody said."""
    balance: int | None = None
    """What is left of that."""


ROW_FIELDS: Final = tuple(field.name for field in dataclasses.fields(Run))


def live(run: Run, **facts: Any) -> LiveRun:
    """The Run with live facts added, or with those it has replaced."""
    if isinstance(run, LiveRun):
        return dataclasses.replace(run, **facts)
    return LiveRun(**{name: getattr(run, name) for name in ROW_FIELDS} | facts)


def checked_word(value: object, what: str) -> str:
    """A name of a room, actor, kind or reason: text of 1 to 200 characters without line breaks. Raises `BadRun`."""
    if not isinstance(value, str) or not value.strip() or len(value) > WORD_LIMIT or "\n" in value or "\r" in value:
        raise BadRun("invalid-run", f"{what} must be a line of 1 to {WORD_LIMIT} characters, not {shown(value)}")
    return mended(value)


def checked_tags(tags: object) -> tuple[str, ...]:
    """Each tag once, in the order given. Raises `BadRun` for a bare string or a tag that is no word."""
    if isinstance(tags, str) or not isinstance(tags, (tuple, list, set, frozenset)):
        raise BadRun("invalid-run", f"tags must be a list of words, not {shown(tags)}")
    for tag in tags:
        if not isinstance(tag, str) or not tag.strip() or len(tag) > TAG_LIMIT:
            raise BadRun("invalid-run", f"a tag must be text of 1 to {TAG_LIMIT} characters, not {shown(tag)}")
    return tuple(dict.fromkeys(mended(tag) for tag in tags))


def checked_label(label: object) -> str:
    """The text on one line, at most 200 characters. Raises `BadRun`."""
    if not isinstance(label, str):
        raise BadRun("invalid-run", f"a label must be text, not {shown(label)}")
    return clipped(" ".join(mended(label).split()), LABEL_LIMIT)


def checked_id(value: object, what: str) -> str:
    """The text of a UUID. Raises `BadRun`."""
    if not isinstance(value, str) or not is_id(value):
        raise BadRun("invalid-run", f"{what} must be a UUID, not {shown(value)}")
    return value.lower()


def checked(run: Run) -> Run:
    """The Run, mended where its text needs it. Raises `BadRun` where a rule of its shape is broken."""
    if not run.status.is_durable:
        raise BadRun("invalid-run-status", f"a row cannot be {run.status.value!r}; that is a live status")
    if run.status.is_terminal != (run.ended_at is not None):
        raise BadRun("invalid-run", f"a {run.status.value} Run must {'' if run.status.is_terminal else 'not '}have ended_at")
    return dataclasses.replace(
        run,
        id=RunId(checked_id(run.id, "id")),
        trigger=MessageId(checked_id(run.trigger, "trigger")),
        parent=None if run.parent is None else RunId(checked_id(run.parent, "parent")),
        kind=checked_word(run.kind, "kind"),
        room=checked_word(run.room, "room"),
        actor=checked_word(run.actor, "actor"),
        label=checked_label(run.label),
        tags=checked_tags(run.tags),
        error=None if run.error is None else clipped(mended(run.error), ERROR_LIMIT),
    )


def check_move(run_id: str, found: RunStatus, wanted: RunStatus) -> None:
    """Raises `BadRun` (`invalid-finish-status`) for a move that no Run may make."""
    if wanted not in MOVES.get(found, frozenset()):
        raise BadRun("invalid-finish-status", f"Run {run_id[-8:]} is {found.value} and cannot become {wanted.value!r}")
