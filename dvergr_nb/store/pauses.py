"""Statements about the envelopes of paused Runs."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from typing import Any

import duckdb

from dvergr_nb.ids import RunId
from dvergr_nb.records.pause import Envelope
from dvergr_nb.store.table import Row, Table

ENVELOPES = Table("dv.envelopes", ("run_id", "tenant_id", "place", "id", "kind", "body"))

_TAKE = "DELETE FROM dv.envelopes WHERE run_id IN (SELECT unnest(CAST(? AS UUID[])))"


def rows(run_id: RunId, tenant_id: str, envelopes: Sequence[Envelope]) -> Iterator[Row]:
    """As they are stored, in their order."""
    for place, envelope in enumerate(envelopes):
        yield (run_id, tenant_id, place, envelope.id, envelope.kind, json.dumps(dict(envelope.body), ensure_ascii=False))


def from_row(found: Sequence[Any]) -> Envelope:
    """The envelope of its id, kind and body."""
    envelope_id, kind, body = found
    return Envelope(id=envelope_id, kind=kind, body=json.loads(body))


def taken(con: duckdb.DuckDBPyConnection, run_ids: Sequence[RunId]) -> None:
    """Takes the envelopes of these Runs away."""
    con.execute(_TAKE, [list(run_ids)])
