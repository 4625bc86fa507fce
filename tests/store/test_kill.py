"""SIGKILL at random moments: what was acknowledged is there, and nothing is half there."""

from __future__ import annotations

import os
import random
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from dvergr_nb.store.store import Store
from tests.store.making import opened

pytestmark = [pytest.mark.crash, pytest.mark.slow]

KILLS = 60
LATEST_S = 0.15
"""How long after the first admission a process may live."""

THERE = "SELECT CAST(id AS VARCHAR), status FROM dv.runs WHERE id IN (SELECT unnest(CAST(? AS UUID[])))"
SAID = "SELECT count(*) FROM dv.messages WHERE id IN (SELECT unnest(CAST(? AS UUID[])))"
BROKEN = {
    "a Run still running": "SELECT count(*) FROM dv.runs WHERE status = 'running'",
    "activity of an unknown Run": """
        SELECT count(*) FROM dv.messages m ANTI JOIN dv.runs r ON r.id = m.run_id WHERE run_id IS NOT NULL
    """,
    "a Run without its trigger": 'SELECT count(*) FROM dv.runs r ANTI JOIN dv.messages m ON m.id = r."trigger"',
    "an id twice": "SELECT count(*) - count(DISTINCT id) FROM dv.messages",
    "an ended Run without its end": "SELECT count(*) FROM dv.runs WHERE (ended_at IS NULL) <> (status = 'waiting')",
    "a slot of a Run that is over": """
        SELECT count(*) FROM dv.open_slots s JOIN dv.runs r ON r.id = s.run_id WHERE status <> 'waiting' OR reason <> 'approval'
    """,
    "a pause without an envelope": """
        SELECT count(*) FROM dv.runs r ANTI JOIN dv.envelopes e ON e.run_id = r.id
        WHERE status = 'waiting' AND reason = 'approval'
    """,
    "a key of an unknown Run": "SELECT count(*) FROM dv.keys k ANTI JOIN dv.runs r ON r.id = k.run_id",
}


@pytest.fixture
def forks() -> Iterator[subprocess.Popen[bytes]]:
    """A process that forks one that works for each line it is given."""
    command = [sys.executable, "-m", "tests.store.killed"]
    root = Path(__file__).parents[2]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=root, bufsize=0) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


def test_sixty_kills_lose_nothing_that_was_acknowledged(forks: subprocess.Popen[bytes], tmp_store_path: Path) -> None:
    chance = random.Random(1)
    told = 0
    for life in range(KILLS):
        lines = list(_lived(forks, tmp_store_path, life, chance.uniform(0, LATEST_S)))
        told += len(lines)
        store = opened(tmp_store_path)
        _check(store, lines)
        store.close()
    assert told > KILLS * 10


def _lived(forks: subprocess.Popen[bytes], path: Path, life: int, for_s: float) -> Iterator[list[str]]:
    """What a process was told before it was killed, `for_s` after its first admission."""
    assert forks.stdin is not None
    assert forks.stdout is not None
    forks.stdin.write(f"{path} {life}\n".encode())
    said, deadline, pid = b"", time.monotonic() + 60, 0
    with selectors.DefaultSelector() as selector:
        selector.register(forks.stdout, selectors.EVENT_READ)
        seen_first = False
        while not said.endswith(b"dead\n"):
            if selector.select(max(0.0, deadline - time.monotonic())):
                said += os.read(forks.stdout.fileno(), 1 << 16)
            pid = pid or _pid(said)
            if not seen_first and b"admitted" in said:
                seen_first, deadline = True, time.monotonic() + for_s
            if pid and time.monotonic() >= deadline:
                os.kill(pid, signal.SIGKILL)
                deadline = time.monotonic() + 60
    assert seen_first
    yield from (line.split() for line in said.decode().splitlines() if len(line.split()) == 3)


def _pid(said: bytes) -> int:
    first, newline, _ = said.partition(b"\n")
    return int(first.split()[1]) if newline else 0


def _check(store: Store, lines: list[list[str]]) -> None:
    by_word: dict[str, dict[str, str]] = {"admitted": {}, "said": {}, "ended": {}}
    for word, an_id, status in lines:
        by_word[word][an_id] = status
    runs = dict(store.read(lambda con: con.execute(THERE, [list(by_word["admitted"])]).fetchall()))
    assert set(runs) == set(by_word["admitted"])
    messages = store.read(lambda con: con.execute(SAID, [list(by_word["said"])]).fetchall())
    assert messages == [(len(by_word["said"]),)]
    assert {an_id: runs[an_id] for an_id in by_word["ended"]} == by_word["ended"]
    assert set(by_word["ended"].values()) <= {"completed", "waiting"}
    for what, query in BROKEN.items():
        assert (what, _count(store, query)) == (what, 0)


def _count(store: Store, query: str) -> int:
    found: int = store.read(lambda con: con.execute(query).fetchall())[0][0]
    return found
