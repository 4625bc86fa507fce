"""The writer outlives whatever a unit holds and whoever waits for it."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

from dvergr_nb.errors import StoreError, StoreFailed
from dvergr_nb.records.operation import Posted
from dvergr_nb.records.pause import Envelope
from dvergr_nb.records.run import RunStatus
from dvergr_nb.store.store import Store
from tests.store.making import admit, done, end, held, opened, outcome, pause, said, together


def test_a_unit_whose_value_has_no_form_is_refused_and_its_neighbours_are_stored(store: Store) -> None:
    nested: dict[str, Any] = {}
    for _ in range(100_000):
        nested = {"a": nested}
    working = admit()
    done(store, working)
    unwritable = dataclasses.replace(pause(working.run), envelopes=(Envelope(id="e", kind="approval", body=nested),))
    refused, said_too = together(store, [unwritable, said(working.run)])
    assert isinstance(refused, StoreFailed)
    assert isinstance(said_too, Posted)
    done(store, end(working.run))


def test_who_gives_up_waiting_takes_nothing_back(store: Store) -> None:
    working = admit()
    done(store, working)
    with held(store):
        waited_for = store.submit(said(working.run))
        assert not waited_for.cancel()
    assert isinstance(outcome(waited_for), Posted)


def test_a_run_whose_report_came_while_the_store_could_not_be_opened_again_ends_record_lost(tmp_path: Path) -> None:
    path = tmp_path / "a.duckdb"
    store = opened(path)
    working = admit()
    done(store, working)
    aside = path.rename(tmp_path / "aside")
    store._writer.errand(lambda _: store._writer._let_go()).result(30)
    path.mkdir()
    assert isinstance(outcome(store.submit(said(working.run))), StoreError)
    path.rmdir()
    aside.rename(path)
    ended = done(store, end(working.run)).run
    assert (ended.status, ended.reason) == (RunStatus.FAILED, "record-lost")
    store.close()
