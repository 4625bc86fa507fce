"""Wheel and sdist hold what is needed, and the wheel works in an environment where nothing else of ours is."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from tests.contract.source import PACKAGE, ROOT, tracked

pytestmark = [pytest.mark.install, pytest.mark.slow]

LIMIT_S = 900

ONE_JOB = """
import asyncio, sys
from IPython.core.interactiveshell import InteractiveShell
import dvergr_nb as d

assert "site-packages" in d.__file__, d.__file__
shell = InteractiveShell.instance()
shell.run_line_magic("load_ext", "dvergr_nb")
assert "job" in shell.magics_manager.magics["cell"]

async def main():
    async with d.connect("store.duckdb"):
        run = d.job(lambda a, b: a + b, 20, 22, label="add")
        assert await run == 42
        frame = d.frames.runs()
        print(frame["label"][0], frame["status"][0])

asyncio.run(main())
"""


def without_node() -> dict[str, str]:
    """An environment where neither Node nor this repository can be found by accident."""
    env = {key: value for key, value in os.environ.items() if not key.startswith(("PYTHON", "JUPYTER", "IPYTHON", "DVERGR"))}
    return env | {"PATH": "/nonexistent"}


def command(argv: Sequence[str | Path], *, cwd: Path, env: dict[str, str] | None = None) -> str:
    """Runs a command to its end and gives what it printed; its failure fails the test with its words."""
    done = subprocess.run(argv, cwd=cwd, env=env, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 0, (done.stdout + done.stderr)[-6000:]
    return done.stdout


def empty_environment(folder: Path) -> Path:
    """A new virtual environment with pip and nothing else; gives its interpreter."""
    venv.create(folder, with_pip=True, symlinks=True)
    return folder / "bin" / "python"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the sdist, and with the wheel that was made from it."""
    folder = tmp_path_factory.mktemp("dist")
    command([sys.executable, "-m", "build", "--no-isolation", "--outdir", folder, ROOT], cwd=folder)
    return folder


def wheel_names(built: Path) -> set[str]:
    (wheel,) = built.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def sdist_names(built: Path) -> set[str]:
    (sdist,) = built.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        return {name.split("/", 1)[1] for name in archive.getnames() if "/" in name}


def test_the_wheel_has_every_file_of_the_package_and_nothing_beside_it(built: Path) -> None:
    shipped = {name for name in tracked() if name.startswith("dvergr_nb/")}
    names = wheel_names(built)
    assert {Path(name).suffix for name in shipped} >= {".py", ".sql", ".js", ".css", ".typed"}
    assert {name for name in names if name.startswith("dvergr_nb/")} == shipped
    assert {name.split("/")[0] for name in names} == {"dvergr_nb", "dvergr_nb-0.1.0.dist-info"}
    assert "dvergr_nb-0.1.0.dist-info/licenses/LICENSE" in names


def test_the_sdist_has_the_sources_of_everything_and_no_installed_packages(built: Path) -> None:
    names = sdist_names(built)
    wanted = {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "js/package-lock.json", "tests/nbval.cfg", "tests/run"}
    assert wanted <= names
    assert {name for name in tracked() if name.startswith(("dvergr_nb/", "js/src/"))} <= names
    assert not [name for name in names if "node_modules" in name or ".venv" in name or "__pycache__" in name]


def test_the_wheel_runs_a_job_in_an_empty_environment_without_node(built: Path, tmp_path: Path) -> None:
    python = empty_environment(tmp_path / "env")
    (wheel,) = built.glob("*.whl")
    command([python, "-m", "pip", "install", "--quiet", "--no-compile", wheel], cwd=tmp_path)
    env = without_node() | {"IPYTHONDIR": str(tmp_path / "ipython")}
    assert (
        command([python, "-W", "error::DeprecationWarning:dvergr_nb", "-c", ONE_JOB], cwd=tmp_path, env=env)
        == "add completed\n"
    )


def test_the_package_is_marked_as_typed() -> None:
    assert (PACKAGE / "py.typed").exists()
