"""Everything the package itself reads, through the views that know the tenant."""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any, Final

import duckdb

from dvergr_nb.ids import MessageId, RunId
from dvergr_nb.records.message import Fact, Message
from dvergr_nb.records.pause import Envelope
from dvergr_nb.records.query import MessageFilter, RunFilter
from dvergr_nb.records.run import Run
from dvergr_nb.records.text import mended
from dvergr_nb.store import messages, pauses, runs

LIKE_LIMIT: Final = 20
ID_LENGTH: Final = 36
NEAREST: Final = 3
NEAREST_AMONG: Final = 2_000
"""Only the newest ids are compared by look."""

_RUN = "SELECT * EXCLUDE (key, trigger_key, parent_key) FROM dv.my_run_rows WHERE key = TRY_CAST(? AS UUID)"
_RUNS = """
SELECT * EXCLUDE (key, trigger_key, parent_key) FROM dv.my_run_rows
WHERE ($room IS NULL OR room = $room)
  AND ($actor IS NULL OR actor = $actor)
  AND ($status IS NULL OR status = $status)
  AND ($kind IS NULL OR kind = $kind)
  AND ($tag IS NULL OR list_contains(from_json(tags, '["VARCHAR"]'), $tag))
  AND ($since IS NULL OR started_at >= CAST($since AS TIMESTAMPTZ))
ORDER BY started_at DESC, key DESC
LIMIT $limit
"""
_TREE = """
WITH RECURSIVE tree AS (
    SELECT key, 0 AS depth FROM dv.my_run_rows WHERE key = TRY_CAST($root AS UUID) AND ($room IS NULL OR room = $room)
    UNION ALL
    SELECT child.key, tree.depth + 1 FROM dv.my_run_rows AS child JOIN tree ON child.parent_key = tree.key
    WHERE $room IS NULL OR child.room = $room
)
SELECT r.* EXCLUDE (key, trigger_key, parent_key)
FROM tree JOIN dv.my_run_rows AS r ON r.key = tree.key
ORDER BY tree.depth, r.started_at, r.key
LIMIT $limit
"""
_MESSAGE = "SELECT * EXCLUDE (key, thread_key, run_key) FROM dv.my_message_rows WHERE key = TRY_CAST(? AS UUID)"
_MESSAGES = """
SELECT * EXCLUDE (key, thread_key, run_key) FROM dv.my_message_rows
WHERE ($room IS NULL OR room = $room)
  AND ($thread IS NULL OR thread_key = TRY_CAST($thread AS UUID))
  AND ($run IS NULL OR run_key = TRY_CAST($run AS UUID))
  AND ($since IS NULL OR created_at > CAST($since AS TIMESTAMPTZ))
  AND (NOT $only_said OR recipient IS NULL OR recipient NOT IN ('_activity', '_runs'))
ORDER BY created_at DESC, key DESC
LIMIT $limit
"""
_MESSAGES_OF = """
SELECT * EXCLUDE (key, thread_key, run_key) FROM dv.my_message_rows WHERE key IN (SELECT unnest(CAST(? AS UUID[])))
"""
_BOTH_ENDS = """
SELECT * EXCLUDE (key, thread_key, run_key) FROM dv.my_message_rows WHERE run_key = TRY_CAST($run AS UUID)
QUALIFY row_number() OVER (ORDER BY created_at, key) <= $first
     OR row_number() OVER (ORDER BY created_at DESC, key DESC) <= $last
ORDER BY created_at, key
"""
_HOW_MANY = "SELECT count(*) FROM dv.my_message_rows WHERE run_key = TRY_CAST(? AS UUID)"
_FACTS = """
SELECT CAST(message_id AS VARCHAR), CAST(id AS VARCHAR), CAST(run_id AS VARCHAR), kind, verb, status, tool_name, tool_use_id,
    outcome, critical, happened_at
FROM dv.my_activities WHERE message_id IN (SELECT unnest(CAST(? AS UUID[]))) ORDER BY message_id, place
"""
_ENVELOPES = "SELECT id, kind, body FROM dv.my_envelopes WHERE run_id = TRY_CAST(? AS UUID) ORDER BY place"
_CAUSES = "SELECT CAST(cause_id AS VARCHAR) FROM dv.my_causes WHERE run_id = TRY_CAST(? AS UUID) ORDER BY noted_at, cause_id"
_LIKE = """
SELECT CAST(id AS VARCHAR) AS id FROM dv.my_runs
WHERE starts_with(CAST(id AS VARCHAR), $piece) OR ends_with(CAST(id AS VARCHAR), $piece)
ORDER BY started_at DESC, dv.my_runs.id DESC LIMIT $limit
"""
_NEWEST = "SELECT CAST(id AS VARCHAR) FROM dv.my_runs ORDER BY started_at DESC LIMIT ?"


def sendable(parameters: Any) -> Any:
    """Parameters with their text mended: what is no Unicode cannot be asked for, so it finds nothing."""
    if isinstance(parameters, Mapping):
        return {name: mended(value) if isinstance(value, str) else value for name, value in parameters.items()}
    return [mended(value) if isinstance(value, str) else value for value in parameters]


def run(con: duckdb.DuckDBPyConnection, run_id: RunId) -> Run | None:
    """The Run of that id."""
    found = con.execute(_RUN, sendable([run_id])).fetchall()
    return runs.from_row(found[0]) if found else None


def listed(con: duckdb.DuckDBPyConnection, wanted: RunFilter) -> Sequence[Run]:
    """Runs newest first, or a tree breadth first; an unknown root has none."""
    if wanted.tree is not None:
        found = con.execute(_TREE, sendable({"root": wanted.tree, "room": wanted.room, "limit": wanted.limit})).fetchall()
    else:
        found = con.execute(_RUNS, sendable(run_parameters(wanted))).fetchall()
    return [runs.from_row(each) for each in found]


def run_parameters(wanted: RunFilter) -> Mapping[str, Any]:
    """The filters as the statements name them."""
    return {
        "room": wanted.room,
        "actor": wanted.actor,
        "status": wanted.status,
        "kind": wanted.kind,
        "tag": wanted.tag,
        "since": wanted.since,
        "limit": wanted.limit,
    }


def message(con: duckdb.DuckDBPyConnection, message_id: MessageId) -> Message | None:
    """The message of that id."""
    found = _with_facts(con, con.execute(_MESSAGE, sendable([message_id])).fetchall())
    return found[0] if found else None


def said(con: duckdb.DuckDBPyConnection, wanted: MessageFilter) -> Sequence[Message]:
    """Messages oldest first; a limit keeps the last ones."""
    found = con.execute(_MESSAGES, sendable(message_parameters(wanted))).fetchall()
    return _with_facts(con, found[::-1])


def messages_of(con: duckdb.DuckDBPyConnection, wanted: Sequence[MessageId]) -> Sequence[Message]:
    """The messages of these ids, in no order."""
    return _with_facts(con, con.execute(_MESSAGES_OF, [list(wanted)]).fetchall())


def both_ends(con: duckdb.DuckDBPyConnection, run_id: RunId, first: int, last: int) -> tuple[Sequence[Message], int]:
    """The first and the last messages of a Run, oldest first, and how many lie between them."""
    found = con.execute(_BOTH_ENDS, sendable({"run": run_id, "first": first, "last": last})).fetchall()
    total = con.execute(_HOW_MANY, sendable([run_id])).fetchall()[0][0]
    return _with_facts(con, found), max(0, total - len(found))


def message_parameters(wanted: MessageFilter) -> Mapping[str, Any]:
    """The filters as the statements name them."""
    return {
        "room": wanted.room,
        "thread": wanted.thread,
        "run": wanted.run,
        "since": wanted.since,
        "only_said": wanted.only_said,
        "limit": wanted.limit,
    }


def _with_facts(con: duckdb.DuckDBPyConnection, found: Sequence[Sequence[Any]]) -> Sequence[Message]:
    facts: defaultdict[str, list[Fact]] = defaultdict(list)
    if ids := [row[0] for row in found]:
        for message_id, *fact in con.execute(_FACTS, [ids]).fetchall():
            facts[message_id].append(messages.fact_from_row(fact))
    return [messages.from_row(row, tuple(facts.get(row[0], ()))) for row in found]


def envelopes(con: duckdb.DuckDBPyConnection, run_id: RunId) -> Sequence[Envelope]:
    """What a paused Run waits for, in order."""
    return [pauses.from_row(row) for row in con.execute(_ENVELOPES, sendable([run_id])).fetchall()]


def causes(con: duckdb.DuckDBPyConnection, run_id: RunId) -> Sequence[RunId]:
    """Whose end the Run has observed."""
    return [row[0] for row in con.execute(_CAUSES, sendable([run_id])).fetchall()]


def ids_like(con: duckdb.DuckDBPyConnection, piece: str) -> Sequence[RunId]:
    """Ids that begin or end with the piece, newest first."""
    found = con.execute(_LIKE, sendable({"piece": piece.lower(), "limit": LIKE_LIMIT})).fetchall()
    return [row[0] for row in found]


def nearest_ids(con: duckdb.DuckDBPyConnection, piece: str) -> Sequence[RunId]:
    """Ids that look most like the piece, by their whole or by their end."""
    piece = piece[:ID_LENGTH].lower()  # what is longer is no id, and comparing it takes as long as it is
    among = [row[0] for row in con.execute(_NEWEST, [NEAREST_AMONG]).fetchall()]
    ends = {an_id[-len(piece) :] if piece else an_id: an_id for an_id in reversed(among)}
    close = difflib.get_close_matches(piece, list(ends), n=NEAREST, cutoff=0.0)
    return [RunId(ends[end]) for end in close]
