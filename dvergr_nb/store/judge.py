"""Whether a statement is one SELECT over tables that are known, and nothing else.

The parser judges, not a pattern: DuckDB's own tree of the statement is walked, and what is not known to be harmless is refused.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import duckdb

from dvergr_nb.errors import QueryRefused

FROM_NOTHING: Final = frozenset({"range", "generate_series", "unnest", "repeat", "repeat_row", "json_each", "json_tree"})
"""Table functions that make rows without a source."""
NODES: Final = frozenset({"SELECT_NODE", "SET_OPERATION_NODE", "RECURSIVE_CTE_NODE", "CTE_NODE"})
SOURCES: Final = frozenset("BASE_TABLE TABLE_FUNCTION SHOW_REF JOIN SUBQUERY EMPTY EXPRESSION_LIST PIVOT COLUMN_DATA".split())
ACTING: Final = frozenset({"nextval", "setseed", "write_log", "getvariable"})
"""Functions that do something, or that look at what is not a person's."""

_TREE = "SELECT json_serialize_sql(?)"


@dataclass(frozen=True, slots=True, kw_only=True)
class Judge:
    """What may be read."""

    tables: frozenset[str]
    """Their names, in small letters."""
    functions: frozenset[str] = frozenset()
    """Table functions besides those that make rows out of nothing."""

    def check(self, con: duckdb.DuckDBPyConnection, query: str) -> None:
        """Raises `QueryRefused`, or DuckDB's error where it is no SQL."""
        statements = con.extract_statements(query)
        if len(statements) != 1:
            raise self._refused(f"{len(statements)} statements" if statements else "nothing to run")
        kind = _kind(statements[0])
        if kind == duckdb.StatementType.SELECT.name:
            self._check_select(con, query)
        elif kind == duckdb.StatementType.EXPLAIN.name:
            self._check_explain(con, query)
        else:
            raise self._refused(f"a statement of type {kind}")

    def _check_explain(self, con: duckdb.DuckDBPyConnection, query: str) -> None:
        """What follows EXPLAIN must be a SELECT by itself: then there is no ANALYZE, which executes."""
        words = [at for at, kind in duckdb.tokenize(query) if kind != duckdb.token_type.comment]
        explained = query.encode()[words[1] :].decode()
        tree = _tree(con, explained)
        if tree.get("error"):
            raise self._refused("EXPLAIN of something else than a SELECT, or with options")
        self._check_tree(tree)

    def _check_select(self, con: duckdb.DuckDBPyConnection, query: str) -> None:
        tree = _tree(con, query)
        if tree.get("error"):
            raise self._refused("something that DuckDB cannot show as one SELECT")
        self._check_tree(tree)

    def _check_tree(self, tree: Mapping[str, Any]) -> None:
        nodes = list(_nodes(tree))
        ctes = {entry["key"] for node in nodes for entry in node.get("cte_map", {}).get("map", ())}
        for node in nodes:
            kind = str(node.get("type", ""))
            if kind.endswith("_NODE") and kind not in NODES:
                raise self._refused("a part that changes data")
            if "sample" in node and "alias" in node and kind not in SOURCES:
                raise self._refused(f"rows from {kind}")
            self._check_source(kind, node, ctes)

    def _check_source(self, kind: str, node: Mapping[str, Any], ctes: set[str]) -> None:
        match kind:
            case "BASE_TABLE":
                self._check_table(node, ctes)
            case "TABLE_FUNCTION":
                name = str(node["function"]["function_name"]).lower()
                if name not in self.functions | FROM_NOTHING:
                    raise self._refused(f"the table function {name}")
            case "SHOW_REF" if node.get("query") is None and node.get("table_name") != '"tables"':
                raise self._refused(f"SHOW {node.get('table_name')}")
            case "FUNCTION" if str(node.get("function_name")).lower() in ACTING:
                raise self._refused(f"the function {node['function_name']}")

    def _check_table(self, node: Mapping[str, Any], ctes: set[str]) -> None:
        catalog, schema, name = node["catalog_name"], node["schema_name"], node["table_name"]
        is_view = not catalog and schema.lower() in {"", "main"} and name.lower() in self.tables
        if not is_view and (catalog or schema or name not in ctes):
            raise self._refused(f"the table {'.'.join(part for part in (catalog, schema, name) if part)!r}")

    def _refused(self, what: str) -> QueryRefused:
        names = ", ".join(sorted(self.tables)) or "nothing"
        return QueryRefused(f"{what} may not stand here; allowed is one SELECT, or EXPLAIN of one, over {names}")


def _kind(statement: Any) -> str:
    try:
        return str(statement.type.name)
    except ValueError:  # DuckDB's Python has no word for its newer ones
        return "UNKNOWN"


def _tree(con: duckdb.DuckDBPyConnection, query: str) -> Mapping[str, Any]:
    tree: Mapping[str, Any] = json.loads(con.execute(_TREE, [query]).fetchall()[0][0])
    return tree


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
