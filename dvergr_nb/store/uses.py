"""Statements about what tools were given and gave, and about what was cited."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any

import duckdb

from dvergr_nb.store.table import Row, Table

if TYPE_CHECKING:
    from dvergr_nb.records.tool_use import Citation, ToolUse

TOOL_USES = Table(
    "dv.tool_uses",
    (
        "id",
        "tenant_id",
        "room",
        "run_id",
        "round",
        "name",
        "tool_use_id",
        "arguments",
        "result",
        "status",
        "blobs",
        "started_at",
        "ended_at",
    ),
)
CITATIONS = Table("dv.citations", ("run_id", "round", "chunk_id", "tenant_id", "room", "title", "place", "created_at"))

_USES_THERE = "SELECT CAST(id AS VARCHAR) FROM dv.tool_uses WHERE id IN (SELECT unnest(CAST(? AS UUID[])))"
_CITED = """
SELECT CAST(run_id AS VARCHAR), round, chunk_id FROM dv.citations WHERE run_id IN (SELECT unnest(CAST(? AS UUID[])))
"""

Cited = tuple[str, int, str]
"""Run, round and chunk: noted once."""


def row(use: ToolUse) -> Row:
    """As it is stored."""
    blobs = json.dumps([dataclasses.asdict(blob) for blob in use.blobs]) if use.blobs else None
    return (
        use.id,
        use.tenant_id,
        use.room,
        use.run_id,
        use.round,
        use.name,
        use.tool_use_id,
        use.arguments,
        use.result,
        use.status,
        blobs,
        use.started_at,
        use.ended_at,
    )


def from_row(found: Sequence[Any]) -> ToolUse:
    """The use of a row of the view `dv.my_tool_use_rows`."""
    from dvergr_nb.records.tool_use import Blob, ToolUse

    use_id, tenant, room, run_id, number, name, tool_use_id, arguments, result, status, blobs, started, ended = found
    return ToolUse(
        id=use_id,
        tenant_id=tenant,
        room=room,
        run_id=run_id,
        round=number,
        name=name,
        tool_use_id=tool_use_id,
        arguments=arguments,
        result=result,
        status=status,
        blobs=tuple(Blob(**blob) for blob in json.loads(blobs)) if blobs else (),
        started_at=started,
        ended_at=ended,
    )


def cited(citation: Citation) -> Cited:
    """What may be noted once."""
    return citation.run_id, citation.round, citation.chunk_id


def citation_row(citation: Citation, place: int) -> Row:
    """As it is stored, `place` in its Run."""
    return (*cited(citation), citation.tenant_id, citation.room, citation.title, place, citation.at)


def citation_from_row(found: Sequence[Any]) -> Citation:
    """The citation of its Run, round, chunk, tenant, room, title and time."""
    from dvergr_nb.records.tool_use import Citation

    run_id, number, chunk_id, tenant, room, title, at = found
    return Citation(tenant_id=tenant, room=room, run_id=run_id, round=number, chunk_id=chunk_id, title=title, at=at)


def uses_there(con: duckdb.DuckDBPyConnection, wanted: Sequence[str]) -> frozenset[str]:
    """Which of these uses are stored already."""
    return frozenset(found[0] for found in con.execute(_USES_THERE, [list(wanted)]).fetchall())


def cited_by(con: duckdb.DuckDBPyConnection, runs: Collection[str]) -> frozenset[Cited]:
    """What these Runs have cited already."""
    return frozenset((run_id, number, chunk) for run_id, number, chunk in con.execute(_CITED, [list(runs)]).fetchall())
