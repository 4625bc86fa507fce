"""The command: runs the benchmarks one after the other and prints one table."""

from __future__ import annotations

import argparse
import functools
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

from tests.benchmarks import agents, durable, live, loading, profiled, rooms, stored
from tests.benchmarks.table import Row, busy, printed

ROOT: Final = Path(__file__).parents[2]
Benchmark = Callable[[Path, int], list[Row]]

BENCHMARKS: Final[Mapping[str, Benchmark]] = {
    "one": durable.alone,
    "16": functools.partial(durable.many, at_once=16),
    "64": functools.partial(durable.many, at_once=64),
    "admission": durable.admission,
    "frames": stored.frames,
    "open": stored.opening,
    "board": live.board,
    "cancel": live.cancelling,
    "load": loading.loading,
    "broadcast": rooms.broadcast,
    "messages": rooms.messages,
    "members": rooms.members,
    "rounds": agents.rounds,
    "agents": agents.at_once,
}

NOTES: Final = """
Figures are the best of the rounds, with their median in brackets; a ratio is ours to theirs, of the best rounds, with the
median of the rounds' own ratios in brackets. Rounds are interleaved: ours, the bare writer, each peer, ours again.
How long the loop was held leaves out what the thread waited for a core."""


def main() -> int:
    """Exit code 1 where a target was missed."""
    asked = parsed()
    work = Path(asked.work).resolve()
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    try:
        if asked.profile:
            return profiled.profile(asked.profile, work)
        return compared(asked.rows or list(BENCHMARKS), work, asked.rounds)
    finally:
        shutil.rmtree(work, ignore_errors=True)


def parsed() -> argparse.Namespace:
    """The command line."""
    parser = argparse.ArgumentParser(prog="bash tests/benchmarks/run", description=__doc__)
    parser.add_argument("rows", nargs="*", metavar="ROW", help=f"which benchmarks: {', '.join(BENCHMARKS)} (default: all)")
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each, interleaved (default: 5)")
    parser.add_argument("--work", default=str(ROOT / ".tools" / "bench" / "work"), help="where the stores lie; emptied")
    parser.add_argument("--profile", choices=profiled.WAYS, help="show instead where our time goes")
    asked = parser.parse_args()
    if strange := [row for row in asked.rows if row not in BENCHMARKS]:
        parser.error(f"no benchmark {strange[0]!r}; there are {', '.join(BENCHMARKS)}")
    return asked


def compared(names: list[str], work: Path, rounds: int) -> int:
    """Runs them and prints the table."""
    print(f"before: {busy()}; stores in {work}", file=sys.stderr)
    rows: list[Row] = []
    begun, before = time.monotonic(), busy()
    for name in names:
        print(f"{name} …", file=sys.stderr, flush=True)
        found = BENCHMARKS[name](work, rounds)
        rows += found
        print(*(f"  {row.what.strip()}: {row.ours}; {row.beside}; {row.ratio}" for row in found), sep="\n", file=sys.stderr)
    print(printed(rows))
    print(NOTES)
    print(f"before: {before}; after: {busy()}; took {time.monotonic() - begun:.0f} s")
    return int(any(row.met is False for row in rows))


if __name__ == "__main__":
    sys.exit(main())
