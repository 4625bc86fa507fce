"""Agents: what a round of a model costs above pydantic-ai alone, and many turns at once; each in a process of its own."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.benchmarks.agent_side import AT_ONCE, LONG, ROUNDS, SHORT
from tests.benchmarks.rooms import lag_row
from tests.benchmarks.table import Row, best_and_median, figure

ROOT = Path(__file__).parents[2]
MOST = 1.5
"""Ours to pydantic-ai alone, per round."""


def rounds(folder: Path, count: int) -> list[Row]:
    """Streamed rounds with a tool in each but the last: on record and paid, and beside it neither. What a round costs is what
    a longer turn takes above a shorter one; a whole turn has its admission and its end on record besides.
    """
    found = _worked("rounds", folder / "rounds.duckdb", str(count))
    further = {who: _further(found, who) for who in ("ours", "bare")}
    whole = {who: found[f"{who}_{ROUNDS}_s"] for who in ("ours", "bare")}
    return [
        _compared("a further model round, streamed, on record and paid", further, MOST),
        _compared(f"  a whole turn of {ROUNDS} rounds, admitted and ended on record", whole),
    ]


def _further(found: Mapping[str, Any], who: str) -> list[float]:
    """Seconds per round, from turns of two lengths."""
    pairs = zip(found[f"{who}_{LONG}_s"], found[f"{who}_{ROUNDS}_s"], strict=True)
    return [(long - short) / (LONG - ROUNDS) for long, short in pairs]


def _compared(what: str, seconds: Mapping[str, list[float]], most: float | None = None) -> Row:
    ours, bare = seconds["ours"], seconds["bare"]
    ratio = min(ours) / min(bare)
    each = statistics.median(mine / theirs for mine, theirs in zip(ours, bare, strict=True))
    return Row(
        what=what,
        ours=best_and_median([each * 1e3 for each in ours], min, "ms"),
        beside=f"pydantic-ai {best_and_median([each * 1e3 for each in bare], min, 'ms')}",
        ratio=f"{ratio:.2f} ({each:.2f}) x",
        target="" if most is None else f"<= {most} x",
        met=None if most is None else each <= most,
    )


def at_once(folder: Path, _rounds: int) -> list[Row]:
    """Many turns at once: what they take, and how long the loop is held meanwhile."""
    rows: list[Row] = []
    bare = _worked("at-once", folder / "bare.duckdb", "bare")
    for kind, called in (("scripted", "scripted turns"), ("agents", "turns of a scripted model")):
        found = _worked("at-once", folder / f"{kind}.duckdb", kind)
        beside = f"pydantic-ai {figure(bare['took_s'])} s" if kind == "agents" else ""
        rows += [
            Row(
                what=f"{AT_ONCE} {called} of {SHORT} rounds at once",
                ours=f"{figure(found['took_s'])} s; {figure(AT_ONCE / found['took_s'])} Runs/s",
                beside=beside,
                ratio=f"{found['took_s'] / bare['took_s']:.2f} x" if beside else "",
                target="all answered",
                met=found["answers"] == AT_ONCE,
            ),
            lag_row(found),
        ]
    return [*rows, lag_row(bare, "  loop lag p99 of pydantic-ai alone")]


def _worked(way: str, path: Path, what: str) -> Mapping[str, Any]:
    command = [sys.executable, "-m", "tests.benchmarks.agent_side", way, str(path), what]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found
