"""Statements about Runs. None of them changes an identity column, and none touches a row that has ended."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

import duckdb

from dvergr_nb.ids import MessageId, RunId
from dvergr_nb.records.run import Provenance, Run, RunStatus
from dvergr_nb.store.table import Row, Table

RUNS = Table(
    "dv.runs",
    (
        "id",
        "tenant_id",
        "user_id",
        "kind",
        "room",
        "actor",
        "label",
        "tags",
        "trigger",
        "parent",
        "status",
        "reason",
        "error",
        "created_at",
        "started_at",
        "updated_at",
        "ended_at",
        "revision",
        "boot_id",
        "profile_id",
        "profile_version",
        "profile_hash",
        "template_version",
        "program_kind",
        "steps",
        "start_turn_count",
        "cost",
        "unpriced",
    ),
)

_BY_ID = "SELECT * EXCLUDE (key, trigger_key, parent_key) FROM dv.run_rows WHERE key = TRY_CAST(? AS UUID)"
_BY_IDS = """
SELECT * EXCLUDE (key, trigger_key, parent_key) FROM dv.run_rows WHERE key IN (SELECT unnest(CAST(? AS UUID[])))
"""
_BY_TRIGGER = """
SELECT * EXCLUDE (key, trigger_key, parent_key) FROM dv.run_rows
WHERE trigger_key = CAST(? AS UUID) AND tenant_id = ? AND actor = ?
"""
_OPEN = """
SELECT * EXCLUDE (key, trigger_key, parent_key) FROM dv.run_rows
WHERE status = 'running' OR (status = 'waiting' AND reason IN (SELECT unnest(?)))
"""
_MOVE = """
UPDATE dv.runs
SET status = ?, reason = ?, error = ?, steps = ?, updated_at = ?, ended_at = ?, cost = ?, unpriced = ?, revision = revision + 1
WHERE id = CAST(? AS UUID) AND tenant_id = ? AND status = ? AND revision = ?
"""
_MOVES = """
UPDATE dv.runs AS r
SET status = u.status, reason = u.reason, error = u.error, steps = u.steps, updated_at = u.updated_at, ended_at = u.ended_at,
    cost = u.cost, unpriced = u.unpriced, revision = r.revision + 1
FROM (
    SELECT
        unnest(CAST(? AS VARCHAR[])) AS status, unnest(CAST(? AS VARCHAR[])) AS reason, unnest(CAST(? AS VARCHAR[])) AS error,
        unnest(CAST(? AS INTEGER[])) AS steps, unnest(CAST(? AS TIMESTAMPTZ[])) AS updated_at,
        unnest(CAST(? AS TIMESTAMPTZ[])) AS ended_at, unnest(CAST(? AS BIGINT[])) AS cost,
        unnest(CAST(? AS INTEGER[])) AS unpriced, unnest(CAST(? AS UUID[])) AS id,
        unnest(CAST(? AS VARCHAR[])) AS tenant_id, unnest(CAST(? AS VARCHAR[])) AS found,
        unnest(CAST(? AS INTEGER[])) AS revision
) AS u
WHERE r.id = u.id AND r.tenant_id = u.tenant_id AND r.status = u.found AND r.revision = u.revision
"""
_RESUME = """
UPDATE dv.runs
SET status = 'running', reason = NULL, boot_id = ?, updated_at = ?, revision = revision + 1
WHERE id = CAST(? AS UUID) AND tenant_id = ? AND status = 'waiting' AND revision = ?
"""
FEW = 2
"""Up to so many moves go as a statement each: one joined UPDATE costs about as much as three plain ones."""


class Move(NamedTuple):
    """A Run before and after. Only status, reason, error, steps, cost, boot_id and the times may differ."""

    before: Run
    after: Run


def row(run: Run) -> Row:
    """As it is stored."""
    known = run.provenance
    return (
        run.id,
        run.tenant_id,
        run.user_id,
        run.kind,
        run.room,
        run.actor,
        run.label,
        json.dumps(run.tags, ensure_ascii=False) if run.tags else None,
        run.trigger,
        run.parent,
        run.status.value,
        run.reason,
        run.error,
        run.created_at,
        run.started_at,
        run.updated_at,
        run.ended_at,
        run.revision,
        run.boot_id,
        known.profile_id,
        known.profile_version,
        known.profile_hash,
        known.template_version,
        known.program_kind,
        run.steps,
        run.start_turn_count,
        run.cost,
        run.unpriced,
    )


def from_row(found: Sequence[Any]) -> Run:
    """The Run of a row of the view `dv.run_rows`."""
    run_id, tenant, user, kind, room, actor, label, tags, trigger, parent, status, reason, error = found[:13]
    created, started, updated, ended, revision, boot, *provenance, steps, turns, cost, unpriced = found[13:]
    return Run(
        id=run_id,
        tenant_id=tenant,
        user_id=user,
        kind=kind,
        room=room,
        actor=actor,
        label=label,
        tags=tuple(json.loads(tags)) if tags else (),
        trigger=trigger,
        parent=parent,
        status=RunStatus(status),
        reason=reason,
        error=error,
        created_at=created,
        started_at=started,
        updated_at=updated,
        ended_at=ended,
        revision=revision,
        boot_id=boot,
        provenance=_provenance(*provenance),
        steps=steps,
        start_turn_count=turns,
        cost=cost,
        unpriced=unpriced,
    )


def _provenance(
    profile: str | None, version: int | None, digest: str | None, template: int | None, program: str | None
) -> Provenance:
    return Provenance(
        profile_id=profile, profile_version=version, profile_hash=digest, template_version=template, program_kind=program
    )


def by_id(con: duckdb.DuckDBPyConnection, run_id: RunId) -> Run | None:
    """The Run, of whatever tenant."""
    found = con.execute(_BY_ID, [run_id]).fetchall()
    return from_row(found[0]) if found else None


def by_ids(con: duckdb.DuckDBPyConnection, wanted: Sequence[RunId]) -> Sequence[Run]:
    """The Runs that are stored."""
    return [from_row(found) for found in con.execute(_BY_IDS, [list(wanted)]).fetchall()]


def by_trigger(con: duckdb.DuckDBPyConnection, trigger: MessageId, tenant_id: str, actor: str) -> Sequence[Run]:
    """The Runs of the actor that this message caused: by law at most one."""
    return [from_row(found) for found in con.execute(_BY_TRIGGER, [trigger, tenant_id, actor]).fetchall()]


def open_ones(con: duckdb.DuckDBPyConnection, pauses: Sequence[str]) -> Sequence[Run]:
    """Every running or paused Run of every tenant."""
    return [from_row(found) for found in con.execute(_OPEN, [list(pauses)]).fetchall()]


def moved(con: duckdb.DuckDBPyConnection, moves: Sequence[Move]) -> int:
    """Makes the moves, each a compare-and-set on tenant, status and revision; how many rows were hit.

    The count is asked for and not RETURNING, which would read every column of the rows.
    """
    resumed = [move for move in moves if move.after.status is RunStatus.RUNNING]
    ended = [_values(move) for move in moves if move.after.status is not RunStatus.RUNNING]
    hit = sum(_changed(con, _RESUME, _resume_values(move)) for move in resumed)
    if len(ended) <= FEW:
        return hit + sum(_changed(con, _MOVE, one) for one in ended)
    return hit + _changed(con, _MOVES, [list(column) for column in zip(*ended, strict=True)])


def _changed(con: duckdb.DuckDBPyConnection, statement: str, values: Row) -> int:
    count: int = con.execute(statement, values).fetchall()[0][0]
    return count


def _values(move: Move) -> Row:
    before, after = move
    return (
        after.status.value,
        after.reason,
        after.error,
        after.steps,
        after.updated_at,
        after.ended_at,
        after.cost,
        after.unpriced,
        before.id,
        before.tenant_id,
        before.status.value,
        before.revision,
    )


def _resume_values(move: Move) -> Row:
    before, after = move
    return (after.boot_id, after.updated_at, before.id, before.tenant_id, before.revision)
