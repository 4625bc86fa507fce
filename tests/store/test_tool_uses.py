"""What tools were given and gave, what was cited, and the bytes beside the store."""

from __future__ import annotations

import hashlib
import os
import threading
from pathlib import Path
from typing import Any

import pytest

from dvergr_nb.errors import BadInput, BadMessage, BlobMissing, StoreDamaged, StoreFailed
from dvergr_nb.records.operation import Cite, Keep, Kept
from dvergr_nb.records.run import Reason, Run
from dvergr_nb.records.tool_use import RESULT_LIMIT, Blob, Citation, ToolUse
from dvergr_nb.store.store import Store
from tests.store.making import admit, done, end, ids, now, opened, together


def use(of: Run, **facts: Any) -> ToolUse:
    known: dict[str, Any] = {
        "id": ids.message(),
        "tenant_id": "t",
        "room": of.room,
        "run_id": of.id,
        "round": 0,
        "name": "read",
        "tool_use_id": "call-1",
        "arguments": "{}",
        "result": "fine",
        "status": "completed",
        "started_at": now(),
        "ended_at": now(),
    }
    return ToolUse(**(known | facts))


def citation(of: Run, chunk_id: str, **facts: Any) -> Citation:
    known: dict[str, Any] = {"tenant_id": "t", "room": of.room, "run_id": of.id, "round": 0, "chunk_id": chunk_id, "at": now()}
    return Citation(**(known | facts))


def test_uses_of_tools_are_read_again_as_they_were_kept_in_the_order_of_their_ends(store: Store) -> None:
    run = done(store, admit()).run
    blob = Blob(sha256="0" * 64, media_type="image/png", size=5)
    first, second = use(run, blobs=(blob, blob)), use(run, status="failed", round=2)
    assert done(store, Keep(uses=(second, first))) == Kept(inserted=2)
    assert store.tool_uses(run.id) == [first, second]
    assert store.tool_uses(ids.run()) == []


def test_a_use_that_is_kept_twice_is_kept_once(store: Store) -> None:
    run = done(store, admit()).run
    first, second = use(run), use(run)
    assert done(store, Keep(uses=(first, first))) == Kept(inserted=1)
    assert done(store, Keep(uses=(second, use(run, id=first.id, result="other")))) == Kept(inserted=1)
    assert [each.result for each in store.tool_uses(run.id)] == ["fine", "fine"]
    assert together(store, [Keep(uses=(use(run, id=second.id),))] * 2) == [Kept(inserted=0)] * 2


def test_a_use_or_a_citation_of_a_run_elsewhere_is_refused_and_the_run_does_not_end_as_if_it_were_there(store: Store) -> None:
    for unit in (
        lambda run: Keep(uses=(use(run), use(run, room="lab"))),
        lambda run: Cite(citations=(citation(run, "a"), citation(run, "b", tenant_id="other"))),
    ):
        run = done(store, admit()).run
        with pytest.raises(BadMessage, match="which is not in room"):
            done(store, unit(run))
        assert (list(store.tool_uses(run.id)), list(store.citations(run.id))) == ([], [])
        assert done(store, end(run)).run.reason == Reason.RECORD_LOST


def test_what_a_tool_says_is_mended_and_cut(store: Store) -> None:
    run = done(store, admit()).run
    done(store, Keep(uses=(use(run, result="\0" * (RESULT_LIMIT + 5), arguments='"\ud800"', name="n" * 500),)))
    (kept,) = store.tool_uses(run.id)
    assert (len(kept.result), kept.result[0], kept.arguments, len(kept.name)) == (RESULT_LIMIT, "\ufffd", '"\ufffd"', 200)
    with pytest.raises(BadInput, match="are UUIDs"):
        done(store, Keep(uses=(use(run, id="1"),)))


def test_a_chunk_is_cited_once_per_run_and_round(store: Store) -> None:
    run = done(store, admit()).run
    first, again, later = citation(run, "a", title="A"), citation(run, "a"), citation(run, "a", round=1)
    assert done(store, Cite(citations=(first, again, citation(run, "b")))) == Kept(inserted=2)
    assert done(store, Cite(citations=(again, later))) == Kept(inserted=1)
    assert together(store, [Cite(citations=(citation(run, "c"),))] * 2) == [Kept(inserted=1), Kept(inserted=0)]
    assert [(each.round, each.chunk_id, each.title) for each in store.citations(run.id)] == [
        (0, "a", "A"),
        (0, "b", ""),
        (0, "c", ""),
        (1, "a", ""),
    ]
    assert store.citations(run.id)[0] == first


# Blobs ---------------------------------------------------------------------------------------------------------------------


def test_bytes_lie_beside_the_store_under_what_they_are_and_once(tmp_store_path: Path) -> None:
    store = opened(tmp_store_path)
    digest = hashlib.sha256(b"abc").hexdigest()
    assert store.keep_blob(b"abc", "text/plain") == Blob(sha256=digest, media_type="text/plain", size=3)
    file = tmp_store_path.parent / "blobs" / digest[:2] / digest
    before = file.stat().st_ino
    store.keep_blob(b"abc", "image/png")
    assert file.stat().st_ino == before
    assert [each.name for each in file.parent.iterdir()] == [digest]
    assert store.keep_blob(b"", "text/plain").size == 0
    store.close()
    store = opened(tmp_store_path)
    assert store.blob(digest) == b"abc"
    store.close()


def test_bytes_that_are_gone_or_changed_are_not_given(tmp_store_path: Path) -> None:
    store = opened(tmp_store_path)
    kept = store.keep_blob(b"abc", "text/plain")
    file = tmp_store_path.parent / "blobs" / kept.sha256[:2] / kept.sha256
    file.write_bytes(b"abd")
    with pytest.raises(StoreDamaged, match="not those that it is named after"):
        store.blob(kept.sha256)
    store.keep_blob(b"abc", "text/plain")
    assert store.blob(kept.sha256) == b"abc"
    file.unlink()
    with pytest.raises(BlobMissing, match="restore that file"):
        store.blob(kept.sha256)
    store.close()


@pytest.mark.parametrize("name", ["../../etc/passwd", "0" * 63, "G" * 64, "0" * 64 + "\n", "/etc/passwd", "A" * 64, 5])
def test_a_name_that_is_no_hash_leads_nowhere(store: Store, name: Any) -> None:
    with pytest.raises(BadInput, match="64 hexadecimal digits"):
        store.blob(name)


def test_only_bytes_are_kept(store: Store) -> None:
    with pytest.raises(BadInput, match="a blob is bytes"):
        store.keep_blob("abc", "text/plain")  # type: ignore[arg-type]  # what is refused


def test_bytes_of_a_store_in_memory_go_with_it() -> None:
    store = opened()
    kept = store.keep_blob(b"abc", "text/plain")
    folder = store._blobs._folder()
    assert store.blob(kept.sha256) == b"abc"
    store.close()
    assert not folder.exists()


def test_a_full_disk_is_said_and_leaves_nothing_half_written(tmp_store_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = opened(tmp_store_path)

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", full)
        with pytest.raises(StoreFailed, match=r"No space left on device.*; make room on that disk"):
            store.keep_blob(b"abc", "text/plain")
    assert [each for each in (tmp_store_path.parent / "blobs").rglob("*") if each.is_file()] == []
    assert store.keep_blob(b"abc", "text/plain").size == 3
    store.close()


def test_a_folder_that_may_not_be_written_is_said(tmp_store_path: Path) -> None:
    store = opened(tmp_store_path)
    (tmp_store_path.parent / "blobs").write_text("in the way")
    with pytest.raises(StoreFailed, match="bytes could not be kept or read"):
        store.keep_blob(b"abc", "text/plain")
    store.close()


def test_bytes_are_kept_by_many_threads_at_once(tmp_store_path: Path) -> None:
    store = opened(tmp_store_path)
    big = os.urandom(100_000)
    found: list[bytes] = []

    def work() -> None:
        found.append(store.blob(store.keep_blob(big, "x").sha256))

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert found == [big] * 8
    store.close()
