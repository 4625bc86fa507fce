"""What facts about attention mean: each is checked against what it refers to, and all of a unit are noted or none."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from dvergr_nb.errors import BadAttention
from dvergr_nb.ids import RunId, short
from dvergr_nb.records.attention import Attention, AttentionFact, checked_fact
from dvergr_nb.records.operation import Attend, Attended
from dvergr_nb.records.text import mended
from dvergr_nb.store.draft import Draft

EQUAL: Final = ("memory", "activation", "control", "at", "priority")
"""What an applied fact has in common with its decision."""

New = Mapping[str, AttentionFact]
"""The facts of the unit so far."""


def attended(draft: Draft, unit: Attend) -> Attended:
    """Notes the facts that are new. Raises `BadAttention`; then none is noted."""
    facts = [_sound(checked_fact(given)) for given in unit.facts]
    try:
        new = _new(draft, facts, draft.same_attention)
    except BadAttention:
        # What stands in its way may be itself: a unit that is sent again long after it was stored.
        new = _new(draft, facts, draft.attention)
    draft.add_attention(new.values())
    return Attended(inserted=len(new))


def _new(draft: Draft, facts: Sequence[AttentionFact], known: Callable[[str], AttentionFact | None]) -> New:
    new: dict[str, AttentionFact] = {}
    for fact in facts:
        there = new.get(fact.id) or known(fact.id)
        if there is None:
            _check_message(draft, fact)
            if fact.decision_id is not None:
                _check_applied(draft, new, fact, fact.decision_id)
            new[fact.id] = fact
        elif there != fact:
            raise BadAttention(
                "immutable", f"attention fact {short(fact.id)} is on record and cannot be changed; make a new one"
            )
    return new


def _sound(fact: AttentionFact) -> AttentionFact:
    """The fact with its text mended, as it will be read again."""
    made = fact.decision
    reason = None if made.reason is None else mended(made.reason)
    metadata = json.loads(mended(json.dumps(dict(made.metadata), ensure_ascii=False))) if made.metadata else {}
    decision: Attention = dataclasses.replace(made, reason=reason, metadata=metadata)
    return dataclasses.replace(fact, decision=decision)


def _check_message(draft: Draft, fact: AttentionFact) -> None:
    place = draft.place(fact.message_id)
    if place is None or (place.tenant_id, place.room) != (fact.tenant_id, fact.room):
        raise BadAttention(
            "no-such-message", f"there is no message {short(fact.message_id)} in room {fact.room!r} to attend to"
        )


def _check_applied(draft: Draft, new: New, fact: AttentionFact, decision_id: str) -> None:
    made = new.get(decision_id) or draft.attention(decision_id)
    about = (fact.tenant_id, fact.room, fact.actor, fact.message_id)
    if made is None or made.status != "ready" or (made.tenant_id, made.room, made.actor, made.message_id) != about:
        raise _invalid(fact, f"{short(decision_id)} is no decision of {fact.actor!r} about that message")
    if strange := [axis for axis in EQUAL if getattr(made.decision, axis) != getattr(fact.decision, axis)]:
        raise _invalid(fact, f"decision {short(decision_id)} has another {strange[0]}")
    if any(each.decision_id == decision_id for each in new.values()) or draft.applied(decision_id):
        raise _invalid(fact, f"decision {short(decision_id)} was applied already")
    if fact.result_run_id is not None:
        _check_result(draft, fact, fact.result_run_id)


def _check_result(draft: Draft, fact: AttentionFact, run_id: RunId) -> None:
    run = draft.run(run_id)
    wanted = (fact.tenant_id, fact.room, fact.actor, fact.message_id)
    if run is None or (run.tenant_id, run.room, run.actor, run.trigger) != wanted:
        raise BadAttention(
            "invalid-result-run",
            f"{short(run_id)} is no Run of {fact.actor!r} that message {short(fact.message_id)} has caused",
        )


def _invalid(fact: AttentionFact, why: str) -> BadAttention:
    return BadAttention("invalid-decision", f"attention fact {short(fact.id)} applies nothing: {why}")
