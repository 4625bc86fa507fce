"""Durable Runs, alone and many at once, beside the bare writer and the peers; admissions; how long the loop is held."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from tests.benchmarks.child import Block, Child, children
from tests.benchmarks.table import Row, best_and_median, figure, percentile

PEERS: Final = {"graph": "LangGraph sync", "steps": "DBOS"}
NAMES: Final = {"bare": "bare writer", **PEERS}
ALONE: Final = {"ours": 100, "bare": 100, "graph": 25, "steps": 12}
"""Runs of one round, one after the other, by contender."""
EACH: Final = {"ours": 12, "bare": 12, "graph": 2, "steps": 2}
"""Runs of one round for each of those that run at once."""


def alone(folder: Path, rounds: int) -> list[Row]:
    """One Run with ten activities, alone."""
    with children(("ours", *NAMES), folder) as started:
        blocks = interleaved(started, rounds, at_once=1)
    each = {name: [block.each_ms for block in found] for name, found in blocks.items()}
    cpu = {name: [block.cpu_ms for block in found] for name, found in blocks.items()}
    peer = min(PEERS, key=lambda name: min(each[name]))
    rows = [_less("one Run of 10 activities, alone", each, "bare", 1.5, "ms")]
    rows += [_less("  beside " + PEERS[name], each, name, 1.0, "ms", counts=name == peer) for name in PEERS]
    return [*rows, *(_less("  CPU time", cpu, name, None, "ms") for name in NAMES)]


def many(folder: Path, rounds: int, at_once: int) -> list[Row]:
    """The same Runs, many at once."""
    with children(("ours", *NAMES), folder) as started:
        blocks = interleaved(started, rounds, at_once=at_once)
    rate = {name: [block.per_second for block in found] for name, found in blocks.items()}
    peer = max(PEERS, key=lambda name: max(rate[name]))
    rows = [_more(f"{at_once} at once", rate, "bare", 0.5)]
    return rows + [_more(f"  beside {PEERS[name]}", rate, name, 10, counts=name == peer) for name in PEERS]


def admission(folder: Path, rounds: int) -> list[Row]:
    """What an admission takes alone, and how long the store holds the loop while it is fed."""
    with children(("ours", "bare"), folder) as started:
        pairs = [(started["ours"].order("admit", 200), started["bare"].order("admit", 200)) for _ in range(rounds)]
        held = {(name, at_once): _held(started[name], rounds, at_once) for at_once in (1, 16) for name in ("ours", "bare")}
    took, bare = zip(*pairs, strict=True)
    rows = [_admitted("admission alone, p50", took, bare, 0.5, 2.0), _admitted("admission alone, p99", took, bare, 0.99, 15.0)]
    return rows + [_held_row(held, at_once) for at_once in (1, 16)]


def interleaved(started: dict[str, Child], rounds: int, *, at_once: int) -> dict[str, list[Block]]:
    """Round after round, each contender in its turn, so that a busy minute of the machine hits all of them."""
    found: dict[str, list[Block]] = {name: [] for name in started}
    for _ in range(rounds):
        for name, child in started.items():
            times = ALONE[name] if at_once == 1 else EACH[name] * at_once
            found[name].append(child.order("run", times, at_once))
    return found


def _less(what: str, values: dict[str, list[float]], other: str, limit: float | None, unit: str, *, counts: bool = True) -> Row:
    best, middle = _ratios(values, other, min)
    return Row(
        what=what,
        ours=best_and_median(values["ours"], min, unit),
        beside=f"{NAMES[other]} {best_and_median(values[other], min, unit)}",
        ratio=f"{best:.2f} ({middle:.2f})",
        target=f"≤ {limit:g} ×" if limit is not None and counts else "",
        met=best <= limit if limit is not None and counts else None,
    )


def _more(what: str, values: dict[str, list[float]], other: str, least: float, *, counts: bool = True) -> Row:
    best, middle = _ratios(values, other, max)
    return Row(
        what=what,
        ours=best_and_median(values["ours"], max, "Runs/s"),
        beside=f"{NAMES[other]} {best_and_median(values[other], max, 'Runs/s')}",
        ratio=f"{best:.2f} ({middle:.2f})",
        target=f"≥ {least:g} ×" if counts else "",
        met=best >= least if counts else None,
    )


def _ratios(values: dict[str, list[float]], other: str, best: Callable[[Sequence[float]], float]) -> tuple[float, float]:
    """Of the best rounds, and the median over the rounds."""
    pairs = zip(values["ours"], values[other], strict=True)
    return best(values["ours"]) / best(values[other]), statistics.median(ours / theirs for ours, theirs in pairs)


def _admitted(what: str, ours: Sequence[Block], bare: Sequence[Block], share: float, limit_ms: float) -> Row:
    mine = [percentile(block.took_s, share) * 1e3 for block in ours]
    floor = [percentile(block.took_s, share) * 1e3 for block in bare]
    return Row(
        what=what,
        ours=best_and_median(mine, min, "ms"),
        beside=f"bare writer {best_and_median(floor, min, 'ms')}",
        ratio=f"{min(mine) / min(floor):.2f} ({statistics.median(mine) / statistics.median(floor):.2f})",
        target=f"≤ {limit_ms:g} ms",
        met=min(mine) <= limit_ms,
    )


def _held(child: Child, rounds: int, at_once: int) -> list[float]:
    """The longest time the loop was held, per round, in milliseconds."""
    return [max(child.order("run", 60 * at_once, at_once, lag=True).lag_s) * 1e3 for _ in range(rounds)]


def _held_row(held: dict[tuple[str, int], list[float]], at_once: int) -> Row:
    mine, floor = held["ours", at_once], held["bare", at_once]
    return Row(
        what=f"longest the loop was held, {at_once} at once",
        ours=best_and_median(mine, min, "ms"),
        beside=f"bare writer {best_and_median(floor, min, 'ms')}",
        ratio=f"{figure(min(mine) / min(floor))}",
        target="≤ 10 ms",
        met=min(mine) <= 10,
    )
