"""Frames of a large store beside the same SQL by hand, and how long opening it takes."""

from __future__ import annotations

import shutil
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import duckdb

from dvergr_nb.session import Session
from tests.benchmarks.filled import ORPHANS, RUNS, STEPS, TENANT, fill
from tests.benchmarks.table import Row, best_and_median

LISTED: Final = 10_000

RUNS_BY_HAND: Final = """
SELECT CAST(id AS VARCHAR) AS id, room, actor, kind, label, status, reason, error, tags,
    CAST("trigger" AS VARCHAR) AS "trigger", CAST(parent AS VARCHAR) AS parent, created_at, started_at, updated_at, ended_at,
    epoch(coalesce(ended_at, now()) - started_at) AS took, steps, revision, boot_id, user_id, profile_id, profile_version,
    profile_hash, template_version, program_kind, start_turn_count
FROM dv.runs
WHERE tenant_id = 'bench'
ORDER BY started_at DESC, id DESC
LIMIT 10000
"""
JOIN_BY_HAND: Final = """
SELECT CAST(m.id AS VARCHAR) AS message_id, CAST(f.id AS VARCHAR) AS fact_id, CAST(m.run_id AS VARCHAR) AS run_id, m.room,
    CAST(m.thread_root_id AS VARCHAR) AS thread, r.actor, r.label, r.kind AS run_kind, r.status AS run_status,
    CAST(r."trigger" AS VARCHAR) AS "trigger", coalesce(f.kind, m.kind) AS kind, f.verb, f.status, f.tool_name, f.tool_use_id,
    f.outcome, f.critical, m.content, coalesce(f.happened_at, m.created_at) AS created_at,
    epoch(coalesce(f.happened_at, m.created_at) - r.started_at) AS at_seconds
FROM dv.messages AS m
LEFT JOIN dv.activities AS f ON f.message_id = m.id
LEFT JOIN dv.runs AS r ON r.id = m.run_id
WHERE m.tenant_id = 'bench' AND m.recipient = '_activity'
ORDER BY m.created_at, m.id
"""
ORPHANS_BY_HAND: Final = """
UPDATE dv.runs SET status = 'failed', reason = 'orphaned', ended_at = now(), updated_at = now() WHERE status = 'running'
"""


def frames(folder: Path, rounds: int) -> list[Row]:
    """The frame of Runs and the frame that joins everything."""
    path = shutil.copy(filled(folder), folder / "read.duckdb")
    with Session(str(path), tenant_id=TENANT, user_id=TENANT) as session:
        store = session.store

        def by_hand(sql: str) -> Callable[[], Any]:
            return lambda: store.read(lambda con: con.execute(sql).df())

        listed = _side_by_side(lambda: session.frame("runs", limit=LISTED), by_hand(RUNS_BY_HAND), LISTED, rounds)
        joined = _side_by_side(lambda: session.frame("activity"), by_hand(JOIN_BY_HAND), RUNS * STEPS, rounds)
    return [
        _against(f"frame of {LISTED:,} Runs", *listed, 1.3),
        _against(f"join of {RUNS * STEPS:,} activities to {RUNS:,} Runs", *joined, 1.3),
    ]


def opening(folder: Path, rounds: int) -> list[Row]:
    """From asking for a store whose kernel was killed to having it, its orphans failed."""
    path, ours, hand = filled(folder), [], []
    for number in range(rounds):
        copy = shutil.copy(path, folder / f"opened{number}.duckdb")
        begun = time.perf_counter()
        session = Session(str(copy), tenant_id=TENANT, user_id=TENANT)
        ours.append(time.perf_counter() - begun)
        assert len(session.store.orphaned) == ORPHANS
        session.close()
        shutil.copy(path, copy)
        begun = time.perf_counter()
        con = duckdb.connect(str(copy))
        con.execute(ORPHANS_BY_HAND)
        hand.append(time.perf_counter() - begun)
        con.close()
        Path(copy).unlink()
    row = _against(f"open a store of {RUNS:,} Runs, {ORPHANS:,} of them orphans", ours, hand, None)
    return [Row(what=row.what, ours=row.ours, beside=row.beside, ratio=row.ratio, target="< 1 s", met=min(ours) < 1)]


def filled(folder: Path) -> Path:
    """The store with a past, made once."""
    path = folder / "filled.duckdb"
    if not path.exists():
        fill(path)
    return path


def _side_by_side(ours: Callable[[], Any], hand: Callable[[], Any], rows: int, rounds: int) -> tuple[list[float], list[float]]:
    assert len(ours()) == len(hand()) == rows
    took: tuple[list[float], list[float]] = ([], [])
    for _ in range(rounds):
        for way, seconds in zip((ours, hand), took, strict=True):
            begun = time.perf_counter()
            way()
            seconds.append(time.perf_counter() - begun)
    return took


def _against(what: str, ours: list[float], hand: list[float], limit: float | None) -> Row:
    ratio = min(ours) / min(hand)
    middle = statistics.median(mine / theirs for mine, theirs in zip(ours, hand, strict=True))
    return Row(
        what=what,
        ours=best_and_median(ours, min, "s"),
        beside=f"SQL by hand {best_and_median(hand, min, 's')}",
        ratio=f"{ratio:.2f} ({middle:.2f})",
        target=f"≤ {limit:g} ×" if limit is not None else "",
        met=ratio <= limit if limit is not None else None,
    )
