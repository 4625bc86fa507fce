"""Other versions of ipykernel, each in a folder that only the kernel under test has on its path."""

from __future__ import annotations

import fcntl
import subprocess
import sys
from pathlib import Path
from typing import Final

TOOLS: Final = Path(__file__).parents[2] / ".tools"

OLDER: Final = ("6.29.5", "7.3.0")
"""The last version without subshells, and the last that answers widget messages on the subshell they came by."""

NEWEST: Final = None
"""Stands for the version in the environment."""

VERSIONS: Final = (*OLDER, NEWEST)
"""What kernel tests run on; use as `@pytest.mark.parametrize("version", VERSIONS, ids=label)`."""


def label(version: str | None) -> str:
    """A version as the id of a test."""
    return f"ipykernel-{version or 'installed'}"


def overlay(version: str) -> Path:
    """The folder with that ipykernel and nothing else; made at the first call, which needs a package index."""
    folder = TOOLS / f"ipykernel-{version}"
    TOOLS.mkdir(exist_ok=True)
    with (TOOLS / f"ipykernel-{version}.lock").open("w") as gate:
        fcntl.flock(gate, fcntl.LOCK_EX)
        if not (folder / f"ipykernel-{version}.dist-info" / "RECORD").exists():
            _install(version, folder)
    return folder


def _install(version: str, folder: Path) -> None:
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(folder), f"ipykernel=={version}"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        message = f"ipykernel {version} could not be installed into {folder}: {done.stderr.strip()[-800:]}"
        raise RuntimeError(message)


if __name__ == "__main__":
    for each in OLDER:
        overlay(each)
