"""Disks that are full or may not be written."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from dvergr_nb.errors import DvergrError
from tests.store.making import message as message_of
from tests.store.making import opened, post

pytestmark = pytest.mark.crash

Mount = Callable[..., None]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of 48 MB."""
    with mounted(tmp_path / "disk", "size=48m") as place:
        yield place


@contextmanager
def mounted(place: Path, options: str) -> Iterator[Path]:
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(place)]
    if os.geteuid() != 0 or subprocess.run(command, check=False, capture_output=True).returncode != 0:
        pytest.skip("a disk of one's own can only be mounted by root")
    try:
        yield place
    finally:
        subprocess.run(["umount", str(place)], check=True)


def in_a_child(program: str, *arguments: object) -> list[str]:
    """What a program says that runs in a process of its own, so that nothing keeps the disk busy."""
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program), *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        cwd=Path(__file__).parents[2],
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


FILL = """
    import os, sys
    from pathlib import Path
    from dvergr_nb.errors import StoreFailed
    from dvergr_nb.records.query import MessageFilter
    from dvergr_nb.records.operation import Post
    from tests.store.making import admit, done, end, message, opened, outcome, said
    from dvergr_nb.records.message import Message

    place = Path(sys.argv[1])
    ballast = place / "ballast"
    ballast.write_bytes(b"x" * 20_000_000)
    store = opened(place / "a.duckdb")
    unit = admit()
    done(store, unit)
    kept, refused = [], 0
    while refused < 3:
        big = said(unit.run, os.urandom(200_000).hex())
        try:
            done(store, big)
            kept.append(big.message.id)
        except StoreFailed as problem:
            refused += 1
            words = str(problem)
    print("words", words)
    print("read", len(store.messages(MessageFilter(run=unit.run.id))) >= len(kept))
    ballast.unlink()
    after = message(content="after")
    done(store, Post(message=after))
    ended = done(store, end(unit.run))
    print("ended", ended.run.status.value, ended.run.reason)
    there = {each.id for each in store.messages(MessageFilter())}
    print("lost", len(set(kept) - there), len(kept) > 3, after.id in there)
    store.close()
    again = opened(place / "a.duckdb")
    there = {each.id for each in again.messages(MessageFilter())}
    print("lost", len(set(kept) - there), after.id in there)
    again.close()
"""


def test_a_full_disk_refuses_what_it_cannot_keep_and_loses_nothing_it_has_kept(small_disk: Path) -> None:
    said = in_a_child(FILL, small_disk)
    assert said[0].startswith("words ")
    assert "disk is full" in said[0]
    assert said[1:] == ["read True", "ended failed record-lost", "lost 0 True True", "lost 0 True"]


OPEN = """
    import sys
    from dvergr_nb.errors import DvergrError
    from tests.store.making import opened
    try:
        opened(sys.argv[1]).close()
        print("opened")
    except DvergrError as problem:
        print(type(problem).__name__, problem)
"""


def test_a_disk_that_may_only_be_read_gets_one_clear_sentence(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "size=24m") as place:
        assert in_a_child(OPEN, place / "a.duckdb") == ["opened"]
        before = (place / "a.duckdb").read_bytes()
        subprocess.run(["mount", "-o", "remount,ro", str(place)], check=True)
        for name in ("a.duckdb", "b.duckdb", "c/d.duckdb"):
            (said,) = in_a_child(OPEN, place / name)
            assert said.startswith("StoreFailed no store can be written in")
            assert "Read-only file system" in said
        assert (place / "a.duckdb").read_bytes() == before


def test_a_place_that_does_not_exist_gets_one_clear_sentence(tmp_path: Path) -> None:
    with pytest.raises(DvergrError, match="no store can be written in"):
        opened(tmp_path / "no" / "such" / "folder" / "a.duckdb")


def test_a_disk_too_small_for_a_store_gets_one_clear_sentence(tmp_path: Path) -> None:
    with mounted(tmp_path / "disk", "size=200k") as place:
        (said,) = in_a_child(OPEN, place / "a.duckdb")
        assert said.startswith("StoreFailed")
        assert "No space left" in said


def test_a_folder_that_may_not_be_written_gets_one_clear_sentence(tmp_path: Path) -> None:
    folder = tmp_path / "locked"
    folder.mkdir()
    opened(folder / "a.duckdb").close()
    folder.chmod(0o555)
    (folder / "a.duckdb.lock").chmod(0o444)
    as_nobody = "    import os\n    if os.geteuid() == 0:\n        os.setgid(65534)\n        os.setuid(65534)\n    try:"
    try:
        for parent in (tmp_path, *tmp_path.parents[:2]):
            parent.chmod(0o755)
        (said,) = in_a_child(OPEN.replace("    try:", as_nobody, 1), folder / "b.duckdb")
    finally:
        folder.chmod(0o755)
    assert said.startswith("StoreFailed no store can be written in")


def test_a_store_goes_on_after_its_folder_was_looked_into(tmp_store_path: Path) -> None:
    store = opened(tmp_store_path)
    for each in tmp_store_path.parent.iterdir():
        each.read_bytes()
    post(store, message_of())
    store.close()
