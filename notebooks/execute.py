"""Executes a notebook in a real kernel, into a file beside it, and lists the Runs that it made, store by store.

python notebooks/execute.py notebooks/01_first_run.ipynb
"""

from __future__ import annotations

import datetime as dt
import os
import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError
from pandas import DataFrame

import dvergr_nb as d

CELL_LIMIT_S = 600


def execute(notebook: Path, executed: Path) -> str | None:
    """Runs every cell where the notebook lies. What was reached is written in any case; gives what stopped it, if anything."""
    content = nbformat.read(notebook, as_version=4)
    client = NotebookClient(
        content,
        timeout=CELL_LIMIT_S,
        kernel_name="python3",
        extra_arguments=["--IPKernelApp.log_level=ERROR"],  # or it warns of its own loopback sockets
        resources={"metadata": {"path": str(notebook.parent)}},
    )
    try:
        client.execute()
    except CellExecutionError as problem:
        return str(problem)
    finally:
        nbformat.write(content, executed)
    return None


def runs_since(store: Path, start: dt.datetime) -> DataFrame:
    """The Runs of the store that were made since `start`, oldest first."""
    with d.connect(store):
        made = d.frames.runs()
    return DataFrame(made[made["created_at"] >= start].sort_values("created_at"))


def stores_since(folder: Path, start: dt.datetime) -> list[Path]:
    """The stores in the folder that were written to since `start`, by name; the last writes may be in a file beside one."""
    changed = [path for path in folder.glob("*.duckdb*") if path.stat().st_mtime >= start.timestamp()]
    return sorted({path.with_name(f"{path.name.partition('.')[0]}.duckdb") for path in changed})


def listed(runs: DataFrame) -> str:
    """A Run a line: the end of its id, status, reason, seconds, label."""
    seconds = (runs["ended_at"] - runs["started_at"]).dt.total_seconds()
    rows = zip(runs["id"], runs["status"], runs["reason"].astype(object), seconds, runs["label"], strict=True)
    return "\n".join(
        f"  {run_id[-8:]}  {status:<10} {reason if isinstance(reason, str) else '':<23} {took:6.2f} s  {label}"
        for run_id, status, reason, took, label in rows
    )


def main(name: str) -> int:
    """Executes the notebook and prints what came of it; gives the exit status."""
    notebook = Path(name).resolve()
    executed = notebook.with_suffix(".executed.ipynb")
    start = dt.datetime.now(dt.UTC)
    print(f"executing {os.path.relpath(notebook)}", flush=True)
    problem = execute(notebook, executed)
    for store in stores_since(notebook.parent / ".dvergr", start):
        runs = runs_since(store, start)
        print(f"\nit made {len(runs)} Runs, which are in {os.path.relpath(store)}:\n{listed(runs)}\n")
    print(f"the executed notebook is {os.path.relpath(executed)}; open it with: bash notebooks/run --lab")
    if problem:
        print(f"\na cell failed:\n{problem}", file=sys.stderr)
    return 1 if problem else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
