"""Statements about attention facts. None of them changes a row."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import duckdb

from dvergr_nb.records.attention import Attention, AttentionFact
from dvergr_nb.store.table import Row, Table

ATTENTION = Table(
    "dv.attention",
    (
        "id",
        "tenant_id",
        "room",
        "actor",
        "message_id",
        "decision_id",
        "run_id",
        "status",
        "memory",
        "activation",
        "control",
        "at",
        "priority",
        "reason",
        "metadata",
        "result_run_id",
        "created_at",
    ),
)

_BY_ID = "SELECT * EXCLUDE (key, message_key, decision_key) FROM dv.attention_rows WHERE key = CAST(? AS UUID)"
# Decisions are made in the order of their ids, so the zone maps of this column leave little to be scanned.
_APPLIED = "SELECT count(*) FROM dv.attention_rows WHERE decision_key = CAST(? AS UUID)"


def row(fact: AttentionFact) -> Row:
    """As it is stored."""
    made = fact.decision
    return (
        fact.id,
        fact.tenant_id,
        fact.room,
        fact.actor,
        fact.message_id,
        fact.decision_id,
        fact.run_id,
        fact.status,
        made.memory,
        made.activation,
        made.control,
        made.at,
        made.priority,
        made.reason,
        json.dumps(dict(made.metadata), ensure_ascii=False) if made.metadata else None,
        fact.result_run_id,
        fact.created_at,
    )


def from_row(found: Sequence[Any]) -> AttentionFact:
    """The fact of a row of the view `dv.attention_rows`."""
    fact_id, tenant, room, actor, message_id, decision_id, run_id, status, *axes, metadata, result, at = found
    memory, activation, control, when, priority, reason = axes
    return AttentionFact(
        id=fact_id,
        tenant_id=tenant,
        room=room,
        actor=actor,
        message_id=message_id,
        decision_id=decision_id,
        run_id=run_id,
        status=status,
        decision=Attention(
            memory=memory,
            activation=activation,
            control=control,
            at=when,
            priority=priority,
            reason=reason,
            metadata=json.loads(metadata) if metadata else {},
        ),
        result_run_id=result,
        created_at=at,
    )


def by_id(con: duckdb.DuckDBPyConnection, fact_id: str) -> AttentionFact | None:
    """The fact, of whatever tenant."""
    found = con.execute(_BY_ID, [fact_id]).fetchall()
    return from_row(found[0]) if found else None


def applied(con: duckdb.DuckDBPyConnection, decision_id: str) -> bool:
    """Whether a fact carries the decision out."""
    return bool(con.execute(_APPLIED, [decision_id]).fetchall()[0][0])
