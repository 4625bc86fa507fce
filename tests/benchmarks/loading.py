"""What `%load_ext dvergr_nb` takes in a fresh interpreter, above importing what it needs from others."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Final

from tests.benchmarks.table import Row, best_and_median

PROGRAM: Final = """
import json, time
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
marks = [(time.perf_counter(), time.process_time())]
import duckdb, anywidget
marks.append((time.perf_counter(), time.process_time()))
shell.run_line_magic("load_ext", "dvergr_nb")
marks.append((time.perf_counter(), time.process_time()))
print(json.dumps([later[i] - sooner[i] for sooner, later in zip(marks, marks[1:]) for i in (0, 1)]))
"""
LIMIT_S: Final = 0.25


def loading(folder: Path, rounds: int) -> list[Row]:
    """Fresh interpreters, one after the other."""
    found = [_once(folder) for _ in range(max(5, rounds))]
    others, _, ours, cpu = (list(column) for column in zip(*found, strict=True))
    beside = f"import duckdb, anywidget {best_and_median(others, min, 's')}"
    best = min(ours)
    return [
        Row(
            what="%load_ext, above import duckdb, anywidget",
            ours=best_and_median(ours, min, "s"),
            beside=beside,
            ratio=f"{best / min(others):.2f} ({statistics.median(ours) / statistics.median(others):.2f})",
            target=f"≤ {LIMIT_S:g} s",
            met=best <= LIMIT_S,
        ),
        Row(what="  CPU time", ours=best_and_median(cpu, min, "s")),
    ]


def _once(folder: Path) -> list[float]:
    env = os.environ | {"IPYTHONDIR": str(folder / "ipython")}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=env, capture_output=True, text=True, check=True)
    figures: list[float] = json.loads(done.stdout.splitlines()[-1])
    return figures
