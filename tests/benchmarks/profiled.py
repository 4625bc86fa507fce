"""Where our own time goes: samples of all threads of the contender, while it records Runs, by function and by line."""

from __future__ import annotations

import collections
import contextlib
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from tests.benchmarks.child import Child
from tests.benchmarks.table import busy, figure

ROOT: Final = Path(__file__).parents[2]


class Way(NamedTuple):
    """What is recorded while samples are taken."""

    act: str
    times: int
    at_once: int


WAYS: Final = {
    "one": Way("run", 600, 1),
    "16": Way("run", 3_000, 16),
    "64": Way("run", 6_000, 64),
    "admission": Way("admit", 600, 1),
}
RATE: Final = 400
LINES: Final = 40


def profile(name: str, work: Path) -> int:
    """Prints for each thread the functions that were on top, and those that were anywhere on the stack."""
    way = WAYS[name]
    child = Child("ours", work / "ours")
    with tempfile.NamedTemporaryFile(suffix=".raw") as raw:
        child.order(way.act, way.times // 10, way.at_once)
        sampler = _sampling(child.pid, Path(raw.name))
        block = child.order(way.act, way.times, way.at_once)
        sampler.send_signal(signal.SIGINT)
        sampler.wait()
        stacks = [_stack(line) for line in Path(raw.name).read_text().splitlines()]
    child.end()
    print(
        f"{name}: {figure(block.each_ms)} ms, {figure(block.cpu_ms)} ms CPU per Run, {figure(block.per_second)} Runs/s",
        busy(),
        sep="; ",
    )
    _print(stacks)
    return 0


def _sampling(pid: int, raw: Path) -> subprocess.Popen[str]:
    """py-spy beside the contender; returns when it has begun."""
    spy = Path(sys.executable).with_name("py-spy")
    if not spy.exists():
        subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "py-spy"], check=True)
    options = ["--format", "raw", "--rate", str(RATE), "--duration", "3600", "--threads", "--nonblocking", "--output", str(raw)]
    sampler = subprocess.Popen([str(spy), "record", "--pid", str(pid), *options], stdout=subprocess.PIPE, text=True)
    assert sampler.stdout is not None
    with contextlib.suppress(StopIteration):
        next(line for line in sampler.stdout if "Sampling" in line)
    return sampler


def _stack(line: str) -> tuple[Sequence[str], int]:
    frames, count = line.rsplit(" ", 1)
    prefixes = (f"{ROOT}{os.sep}", f"{sys.prefix}{os.sep}", f"{Path(os.__file__).parent}{os.sep}")
    for prefix in prefixes:
        frames = frames.replace(prefix, "")
    return frames.split(";"), int(count)


def _print(stacks: Sequence[tuple[Sequence[str], int]]) -> None:
    top, anywhere = collections.Counter[str](), collections.Counter[str]()
    whole = sum(count for _, count in stacks)
    for frames, count in stacks:
        if any("readline" in frame for frame in frames):
            continue
        thread = frames[0].split(": ")[-1]
        top[f"{thread}: {frames[-1]}"] += count
        for frame in {frame.rsplit(":", 1)[0] for frame in frames[1:]}:
            anywhere[f"{thread}: {frame})"] += count
    for title, found in (("on top, by line", top), ("anywhere on the stack, by function", anywhere)):
        print(f"\n{title}")
        for frame, count in found.most_common(LINES):
            print(f"{count / whole:7.1%}  {frame}")
