"""The live widgets in a real kernel: a board of a thousand Runs that change, and a click on Cancel."""

from __future__ import annotations

import statistics
import time
import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.benchmarks.kernel_side import CHANGES, RUNS
from tests.benchmarks.table import Row, best_and_median, figure, percentile
from tests.rigs.kernel import Kernel, kernels

SETUP: Final = """
%load_ext dvergr_nb
import dvergr_nb as d
from tests.benchmarks.kernel_side import Crowd, Ends, cooperative
session = d.connect("live.duckdb")
"""
CLICKS: Final = 20


@dataclass
class Screen:
    """What a view that has heard every message so far would show."""

    comm_id: str
    rows: dict[str, Mapping[str, Any]] = field(default_factory=dict)
    shown_at: dict[tuple[str, float], float] = field(default_factory=dict)
    """By Run and how much it had done, when that was shown first."""
    messages: int = 0
    gaps: int = 0
    _rev: int | None = None

    def hear(self, msg: Mapping[str, Any], at: float) -> None:
        """Takes a message of the kernel that came at that time."""
        content = msg["content"]
        data = content.get("data", {})
        if msg["msg_type"] != "comm_msg" or content["comm_id"] != self.comm_id or data.get("method") != "custom":
            return
        told = data["content"]
        self.messages += 1
        if told["type"] not in ("patch", "snapshot"):
            return
        self.gaps += self._rev is not None and told["type"] == "patch" and told["rev"] != self._rev + 1
        self._rev = told["rev"]
        for row in told["rows"]:
            self.rows[row["id"]] = row
            if (progress := row.get("progress")) and progress.get("done") is not None:
                self.shown_at.setdefault((row["id"], progress["done"]), at)


def board(folder: Path, _rounds: int) -> list[Row]:
    """A thousand live Runs on one board, a thousand changes a second, for eight seconds."""
    (cwd := folder / "board").mkdir()
    with kernels(cwd) as start:
        kernel = start()
        kernel.run(SETUP + "board = d.RunBoard(); crowd = Crowd(session)")
        screen = Screen(kernel.value("board.model_id"))
        watch(kernel, screen, kernel.run_nowait("await crowd.work()"))
        watch(kernel, screen, kernel.run_nowait("import asyncio; await asyncio.sleep(1)"))
        changed: dict[str, list[float]] = kernel.value("crowd.changed_at")
        lag: list[float] = kernel.value("crowd.lag_s")
        took = kernel.value("crowd.ended_at - crowd.begun_at")
        rows = kernel.value("{run.id: run.status.value for run in session.runs(limit=None)}")
    behind, lost = compared(screen, changed)
    wrong = sum(screen.rows.get(run_id, {}).get("status") != status for run_id, status in rows.items())
    per_second = sum(map(len, changed.values())) / took
    lag_ms, behind_ms = percentile(lag, 0.99) * 1e3, percentile(behind, 0.99) * 1e3
    return [
        Row(
            what=f"board of {RUNS:,} live Runs, {per_second:,.0f} changes a second: loop lag p99",
            ours=f"{figure(lag_ms)} ms (p50 {figure(percentile(lag, 0.5) * 1e3)}, longest {figure(max(lag) * 1e3)})",
            target="< 50 ms",
            met=lag_ms < 50,
        ),
        Row(
            what="  changes lost, rows wrong at the end, gaps",
            ours=f"{lost}, {wrong}, {screen.gaps} ({screen.messages} messages)",
            target="0, 0, 0",
            met=not (lost or wrong or screen.gaps) and len(rows) == RUNS,
        ),
        Row(
            what="  how far behind the screen's messages are, p99",
            ours=f"{figure(behind_ms)} ms (p50 {figure(percentile(behind, 0.5) * 1e3)}, longest {figure(max(behind) * 1e3)})",
            target="≤ 250 ms",
            met=behind_ms <= 250,
        ),
    ]


def compared(screen: Screen, changed: Mapping[str, list[float]]) -> tuple[list[float], int]:
    """By how many seconds each change was shown late, and how many were never shown, nor a later one of the same Run."""
    behind, lost = [], 0
    for run_id, times in changed.items():
        shown = [screen.shown_at.get((run_id, done)) for done in range(CHANGES)]
        for done, at in enumerate(times):
            later = [seen for seen in shown[done:] if seen is not None]
            lost += not later
            behind += [min(later) - at] if later else []
    return behind, lost


def watch(kernel: Kernel, screen: Screen, msg_id: str) -> None:
    """Takes messages as they come, each with its time, until that cell is done."""
    seen = len(kernel.messages)
    is_done = False
    while not is_done:
        kernel._pump(0.2)
        now = time.time()
        for msg in kernel.messages[seen:]:
            screen.hear(msg, now)
            is_idle = msg["msg_type"] == "status" and msg["content"]["execution_state"] == "idle"
            is_done = is_done or (is_idle and msg["parent_header"].get("msg_id") == msg_id)
        seen = len(kernel.messages)


def cancelling(folder: Path, _rounds: int) -> list[Row]:
    """From the message that a click sends to the durable row of a body that looks every millisecond."""
    (cwd := folder / "cancel").mkdir()
    took = []
    with kernels(cwd) as start:
        kernel = start()
        kernel.run(SETUP + "ends = Ends(session)")
        for _ in range(CLICKS):
            run_id = kernel.value("(run := session.job(cooperative)) and (card := run.card()) and run.id")
            kernel.run("await run.admitted; import asyncio; await asyncio.sleep(0.1)")
            comm_id = kernel.value("card.model_id")
            clicked = time.time()
            kernel.widget_msg(comm_id, {"type": "cancel", "id": uuid.uuid4().hex, "run_id": run_id})
            kernel.run("await run.wait()")
            assert kernel.value("session.store.run(run.id).status.value") == "cancelled"
            took.append((kernel.value("ends.told_at[run.id]") - clicked) * 1e3)
    middle = statistics.median(took)
    return [
        Row(
            what="click on Cancel → durable cancelled",
            ours=f"{best_and_median(took, min, 'ms')}, longest {figure(max(took))}",
            target="< 100 ms",
            met=middle < 100,
        )
    ]
