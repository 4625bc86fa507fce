"""The first notebook, run from top to bottom in the browser: its cards end as its text says."""

from __future__ import annotations

import json
import re
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.seen import Seen
from tests.rigs.lab import Lab

NOTEBOOK = Path(__file__).parents[2] / "notebooks" / "01_first_run.ipynb"
ENDS = {
    "random forest": "completed",
    "search 2,000 forests": "cancelled",
    "pick the best": "completed",
    "no neighbours": "failed",
}
MODELS = ("random forest", "nearest neighbours", "support vectors", "naive Bayes")
TALL = 7_000
"""Height of the page in px: JupyterLab draws only the cells in view."""


def lay(lab: Lab) -> Path:
    """A copy of the notebook, without the outputs it came with, in a folder of its own."""
    place = lab.root / "first"
    place.mkdir()
    notebook = json.loads(NOTEBOOK.read_text())
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell |= {"outputs": [], "execution_count": None}
    (place / NOTEBOOK.name).write_text(json.dumps(notebook))
    return place


def test_the_first_notebook_runs_to_its_end_and_its_cards_say_how_each_run_ended(lab: Lab) -> None:
    place = lay(lab)
    with lab.open(f"{place.name}/{NOTEBOOK.name}", height=TALL) as notebook:
        seen = Seen(notebook, place)
        notebook.run_all(timeout_s=400)
        for name, word in ENDS.items():
            for card in seen.cards(name):
                card.shows(word)
        expect(seen.card("random forest").news).to_have_text(re.compile(r"^0\.9\d+$"))
        expect(seen.card("no neighbours").news).to_contain_text("n_neighbors")
        for name in MODELS:
            expect(seen.board().row(name)).to_have_attribute("data-state", "completed")
        expect(seen.board().chip("running")).to_be_hidden()
        assert seen.value("d.active_runs()") == "[]"
        assert notebook.console_errors == []
