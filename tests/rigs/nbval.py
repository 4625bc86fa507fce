"""Strict nbval over notebooks, each copied to a folder of its own, so that every run begins without a store."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
SANITIZE: Final = ROOT / "tests" / "nbval.cfg"
CELL_LIMIT_S: Final = 60
LIMIT_S: Final = 900


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """How a notebook did. `cells` counts the code cells that ran; `report` is nbval's own words."""

    ok: bool
    cells: int
    report: str


def nbval(notebook: Path, workspace: Path, *, env: Mapping[str, str] | None = None, strict: bool = True) -> Verdict:
    """Runs a notebook in `workspace`, in this environment, and compares every output with the stored one.

    With `strict=False` it only has to run without an exception. The kernel has `DVERGR_NB_TEST=1`, unless `env` says other.
    """
    copy = shutil.copy(notebook, workspace / notebook.name)
    command = [
        sys.executable,
        *("-m", "pytest", "--nbval" if strict else "--nbval-lax", "--nbval-current-env", str(copy)),
        *(f"--nbval-sanitize-with={SANITIZE}", f"--nbval-cell-timeout={CELL_LIMIT_S}"),
        *("-p", "no:cacheprovider", "-c", os.devnull, f"--rootdir={workspace}", "-q", "--color=no"),
    ]
    done = subprocess.run(
        command,
        cwd=workspace,
        env=environment(workspace, env or {}),
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    passed = re.search(r"(\d+) passed", done.stdout)
    return Verdict(ok=done.returncode == 0, cells=int(passed[1]) if passed else 0, report=done.stdout + done.stderr)


def environment(workspace: Path, extra: Mapping[str, str]) -> dict[str, str]:
    """What a process under test sees: Jupyter in the workspace, this checkout, seeded ids, nothing of the user."""
    foreign = ("JUPYTER", "IPYTHON", "DVERGR", "PYTEST", "PYTHON", "OPENAI")  # with a key a notebook asks a real model
    env = {k: v for k, v in os.environ.items() if not k.startswith(foreign)}
    home = workspace / ".jupyter"
    return env | {
        "PYTHONPATH": str(ROOT),
        "IPYTHONDIR": str(home / "ipython"),
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTER_DATA_DIR": str(home / "data"),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "DVERGR_NB_TEST": "1",
        **extra,
    }
