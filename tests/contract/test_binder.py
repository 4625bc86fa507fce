"""What repo2docker does with binder/ ends in a kernel that executes the first notebook."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.contract.source import ROOT, tracked
from tests.contract.test_install import command, empty_environment, without_node

FIRST = "notebooks/01_first_run.ipynb"

EXECUTE = """
import sys, nbformat
from nbclient import NotebookClient
content = nbformat.read(sys.argv[1], as_version=4)
NotebookClient(content, timeout=300, kernel_name="python3").execute()
print(sum(cell.cell_type == "code" for cell in content.cells))
"""


def test_binder_has_only_files_that_repo2docker_reads() -> None:
    """With a folder of this name, repo2docker ignores configuration at the top level."""
    assert {name for name in tracked() if name.startswith("binder/")} == {"binder/requirements.txt", "binder/runtime.txt"}
    assert (ROOT / "binder/runtime.txt").read_text() == "python-3.11\n"


def test_the_requirements_name_the_checkout_as_seen_from_the_top_level() -> None:
    lines = (ROOT / "binder/requirements.txt").read_text().splitlines()
    assert [line for line in lines if not line.startswith("#")] == [".[lab]"]


@pytest.mark.install
@pytest.mark.slow
def test_the_install_steps_of_binder_start_the_first_notebook(tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    for name in tracked():
        (checkout / name).parent.mkdir(parents=True, exist_ok=True)
        (checkout / name).write_bytes((ROOT / name).read_bytes())
    python = empty_environment(tmp_path / "env")
    command([python, "-m", "pip", "install", "--quiet", "--no-compile", "-r", "binder/requirements.txt"], cwd=checkout)
    home = tmp_path / "home"
    env = without_node() | {"HOME": str(home), "IPYTHONDIR": str(home / "ipython"), "MPLCONFIGDIR": str(home / "matplotlib")}
    cells = command([python, "-c", EXECUTE, checkout / FIRST], cwd=checkout / "notebooks", env=env)
    assert int(cells) > 0
    subprocess.run([python, "-m", "jupyterlab", "--version"], cwd=checkout, env=env, check=True, capture_output=True)
