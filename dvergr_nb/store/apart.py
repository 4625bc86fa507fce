"""The process in which an agent's query runs: it reads one question, says one answer, and has nothing to reach."""

from __future__ import annotations

import contextlib
import json
import resource
import sys
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Final, TypedDict

import duckdb

from dvergr_nb.errors import QueryRefused
from dvergr_nb.records.text import clipped, mended
from dvergr_nb.store.connect import first_line
from dvergr_nb.store.judge import Judge

CELL_LIMIT: Final = 10_000
"""Longest value that is given, in characters."""
ANSWER_LIMIT: Final = 2_000_000
"""No rows are added to an answer that has so many characters."""
OTHER_MB: Final = 512
"""What Python and DuckDB need besides the query."""


class Question(TypedDict):
    """What is asked."""

    file: str
    tables: Sequence[str]
    sql: str
    limit_s: float
    rows: int
    memory_mb: int


def main() -> None:
    """Answers the question that comes by the standard input."""
    asked: Question = json.load(sys.stdin)
    _confine(asked)
    json.dump(_answer(asked), sys.stdout)


def _confine(asked: Question) -> None:
    """The system takes no more memory from here, no file, no time without end, whatever the query makes of DuckDB."""
    most = (asked["memory_mb"] + OTHER_MB) << 20
    seconds = int(asked["limit_s"]) + 60
    for what, limit in (
        (resource.RLIMIT_DATA, most),
        (resource.RLIMIT_CPU, 2 * seconds),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_CORE, 0),
    ):
        with contextlib.suppress(OSError, ValueError):  # not every system knows all of them
            resource.setrlimit(what, (limit, limit))


def _answer(asked: Question) -> Mapping[str, Any]:
    try:
        with _opened(asked) as con:
            Judge(tables=frozenset(asked["tables"])).check(con, asked["sql"])
            return _asked(con, asked)
    except QueryRefused as refusal:
        return {"outcome": "refused", "text": str(refusal)}
    except duckdb.InterruptException:
        return {"outcome": "late"}
    except duckdb.Error as problem:
        return {"outcome": "failed", "text": clipped(mended(first_line(problem)), CELL_LIMIT)}
    except MemoryError:
        return {"outcome": "failed", "text": "the query needed more memory than it may use; narrow it"}


def _opened(asked: Question) -> duckdb.DuckDBPyConnection:
    con = duckdb.connect(
        asked["file"],
        read_only=True,
        config={
            "threads": "1",
            "memory_limit": f"{asked['memory_mb']}MB",
            "autoinstall_known_extensions": "false",
            "autoload_known_extensions": "false",
            "python_enable_replacements": "false",
            "temp_directory": "",
        },
    )
    con.execute("SET TimeZone = 'UTC'; SET enable_progress_bar = false; SET enable_external_access = false")
    con.execute("SET lock_configuration = true")
    return con


def _asked(con: duckdb.DuckDBPyConnection, asked: Question) -> Mapping[str, Any]:
    timer = threading.Timer(asked["limit_s"], con.interrupt)
    timer.daemon = True
    timer.start()
    try:
        con.execute(asked["sql"])
        columns = [mended(column[0]) for column in con.description or []]
        return {"outcome": "found", "columns": columns, "rows": _rows(con, asked["rows"])}
    finally:
        timer.cancel()


def _rows(con: duckdb.DuckDBPyConnection, most: int) -> Sequence[Sequence[Any]]:
    rows: list[Sequence[Any]] = []
    size = 0
    while len(rows) < most and size < ANSWER_LIMIT and (found := con.fetchone()) is not None:
        row = [_plain(value) for value in found]
        size += sum(len(value) if isinstance(value, str) else 8 for value in row)
        rows.append(row)
    return rows


def _plain(value: Any) -> Any:
    """A value as JSON can hold it."""
    if value is None or isinstance(value, bool | float) or (isinstance(value, int) and abs(value) < 1 << 63):
        return value
    return clipped(mended(value if isinstance(value, str) else str(value)), CELL_LIMIT)


if __name__ == "__main__":
    main()
