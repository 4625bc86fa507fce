"""Putting rows into a table, in the way that is fastest for their number."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import duckdb

Row = Sequence[Any]


@dataclass(frozen=True, slots=True)
class Table:
    """A base table and all its columns, in their order in the schema, which is the order of the rows that are given."""

    name: str
    columns: tuple[str, ...]
    insert: str = field(init=False)
    """The statement for one row."""

    def __post_init__(self) -> None:
        marks = ", ".join("?" for _ in self.columns)
        object.__setattr__(self, "insert", f"INSERT INTO {self.name} VALUES ({marks})")  # noqa: S608 - names of our own tables


class Pen:
    """Inserts through one connection, within the transaction that is open there.

    One row is a plain INSERT. More go through an appender that is kept: it binds no statement anew, so ten rows cost little
    more than one.
    """

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self.con = con
        self._appenders: dict[str, duckdb.Appender] = {}

    def insert(self, table: Table, rows: Sequence[Row]) -> None:
        """Inserts the rows. Raises DuckDB's error where one is refused; the transaction is then to be rolled back."""
        if len(rows) == 1:
            self.con.execute(table.insert, rows[0])
        elif rows:
            self._append(table, rows)

    def _append(self, table: Table, rows: Sequence[Row]) -> None:
        appender = self._appenders.get(table.name)
        if appender is None:
            appender = self._appenders[table.name] = self.con.appender(table.name)
        try:
            appender.append_rows(rows)
            appender.flush()
        except BaseException:
            # What is left in its buffer would come out with the next batch.
            del self._appenders[table.name]
            appender.clear()
            raise

    def drop(self) -> None:
        """Lets the appenders go, so that the connection can be closed."""
        self._appenders.clear()
