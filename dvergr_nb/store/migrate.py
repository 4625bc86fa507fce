"""Bringing a store to the schema of this version: numbered files, each applied once."""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from importlib import resources
from typing import NamedTuple

import duckdb

from dvergr_nb.errors import StoreTooNew
from dvergr_nb.store.transaction import transaction

_EXISTS = "SELECT count(*) FROM duckdb_tables() WHERE schema_name = 'dv' AND table_name = 'schema_version'"
_FOUND = "SELECT coalesce(max(version), 0) FROM dv.schema_version"
_RECORD = "INSERT INTO dv.schema_version (version, applied_at, name, duckdb) VALUES (?, ?, ?, ?)"


class Step(NamedTuple):
    """One numbered file."""

    version: int
    name: str
    sql: str


def steps() -> Iterator[Step]:
    """All steps, in order."""
    folder = resources.files("dvergr_nb.store") / "schema"
    for file in sorted(folder.iterdir(), key=lambda each: each.name):
        number, _, name = file.name.partition("_")
        if number.isdigit() and name.endswith(".sql"):
            yield Step(int(number), name.removesuffix(".sql"), file.read_text(encoding="utf-8"))


def views() -> str:
    """The statements that make all views."""
    return (resources.files("dvergr_nb.store") / "schema" / "views.sql").read_text(encoding="utf-8")


def found_version(con: duckdb.DuckDBPyConnection) -> int:
    """The schema that the store has; 0 for an empty one."""
    exists = con.execute(_EXISTS).fetchall()[0][0]
    return con.execute(_FOUND).fetchall()[0][0] if exists else 0


def migrate(con: duckdb.DuckDBPyConnection, path: str, now: dt.datetime) -> int:
    """Applies what is missing, each step with its record in one transaction, the last with all views; how many were applied.

    Raises `StoreTooNew`, having changed nothing, where a newer version was here.
    """
    known = list(steps())
    found = found_version(con)
    if found > known[-1].version:
        raise StoreTooNew(path, found, known[-1].version)
    missing = [step for step in known if step.version > found]
    for step in missing:
        with transaction(con):
            con.execute(step.sql)
            if step is missing[-1]:
                con.execute(views())
            con.execute(_RECORD, [step.version, now, step.name, duckdb.__version__])
    if missing:
        # Several bugs of WAL replay are about schema changes, so none is left in there.
        con.execute("CHECKPOINT")
    return len(missing)
