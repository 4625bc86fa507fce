"""What comes while a participant works: a policy decides, and facts say what was decided and done."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from dvergr_nb.clock import Clock
from dvergr_nb.errors import BadAttention
from dvergr_nb.ids import Ids, RunId
from dvergr_nb.records import attention
from dvergr_nb.records.attention import ENQUEUE, OBSERVE, RESTART, Attention, AttentionFact
from dvergr_nb.records.message import Message
from dvergr_nb.records.operation import Attend
from dvergr_nb.records.run import LiveRun
from dvergr_nb.runtime.logs import logger
from dvergr_nb.runtime.ports import Settled, Store

log = logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What a policy knows when a message arrives at a participant that works."""

    actor: str
    run: LiveRun
    """What it works on."""
    same_thread: bool
    """Whether the message is in that Run's thread."""
    queued: int
    """How many messages wait already."""


Policy = Callable[[Message, Situation], Attention | str]
"""Decides; gives an `Attention` or one of `observe`, `queue`, `steer`."""


def default_policy(_message: Message, situation: Situation) -> Attention:
    """The same thread steers, another one queues."""
    return RESTART if situation.same_thread else ENQUEUE


def judged(policy: Policy, message: Message, situation: Situation) -> tuple[Attention, str]:
    """What the policy decides, and the status of the fact about it: `ready`, `deferred` or `invalid`."""
    try:
        decision = attention.decided(policy(message, situation))
    except BadAttention as problem:
        log.warning("the attention policy of %r gave no decision: %s", situation.actor, problem)
        return OBSERVE, "invalid"
    except BaseException:  # somebody else's code, which may end neither the loop nor the delivery to others
        log.exception("the attention policy of %r failed", situation.actor)
        return OBSERVE, "invalid"
    return decision, "ready" if decision.is_supported else "deferred"


CUTS: Final = frozenset({"now", "next-safe-boundary"})
"""Boundaries at which a restart cuts the running model call; at the others it waits until the call is done."""


class Ledger:
    """Notes the facts of one participant."""

    def __init__(self, store: Store, ids: Ids, clock: Clock) -> None:
        self._store, self._ids, self._clock = store, ids, clock

    def note(self, message: Message, actor: str, run: RunId | None, decision: Attention, status: str) -> AttentionFact:
        """A fact about a message that has come."""
        fact = AttentionFact(
            id=self._ids.message(),
            tenant_id=message.tenant_id,
            room=message.room,
            actor=actor,
            message_id=message.id,
            run_id=run,
            decision=decision,
            status=status,
            created_at=self._clock.now(),
        )
        self._put(fact)
        return fact

    def apply(self, ready: AttentionFact, result: RunId | None = None) -> None:
        """What was decided is done; `result` is the Run that answers, where one was to be caused."""
        self._put(
            AttentionFact(
                id=self._ids.message(),
                tenant_id=ready.tenant_id,
                room=ready.room,
                actor=ready.actor,
                message_id=ready.message_id,
                decision_id=ready.id,
                run_id=ready.run_id,
                decision=ready.decision,
                status="applied",
                result_run_id=result,
                created_at=self._clock.now(),
            )
        )

    def _put(self, fact: AttentionFact) -> None:
        self._store.note(Attend(facts=(fact,)), _hear)


def _hear(answer: Settled) -> None:
    if (problem := answer.exception()) is not None:
        log.error("a fact of attention was not noted, so the message reads as unanswered: %s", problem)
