"""The nbval rig accepts what is the same, and only that."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.rigs.nbval import nbval
from tests.rigs.notebook import write_notebook

pytestmark = pytest.mark.notebooks


def stored(folder: Path, source: str, printed: str) -> Path:
    """A notebook of one cell whose stored output is what it printed once."""
    path = write_notebook(folder / "stored.ipynb", [source])
    notebook = json.loads(path.read_text())
    notebook["cells"][0] |= {"outputs": [{"output_type": "stream", "name": "stdout", "text": printed}], "execution_count": 1}
    path.write_text(json.dumps(notebook))
    return path


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "workspace"
    folder.mkdir()
    return folder


def test_the_same_output_passes(tmp_path: Path, workspace: Path) -> None:
    verdict = nbval(stored(tmp_path, "print('same')", "same\n"), workspace)
    assert (verdict.ok, verdict.cells) == (True, 1), verdict.report


def test_another_output_fails_unless_only_running_is_asked(tmp_path: Path, workspace: Path) -> None:
    notebook = stored(tmp_path, "print('new')", "old\n")
    assert not nbval(notebook, workspace).ok
    assert nbval(notebook, workspace, strict=False).ok


def test_ids_times_and_durations_may_differ(tmp_path: Path, workspace: Path) -> None:
    source = (
        "import uuid, datetime\n"
        "print(uuid.uuid4(), uuid.uuid4().hex[:8], datetime.datetime.now(datetime.UTC), object(), '2m 14s', '3.2 s', '1h 2m')"
    )
    printed = (
        "01939c2e-7c52-7000-8000-0123456789ab 89abcdef 2026-01-01 09:00:00.001000+00:00 "
        "<object object at 0x7f0000000000> 1m 2s 12 ms 20s\n"
    )
    assert nbval(stored(tmp_path, source, printed), workspace).ok


def test_the_notebook_runs_in_the_workspace_with_our_package_and_seeded_ids(tmp_path: Path, workspace: Path) -> None:
    source = "import os, dvergr_nb.ids\nopen('here', 'w').close()\nprint(os.environ['DVERGR_NB_TEST'])"
    verdict = nbval(stored(tmp_path, source, "1\n"), workspace)
    assert verdict.ok, verdict.report
    assert (workspace / "here").exists()
