"""What a participant does with a message that arrives while it works: the decision, and the facts on record about it.

The axes are independent: what is remembered, whether a Run is caused, what becomes of the running one, and when. Facts are
append-only and never part of the transcript. A `ready` fact says what was decided, an `applied` one that it was done;
ready without applied is where a crash has cut it off.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from dvergr_nb.errors import BadAttention
from dvergr_nb.ids import MessageId, RunId, is_id
from dvergr_nb.records.text import shown

AXES: Final[Mapping[str, tuple[str, ...]]] = {
    "memory": ("ignore", "remember", "include"),
    "activation": ("none", "enqueue", "wake"),
    "control": ("continue", "integrate", "restart", "suspend", "cancel"),
    "at": (
        "now",
        "next-safe-boundary",
        "before-model",
        "token",
        "before-tool",
        "after-tool",
        "after-model",
        "quiescent",
    ),
}
"""The words of each axis."""
SUPPORTED: Final = frozenset(AXES["at"]) - {"token", "before-tool"}
"""The boundaries that a turn of this version has; a decision for another one is deferred."""
PRIORITY_LIMIT: Final = 2**53
STATUSES: Final = ("ready", "deferred", "invalid", "applied", "baseline-complete")


@dataclass(frozen=True, slots=True, kw_only=True)
class Attention:
    """One decision. The default lets the message stand in its thread and does no more.

    `memory`: ignore, remember, include. `activation`: none, enqueue, wake. `control`: continue, integrate, restart, suspend,
    cancel. `at`: now, next-safe-boundary, before-model, after-model, after-tool, quiescent; a decision for `token` or
    `before-tool` is on record as deferred. Raises `BadAttention` for any other word.
    """

    memory: str = "remember"
    """`include` puts it into the running turn's next round, `ignore` keeps it out of every turn's sight."""
    activation: str = "none"
    """`enqueue` gives it a Run of its own after what waits already, `wake` before that."""
    control: str = "continue"
    """Of the running turn: `integrate` adds a round, `restart` also cuts the model call, `suspend` and `cancel` end it."""
    at: str = "next-safe-boundary"
    priority: float = 0
    """Higher goes earlier among what waits; never past an older message of the same thread."""
    reason: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        checked(self)

    @property
    def is_supported(self) -> bool:
        """Whether turns have the boundary it is for."""
        return self.at in SUPPORTED

    @property
    def needs_inbox(self) -> bool:
        """Whether only a turn that takes messages while it works can do it."""
        is_seen_only = self.memory == "include" and self.activation == "none" and self.control == "continue"
        return is_seen_only or self.control == "suspend"


def decided(given: object) -> Attention:
    """The decision a policy gave, as an `Attention` or a short word. Raises `BadAttention`."""
    if isinstance(given, str) and given in WORDS:
        return WORDS[given]
    if isinstance(given, Mapping):
        if strange := sorted(map(str, set(given) - {each.name for each in dataclasses.fields(Attention)})):
            raise BadAttention("unknown-attention", f"attention has no {', '.join(strange)}; its axes are {', '.join(AXES)}")
        given = Attention(**given)
    if not isinstance(given, Attention):
        known = ", ".join(WORDS)
        raise BadAttention("invalid-attention", f"a policy gives an Attention or one of {known}, not {shown(given)}")
    return checked(given)


def checked(decision: Attention) -> Attention:
    """The decision itself. Raises `BadAttention` where a value is none of its axis."""
    for axis, words in AXES.items():
        if (value := getattr(decision, axis)) not in words:
            raise BadAttention("invalid-attention", f"{axis} is one of {', '.join(words)}, not {shown(value)}")
    if (
        isinstance(decision.priority, bool)
        or not isinstance(decision.priority, int | float)
        or not _is_exact(decision.priority)
    ):
        raise BadAttention("invalid-attention", f"priority is a number, not {shown(decision.priority)}")
    if not isinstance(decision.reason, str | None):
        raise BadAttention("invalid-attention", f"reason is a word, not {shown(decision.reason)}")
    _check_data(decision.metadata)
    return decision


def _check_data(metadata: object) -> None:
    try:
        same = isinstance(metadata, Mapping) and json.loads(json.dumps(dict(metadata), allow_nan=False)) == dict(metadata)
    except (TypeError, ValueError, RecursionError):
        same = False
    if not same:
        raise BadAttention(
            "invalid-attention",
            f"metadata of attention must be plain data that JSON gives back, not {shown(metadata)}",
        )


def _is_exact(number: float) -> bool:
    """Whether it is read from the store as it was given; NaN is not."""
    return abs(number) <= PRIORITY_LIMIT


OBSERVE: Final = Attention()
ENQUEUE: Final = Attention(activation="enqueue", at="quiescent")
RESTART: Final = Attention(memory="include", control="restart")
WORDS: Final[Mapping[str, Attention]] = {"observe": OBSERVE, "queue": ENQUEUE, "steer": RESTART}
"""Short words that a policy may give instead."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AttentionFact:
    """One fact about a message and a participant. Never changed: the same id with other content is refused."""

    id: str
    tenant_id: str
    room: str
    actor: str
    message_id: MessageId
    decision_id: str | None = None
    """For `applied`: the `ready` fact it carries out."""
    run_id: RunId | None = None
    """The Run that worked when it was decided."""
    decision: Attention = OBSERVE
    status: str
    result_run_id: RunId | None = None
    """For an applied enqueue or wake: the Run that answers the message."""
    created_at: dt.datetime


def checked_fact(fact: AttentionFact) -> AttentionFact:
    """The fact itself. Raises `BadAttention` where its shape breaks a rule; the store checks what it refers to."""
    for name in ("id", "message_id", "decision_id", "run_id", "result_run_id"):
        value = getattr(fact, name)
        if not (is_id(value) or (value is None and name not in ("id", "message_id"))):
            raise BadAttention("invalid-attention", f"{name} of an attention fact is a UUID, not {shown(value)}")
    if fact.status not in STATUSES:
        raise BadAttention("invalid-attention", f"status is one of {', '.join(STATUSES)}, not {shown(fact.status)}")
    if (fact.decision_id is not None) != (fact.status == "applied"):
        raise BadAttention("invalid-attention", "an applied attention fact names its decision, and no other does")
    causes_run = fact.status == "applied" and fact.decision.activation != "none"
    if (fact.result_run_id is not None) != causes_run:
        raise BadAttention("invalid-attention", "an applied enqueue names the Run that answers, and no other fact does")
    checked(fact.decision)
    return fact
