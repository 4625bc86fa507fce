"""What a view and Python say to each other, as plain data. `js/src/shared/wire.d.ts` says the same in TypeScript.

Times are milliseconds since 1970. What is not known or empty is left out, so that a thousand rows stay small; texts are
clipped here, because a view must be able to draw whatever it gets.
"""

from __future__ import annotations

import math
from typing import Final, Literal, NotRequired, TypedDict

from dvergr_nb.ids import short
from dvergr_nb.records.run import LiveRun, Progress, Run, RunKind, RunStatus
from dvergr_nb.records.text import ELLIPSIS, clipped, mended
from dvergr_nb.records.wire_timeline import TimelineWire, milliseconds
from dvergr_nb.records.wire_use import AskReply, AskUse, ReplyTold, UseTold

SAID_LIMIT: Final = 300
STREAM_LIMIT: Final = 600
"""How much of the end of a turn's streamed text is shown, in characters: more than four lines hold."""
ERROR_LIMIT: Final = 500
RESULT_LIMIT: Final = 1_000
TAGS_LIMIT: Final = 20
DOING_LIMIT: Final = 100
ID_LIMIT: Final = 64
"""Longest id that a view may send, in characters."""


class ProgressWire(TypedDict):
    """How far a body says it is; `fraction` is between 0 and 1."""

    label: str
    done: NotRequired[float]
    total: NotRequired[float]
    fraction: NotRequired[float]


class RunRow(TypedDict):
    """One Run as a view shows it. `mute`: a turn that is known to have completed without a reply.

    Money is in micro-dollars; `unpriced` counts calls of models whose price nobody knows. `doing`: the tools at work now.
    `length`: how many characters `result` has, where it is only its beginning.
    """

    id: str
    short: str
    name: str
    label: str
    actor: str
    kind: str
    room: str
    status: str
    created: float
    started: float
    ended: NotRequired[float]
    reason: NotRequired[str]
    error: NotRequired[str]
    result: NotRequired[str]
    mute: NotRequired[bool]
    tags: NotRequired[list[str]]
    parent: NotRequired[str]
    program: NotRequired[str]
    trigger: NotRequired[str]
    activities: NotRequired[int]
    steps: NotRequired[int]
    place: NotRequired[str]
    checks: NotRequired[bool]
    asked: NotRequired[float]
    progress: NotRequired[ProgressWire]
    said: NotRequired[str]
    doing: NotRequired[str]
    profile: NotRequired[str]
    cost: NotRequired[int]
    unpriced: NotRequired[int]
    budget: NotRequired[int]
    balance: NotRequired[int]
    length: NotRequired[int]


class Snapshot(TypedDict):
    """The whole state. `cut`: the store holds more Runs than the rows."""

    type: Literal["snapshot"]
    rev: int
    at: float
    rows: list[RunRow]
    cut: bool


class Patch(TypedDict):
    """Rows that are new or changed, and ids that left. `rev` is one more than that of the message before."""

    type: Literal["patch"]
    rev: int
    at: float
    rows: list[RunRow]
    gone: list[str]
    cut: bool


class Beat(TypedDict):
    """The kernel's loop comes round; the next beat is due in `every_s` seconds."""

    type: Literal["beat"]
    rev: int
    at: float
    every_s: float


class Rest(TypedDict):
    """Nothing lives: no more beats until something does."""

    type: Literal["rest"]
    rev: int
    at: float


class Details(TypedDict):
    """The answer to `AskDetails`."""

    type: Literal["details"]
    id: str
    run_id: str
    at: float
    timeline: TimelineWire


class Ack(TypedDict):
    """What became of an act: `requested`, `posted`, `over` (nothing to do any more), `unknown`, or `failed` with an error."""

    type: Literal["ack"]
    id: str
    at: float
    outcome: Literal["requested", "posted", "over", "unknown", "failed"]
    error: NotRequired[str]


class Resync(TypedDict):
    """A view was drawn, or missed a message: asks for a snapshot."""

    type: Literal["resync"]
    have: int


class Ping(TypedDict):
    """A beat is overdue: asks for one."""

    type: Literal["ping"]


class Cancel(TypedDict):
    """A person pressed Cancel. `id` names the press, so that a message that comes twice acts once."""

    type: Literal["cancel"]
    id: str
    run_id: str


class AskDetails(TypedDict):
    """A person opened Details."""

    type: Literal["details"]
    id: str
    run_id: str


FromPython = Snapshot | Patch | Beat | Rest | Details | UseTold | ReplyTold | Ack
FromView = Resync | Ping | Cancel | AskDetails | AskUse | AskReply


def row(run: Run, *, result: str | None = None, activities: int | None = None) -> RunRow:
    """The Run as a view shows it; `result` and `activities` where a durable row is asked, which holds neither."""
    wire: RunRow = {
        "id": run.id,
        "short": short(run.id),
        "name": run.name,
        "label": run.label,
        "actor": run.actor,
        "kind": run.kind,
        "room": run.room,
        "status": run.status.value,
        "created": milliseconds(run.created_at),
        "started": milliseconds(run.started_at),
    }
    _add_end(wire, run)
    _add_extras(wire, run)
    if isinstance(run, LiveRun):
        _add_live(wire, run)
    if result:
        wire["result"] = clipped(result, RESULT_LIMIT)
        if len(result) > RESULT_LIMIT:
            wire["length"] = len(result)
    if activities is not None:
        wire["activities"] = activities
        if not result and run.kind == RunKind.AGENT_TURN and run.status is RunStatus.COMPLETED:
            wire["mute"] = True
    return wire


def _add_end(wire: RunRow, run: Run) -> None:
    if run.ended_at is not None:
        wire["ended"] = milliseconds(run.ended_at)
    elif run.status is RunStatus.WAITING:
        wire["ended"] = milliseconds(run.updated_at)
    if run.reason:
        wire["reason"] = run.reason
    if run.error:
        wire["error"] = clipped(run.error, ERROR_LIMIT)


def _add_extras(wire: RunRow, run: Run) -> None:
    if run.tags:
        wire["tags"] = list(run.tags[:TAGS_LIMIT])
    if run.parent:
        wire["parent"] = run.parent
    if run.steps:
        wire["steps"] = run.steps
    if run.provenance.program_kind:
        wire["program"] = run.provenance.program_kind
    if run.kind == RunKind.AGENT_TURN:
        wire["trigger"] = run.trigger
    if run.provenance.profile_id and run.provenance.profile_version:
        wire["profile"] = f"{run.provenance.profile_id} v{run.provenance.profile_version}"
    if run.cost:
        wire["cost"] = run.cost
    if run.unpriced:
        wire["unpriced"] = run.unpriced


def _add_live(wire: RunRow, run: LiveRun) -> None:
    wire["activities"] = run.activities
    wire["place"] = run.place
    if not run.checks:
        wire["checks"] = False
    if run.cancel_requested_at is not None:
        wire["asked"] = milliseconds(run.cancel_requested_at)
    if run.progress is not None:
        wire["progress"] = _progress(run.progress)
    if run.doing:
        wire["doing"] = clipped(run.doing, DOING_LIMIT)
    if run.budget is not None:
        wire["budget"] = run.budget
    if run.balance is not None and not run.status.is_terminal:
        wire["balance"] = run.balance
    if run.said:
        wire["said"] = mended(_streamed(run.said) if run.kind == RunKind.AGENT_TURN else clipped(run.said, SAID_LIMIT))


def _streamed(text: str) -> str:
    """The end of a text that is being made, from the beginning of a word where there is one."""
    if len(text) <= STREAM_LIMIT:
        return text
    tail = text[-STREAM_LIMIT:]
    _, gap, rest = tail[: STREAM_LIMIT // 4].partition(" ")
    return ELLIPSIS + (rest + tail[STREAM_LIMIT // 4 :] if gap else tail)


def _progress(progress: Progress) -> ProgressWire:
    """JSON has no infinity and no NaN, so figures that are none are left out."""
    wire: ProgressWire = {"label": mended(clipped(progress.label, SAID_LIMIT))}
    if progress.done is not None and math.isfinite(progress.done):
        wire["done"] = progress.done
    if progress.total is not None and math.isfinite(progress.total):
        wire["total"] = progress.total
    fraction = progress.fraction
    if fraction is not None and math.isfinite(fraction):
        wire["fraction"] = fraction
    return wire


def from_view(content: object) -> FromView | None:
    """What a view said, or None where it is none of the messages known: views of other versions exist."""
    match content:
        case {"type": "resync", "have": int(have)}:
            return Resync(type="resync", have=have)
        case {"type": "ping"}:
            return Ping(type="ping")
        case {"type": "cancel", "id": str(act), "run_id": str(run_id)} if is_sane(act, run_id):
            return Cancel(type="cancel", id=act, run_id=run_id)
        case {"type": "details", "id": str(act), "run_id": str(run_id)} if is_sane(act, run_id):
            return AskDetails(type="details", id=act, run_id=run_id)
        case {"type": "use", "id": str(act), "run_id": str(run_id), "use_id": str(use_id)} if is_sane(act, run_id, use_id):
            return AskUse(type="use", id=act, run_id=run_id, use_id=use_id)
        case {"type": "reply", "id": str(act), "run_id": str(run_id)} if is_sane(act, run_id):
            return AskReply(type="reply", id=act, run_id=run_id)
        case _:
            return None


def is_sane(*ids: str) -> bool:
    """Whether these may be ids of acts, Runs or messages."""
    return all(0 < len(each) <= ID_LIMIT for each in ids)
