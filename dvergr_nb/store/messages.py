"""Statements about messages and their facts."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import duckdb

from dvergr_nb.ids import MessageId, RunId
from dvergr_nb.records.message import Fact, Message
from dvergr_nb.store.table import Row, Table

MESSAGES = Table(
    "dv.messages",
    (
        "id",
        "tenant_id",
        "user_id",
        "room",
        "sender",
        "recipient",
        "content",
        "reply_to",
        "thread_root_id",
        "run_id",
        "type",
        "kind",
        "metadata",
        "created_at",
    ),
)
FACTS = Table(
    "dv.activities",
    (
        "id",
        "tenant_id",
        "message_id",
        "place",
        "run_id",
        "kind",
        "verb",
        "status",
        "tool_name",
        "tool_use_id",
        "outcome",
        "critical",
        "happened_at",
    ),
)

_PLACE = "SELECT tenant_id, room, CAST(thread_root_id AS VARCHAR) FROM dv.messages WHERE id = TRY_CAST(? AS UUID)"
_PLACES = """
SELECT CAST(id AS VARCHAR), tenant_id, room, CAST(thread_root_id AS VARCHAR)
FROM dv.messages WHERE id IN (SELECT unnest(CAST(? AS UUID[])))
"""
_FACT_IDS = "SELECT CAST(id AS VARCHAR) FROM dv.activities WHERE id IN (SELECT unnest(CAST(? AS UUID[])))"


class Place(NamedTuple):
    """Where a stored message is."""

    tenant_id: str
    room: str
    thread_root_id: MessageId


def row(message: Message, root: MessageId) -> Row:
    """As it is stored, in the thread that the room decided on."""
    return (
        message.id,
        message.tenant_id,
        message.user_id,
        message.room,
        message.sender,
        message.to,
        message.content,
        message.reply_to,
        root,
        message.run_id,
        message.type,
        message.kind,
        json.dumps(message.metadata, ensure_ascii=False) if message.metadata else None,
        message.created_at,
    )


def fact_rows(message: Message) -> Iterator[Row]:
    """The facts as they are stored, in their order."""
    for place, fact in enumerate(message.facts):
        yield (
            fact.id,
            message.tenant_id,
            message.id,
            place,
            fact.run_id,
            fact.kind,
            fact.verb,
            fact.status,
            fact.tool_name,
            fact.tool_use_id,
            fact.outcome,
            fact.critical,
            fact.at,
        )


def from_row(found: Sequence[Any], facts: tuple[Fact, ...]) -> Message:
    """The message of a row of the view `dv.my_message_rows`."""
    message_id, tenant, user, room, sender, to, content, reply_to, root, run_id, kind_of, kind, metadata, at = found
    return Message(
        id=message_id,
        tenant_id=tenant,
        user_id=user,
        room=room,
        sender=sender,
        to=to,
        content=content,
        reply_to=reply_to,
        thread_root_id=root,
        run_id=run_id,
        type=kind_of,
        kind=kind,
        metadata=json.loads(metadata) if metadata else {},
        facts=facts,
        created_at=at,
    )


def fact_from_row(found: Sequence[Any]) -> Fact:
    """The fact of a row of the view `dv.my_fact_rows`, its message left away."""
    fact_id, run_id, kind, verb, status, tool_name, tool_use_id, outcome, critical, at = found
    return Fact(
        id=fact_id,
        run_id=run_id and RunId(run_id),
        kind=kind,
        verb=verb,
        status=status,
        tool_name=tool_name,
        tool_use_id=tool_use_id,
        outcome=outcome,
        critical=critical,
        at=at,
    )


def place(con: duckdb.DuckDBPyConnection, message_id: MessageId) -> Place | None:
    """Where the message is, of whatever tenant."""
    found = con.execute(_PLACE, [message_id]).fetchall()
    return Place(*found[0]) if found else None


def places(con: duckdb.DuckDBPyConnection, wanted: Sequence[MessageId]) -> Mapping[MessageId, Place]:
    """Where the messages are that are stored."""
    return {found[0]: Place(*found[1:]) for found in con.execute(_PLACES, [list(wanted)]).fetchall()}


def stored_facts(con: duckdb.DuckDBPyConnection, wanted: Sequence[str]) -> frozenset[str]:
    """Which of these facts are stored already."""
    return frozenset(found[0] for found in con.execute(_FACT_IDS, [list(wanted)]).fetchall())
