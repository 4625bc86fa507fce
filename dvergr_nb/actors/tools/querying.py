"""`query_runs` and `query_frame`: SQL of an agent, over what happened in its room or over data frames it was given."""

from __future__ import annotations

import csv
import io
from typing import Any, Final

from dvergr_nb.actors.tools.defining import tool_of
from dvergr_nb.actors.tools.tool import Tool
from dvergr_nb.errors import BadInput
from dvergr_nb.records.profile import NAME
from dvergr_nb.records.text import clipped, printable, shown
from dvergr_nb.runtime.context import Context
from dvergr_nb.runtime.ports import Found

ROWS: Final = 1_000
"""At most so many rows are given."""
COLUMNS: Final = 100
"""How many columns of a frame a description names."""
ROOM: Final = {
    "runs": "id, actor, kind, label, status, reason, error, parent, started_at, ended_at, took, steps",
    "messages": "id, sender, recipient, content, reply_to, thread, run_id, kind, created_at",
    "activity": "run_id, actor, kind, verb, status, tool_name, outcome, content, created_at",
}
"""What a description names of the tables of a room; they have more columns."""


def query_runs() -> Tool:
    """A tool that runs one SELECT over the Runs, messages and activity of the room in which its agent works."""

    def query_runs(sql: str, ctx: Context) -> str:
        return told(ctx.query_room(sql, rows=ROWS))

    tables = "\n".join(f"- {name}: {columns}" for name, columns in ROOM.items())
    about = f"Runs one SELECT in DuckDB's SQL over what happened in this room, at most {ROWS:,} rows. Tables:\n{tables}"
    return tool_of(query_runs, description=about)


def query_frame(**frames: Any) -> Tool:
    """A tool that runs one SELECT over copies of data frames: `query_frame(sales=df)` lets it ask `FROM sales`."""
    for name, frame in frames.items():
        if not NAME.fullmatch(name) or not hasattr(frame, "dtypes") or len(getattr(frame, "shape", ())) != 2:
            raise BadInput(f"query_frame takes pandas data frames by name, such as query_frame(sales=df), not {shown(frame)}")
    if not frames:
        raise BadInput("query_frame needs a data frame by name, such as query_frame(sales=df)")

    def query_frame(sql: str, ctx: Context) -> str:
        return told(ctx.query_frames(frames, sql, rows=ROWS))

    tables = "\n".join(f"- {_described(name, frame)}" for name, frame in frames.items())
    about = f"Runs one SELECT in DuckDB's SQL, at most {ROWS:,} rows. Tables:\n{tables}"
    return tool_of(query_frame, description=about)


def told(found: Found) -> str:
    """A result as a model reads it: CSV, then how many rows there are."""
    if not found.rows:
        return f"no rows; columns: {', '.join(found.columns)}"
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(found.columns)
    writer.writerows(["NULL" if value is None else value for value in row] for row in found.rows)
    count = len(found.rows)
    more = ", there may be more" if count >= ROWS else ""
    return f"{text.getvalue()}[{count:,} row{'' if count == 1 else 's'}{more}]"


def _described(name: str, frame: Any) -> str:
    columns = [f"{column} {dtype}" for column, dtype in list(frame.dtypes.items())[:COLUMNS]]
    more = f" and {len(frame.columns) - COLUMNS} more" if len(frame.columns) > COLUMNS else ""
    return clipped(printable(f"{name} ({len(frame):,} rows): {', '.join(columns)}{more}"), 4_000)
