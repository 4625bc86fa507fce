"""What a Run did, in words: the card of a terminal."""

from __future__ import annotations

from dvergr_nb.magics.tables import Lines, aligned, duration, fields, live_word, plain
from dvergr_nb.records.run import Run
from dvergr_nb.records.timeline import Entry, Timeline

TEXT_CHARS = 100


def told(line: Timeline, run: Run) -> Lines:
    """A heading, what was done and when, and how it came out."""
    run_id, status, label, actor, room, *_ = fields(run)
    head = f"Run {run_id}: {label or actor} · {status} · {duration(line.took)} · {actor} in {room}"
    counted = f"{line.activities} correlated activity message{'' if line.activities == 1 else 's'}"
    rows = [_row(entry) for entry in line.entries]
    return Lines(
        head,
        counted,
        *(aligned(rows) if rows else ()),
        *([f"… {line.left_out} more between the first and the last"] if line.left_out else ()),
        *([live_word(run)] if line.lives and live_word(run) else ()),
        *([f"result: {plain(line.result, TEXT_CHARS)}"] if line.result is not None else ()),
        *([f"error: {plain(line.error, TEXT_CHARS)}"] if line.error else ()),
    )


def _row(entry: Entry) -> tuple[str, ...]:
    took = duration(entry.took) if entry.took is not None else "…" if entry.goes_on else ""
    return (f"{entry.at:8.2f}s", plain(entry.who, 20), plain(entry.text, TEXT_CHARS), took)
