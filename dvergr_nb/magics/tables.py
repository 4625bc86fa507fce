"""Runs as a table, as text and as HTML. It is what was there when it was asked for, and stays so."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Final

from dvergr_nb.ids import short
from dvergr_nb.records.run import LiveRun, Run, RunStatus
from dvergr_nb.records.text import clipped, printable

COLUMNS: Final = ("run", "status", "label", "actor", "room", "started (UTC)", "tags", "took")
CELL_CHARS: Final = 48
"""Longest text of one field; the frame has all of it."""


class RunTable(Sequence[Run]):
    """The Runs themselves, in order; `.df()` gives the frame with all columns."""

    def __init__(self, runs: Sequence[Run], frame: Callable[[], Any], nothing: str = "no Runs") -> None:
        self._runs = tuple(runs)
        self._frame = frame
        self._nothing = nothing

    def __len__(self) -> int:
        return len(self._runs)

    def __iter__(self) -> Iterator[Run]:
        return iter(self._runs)

    def __getitem__(self, at: Any) -> Any:
        return self._runs[at]

    def df(self) -> Any:
        """The same Runs as a DataFrame, one row each."""
        return self._frame()

    def __repr__(self) -> str:
        if not self._runs:
            return self._nothing
        return "\n".join(aligned([COLUMNS, *map(fields, self._runs)]))

    def _repr_html_(self) -> str:
        if not self._runs:
            return f"<p>{html.escape(self._nothing)}</p>"
        head = "".join(f'<th scope="col">{html.escape(name)}</th>' for name in COLUMNS)
        rows = "".join(f"<tr>{''.join(map(_cell, fields(run)))}</tr>" for run in self._runs)
        return f'<table class="dvergr-runs"><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>'


def _cell(text: str) -> str:
    return f'<td style="text-align: left">{html.escape(text)}</td>'


def fields(run: Run) -> tuple[str, ...]:
    """One line of the table."""
    reason = f" ({run.reason})" if run.reason else ""
    return (
        short(run.id),
        f"{run.status.value}{reason}",
        plain(run.label),
        plain(run.actor),
        plain(run.room),
        "" if run.status is RunStatus.QUEUED else f"{run.started_at:%Y-%m-%d %H:%M:%S}",
        plain(", ".join(run.tags)),
        took(run),
    )


def took(run: Run) -> str:
    """How long it has worked, as people say it; empty while it goes on."""
    if run.ended_at is None:
        return ""
    return duration((run.ended_at - run.started_at).total_seconds())


def duration(seconds: float) -> str:
    """For instance `0.42s`, `12s`, `2m 14s`, `3h 5m`."""
    if seconds < 10:
        return f"{max(0.0, seconds):.2f}s"
    whole = int(seconds)
    if whole < 60:
        return f"{whole}s"
    if whole < 3600:
        return f"{whole // 60}m {whole % 60}s"
    return f"{whole // 3600}h {whole % 3600 // 60}m"


def plain(text: str, limit: int = CELL_CHARS) -> str:
    """Text on one line that moves no cursor and colours nothing, clipped."""
    return printable(clipped(text, limit))


def aligned(rows: Sequence[Sequence[str]]) -> list[str]:
    """The rows as lines with their columns below each other; no lines of no rows."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]


def live_word(run: Run) -> str:
    """What a live Run says of itself: how far it is, or its last line."""
    if not isinstance(run, LiveRun):
        return ""
    if run.progress is not None and run.progress.fraction is not None:
        return f"{run.progress.fraction:.0%} {plain(run.progress.label)}".rstrip()
    return plain(run.said)


class Lines:
    """Lines of text that show themselves as they are."""

    def __init__(self, *lines: str) -> None:
        self.lines = lines

    def __repr__(self) -> str:
        return "\n".join(self.lines)
