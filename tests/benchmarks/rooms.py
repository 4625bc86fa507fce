"""Rooms at their size: a broadcast to 200 actors, 10,000 messages, 10,000 members; each in a process of its own."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.benchmarks.crowd import ACTORS, BROADCASTS, MEMBERS, MESSAGES
from tests.benchmarks.table import Row, figure, percentile

ROOT = Path(__file__).parents[2]
LAG_MS = 20
"""How long the loop may be held, in milliseconds, 99 times of 100."""


def broadcast(folder: Path, _rounds: int) -> list[Row]:
    """From posting a message to the last durable end of those it woke."""
    found = _worked(folder, "broadcast")
    best, middle = min(found["took_s"]), statistics.median(found["took_s"])
    is_whole = found["runs"] == ACTORS * BROADCASTS and found["answers"] == ACTORS * BROADCASTS + BROADCASTS
    return [
        Row(
            what=f"broadcast to {ACTORS} scripted actors, answered durably",
            ours=f"{figure(best)} ({figure(middle)}) s; {figure(ACTORS / best)} Runs/s",
            target="all answered",
            met=is_whole,
        ),
        lag_row(found),
        _memory(found),
    ]


def messages(folder: Path, _rounds: int) -> list[Row]:
    """All given at once, answered in order."""
    found = _worked(folder, "messages")
    return [
        Row(
            what=f"{MESSAGES:,} messages to a room, answered in order",
            ours=f"{figure(found['took_s'])} s; {figure(MESSAGES / found['took_s'])} Runs/s; "
            f"asked for in {figure(found['asked_s'])} s",
            target="all, in order",
            met=found["in_order"] and found["runs"] == MESSAGES,
        ),
        lag_row(found),
        _memory(found),
    ]


def members(folder: Path, _rounds: int) -> list[Row]:
    """What it takes to know so many, and to talk with one of them."""
    found = _worked(folder, "members")
    return [
        Row(
            what=f"{MEMBERS:,} actors join a room, on record",
            ours=f"{figure(found['joined_s'])} s; {figure(found['grown_mb'] * 1024 / MEMBERS)} kB each",
            target="all known",
            met=found["known"] == MEMBERS and found["reply"] == "hello",
        ),
        Row(
            what="  one of them answers; what is unanswered is looked up",
            ours=f"{figure(found['turn_s'] * 1e3)} ms; {figure(found['looked_s'] * 1e3)} ms",
        ),
        lag_row(found),
        _memory(found),
    ]


def _worked(folder: Path, way: str) -> Mapping[str, Any]:
    command = [sys.executable, "-m", "tests.benchmarks.crowd", str(folder / f"{way}.duckdb"), way]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def lag_row(found: Mapping[str, Any], what: str = "  loop lag p99") -> Row:
    """How long the loop was held."""
    lag = [late * 1e3 for late in found["lag_s"]]
    late = percentile(lag, 0.99)
    return Row(
        what=what,
        ours=f"{figure(late)} ms (p50 {figure(percentile(lag, 0.5))}, longest {figure(max(lag))})",
        target=f"< {LAG_MS} ms",
        met=late < LAG_MS,
    )


def _memory(found: Mapping[str, Any]) -> Row:
    return Row(what="  memory", ours=f"{figure(found['rss_mb'])} MB at most; {figure(found['before_mb'])} before")
