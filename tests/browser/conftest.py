"""One JupyterLab for the whole folder, and notebooks that stand ready with the extension loaded."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.seen import LIMIT_MS, Seen
from tests.rigs.lab import Lab

SETUP = """%load_ext dvergr_nb
import asyncio, threading, time
import dvergr_nb as d
"""

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


@pytest.fixture
def ready(lab: Lab, place: Path) -> Ready:
    """`with ready(cell, …) as seen:` gives a page whose first cell has loaded the extension; the others have run where
    `run` says so. Leaving it fails the test where the page complained.
    """

    @contextlib.contextmanager
    def opened(*cells: str, setup: str = "", run: bool = True, width: int = 1200, height: int = 1000) -> Iterator[Seen]:
        name = "notebook.ipynb"
        written: Sequence[str] = [SETUP + setup, *cells]
        lab.write(f"{place.name}/{name}", written)
        with lab.open(f"{place.name}/{name}", width=width, height=height) as notebook:
            seen = Seen(notebook, place)
            if run:
                notebook.run_all()
            yield seen
            assert notebook.console_errors == seen.expected_errors

    return opened
