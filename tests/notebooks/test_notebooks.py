"""What holds of every notebook we commit: it can be read without running it, and running it gives what it shows."""

from __future__ import annotations

import base64
import io
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.notebooks.execute import METADATA, SHOWN, VIEW_MIME, committed
from tests.rigs.nbval import nbval

LINES = 25
BYTES = 250_000
PLACES = re.compile(r"(?<![\w.<])/(?:home|root|tmp|var|usr|opt|work|Users|private)/|[A-Z]:\\\\|site-packages")
ADDRESSES = re.compile(r"https?://|fetch_|urlopen|requests\.|download")
WIDGET = re.compile(r"Run [0-9a-f]{8}: |Board of |Room ")
WITH_WIDGETS = (
    "01_first_run.ipynb",
    "03_rooms_and_turns.ipynb",
    "04_an_agent_at_your_data.ipynb",
    "05_teams_and_money.ipynb",
    "1_ask.ipynb",
)
PERSON = {"DVERGR_NB_TEST": ""}
"""A kernel with ids and times as a person has them."""

every = pytest.mark.parametrize("path", committed(), ids=lambda path: path.name)
shown = pytest.mark.parametrize("path", [path for path in committed() if path.parent == SHOWN], ids=lambda path: path.name)


def cells(path: Path, kind: str = "code") -> list[dict[str, Any]]:
    return [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == kind]


def source(cell: dict[str, Any]) -> str:
    return "".join(cell["source"])


def outputs(path: Path) -> list[dict[str, Any]]:
    return [output for cell in cells(path) for output in cell["outputs"]]


@pytest.fixture(scope="session")
def _fonts() -> None:
    """Matplotlib looks for fonts once per machine, and says so where that takes long."""
    subprocess.run([sys.executable, "-c", "import matplotlib.font_manager"], check=True, timeout=300)


@shown
@pytest.mark.usefixtures("_fonts")
def test_a_notebook_gives_what_it_shows_also_beside_what_it_left_the_last_time(path: Path, tmp_path: Path) -> None:
    first = nbval(path, tmp_path)
    assert first.ok, first.report
    assert first.cells == len(cells(path))
    second = nbval(path, tmp_path, env=PERSON)
    assert second.ok, second.report


@every
def test_every_code_cell_was_run_and_in_order(path: Path) -> None:
    counts = [cell["execution_count"] for cell in cells(path)]
    assert counts == list(range(1, len(counts) + 1))


@every
def test_a_notebook_shows_outputs_and_none_is_an_error(path: Path) -> None:
    kinds = {output["output_type"] for output in outputs(path)}
    assert "execute_result" in kinds
    assert "error" not in kinds


@every
def test_no_cell_is_longer_than_a_screen(path: Path) -> None:
    assert [source(cell) for cell in cells(path) if len(cell["source"]) > LINES] == []


@every
def test_outputs_name_no_place_of_a_machine(path: Path) -> None:
    for output in outputs(path):
        texts = [output.get("text", ""), *(text for mime, text in output.get("data", {}).items() if mime.startswith("text/"))]
        assert [found for text in texts if (found := PLACES.search("".join(text)))] == []


@every
def test_no_cell_asks_the_network(path: Path) -> None:
    assert [source(cell) for cell in cells(path) if ADDRESSES.search(source(cell))] == []


@every
def test_no_cell_is_left_out_of_the_comparison(path: Path) -> None:
    assert "NBVAL" not in path.read_text()


@every
def test_metadata_say_nothing_but_the_kernel(path: Path) -> None:
    notebook = json.loads(path.read_text())
    assert notebook["metadata"] == METADATA
    assert [cell for cell in notebook["cells"] if cell["metadata"]] == []


@every
def test_what_stands_in_for_a_widget_is_kept_and_the_widget_is_not(path: Path) -> None:
    bundles = [output["data"] for output in outputs(path) if "data" in output]
    assert not any(VIEW_MIME in bundle for bundle in bundles)
    widgets = [bundle for bundle in bundles if WIDGET.match("".join(bundle["text/plain"]))]
    assert all("text/html" in bundle for bundle in widgets)
    assert widgets or path.name not in WITH_WIDGETS


@every
def test_a_notebook_stays_small(path: Path) -> None:
    assert path.stat().st_size < BYTES


@shown
def test_every_code_cell_after_the_first_is_told_what_it_is_for(path: Path) -> None:
    kinds = [cell["cell_type"] for cell in json.loads(path.read_text())["cells"]]
    assert kinds[0] == "markdown"
    assert kinds.count("markdown") > kinds.count("code") / 2


@shown
def test_the_last_cell_waits_for_what_still_lives(path: Path) -> None:
    assert source(cells(path)[-1]) == "await d.drain()"


@shown
def test_pictures_show_something(path: Path) -> None:
    """Strict nbval compares no pictures: it leaves out `image/png` and `image/jpeg`, and compares the text beside them."""
    from matplotlib.image import imread

    pictures = [data["image/png"] for output in outputs(path) if "image/png" in (data := output.get("data", {}))]
    assert pictures
    for picture in pictures:
        pixels = imread(io.BytesIO(base64.b64decode("".join(picture))), format="png")
        assert pixels.std() > 0.05
