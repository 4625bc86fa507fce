"""Reading: hostile text, pieces of ids, frames, and reads that meet a reopening."""

from __future__ import annotations

import builtins
import threading
import time
from pathlib import Path
from typing import Any

import duckdb
import pandas as pd
import pytest

from dvergr_nb.errors import BadFilter, DvergrError
from dvergr_nb.ids import MessageId, RunId
from dvergr_nb.records.operation import Admitted, Post
from dvergr_nb.records.query import MessageFilter, RunFilter
from dvergr_nb.records.run import RunStatus
from dvergr_nb.store import frames
from dvergr_nb.store.store import Store
from tests.store.making import admit, done, end, held, message, message_id, opened, post, reply, run_id, said, together

MARKUP = "<script>alert(1)</script> **x** $HOME {x} 🔧\r\n\t"
HOSTILE = [
    pytest.param("", "", id="empty"),
    pytest.param("x" * 1_000_000, "x" * 1_000_000, id="1 MB"),
    pytest.param("a\0b", "a\ufffdb", id="NUL"),
    pytest.param("a\ud800b", "a\ufffdb", id="lone surrogate"),
    pytest.param("'); DROP TABLE dv.runs; --", "'); DROP TABLE dv.runs; --", id="SQL"),
    pytest.param(
        "<script>alert(1)</script> **x** $HOME {x} 🔧\r\n\t", "<script>alert(1)</script> **x** $HOME {x} 🔧\r\n\t", id="markup"
    ),
]


@pytest.mark.parametrize(("text", "kept"), HOSTILE)
def test_hostile_text_is_kept_as_text(store: Store, text: str, kept: str) -> None:
    unit = admit(message(content=text))
    neighbour = message(content="fine")
    failing = end(unit.run, RunStatus.FAILED, reason="error", error=text)
    together(store, [unit, Post(message=neighbour), said(unit.run, text), failing])
    assert [each.content for each in store.messages(MessageFilter())] == [kept, "fine", kept]
    failed = store.run(unit.run.id)
    assert failed is not None
    assert failed.error == (kept[:1999] + "…" if len(kept) > 2000 else kept)


@pytest.mark.parametrize("name", ["'; DROP TABLE dv.rooms; --", "ä \u202e ", "%_\\", "a" * 200])
def test_hostile_names_are_names(store: Store, name: str) -> None:
    unit = admit(message(room=name), actor=name, tags=(name[:64],), key=name)
    done(store, unit)
    done(store, admit(message(room="other")))
    for wanted in (RunFilter(room=name), RunFilter(actor=name), RunFilter(tag=name[:64])):
        assert [each.id for each in store.runs(wanted)] == [unit.run.id]
    assert store.sql("SELECT count(*) FROM runs").rows == ((2,),)


@pytest.mark.parametrize("piece", ["' OR 1=1 --", "%", "", "x" * 10_000, "\0", "\ud800"])
def test_pieces_that_are_no_id_find_nothing_and_break_nothing(store: Store, piece: str) -> None:
    unit = admit()
    done(store, unit)
    if piece:
        assert store.ids_like(piece) == []
    assert set(store.nearest_ids(piece)) <= {unit.run.id}
    assert store.run(RunId(piece)) is None
    assert store.message(MessageId(piece)) is None
    assert [*store.envelopes(RunId(piece)), *store.causes(RunId(piece))] == []
    assert store.runs(RunFilter(tree=RunId(piece))) == []
    assert store.messages(MessageFilter(thread=piece)) == []


def test_a_run_is_found_by_either_end_of_its_id_newest_first(store: Store) -> None:
    units = [admit() for _ in range(25)]
    together(store, units)
    last = units[-1].run.id
    assert store.ids_like(last) == store.ids_like(last[-12:].upper()) == [last]
    assert len(store.ids_like(last[:8])) == 20
    assert store.ids_like(last[:8])[0] == last
    assert store.nearest_ids(last[:-2] + "zz")[0] == last
    assert store.nearest_ids(last[-8:-1] + "z")[0] == last
    assert len(store.nearest_ids("what")) == 3


def test_messages_come_oldest_first_and_a_limit_keeps_the_last(store: Store) -> None:
    root = message()
    replies = [reply(root) for _ in range(5)]
    post(store, root, *replies, message(), message(room="other"))
    assert [each.id for each in store.messages(MessageFilter(thread=root.id, limit=2))] == [each.id for each in replies[-2:]]
    later = store.messages(MessageFilter(since=replies[3].created_at, room="main"))
    assert later[0].id == replies[4].id


def test_a_read_sees_what_was_submitted_before_it(store: Store) -> None:
    for _ in range(20):
        unit = admit()
        store.submit(unit)
        assert store.run(unit.run.id) == unit.run


def test_a_read_waits_two_seconds_for_a_writer_that_hangs_and_no_longer(store: Store) -> None:
    with held(store):
        unit = admit()
        future = store.submit(unit)
        assert store.backlog() == 1
        assert store.run(unit.run.id) is None
        assert not store.flush(0.05)
    assert isinstance(future.result(30), Admitted)
    assert store.backlog() == 0


def test_reads_go_on_while_the_store_is_opened_again(tmp_store_path: Path) -> None:
    store = opened(tmp_store_path)
    together(store, [admit() for _ in range(50)])
    problems: list[DvergrError] = []
    counts: list[int] = []
    is_over = threading.Event()

    def read() -> None:
        while not is_over.is_set():
            try:
                counts.append(len(store.runs(RunFilter())))
            except DvergrError as problem:
                problems.append(problem)

    readers = [threading.Thread(target=read) for _ in range(2)]
    for reader in readers:
        reader.start()
    for _ in range(5):
        store.compact()
    is_over.set()
    for reader in readers:
        reader.join()
    assert not problems
    assert set(counts) == {50}
    store.close()


def test_a_read_that_kills_the_instance_is_asked_again(tmp_store_path: Path) -> None:
    file_store = opened(tmp_store_path)
    unit = admit()
    done(file_store, unit)
    asked: list[int] = []

    def ask(con: duckdb.DuckDBPyConnection) -> list[Any]:
        asked.append(1)
        if len(asked) == 1:
            raise duckdb.FatalException("FATAL Error: injected")
        return con.execute("SELECT count(*) FROM runs").fetchall()

    assert file_store.read(ask) == [(1,)]
    assert file_store.stats().reopened == 1
    assert done(file_store, end(unit.run)).run.revision == 1
    file_store.close()


def test_frames_have_their_documented_columns_and_dtypes_also_when_empty(store: Store) -> None:
    empty = {name: getattr(frames, name)(store).dtypes for name in ("runs", "messages", "activity", "ledger")}
    unit = admit(tags=("x",), label="fit", kind="workflow")
    together(store, [unit, said(unit.run)])
    for name, dtypes in empty.items():
        frame = getattr(frames, name)(store)
        assert list(frame.columns) == list(dtypes.index)
        assert len(frame) == {"messages": 2, "ledger": 0}.get(name, 1)
    frame = frames.runs(store)
    kinds = {column: str(frame[column].dtype) for column in frame.columns}
    assert kinds["id"] == kinds["trigger"] == kinds["parent"] == kinds["error"] == "str"
    assert kinds["started_at"] == "datetime64[us, UTC]"
    assert kinds["status"] == kinds["kind"] == "category"
    assert kinds["took"] == "float64"
    assert list(frame["status"].cat.categories) == ["running", "waiting", "completed", "failed", "cancelled"]
    assert pd.isna(frame["parent"][0])


def test_frames_take_the_filters_of_listings_and_combine_them(store: Store) -> None:
    first, second = admit(actor="ann"), admit(message(room="lab"), actor="bob", tags=("x",))
    together(store, [first, second, said(first.run), said(second.run), Post(message=message())])
    child = admit(parent=first.run.id)
    done(store, child)
    assert list(frames.runs(store, actor="bob", tag="x")["id"]) == [second.run.id]
    assert list(frames.runs(store, tree=first.run.id)["id"]) == [first.run.id, child.run.id]
    assert len(frames.activity(store, run=first.run.id, thread=first.run.trigger)) == 1
    assert len(frames.activity(store, run=first.run.id, thread=second.run.trigger)) == 0
    assert len(frames.messages(store, room="lab", limit=1)) == 1
    wrongs: list[tuple[Any, dict[str, Any]]] = [
        (frames.runs, {"colour": 1}),
        (frames.messages, {"actor": "x"}),
        (frames.runs, {"limit": 0}),
    ]
    for frame, wrong in wrongs:
        with pytest.raises(BadFilter):
            frame(store, **wrong)


def test_frames_come_as_arrow_too(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    unit = admit()
    together(store, [unit, said(unit.run)])
    for frame in (frames.runs, frames.messages, frames.activity, frames.ledger):
        table = frame(store, arrow=True)
        assert table.column_names == list(frame(store).columns)
    assert str(frames.runs(store, arrow=True).schema.field("status").type).startswith("dictionary")
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name == "pyarrow":
            raise ImportError(name)
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(DvergrError, match="pip install pyarrow"):
        frames.runs(store, arrow=True)


def test_unknown_ids_have_nothing(store: Store) -> None:
    assert store.run(run_id()) is None
    assert store.message(message_id()) is None
    assert store.stats().path == ":memory:"


def test_the_nearest_ids_of_a_text_of_any_length_are_found_at_once(store: Store) -> None:
    for _ in range(100):
        done(store, admit())
    began = time.monotonic()
    assert len(store.nearest_ids("0a" * 500_000)) == 3
    assert time.monotonic() - began < 10  # it would take minutes


@pytest.mark.parametrize("name", ["room", "actor", "kind", "tag", "tree"])
def test_a_filter_that_is_no_text_is_named(name: str) -> None:
    with pytest.raises(BadFilter, match=f"{name} must be text, not 5"):
        RunFilter(**{name: 5})  # type: ignore[arg-type]  # what is refused


def test_both_ends_of_a_long_run_are_read_and_what_lies_between_is_counted(store: Store) -> None:
    run = done(store, admit()).run
    for n in range(50):
        done(store, said(run, f"report {n}"))
    found, between = store.both_ends(run.id, 3, 2)
    assert [message.content for message in found] == ["report 0", "report 1", "report 2", "report 48", "report 49"]
    assert between == 45
    assert store.both_ends(run.id, 30, 30)[1] == 0
