"""Makes members and attention facts for tests."""

from __future__ import annotations

import dataclasses
from typing import Any

from dvergr_nb.ids import RunId
from dvergr_nb.records.attention import Attention, AttentionFact
from dvergr_nb.records.message import Message
from dvergr_nb.records.operation import Attend, Join, Leave, OpenRoom
from dvergr_nb.records.room import Member, Room
from tests.store.making import ids, now


def room(name: str = "lab", **facts: Any) -> OpenRoom:
    """A room of tenant `t`."""
    known: dict[str, Any] = {"tenant_id": "t", "name": name, "title": name, "created_at": now()}
    return OpenRoom(room=Room(**(known | facts)))


def join(actor: str = "ann", **facts: Any) -> Join:
    """A stay in room `main` that begins now."""
    known: dict[str, Any] = {"tenant_id": "t", "room": "main", "actor": actor, "program": "echo", "joined_at": now()}
    return Join(member=Member(**(known | facts)))


def leave(actor: str = "ann", **facts: Any) -> Leave:
    """The end of a stay in room `main`."""
    known: dict[str, Any] = {"tenant_id": "t", "room": "main", "actor": actor, "at": now()}
    return Leave(**(known | facts))


def ready(about: Message, actor: str = "ann", **facts: Any) -> AttentionFact:
    """What the actor has decided about the message."""
    known: dict[str, Any] = {
        "id": ids.message(),
        "tenant_id": about.tenant_id,
        "room": about.room,
        "actor": actor,
        "message_id": about.id,
        "status": "ready",
        "created_at": now(),
    }
    return AttentionFact(**(known | facts))


def applied(made: AttentionFact, **facts: Any) -> AttentionFact:
    """That the decision was carried out."""
    known: dict[str, Any] = {"id": ids.message(), "status": "applied", "decision_id": made.id, "created_at": now()}
    return dataclasses.replace(made, **(known | facts))


def answered(made: AttentionFact, run_id: RunId, **facts: Any) -> AttentionFact:
    """That the decision was carried out by causing a Run."""
    return applied(made, result_run_id=run_id, **facts)


def attend(*facts: AttentionFact) -> Attend:
    """Facts as one unit."""
    return Attend(facts=facts)


def axes(**facts: Any) -> Attention:
    """A decision."""
    decision = Attention()
    for axis, value in facts.items():
        object.__setattr__(decision, axis, value)  # past its own check, as another process may send it
    return decision
