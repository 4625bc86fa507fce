"""Statements about which Runs a Run has seen end."""

from __future__ import annotations

from collections.abc import Sequence

import duckdb

from dvergr_nb.ids import RunId
from dvergr_nb.store.table import Table

CAUSES = Table("dv.run_causes", ("run_id", "cause_id", "tenant_id", "noted_at"))

_OF = "SELECT CAST(cause_id AS VARCHAR) FROM dv.run_causes WHERE run_id = CAST(? AS UUID) ORDER BY noted_at, cause_id"


def of(con: duckdb.DuckDBPyConnection, run_id: RunId) -> Sequence[RunId]:
    """The causes that are stored, in the order they were noted."""
    return [found[0] for found in con.execute(_OF, [run_id]).fetchall()]
