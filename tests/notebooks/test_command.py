"""The command of the README, on a notebook of one Run."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

from tests.rigs.kernel import ROOT
from tests.rigs.nbval import environment
from tests.rigs.notebook import write_notebook

ADD = "import dvergr_nb as d\nawait d.job(lambda: 42, label='answer')"
FAIL = "1 / 0"
ELSEWHERE = "d.connect('.dvergr/other.duckdb')\nawait d.job(lambda: 43, label='another')"


def execute(notebook: Path) -> subprocess.CompletedProcess[str]:
    env = environment(notebook.parent, {})
    del env["DVERGR_NB_TEST"]
    command: list[str | Path] = [sys.executable, ROOT / "notebooks" / "execute.py", notebook]
    return subprocess.run(command, cwd=notebook.parent, env=env, capture_output=True, text=True, timeout=300, check=False)


def test_executing_a_notebook_lists_the_runs_it_made_each_time_anew(tmp_path: Path) -> None:
    notebook = write_notebook(tmp_path / "add.ipynb", [ADD])
    for _ in range(2):
        done = execute(notebook)
        assert done.returncode == 0, done.stdout + done.stderr
        assert "it made 1 Runs, which are in .dvergr/store.duckdb" in done.stdout
        assert done.stdout.count("answer") == 1
        assert "add.executed.ipynb" in done.stdout
    (cell,) = json.loads((tmp_path / "add.executed.ipynb").read_text())["cells"]
    assert "".join(cell["outputs"][-1]["data"]["text/plain"]) == "42"


def test_the_runs_are_listed_of_every_store_that_the_notebook_wrote_to(tmp_path: Path) -> None:
    done = execute(write_notebook(tmp_path / "two.ipynb", [ADD, ELSEWHERE]))
    assert done.returncode == 0, done.stdout + done.stderr
    answer, another = done.stdout.index("answer"), done.stdout.index("another")
    assert "it made 1 Runs, which are in .dvergr/other.duckdb" in done.stdout[:another]
    assert "it made 1 Runs, which are in .dvergr/store.duckdb" in done.stdout[another:answer]


def test_a_failing_cell_is_told_and_what_was_reached_is_written(tmp_path: Path) -> None:
    done = execute(write_notebook(tmp_path / "fail.ipynb", [ADD, FAIL]))
    assert done.returncode == 1
    assert "answer" in done.stdout
    assert "ZeroDivisionError" in done.stderr
    assert "ZeroDivisionError" in (tmp_path / "fail.executed.ipynb").read_text()
