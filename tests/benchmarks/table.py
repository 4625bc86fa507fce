"""Rows of the table of ratios, and how it is printed."""

from __future__ import annotations

import os
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One line: a figure of ours, what it is held against, and whether that is enough."""

    what: str
    ours: str
    beside: str = ""
    """The other's name and figure, measured in the same minutes on the same disk."""
    ratio: str = ""
    target: str = ""
    met: bool | None = None
    """None: shown for information."""

    @property
    def verdict(self) -> str:
        """In a word."""
        return {True: "met", False: "MISSED", None: ""}[self.met]


HEADS = ("what", "ours", "beside", "ratio", "target", "")


def printed(rows: Sequence[Row]) -> str:
    """The table as text."""
    lines = [HEADS, *((row.what, row.ours, row.beside, row.ratio, row.target, row.verdict) for row in rows)]
    widths = [max(len(line[column]) for line in lines) for column in range(len(HEADS))]
    texts = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in lines]
    return "\n".join([texts[0], "  ".join("-" * width for width in widths), *texts[1:]])


def busy() -> str:
    """How busy the machine is and how many cores it has."""
    one, five, _ = os.getloadavg()
    return f"load {one:.1f} (1 min) {five:.1f} (5 min) on {os.cpu_count()} cores"


def best_and_median(values: Sequence[float], best: Callable[[Sequence[float]], float], unit: str) -> str:
    """Both, the best first."""
    return f"{figure(best(values))} ({figure(statistics.median(values))}) {unit}"


def figure(value: float) -> str:
    """Three digits that count."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def percentile(values: Sequence[float], share: float) -> float:
    """The value that `share` of the values do not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))]
