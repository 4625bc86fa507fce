"""What is seen on a page: cards, boards, and what a person does with them."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from playwright.sync_api import expect

from tests.rigs.notebook import Notebook

if TYPE_CHECKING:
    from playwright.sync_api import Locator, Page

LIMIT_MS: Final = 60_000

ACTIVE: Final = "() => [document.activeElement?.textContent ?? '', document.activeElement?.className ?? '']"


class Seen:
    """One notebook page and its widgets."""

    def __init__(self, notebook: Notebook, place: Path) -> None:
        self.notebook = notebook
        self.place = place
        self.expected_errors: list[str] = []
        """What the console may say; nothing, unless a test kills a kernel."""

    @property
    def page(self) -> Page:
        """Playwright's own."""
        return self.notebook.page

    # -- what is there ------------------------------------------------------------------------------------------------

    def card(self, name: str) -> Card:
        """The first card of the Run that is called so."""
        return Card(self._named(name).first)

    def cards(self, name: str) -> list[Card]:
        """All its cards; there is at least one."""
        expect(self._named(name).first).to_be_visible()
        return [Card(root) for root in self._named(name).all()]

    def _named(self, name: str) -> Locator:
        who = self.page.locator(".dvergr-who").get_by_text(name, exact=True)
        return self.page.locator(".dvergr-run-card").filter(has=who)

    def board(self) -> Board:
        """The first board of the page."""
        return Board(self.page.locator(".dvergr-run-board").first)

    def cells(self) -> list[str]:
        """The kinds and texts of all cells, which no key pressed inside a widget may change."""
        model = "window.jupyterapp.shell.currentWidget.content.model.cells"
        return list(self.page.evaluate(f"() => [...{model}].map(c => c.type + ' ' + c.sharedModel.getSource())"))

    def value(self, expression: str) -> str:
        """The repr of a Python expression in the kernel."""
        return str(self.notebook.execute(f"print(repr({expression}))")["stdout"]).strip()

    # -- what is done -------------------------------------------------------------------------------------------------

    def run(self, *indices: int) -> None:
        """Runs cells one after the other; an exception in one fails the test."""
        for index in indices:
            self.notebook.run_cell(index)
            assert self.notebook.errors() == []

    def kill_kernel(self, pid: int | None = None) -> None:
        """SIGKILL, and Ok to JupyterLab's word about it. A kernel in a blocking cell cannot be asked for its `pid`."""
        self.notebook.kill_kernel(self.notebook.kernel_pid() if pid is None else pid)
        self.page.locator(".jp-Dialog").get_by_role("button", name="Ok").click()
        expect(self.page.locator(".jp-Dialog")).to_have_count(0)

    def tab_to(self, target: Locator, most: int = 60) -> None:
        """Presses Tab until the target has focus."""
        for _ in range(most):
            self.page.keyboard.press("Tab")
            if target.evaluate("node => node === document.activeElement"):
                return
        raise AssertionError(f"{most} times Tab did not reach it; focus is on {self.page.evaluate(ACTIVE)}")

    @contextlib.contextmanager
    def beside(self) -> Iterator[Seen]:
        """The same notebook in a second tab, on the same kernel, as a person opens a link twice."""
        page = self.page.context.new_page()
        page.set_viewport_size({"width": 1200, "height": 1000})
        try:
            origin = self.page.evaluate("() => window.origin")
            notebook = Notebook(page, f"{origin}/lab/tree/{self.notebook.name}?reset", self.notebook.name)
            notebook.open()
            yield Seen(notebook, self.place)
            assert notebook.console_errors == []
        finally:
            page.close()

    @contextlib.contextmanager
    def aside(self, html: str) -> Iterator[Page]:
        """A page of that HTML, without a network, as one opens a file."""
        path = self.place / "page.html"
        path.write_text(html)
        page = self.page.context.new_page()
        try:
            page.route("http*://**", lambda route: route.abort())
            page.goto(path.as_uri())
            yield page
        finally:
            page.close()

    def gate(self, name: str = "gate") -> Path:
        """A pipe in the kernel's folder: code that reads it stands still until `open_gate`."""
        path = self.place / name
        os.mkfifo(path)
        return path


def open_gate(path: Path) -> None:
    """Lets what reads the pipe go on."""
    with path.open("w") as pipe:
        pipe.write("go")


class Card:
    """One card."""

    def __init__(self, root: Locator) -> None:
        self.root = root
        self.word = root.locator(".dvergr-head .dvergr-word")
        self.took = root.locator(".dvergr-took")
        self.news = root.locator(".dvergr-slot")
        self.facts = root.locator(".dvergr-facts")
        self.cancel = root.get_by_role("button", name="Cancel", exact=True)
        self.details = root.get_by_role("button", name="Details", exact=True)
        self.chart = root.locator(".dvergr-timeline")
        self.log = root.locator(".dvergr-log > li")

    def shows(self, word: str) -> None:
        """Waits until its state is called so."""
        expect(self.word).to_have_text(word)


class Board:
    """One board."""

    def __init__(self, root: Locator) -> None:
        self.root = root
        self.rows = root.locator(".dvergr-body > .dvergr-row")
        self.range = root.locator(".dvergr-foot > span").first
        self.as_of = root.locator(".dvergr-foot > span").last
        self.above = root.locator(".dvergr-foot > button")
        self.field = root.get_by_role("searchbox", name="Filter")
        self.scroller = root.locator(".dvergr-scroller")

    def row(self, label: str) -> Locator:
        """The row with that label, where it is in view."""
        cell = self.root.page.locator("[role=gridcell]").get_by_text(label, exact=True)
        return self.rows.filter(has=cell)

    def chip(self, name: str) -> Locator:
        """The filter of a state."""
        return self.root.locator(".dvergr-chips > button").filter(has_text=name)


def moves(*nodes: Locator) -> None:
    """Waits until the text of each has changed twice."""
    for node in nodes:
        for _ in range(2):
            expect(node).not_to_have_text(node.inner_text())
