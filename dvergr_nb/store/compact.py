"""A store without gaps: what was deleted or replaced is left behind."""

from __future__ import annotations

from pathlib import Path

import duckdb


def compacted(file: Path) -> None:
    """Copies the store and puts the copy in its place. To be called while the file is closed and its lock is held.

    Nothing is changed where the copy fails: the old file is replaced in one step, when the new one is whole.
    """
    fresh = file.with_name(file.name + ".new")
    fresh.unlink(missing_ok=True)
    with duckdb.connect(":memory:") as con:
        con.execute("ATTACH ? AS old (READ_ONLY)", [str(file)])
        con.execute("ATTACH ? AS fresh", [str(fresh)])
        con.execute("COPY FROM DATABASE old TO fresh")
        con.execute("DETACH fresh")
    fresh.rename(file)
