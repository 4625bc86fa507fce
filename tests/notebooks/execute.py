"""Executes notebooks for the outputs they are committed with: `python -m tests.notebooks.execute [NOTEBOOK…]`.

Each runs in a folder of its own, in a real kernel, with real times, so that the pictures show what happened. What strict
nbval compares is the same with the seeded times of a test. Views of widgets are left out: without their kernel JupyterLab
shows an error in their place, and the HTML beside them otherwise.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any, Final

import nbformat
from nbclient import NotebookClient

from tests.rigs.nbval import CELL_LIMIT_S, ROOT

SEAM: Final = ROOT / "tests" / "notebooks" / "seam"
SHOWN: Final = ROOT / "notebooks"
VIEW_MIME: Final = "application/vnd.jupyter.widget-view+json"
METADATA: Final = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python"},
}


def committed() -> list[Path]:
    """Every notebook whose outputs are committed, in the order they run in."""
    found = [*sorted(SHOWN.glob("*.ipynb")), *sorted(SEAM.glob("*.ipynb"))]
    return [path for path in found if not path.name.endswith(".executed.ipynb")]


def execute(path: Path, folder: Path) -> None:
    """Runs a notebook in `folder` and writes it back with its outputs. Raises what a cell raises."""
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=CELL_LIMIT_S,
        kernel_name="python3",
        resources={"metadata": {"path": str(folder)}},
        store_widget_state=False,
    )
    client.execute()
    notebook.metadata = nbformat.from_dict(METADATA)
    for index, cell in enumerate(notebook.cells):
        cell.id, cell.metadata = f"cell-{index}", nbformat.from_dict({})
        for output in cell.get("outputs", []):
            _without_view(output)
    nbformat.write(notebook, path)


def _without_view(output: Any) -> None:
    output.get("data", {}).pop(VIEW_MIME, None)


def main(asked: list[str]) -> None:
    """Executes those asked for, or all. Those of the seam share a folder: the second goes on where the first has ended."""
    for name in ("DVERGR_NB_TEST", "DVERGR_NB_LOCAL_MODEL", "OPENAI_API_KEY"):  # what is committed needs none of them
        os.environ.pop(name, None)
    os.environ["PYTHONPATH"] = str(ROOT)
    for group in (SHOWN, SEAM):
        with tempfile.TemporaryDirectory() as place:
            for beside in group.glob("*.py"):
                shutil.copy(beside, place)
            for path in committed():
                if path.parent == group and (not asked or path.name in asked):
                    print("executing", path.relative_to(ROOT), flush=True)
                    execute(path, Path(place))


if __name__ == "__main__":
    main(sys.argv[1:])
