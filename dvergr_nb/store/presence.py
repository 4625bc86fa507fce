"""Reads about rooms: who is in them, what was decided about their messages, and which of those nobody has answered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import duckdb

from dvergr_nb.ids import MessageId, RunId
from dvergr_nb.records.attention import AttentionFact
from dvergr_nb.records.message import PERSON, Message
from dvergr_nb.records.room import RESERVED, Member, Room, Unanswered
from dvergr_nb.store import attention, messages, reads
from dvergr_nb.store import rooms as stored
from dvergr_nb.store.reads import sendable

ANSWERABLE: Final = ("user/message", "agent/reply")
"""The types of messages that are said to somebody."""

_ROOMS = "SELECT tenant_id, name, title, created_at, parent, exclusive_threads FROM dv.my_rooms ORDER BY name"
_MEMBERS = """
SELECT tenant_id, room, actor, program, joined_at, left_at FROM dv.my_members WHERE room = ?
ORDER BY joined_at, left_at NULLS LAST, actor
"""
# A decision comes before what carries it out, also where both have the same time.
_ATTENTION = """
SELECT * EXCLUDE (key, message_key, decision_key) FROM dv.my_attention_rows
WHERE room = $room AND ($message IS NULL OR message_key = TRY_CAST($message AS UUID))
ORDER BY created_at, decision_key IS NOT NULL, key
"""
_JOINED = """
SELECT m.* EXCLUDE (key, thread_key, run_key) FROM dv.my_message_rows AS m
WHERE m.key IN (
    SELECT a.message_id FROM dv.my_attention AS a
    WHERE a.run_id = TRY_CAST(? AS UUID) AND a.status = 'applied' AND a.activation = 'none' AND a.memory = 'include'
)
ORDER BY m.created_at, m.key
"""
# Pairs of a message and an actor that it was given to, in two arms so that each is joined by equality. The stays of an actor
# are cut where the next one begins, so that no pair comes twice. Only messages are narrowed to the room: with a constant on
# both sides, the rooms would be no equality to join by any more.
_UNANSWERED = """
WITH said AS (
    SELECT key, room, sender, recipient, created_at FROM dv.my_message_rows
    WHERE ($room IS NULL OR room = $room)
      AND type IN (SELECT unnest($types))
      AND (recipient IS NULL OR (recipient <> sender AND NOT starts_with(recipient, $reserved)))
),
stays AS (
    SELECT
        room, actor, joined_at, coalesce(left_at, 'infinity') AS until,
        lead(joined_at, 1, 'infinity') OVER (PARTITION BY room, actor ORDER BY joined_at, left_at NULLS LAST) AS before
    FROM dv.my_members
    WHERE actor <> $person AND NOT starts_with(actor, $reserved)
),
given AS (
    SELECT said.key, stays.actor, said.created_at FROM said JOIN stays
      ON stays.room = said.room AND stays.actor = said.recipient
     AND said.created_at >= stays.joined_at AND said.created_at <= stays.until AND said.created_at < stays.before
    UNION ALL
    SELECT said.key, stays.actor, said.created_at FROM said JOIN stays
      ON stays.room = said.room AND said.recipient IS NULL AND said.sender <> stays.actor
     AND said.created_at >= stays.joined_at AND said.created_at <= stays.until AND said.created_at < stays.before
),
settled AS (
    SELECT trigger_key AS key, actor FROM dv.my_run_rows
    UNION ALL
    SELECT message_key AS key, actor FROM dv.my_attention_rows WHERE status <> 'ready'
)
SELECT CAST(key AS VARCHAR), actor FROM given ANTI JOIN settled USING (key, actor)
ORDER BY created_at, key, actor
LIMIT $limit
"""


def rooms(con: duckdb.DuckDBPyConnection) -> Sequence[Room]:
    """All rooms, by name."""
    return [stored.from_row(found) for found in con.execute(_ROOMS).fetchall()]


def members(con: duckdb.DuckDBPyConnection, room: str) -> Sequence[Member]:
    """Every stay in the room, by the time of joining."""
    return [stored.member_from_row(found) for found in con.execute(_MEMBERS, sendable([room])).fetchall()]


def joined(con: duckdb.DuckDBPyConnection, run_id: RunId) -> Sequence[Message]:
    """The messages that joined a Run while it worked, oldest first."""
    return [messages.from_row(found, ()) for found in con.execute(_JOINED, sendable([run_id])).fetchall()]


def attended(con: duckdb.DuckDBPyConnection, room: str, message_id: MessageId | None) -> Sequence[AttentionFact]:
    """The facts about the messages of a room, or about one message, in the order they were noted."""
    found = con.execute(_ATTENTION, sendable({"room": room, "message": message_id})).fetchall()
    return [attention.from_row(each) for each in found]


def unanswered(con: duckdb.DuckDBPyConnection, room: str | None, limit: int) -> Sequence[Unanswered]:
    """Messages given to somebody who was in the room then, which no Run answers and no fact has settled, oldest first."""
    wanted = {"room": room, "types": list(ANSWERABLE), "reserved": RESERVED, "person": PERSON, "limit": limit}
    pairs = con.execute(_UNANSWERED, sendable(wanted)).fetchall()
    found = {message.id: message for message in reads.messages_of(con, list({key for key, _ in pairs}))}
    return [Unanswered(message=found[key], actor=actor) for key, actor in pairs]
