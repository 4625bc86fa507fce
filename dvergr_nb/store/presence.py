"""Reads about rooms: who is in them, what was decided about their messages, and which of those nobody has answered."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import duckdb

from dvergr_nb.ids import MessageId
from dvergr_nb.records.attention import AttentionFact
from dvergr_nb.records.message import PERSON
from dvergr_nb.records.room import RESERVED, Member, Room, Unanswered
from dvergr_nb.store import attention, reads
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
# Pairs of a message and an actor that it was given to: in two arms, so that each is joined by equality.
_UNANSWERED = """
WITH said AS (
    SELECT key, room, sender, recipient, created_at FROM dv.my_message_rows
    WHERE ($room IS NULL OR room = $room)
      AND type IN (SELECT unnest($types))
      AND (recipient IS NULL OR NOT starts_with(recipient, $reserved))
),
stays AS (
    SELECT room, actor, joined_at, left_at FROM dv.my_members
    WHERE ($room IS NULL OR room = $room) AND actor <> $person AND NOT starts_with(actor, $reserved)
),
given AS (
    SELECT said.key, stays.actor, said.created_at FROM said
    JOIN stays ON stays.room = said.room AND stays.actor = said.recipient
    WHERE said.created_at >= stays.joined_at AND (stays.left_at IS NULL OR said.created_at <= stays.left_at)
    UNION ALL
    SELECT said.key, stays.actor, said.created_at FROM said
    JOIN stays ON stays.room = said.room
    WHERE said.recipient IS NULL AND said.sender <> stays.actor
      AND said.created_at >= stays.joined_at AND (stays.left_at IS NULL OR said.created_at <= stays.left_at)
)
SELECT DISTINCT CAST(given.key AS VARCHAR), given.actor, given.created_at, given.key FROM given
WHERE NOT EXISTS (SELECT 1 FROM dv.my_run_rows AS r WHERE r.trigger_key = given.key AND r.actor = given.actor)
  AND NOT EXISTS (
      SELECT 1 FROM dv.my_attention_rows AS a
      WHERE a.message_key = given.key AND a.actor = given.actor AND a.status <> 'ready'
  )
ORDER BY given.created_at, given.key, given.actor
LIMIT $limit
"""


def rooms(con: duckdb.DuckDBPyConnection) -> Sequence[Room]:
    """All rooms, by name."""
    return [stored.from_row(found) for found in con.execute(_ROOMS).fetchall()]


def members(con: duckdb.DuckDBPyConnection, room: str) -> Sequence[Member]:
    """Every stay in the room, by the time of joining."""
    return [stored.member_from_row(found) for found in con.execute(_MEMBERS, sendable([room])).fetchall()]


def attended(con: duckdb.DuckDBPyConnection, room: str, message_id: MessageId | None) -> Sequence[AttentionFact]:
    """The facts about the messages of a room, or about one message, in the order they were noted."""
    found = con.execute(_ATTENTION, sendable({"room": room, "message": message_id})).fetchall()
    return [attention.from_row(each) for each in found]


def unanswered(con: duckdb.DuckDBPyConnection, room: str | None, limit: int) -> Sequence[Unanswered]:
    """Messages given to somebody who was in the room then, which no Run answers and no fact has settled, oldest first."""
    wanted = {"room": room, "types": list(ANSWERABLE), "reserved": RESERVED, "person": PERSON, "limit": limit}
    pairs = [row[:2] for row in con.execute(_UNANSWERED, sendable(wanted)).fetchall()]
    found = {message.id: message for message in reads.messages_of(con, list({key for key, _ in pairs}))}
    return [Unanswered(message=found[key], actor=actor) for key, actor in pairs]
