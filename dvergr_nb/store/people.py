"""SQL that people type: one SELECT over the views, read-only, with a time limit.

The parser judges, not a pattern: DuckDB's own tree of the statement is walked, and what is not known to be harmless is refused.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import duckdb

from dvergr_nb.errors import QueryFailed, QueryRefused, QueryTimedOut
from dvergr_nb.records.text import mended
from dvergr_nb.store.connect import FATAL, first_line
from dvergr_nb.store.transaction import rolled_back

if TYPE_CHECKING:
    import pandas as pd

LIMIT_S: Final = 30.0
"""How long a query may take unless told otherwise."""
VIEWS: Final = frozenset({"runs", "messages", "activity", "members", "attention", "ledger", "profiles"})
TABLE_FUNCTIONS: Final = frozenset(
    """range generate_series unnest repeat repeat_row json_each json_tree glob read_csv read_csv_auto sniff_csv read_parquet
    parquet_scan parquet_schema parquet_metadata read_json read_json_auto read_json_objects read_ndjson read_ndjson_auto
    read_text read_blob""".split()
)
"""What makes rows out of nothing or of a person's own files."""
NODES: Final = frozenset({"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"})
SOURCES: Final = frozenset("BASE_TABLE TABLE_FUNCTION SHOW_REF JOIN SUBQUERY EMPTY EXPRESSION_LIST PIVOT COLUMN_DATA".split())
ACTING: Final = frozenset({"nextval", "setseed", "write_log", "getvariable"})
"""Functions that do something, or that look at what is not a person's."""

_TREE = "SELECT json_serialize_sql(?)"
_WHAT_IS_ALLOWED: Final = f"allowed is one SELECT, or EXPLAIN of one, over the views {', '.join(sorted(VIEWS))}"

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
        _check(con, query)
        return _run(con, query, parameters, limit_s)
    except (*FATAL, duckdb.InterruptException):
        raise
    except duckdb.Error as problem:
        raise QueryFailed(first_line(problem)) from problem


def _check(con: duckdb.DuckDBPyConnection, query: str) -> None:
    statements = con.extract_statements(query)
    if len(statements) != 1:
        raise _refused(f"{len(statements)} statements" if statements else "nothing to run")
    kind = _kind(statements[0])
    if kind == duckdb.StatementType.SELECT.name:
        _check_select(con, query)
    elif kind == duckdb.StatementType.EXPLAIN.name:
        _check_explain(con, query)
    else:
        raise _refused(f"a statement of type {kind}")


def _kind(statement: Any) -> str:
    try:
        return str(statement.type.name)
    except ValueError:  # DuckDB's Python has no word for its newer ones
        return "UNKNOWN"


def _check_explain(con: duckdb.DuckDBPyConnection, query: str) -> None:
    """What follows EXPLAIN must be a SELECT by itself: then there is no ANALYZE, which executes."""
    words = [at for at, kind in duckdb.tokenize(query) if kind != duckdb.token_type.comment]
    explained = query.encode()[words[1] :].decode()
    tree = _tree(con, explained)
    if tree.get("error"):
        raise _refused("EXPLAIN of something else than a SELECT, or with options")
    _check_tree(tree)


def _check_select(con: duckdb.DuckDBPyConnection, query: str) -> None:
    tree = _tree(con, query)
    if tree.get("error"):
        raise _refused("something that DuckDB cannot show as one SELECT")
    _check_tree(tree)


def _tree(con: duckdb.DuckDBPyConnection, query: str) -> Mapping[str, Any]:
    tree: Mapping[str, Any] = json.loads(con.execute(_TREE, [query]).fetchall()[0][0])
    return tree


def _check_tree(tree: Mapping[str, Any]) -> None:
    nodes = list(_nodes(tree))
    ctes = {entry["key"] for node in nodes for entry in node.get("cte_map", {}).get("map", ())}
    for node in nodes:
        kind = str(node.get("type", ""))
        if kind.endswith("_NODE") and kind not in NODES:
            raise _refused("a part that changes data")
        if "sample" in node and "alias" in node and kind not in SOURCES:
            raise _refused(f"rows from {kind}")
        _check_source(kind, node, ctes)


def _check_source(kind: str, node: Mapping[str, Any], ctes: set[str]) -> None:
    match kind:
        case "BASE_TABLE":
            _check_table(node, ctes)
        case "TABLE_FUNCTION":
            name = str(node["function"]["function_name"]).lower()
            if name not in TABLE_FUNCTIONS:
                raise _refused(f"the table function {name}")
        case "SHOW_REF" if node.get("query") is None and node.get("table_name") != '"tables"':
            raise _refused(f"SHOW {node.get('table_name')}")
        case "FUNCTION" if str(node.get("function_name")).lower() in ACTING:
            raise _refused(f"the function {node['function_name']}")


def _check_table(node: Mapping[str, Any], ctes: set[str]) -> None:
    catalog, schema, name = node["catalog_name"], node["schema_name"], node["table_name"]
    is_view = not catalog and schema.lower() in {"", "main"} and name.lower() in VIEWS
    if not is_view and (catalog or schema or name not in ctes):
        raise _refused(f"the table {'.'.join(part for part in (catalog, schema, name) if part)!r}")


def _nodes(tree: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Every object of the tree, without recursion: a query may be nested deeper than Python's stack."""
    waiting: list[Any] = [tree]
    while waiting:
        here = waiting.pop()
        if isinstance(here, Mapping):
            yield here
            waiting.extend(here.values())
        elif isinstance(here, list):
            waiting.extend(here)


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


def _refused(what: str) -> QueryRefused:
    return QueryRefused(f"{what} may not stand here; {_WHAT_IS_ALLOWED}")
