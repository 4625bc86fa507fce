"""SQL that people type: one SELECT over the views, read-only, with a time limit."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import duckdb

from dvergr_nb.errors import QueryFailed, QueryTimedOut
from dvergr_nb.records.text import mended
from dvergr_nb.store.connect import FATAL, first_line
from dvergr_nb.store.judge import Judge
from dvergr_nb.store.transaction import rolled_back

if TYPE_CHECKING:
    import pandas as pd

LIMIT_S: Final = 30.0
"""How long a query may take unless told otherwise."""
JUDGE: Final = Judge(
    tables=frozenset({"runs", "messages", "activity", "members", "attention", "ledger", "profiles"}),
    # What makes rows out of a person's own files.
    functions=frozenset(
        """glob read_csv read_csv_auto sniff_csv read_parquet parquet_scan parquet_schema parquet_metadata read_json
        read_json_auto read_json_objects read_ndjson read_ndjson_auto read_text read_blob""".split()
    ),
)
Parameters = Sequence[Any] | Mapping[str, Any] | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """What a query gave, whole."""

    columns: tuple[str, ...]
    types: tuple[str, ...]
    """DuckDB's names of the columns' types."""
    rows: tuple[tuple[Any, ...], ...]

    def df(self) -> pd.DataFrame:
        """As a DataFrame; times are aware, in UTC."""
        import pandas as pd

        frame = pd.DataFrame.from_records(list(self.rows), columns=list(self.columns))
        for place, kind in enumerate(self.types):
            if kind.startswith("TIMESTAMP"):
                frame.isetitem(place, pd.to_datetime(frame.iloc[:, place], utc="TIME ZONE" in kind).array)
        return frame


def asked(con: duckdb.DuckDBPyConnection, query: str, parameters: Parameters, limit_s: float) -> Result:
    """Judges and runs a query. Raises `QueryRefused`, `QueryFailed` or `QueryTimedOut`."""
    query = mended(query)
    try:
        JUDGE.check(con, query)
        return _run(con, query, parameters, limit_s)
    except (*FATAL, duckdb.InterruptException):
        raise
    except duckdb.Error as problem:
        raise QueryFailed(first_line(problem)) from problem


def _run(con: duckdb.DuckDBPyConnection, query: str, parameters: Parameters, limit_s: float) -> Result:
    is_late = threading.Event()

    def stop() -> None:
        is_late.set()
        con.interrupt()

    timer = threading.Timer(limit_s, stop)
    timer.daemon = True
    con.execute("BEGIN TRANSACTION READ ONLY")
    timer.start()
    try:
        con.execute(query, parameters)
        described = con.description or []
        rows = con.fetchall()
    except duckdb.InterruptException as problem:
        if not is_late.is_set():
            raise
        raise QueryTimedOut(limit_s) from problem
    finally:
        timer.cancel()
        rolled_back(con)
    return Result(
        columns=tuple(column[0] for column in described), types=tuple(str(column[1]) for column in described), rows=tuple(rows)
    )
