"""A contender's process, seen from the program that orders and compares."""

from __future__ import annotations

import contextlib
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """What one order came to."""

    wall_s: float
    cpu_s: float
    """Of all threads of the contender."""
    took_s: list[float]
    """Of each, from being asked for to being durable."""
    lag_s: list[float]

    @property
    def each_ms(self) -> float:
        """The middle of what each took, in milliseconds."""
        return statistics.median(self.took_s) * 1e3

    @property
    def cpu_ms(self) -> float:
        """CPU time per Run, in milliseconds."""
        return self.cpu_s / len(self.took_s) * 1e3

    @property
    def per_second(self) -> float:
        """Runs per second."""
        return len(self.took_s) / self.wall_s


class ContenderFailed(Exception):
    """The contender ended; its complaints are the message."""


class Child:
    """One contender, started and ready."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name = name
        self._complaints = folder / "stderr"
        folder.mkdir(parents=True)
        self._process = subprocess.Popen(
            [sys.executable, "-m", f"tests.benchmarks.contenders.{name}", str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._complaints.open("w"),
            text=True,
        )
        self._answer()

    @property
    def pid(self) -> int:
        """Of its process."""
        return self._process.pid

    def order(self, act: str, times: int, at_once: int = 1, *, lag: bool = False) -> Block:
        """Has it done `times` times, `at_once` at a time."""
        assert self._process.stdin is not None
        print(json.dumps({"act": act, "times": times, "at_once": at_once, "lag": lag}), file=self._process.stdin, flush=True)
        return Block(**self._answer())

    def _answer(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith("{"):
                answer: dict[str, Any] = json.loads(line)
                return answer
        self._process.wait()
        raise ContenderFailed(f"{self.name} ended:\n{self._complaints.read_text()[-2_000:]}")

    def end(self) -> None:
        """Closes its input and waits for it, and where it does not end, kills it."""
        assert self._process.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._process.stdin.close()
        try:
            self._process.wait(10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


@contextlib.contextmanager
def children(names: tuple[str, ...], folder: Path) -> Iterator[dict[str, Child]]:
    """Contenders that work in folders of their own below `folder`, ended at the end."""
    with contextlib.ExitStack() as stack:
        own, started = Path(tempfile.mkdtemp(dir=folder)), {}
        for name in names:
            started[name] = Child(name, own / name)
            stack.callback(started[name].end)
        yield started
