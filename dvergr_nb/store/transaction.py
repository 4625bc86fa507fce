"""The one way to commit: all of it, or nothing and the error."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import duckdb


@contextlib.contextmanager
def transaction(con: duckdb.DuckDBPyConnection) -> Iterator[None]:
    """Commits at the end of the block. Any exception rolls back and is raised again.

    After an error DuckDB answers a COMMIT with success and rolls back, so a COMMIT may never follow an exception.
    """
    con.execute("BEGIN TRANSACTION")
    try:
        yield
        con.execute("COMMIT")
    except BaseException:
        rolled_back(con)
        raise


def rolled_back(con: duckdb.DuckDBPyConnection) -> None:
    """Ends an open transaction without effect. A failed COMMIT has ended it already, and a dead instance has none."""
    with contextlib.suppress(duckdb.Error):
        con.execute("ROLLBACK")
