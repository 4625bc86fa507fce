"""Opening a store: what is refused and left alone, what is reconciled, who holds it."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import duckdb
import pytest

from dvergr_nb.api import connect
from dvergr_nb.errors import BadInput, DvergrError, NotAStore, StoreBusy, StoreDamaged, StoreFailed, StoreTooNew
from dvergr_nb.ids import BootId
from dvergr_nb.records.money import room_wallet
from dvergr_nb.records.operation import Admit, Moved, Post, Resume
from dvergr_nb.records.query import MessageFilter, RunFilter
from dvergr_nb.records.run import Reason, RunStatus
from dvergr_nb.store.lock import holder_of
from tests.store.making import admit, done, end, message, now, opened, pause, post, reply, run, said, together


def elsewhere(program: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    """Runs a program in a process of its own."""
    return subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=Path(__file__).parents[2],
    )


TRY_TO_OPEN = """
    import sys
    from tests.store.making import opened
    from dvergr_nb.errors import DvergrError
    try:
        opened(sys.argv[1]).close()
        print("opened")
    except DvergrError as problem:
        print(type(problem).__name__, problem)
"""


def test_a_store_is_made_with_its_folder_and_found_again(tmp_store_path: Path) -> None:
    store = opened(tmp_store_path)
    unit = admit()
    done(store, unit)
    ended = done(store, end(unit.run)).run
    assert (store.life, store.orphaned, store.path) == (0, (), str(tmp_store_path))
    store.close()
    again = opened(tmp_store_path)
    assert again.life == 1
    assert again.runs(RunFilter()) == [ended]
    again.close()
    assert sorted(each.name for each in tmp_store_path.parent.iterdir()) == ["store.duckdb", "store.duckdb.lock"]


def test_running_runs_of_a_life_that_is_gone_are_orphaned_and_waiting_ones_are_not(tmp_store_path: Path) -> None:
    store = opened(tmp_store_path)
    root = message()
    post(store, root)
    working, paused, stopped, over = admit(reply(root)), admit(), admit(), admit()
    theirs = admit(message(tenant_id="other"))
    together(store, [working, paused, stopped, over, theirs])
    together(
        store, [pause(paused.run), end(stopped.run, RunStatus.WAITING, reason=Reason.BUDGET_EXHAUSTED.value), end(over.run)]
    )
    store.close()
    again = opened(tmp_store_path, boot_id=BootId("boot-2"))
    assert again.orphaned == tuple(sorted([working.run.id, theirs.run.id]))
    failed = again.run(working.run.id)
    assert failed is not None
    assert (failed.status, failed.reason, failed.revision, failed.boot_id) == (RunStatus.FAILED, "orphaned", 1, "boot-1")
    assert failed.ended_at is not None
    assert {each.status for each in again.runs(RunFilter(status="waiting"))} == {RunStatus.WAITING}
    assert len(again.envelopes(paused.run.id)) == 1
    assert done(again, admit(reply(root))).run.actor == "researcher"
    resumed = done(again, Resume(run_id=paused.run.id, tenant_id="t", boot_id=BootId("boot-2"), at=now()))
    assert resumed.run.status is RunStatus.RUNNING
    again.close()


def test_every_life_is_on_record_and_none_stays_open(tmp_store_path: Path) -> None:
    for n in range(3):
        opened(tmp_store_path, boot_id=BootId(f"boot-{n}")).close()
    store = opened(tmp_store_path)
    found = store.read(lambda con: con.execute("SELECT n, boot_id, ended_at IS NULL FROM dv.lives ORDER BY n").fetchall())
    assert found == [(1, "boot-0", False), (2, "boot-1", False), (3, "boot-2", False), (4, "boot-1", True)]
    store.close()


def test_reconciling_while_open_fails_only_runs_of_other_lives() -> None:
    store = opened()
    mine, other = admit(), admit(boot_id=BootId("gone"))
    together(store, [mine, other])
    assert store.reconcile() == 1
    assert store.reconcile() == 0
    assert [each.id for each in store.runs(RunFilter(status="failed"))] == [other.run.id]
    assert isinstance(done(store, end(mine.run)), Moved)
    store.close()


PAID = """
    INSERT INTO dv.transfers
    SELECT uuidv7(), 't', 'u', 'main', NULL, 'mint', NULL, getvariable('wallet'), 100_000_000_000, now();
    INSERT INTO dv.transfers
    SELECT uuid(), 't', 'u', 'main', id, 'grant', getvariable('wallet'), id, 1_000_000, now() FROM dv.runs;
    INSERT INTO dv.spends
    SELECT
        uuidv7(), 't', 'u', 'main', r.id, 'dvergr', i, 'm', NULL, NULL, 1, 1, 0, 0, if(i = 2, NULL, 50), true, 'completed',
        if(i = 2, 0, 50), 0, now()
    FROM dv.runs AS r, range(3) AS n(i);
    INSERT INTO dv.transfers
    SELECT id, 't', 'u', 'main', run_id, 'consume', run_id, NULL, taken, now() FROM dv.spends WHERE taken > 0;
    INSERT INTO dv.transfers
    SELECT uuid(), 't', 'u', 'main', id, 'return', id, getvariable('wallet'), 999_900, now()
    FROM dv.runs WHERE status <> 'running'
"""


def test_a_store_of_a_hundred_thousand_runs_and_a_thousand_orphans_opens_in_a_second(tmp_store_path: Path) -> None:
    store = opened(tmp_store_path)
    store._writer.errand(
        lambda pen: pen.con.execute(
            """
            INSERT INTO dv.runs
            SELECT uuidv7(), 't', 'u', 'workflow', 'main', 'dvergr', 'job', NULL, uuidv7(), NULL,
                if(i % 100 = 0, 'running', 'completed'), NULL, NULL, now(), now(), now(), if(i % 100 = 0, NULL, now()), 0,
                'gone', NULL, NULL, NULL, NULL, NULL, 0, 0, 0, 0
            FROM range(100000) AS r(i)
            """
        )
    ).result(60)
    name_wallet = "SET VARIABLE wallet = CAST(? AS UUID)"
    store._writer.errand(lambda pen: pen.con.execute(name_wallet, [room_wallet("t", "main")]).execute(PAID)).result(60)
    store.close()
    began, cpu = time.perf_counter(), time.process_time()
    again = opened(tmp_store_path)
    took = min(time.perf_counter() - began, time.process_time() - cpu)
    assert len(again.orphaned) == 1000
    assert took < 1.0
    assert again.balance(room_wallet("t", "main")) == 1000 * 100_000_000 - 100_000 * 100
    orphan = again.run(again.orphaned[0])
    assert orphan is not None
    assert (orphan.cost, orphan.unpriced) == (100, 1)
    again.close()


def test_a_second_process_is_told_who_holds_the_store(tmp_store_path: Path) -> None:
    store = opened(tmp_store_path, holder="notebook.ipynb")
    said_there = elsewhere(TRY_TO_OPEN, tmp_store_path).stdout
    assert said_there.startswith("StoreBusy")
    assert all(piece in said_there for piece in ("notebook.ipynb", str(os.getpid()), "%dvergr connect"))
    store.close()
    assert elsewhere(TRY_TO_OPEN, tmp_store_path).stdout == "opened\n"


def test_the_same_process_is_told_that_it_holds_the_store_itself(tmp_store_path: Path) -> None:
    store = opened(tmp_store_path)
    with pytest.raises(StoreBusy, match="this kernel itself"):
        opened(tmp_store_path)
    link = tmp_store_path.parent.parent / "link.duckdb"
    link.symlink_to(tmp_store_path)
    with pytest.raises(StoreBusy):
        opened(link)
    done(store, Post(message=message()))
    store.close()
    assert holder_of(tmp_store_path) is None


def test_the_lock_holds_when_duckdbs_own_is_lost(tmp_store_path: Path) -> None:
    """Opening and closing the file in its owner drops DuckDB's lock; a second writer would then ruin the file."""
    store = opened(tmp_store_path)
    post(store, message())
    tmp_store_path.open("rb").close()
    assert elsewhere(TRY_TO_OPEN, tmp_store_path).stdout.startswith("StoreBusy")
    post(store, message())
    assert len(store.messages(MessageFilter())) == 2
    store.close()


def test_a_process_started_by_the_owner_does_not_inherit_the_lock(tmp_store_path: Path) -> None:
    store = opened(tmp_store_path)
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, close_fds=False)
    store.close()
    opened(tmp_store_path).close()
    child.communicate(b"\n", timeout=30)


@pytest.mark.parametrize(
    ("content", "word"),
    [
        pytest.param(b"", "empty", id="empty"),
        pytest.param(b"a,b\n1,2\n", "no DuckDB file", id="text"),
        pytest.param(b"SQLite format 3\0" + b"\0" * 9000, "no DuckDB file", id="sqlite"),
        pytest.param(os.urandom(50_000), "no DuckDB file", id="noise"),
    ],
)
def test_a_file_of_another_kind_is_refused_and_left_alone(tmp_path: Path, content: bytes, word: str) -> None:
    path = tmp_path / "thing"
    path.write_bytes(content)
    with pytest.raises(NotAStore, match=word):
        opened(path)
    assert path.read_bytes() == content


def test_a_folder_is_refused(tmp_path: Path) -> None:
    with pytest.raises(NotAStore, match="directory"):
        opened(tmp_path)


def test_a_duckdb_file_of_another_program_is_refused_and_left_alone(tmp_path: Path) -> None:
    path = tmp_path / "theirs.duckdb"
    with duckdb.connect(path) as con:
        con.execute("CREATE TABLE customers AS SELECT 1 AS id")
    before = path.read_bytes()
    with pytest.raises(NotAStore, match="another program"):
        opened(path)
    assert path.read_bytes() == before


def test_an_empty_duckdb_file_becomes_a_store(tmp_path: Path) -> None:
    path = tmp_path / "empty.duckdb"
    duckdb.connect(path).close()
    store = opened(path)
    post(store, message())
    assert len(store.messages(MessageFilter())) == 1
    store.close()


def filled(path: Path) -> bytes:
    store = opened(path)
    units = [admit() for _ in range(300)]
    together(store, units)
    together(store, [said(unit.run, os.urandom(2000).hex()) for unit in units])
    together(store, [end(unit.run) for unit in units[:200]])
    store.close()
    return path.read_bytes()


@pytest.mark.parametrize("share", [0.02, 0.25, 0.5, 0.75, 0.9, 0.99])
def test_a_store_that_was_cut_is_damaged_and_left_as_it_is(tmp_store_path: Path, share: float) -> None:
    whole = filled(tmp_store_path)
    cut = whole[: int(len(whole) * share)]
    tmp_store_path.write_bytes(cut)
    for _ in range(2):
        with pytest.raises(StoreDamaged, match="left as it is"):
            opened(tmp_store_path)
        assert tmp_store_path.read_bytes() == cut
    tmp_store_path.write_bytes(whole)
    opened(tmp_store_path).close()


@pytest.mark.parametrize("place", [12, 100, 4096 + 20, 2 * 4096 + 20])
def test_a_store_with_a_flipped_header_is_damaged_and_left_as_it_is(tmp_store_path: Path, place: int) -> None:
    whole = bytearray(filled(tmp_store_path))
    for at in range(place, place + 8):
        whole[at] ^= 0xFF
    tmp_store_path.write_bytes(whole)
    with pytest.raises((StoreDamaged, StoreFailed)):
        opened(tmp_store_path)
    assert tmp_store_path.read_bytes() == whole


def test_damage_that_only_a_read_meets_is_told_there(tmp_store_path: Path) -> None:
    whole = bytearray(filled(tmp_store_path))
    found: set[str] = set()
    for block in range(12288, len(whole), 262144):
        torn = bytearray(whole)
        torn[block + 1000 : block + 1064] = os.urandom(64)
        tmp_store_path.write_bytes(torn)
        try:
            store = opened(tmp_store_path)
        except DvergrError as problem:
            found.add(type(problem).__name__)
            continue
        try:
            store.messages(MessageFilter())
            store.runs(RunFilter())
        except DvergrError as problem:
            found.add(type(problem).__name__)
        store.close()
    assert found == {"StoreDamaged"}


def test_a_store_of_a_newer_version_is_refused_with_what_to_do(tmp_store_path: Path) -> None:
    store = opened(tmp_store_path)
    insert = "INSERT INTO dv.schema_version VALUES (99, now(), 'later', '9')"
    store._writer.errand(lambda pen: pen.con.execute(insert)).result(30)
    store.close()
    with pytest.raises(StoreTooNew, match="pip install -U"):
        opened(tmp_store_path)


def test_a_half_made_store_of_a_killed_process_is_made_anew(tmp_store_path: Path) -> None:
    tmp_store_path.parent.mkdir()
    tmp_store_path.with_name("store.duckdb.new").write_bytes(b"half")
    tmp_store_path.with_name("store.duckdb.new.wal").write_bytes(b"half")
    opened(tmp_store_path).close()
    assert not tmp_store_path.with_name("store.duckdb.new").exists()


def test_a_compacted_store_is_smaller_and_says_the_same(tmp_store_path: Path) -> None:
    store = opened(tmp_store_path)
    units = [admit() for _ in range(50)]
    together(store, units)
    together(store, [said(unit.run, os.urandom(30_000).hex()) for unit in units])
    store._writer.errand(lambda pen: pen.con.execute("CHECKPOINT")).result(30)
    together(store, [Post(message=message(content=os.urandom(3_000).hex())) for unit in units])
    store._writer.errand(lambda pen: pen.con.execute("CHECKPOINT")).result(30)
    store._writer.errand(lambda pen: pen.con.execute("DELETE FROM dv.messages WHERE recipient = '_activity'")).result(30)
    store._writer.errand(lambda pen: pen.con.execute("CHECKPOINT")).result(30)
    runs = store.runs(RunFilter())
    before, after = store.compact()
    assert 0 < after < before
    assert store.runs(RunFilter()) == runs
    post(store, message())
    with pytest.raises(StoreBusy):
        opened(tmp_store_path)
    store.close()
    again = opened(tmp_store_path)
    assert len(again.messages(MessageFilter())) == 101
    again.close()


def test_tenants_share_a_file_and_see_nothing_of_each_other(tmp_store_path: Path) -> None:
    first = opened(tmp_store_path)
    secret = admit(message(content="secret"), key="k", tags=("x",))
    done(first, secret)
    paused = admit()
    done(first, paused)
    done(first, pause(paused.run))
    first.close()
    second = opened(tmp_store_path, tenant_id="other")
    assert second.run(secret.run.id) is None
    assert second.runs(RunFilter(limit=None)) == []
    assert second.messages(MessageFilter()) == []
    assert second.runs(RunFilter(tree=secret.run.id)) == []
    assert second.message(secret.run.trigger) is None
    assert second.ids_like(secret.run.id[-8:]) == second.nearest_ids(secret.run.id) == []
    assert second.envelopes(paused.run.id) == []
    assert second.causes(paused.run.id) == []
    assert second.sql(
        "SELECT (SELECT count(*) FROM runs) + (SELECT count(*) FROM messages) + (SELECT count(*) FROM activity)"
    ).rows == ((0,),)
    for wrong in (
        end(secret.run, tenant_id="other"),
        Resume(run_id=paused.run.id, tenant_id="other", boot_id=BootId("b"), at=now()),
        Admit(run=run(message(id=secret.run.trigger, tenant_id="other"))),
        admit(message(tenant_id="other"), parent=secret.run.id),
        said(secret.run, tenant_id="other"),
        Post(message=message(id=secret.run.trigger, tenant_id="other")),
        admit(message(tenant_id="other"), id=secret.run.id),
    ):
        with pytest.raises(DvergrError):
            done(second, wrong)
    mine = admit(message(tenant_id="other"), key="k")
    assert done(second, mine).run == mine.run
    assert [each.id for each in second.runs(RunFilter())] == [mine.run.id]
    second.close()


@pytest.mark.parametrize("path", ["a\0b", "\ud800.duckdb", "/", "~nobody-of-that-name/x.duckdb", "loop.duckdb"])
def test_a_path_that_no_file_could_have_is_refused_in_one_line(
    path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("loop.duckdb").symlink_to("loop.duckdb")
    with pytest.raises(BadInput, match="is no path for a store"):
        opened(path)


@pytest.mark.parametrize("path", [5, b"x.duckdb", ["x.duckdb"]])
def test_a_path_that_is_no_text_is_refused_in_one_line(path: object) -> None:
    with pytest.raises(BadInput, match="path is text or a Path"):
        connect(path)  # type: ignore[arg-type]  # what is refused


def test_a_store_whose_file_is_taken_away_stores_nothing_more_and_says_so(tmp_store_path: Path) -> None:
    store = opened(tmp_store_path)
    unit = admit()
    done(store, unit)
    away = tmp_store_path.rename(tmp_store_path.with_name("away.duckdb"))
    with pytest.raises(StoreFailed, match="was removed or replaced while it was open"):
        done(store, end(unit.run))
    away.rename(tmp_store_path)
    assert done(store, end(unit.run)).run.status == "completed"
    store.close()
