"""SQL that agents write: one SELECT over copies of frames, in a process of its own that can do nothing else.

A query of a model may be made to do harm: some functions of DuckDB make gigabytes out of a few letters, and neither its memory
limit nor an interrupt reaches them. So it runs where the system sets the limits, and where it can be killed.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import duckdb

from dvergr_nb.errors import BadInput, QueryError, QueryFailed, QueryRefused, QueryTimedOut, StoreFailed
from dvergr_nb.records.text import mended, shown
from dvergr_nb.store.apart import Question
from dvergr_nb.store.connect import first_line

if TYPE_CHECKING:
    import pandas as pd

ROWS: Final = 1_000
"""At most so many rows are given."""
LIMIT_S: Final = 10.0
"""How long a query may take unless told otherwise."""
MEMORY_MB: Final = 512
"""What a query may use."""
SQL_LIMIT: Final = 20_000
"""Longest query, in characters."""
GRACE_S: Final = 5.0
"""How much longer its process lives, which must start and be heard."""
PASSED_ON: Final = ("PATH", "HOME", "LANG", "LC_ALL", "LD_LIBRARY_PATH", "PYTHONHOME", "SYSTEMROOT", "TMPDIR", "VIRTUAL_ENV")
"""All that its process sees of the environment."""


class Found(NamedTuple):
    """What a query gave. Numbers, texts and truth values are themselves, all else is text as DuckDB writes it."""

    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]


def query(frames: Mapping[str, pd.DataFrame], sql: str, *, limit_s: float = LIMIT_S, rows: int = ROWS) -> Found:
    """Runs a SELECT over the frames; at most `rows` rows. From a worker thread.

    Raises `BadInput`, `QueryRefused`, `QueryFailed` or `QueryTimedOut`.
    """
    _check(frames, sql, limit_s, rows)
    with tempfile.TemporaryDirectory(prefix="dvergr-query-", ignore_cleanup_errors=True) as folder:
        file = Path(folder) / "frames.duckdb"
        _export(frames, file)
        asked = Question(
            file=str(file),
            tables=[name.lower() for name in frames],
            sql=mended(sql),
            limit_s=limit_s,
            rows=rows,
            memory_mb=MEMORY_MB,
        )
        return _found(_answer(asked, folder), limit_s)


def _check(frames: Mapping[str, pd.DataFrame], sql: object, limit_s: object, rows: object) -> None:
    if not isinstance(sql, str) or not sql.strip() or len(sql) > SQL_LIMIT:
        raise BadInput(f"a query is a SELECT of at most {SQL_LIMIT:,} characters, not {shown(sql)}")
    is_number = isinstance(limit_s, int | float) and not isinstance(limit_s, bool)
    if not is_number or not math.isfinite(limit_s) or limit_s <= 0:  # type: ignore[arg-type, operator]  # checked first
        raise BadInput(f"limit_s is a number of seconds above 0, not {shown(limit_s)}")
    if not isinstance(rows, int) or isinstance(rows, bool) or not 0 < rows <= ROWS:
        raise BadInput(f"rows is a whole number from 1 to {ROWS:,}, not {shown(rows)}")
    if len({name.lower() for name in frames}) != len(frames):
        raise BadInput(f"frames need names of their own, also in small letters, not {shown(list(frames))}")


def _export(frames: Mapping[str, pd.DataFrame], file: Path) -> None:
    """Writes the frames as tables. Raises `BadInput` for one that DuckDB cannot hold, `StoreFailed` where the disk is full."""
    try:
        with duckdb.connect(file, config={"threads": "1", "python_enable_replacements": "false"}) as con:
            con.execute("SET TimeZone = 'UTC'; SET enable_progress_bar = false")
            for name, frame in frames.items():
                con.from_df(frame).create(name)
    except duckdb.IOException as problem:
        raise StoreFailed(str(file), f"the frames of a query could not be written: {first_line(problem)}") from problem
    except duckdb.Error as problem:
        raise BadInput(f"a frame cannot be queried: {first_line(problem)}") from problem


def _answer(asked: Question, folder: str) -> Mapping[str, Any]:
    """What the process says. Raises `QueryTimedOut` or `QueryFailed` where it says nothing."""
    environment = {name: os.environ[name] for name in PASSED_ON if name in os.environ}
    environment["PYTHONPATH"] = os.pathsep.join(path for path in sys.path if path)
    command = [sys.executable, "-P", "-m", "dvergr_nb.store.apart"]
    with subprocess.Popen(  # noqa: S603 - our own module; the query goes through its input
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        cwd=folder,
        env=environment,
        start_new_session=True,
    ) as process:
        try:
            said, _ = process.communicate(json.dumps(asked).encode(), timeout=asked["limit_s"] + GRACE_S)
        except subprocess.TimeoutExpired:
            raise QueryTimedOut(asked["limit_s"]) from None
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
    try:
        answer: Mapping[str, Any] = json.loads(said)
    except ValueError:
        raise QueryFailed("the query was stopped: it needed more memory than it may use; narrow it") from None
    return answer


def _found(answer: Mapping[str, Any], limit_s: float) -> Found:
    text = str(answer.get("text", ""))
    match answer["outcome"]:
        case "found":
            return Found(tuple(answer["columns"]), _rows(answer["rows"]))
        case "refused":
            raise QueryRefused(text)
        case "late":
            raise QueryTimedOut(limit_s)
        case "failed":
            raise QueryFailed(text)
        case other:
            raise QueryError(f"the process of a query said {shown(other)}")


def _rows(rows: Sequence[Sequence[Any]]) -> tuple[tuple[Any, ...], ...]:
    return tuple(map(tuple, rows))
