"""One JupyterLab for the whole folder, and notebooks that stand ready with the extension loaded."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.seen import LIMIT_MS, Seen
from tests.rigs.lab import Lab
from tests.rigs.notebook import Notebook

SETUP = """%load_ext dvergr_nb
import asyncio, threading, time
import dvergr_nb as d
"""

LET_GO = """() => {
  document.querySelector('.jp-Dialog .jp-mod-accept')?.click();
  window.jupyterapp.shell.currentWidget?.dispose();
}"""

Ready = Callable[..., AbstractContextManager[Seen]]


@pytest.fixture(scope="package")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """Shared by all modules of this folder: its start and the first page cost more than most tests."""
    expect.set_options(timeout=LIMIT_MS)
    with Lab.start(tmp_path_factory.mktemp("lab")) as running:
        yield running


@pytest.fixture
def place(lab: Lab, request: pytest.FixtureRequest) -> Path:
    """A folder of this test alone, so that its store is its own; the kernel works in it."""
    folder: Path = lab.root / str(request.node.name)[:80]
    folder.mkdir()
    return folder


@pytest.fixture(scope="package")
def tab(lab: Lab) -> Iterator[Notebook]:
    """One page of JupyterLab, in which tests open their notebooks one after the other: loading it takes longest of all."""
    page = lab.browser.new_page()
    notebook = Notebook(page, lab.url("lab?reset"), "")
    page.goto(lab.url("lab?reset"), wait_until="domcontentloaded")
    page.wait_for_function("() => window.jupyterapp?.restored")
    page.evaluate("() => window.jupyterapp.restored.then(() => null)")
    yield notebook
    page.close()


@contextlib.contextmanager
def opened_in(tab: Notebook, name: str, width: int, height: int) -> Iterator[Notebook]:
    """The notebook, in a tab of the page; its kernel ends and the tab goes with it."""
    tab.name = name
    tab.console_errors.clear()
    tab.page.set_viewport_size({"width": width, "height": height})
    try:
        tab.command("docmanager:open", {"path": name})
        tab.wait_ready()
        yield tab
    finally:
        tab.shut_down()
        tab.page.evaluate(LET_GO)


@pytest.fixture
def ready(lab: Lab, tab: Notebook, place: Path) -> Ready:
    """`with ready(cell, …) as seen:` gives a page whose first cell has loaded the extension.

    The other cells have run where `run` says so. A test that loads its page again needs one of its own, a `fresh` one.
    Leaving it fails the test where the page complained.
    """

    @contextlib.contextmanager
    def opened(
        *cells: str, setup: str = "", run: bool = True, fresh: bool = False, width: int = 1200, height: int = 1000
    ) -> Iterator[Seen]:
        name = f"{place.name}/notebook.ipynb"
        lab.write(name, [SETUP + setup, *cells])
        at = lab.open(name, width=width, height=height) if fresh else opened_in(tab, name, width, height)
        with at as notebook:
            seen = Seen(notebook, place)
            if run:
                notebook.run_all()
            yield seen
            assert notebook.console_errors == seen.expected_errors

    return opened
