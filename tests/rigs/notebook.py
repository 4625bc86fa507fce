"""One notebook open in JupyterLab, driven through the page as a person and through `window.jupyterapp` as its menus."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

if TYPE_CHECKING:
    from playwright.sync_api import ConsoleMessage, Locator, Page

SHOTS: Final = Path(__file__).parents[1] / "shots"
LIMIT_MS: Final = 60_000

Theme = Literal["JupyterLab Light", "JupyterLab Dark", "JupyterLab Dark High Contrast"]
THEMES: Final[tuple[Theme, ...]] = ("JupyterLab Light", "JupyterLab Dark", "JupyterLab Dark High Contrast")

KERNEL: Final = "window.jupyterapp.shell.currentWidget.sessionContext.session.kernel"

NOTEBOOK_READY: Final = """(path) => {
  const w = window.jupyterapp?.shell.currentWidget;
  return !!w && !!w.context && w.context.path === path && w.context.isReady && w.content.model !== null;
}"""

KERNEL_IDLE: Final = "() => window.jupyterapp.shell.currentWidget.sessionContext.session?.kernel?.status === 'idle'"

LISTEN: Final = """() => {
  window.kernelStatuses = [];
  const context = window.jupyterapp.shell.currentWidget.sessionContext;
  context.statusChanged.connect((_, status) => window.kernelStatuses.push(status));
}"""

CELLS_DONE: Final = """() => {
  const nb = window.jupyterapp.shell.currentWidget;
  const cells = [...nb.content.model.cells].filter(c => c.type === 'code' && c.sharedModel.getSource().trim());
  const failed = cells.some(c => c.outputs.toJSON().some(o => o.output_type === 'error'));
  const ended = cells.every(c => c.executionCount !== null && c.executionState !== 'running');
  return nb.sessionContext.session.kernel.status === 'idle' && (failed || ended);
}"""

CELL_ERRORS: Final = """() => [...window.jupyterapp.shell.currentWidget.content.model.cells]
  .filter(c => c.type === 'code').flatMap(c => c.outputs.toJSON())
  .filter(o => o.output_type === 'error').map(o => `${o.ename}: ${o.evalue}`)"""

CLEAR: Final = """() => { for (const c of window.jupyterapp.shell.currentWidget.content.model.cells)
  if (c.type === 'code') { c.clearExecution(); } }"""

RUN_CELL: Final = """(i) => {
  const nb = window.jupyterapp.shell.currentWidget;
  nb.content.deselectAll();
  nb.content.activeCellIndex = i;
  window.jupyterapp.commands.execute('notebook:run-cell');
}"""

CELL_ENDED: Final = """(i) => {
  const cell = window.jupyterapp.shell.currentWidget.content.model.cells.get(i);
  return cell.executionCount !== null && cell.executionState !== 'running';
}"""

EXECUTE: Final = """async (code) => {
  const kernel = window.jupyterapp.shell.currentWidget.sessionContext.session.kernel;
  const future = kernel.requestExecute({code, store_history: false, silent: false, allow_stdin: false});
  let stdout = '', text = null, error = null;
  future.onIOPub = m => {
    if (m.header.msg_type === 'stream') stdout += m.content.text;
    if (m.header.msg_type === 'execute_result') text = m.content.data['text/plain'];
    if (m.header.msg_type === 'error') error = `${m.content.ename}: ${m.content.evalue}`;
  };
  const reply = await future.done;
  return {status: reply.content.status, stdout, text, error};
}"""


class Notebook:
    """A page with one notebook. `page` is Playwright's own, for clicks, keys and selectors."""

    def __init__(self, page: Page, url: str, name: str) -> None:
        self.page = page
        self.name = name
        self.console_errors: list[str] = []
        """What the console said as an error since the page was made, uncaught exceptions included."""
        self._url = url
        page.set_default_timeout(LIMIT_MS)
        page.on("console", self._heard)
        page.on("pageerror", lambda error: self.console_errors.append(f"uncaught: {error}"))

    def _heard(self, message: ConsoleMessage) -> None:
        if message.type == "error":
            self.console_errors.append(f"{message.text} ({message.location.get('url', '')})")

    # -- opening ------------------------------------------------------------------------------------------------------

    def open(self) -> None:
        """Loads the page; returns when the notebook is shown and its kernel idle."""
        self.page.goto(self._url, wait_until="domcontentloaded")
        self.wait_ready()

    def reload(self) -> None:
        """Loads the page again, as F5 does; unsaved outputs are gone then, the kernel stays."""
        self.page.reload(wait_until="domcontentloaded")
        self.wait_ready()

    def wait_ready(self) -> None:
        self.page.wait_for_function("() => window.jupyterapp?.restored", timeout=LIMIT_MS)
        self.page.evaluate("() => window.jupyterapp.restored.then(() => null)")
        self.page.wait_for_function(NOTEBOOK_READY, arg=self.name)
        self.page.evaluate("() => window.jupyterapp.shell.currentWidget.sessionContext.ready")
        self.page.evaluate(LISTEN)
        self.wait_idle()

    def save(self) -> None:
        self.command("docmanager:save")

    # -- cells --------------------------------------------------------------------------------------------------------

    def run_all(self, *, timeout_s: float = 120, may_fail: bool = False) -> None:
        """Runs every cell and waits for the last. An exception in one fails the test, unless it `may_fail`."""
        self.page.evaluate(CLEAR)
        self.begin("notebook:run-all-cells")
        self.wait_cells(timeout_s=timeout_s, may_fail=may_fail)

    def wait_cells(self, *, timeout_s: float = 120, may_fail: bool = False) -> None:
        """Returns when every code cell has run, or one has failed, and the kernel is idle."""
        self.page.wait_for_function(CELLS_DONE, timeout=timeout_s * 1000)
        errors = self.errors()
        assert may_fail or not errors, f"a cell failed: {errors[0]}"

    def begin_cell(self, index: int) -> None:
        """Sends one cell (markdown cells count) and does not wait."""
        self.page.evaluate("(i) => window.jupyterapp.shell.currentWidget.content.model.cells.get(i).clearExecution()", index)
        self.page.evaluate(RUN_CELL, index)

    def run_cell(self, index: int, *, timeout_s: float = 60) -> None:
        """Runs one cell (markdown cells count) to its end."""
        self.begin_cell(index)
        self.page.wait_for_function(CELL_ENDED, arg=index, timeout=timeout_s * 1000)

    def errors(self) -> list[str]:
        """`Class: sentence` of every exception that a cell shows."""
        return list(self.page.evaluate(CELL_ERRORS))

    def output(self, index: int) -> Locator:
        """The output area of a cell (markdown cells count)."""
        return self.page.locator(".jp-Notebook-cell").nth(index).locator(".jp-OutputArea").first

    # -- kernel -------------------------------------------------------------------------------------------------------

    def execute(self, code: str, *, may_fail: bool = False) -> dict[str, Any]:
        """Runs code in the kernel outside any cell; gives `status`, `stdout`, `text` (of the result) and `error`."""
        answer = dict(self.page.evaluate(EXECUTE, code))
        assert may_fail or answer["error"] is None, answer["error"]
        return answer

    def wait_idle(self) -> None:
        self.page.wait_for_function(KERNEL_IDLE)

    def kernel_pid(self) -> int:
        return int(self.execute("import os; print(os.getpid())")["stdout"])

    def kill_kernel(self, pid: int) -> None:
        """SIGKILL to the kernel's process; the server notices and starts another, see `wait_restarted`."""
        self.page.evaluate("() => { window.kernelStatuses = []; }")
        os.kill(pid, signal.SIGKILL)

    def wait_restarted(self) -> None:
        """Returns when the server has put another kernel in the place of one that died, and it is idle."""
        self.page.wait_for_function("() => window.kernelStatuses.some(s => s.endsWith('restarting'))")
        self.wait_idle()

    def restart(self) -> None:
        self.page.evaluate(f"() => {KERNEL}.restart()")
        self.wait_idle()

    def interrupt(self) -> None:
        self.page.evaluate(f"() => {KERNEL}.interrupt()")

    def shut_down(self) -> None:
        """Ends the kernel, as Shut Down Kernel in the menu."""
        self.page.evaluate("() => window.jupyterapp.shell.currentWidget?.sessionContext.shutdown()")

    # -- the page -----------------------------------------------------------------------------------------------------

    def command(self, name: str, args: dict[str, Any] | None = None) -> None:
        """Runs a JupyterLab command to its end."""
        self.page.evaluate("([c, a]) => window.jupyterapp.commands.execute(c, a).then(() => null)", [name, args or {}])

    def begin(self, name: str, args: dict[str, Any] | None = None) -> None:
        """Starts a JupyterLab command and does not wait for it."""
        self.page.evaluate("([c, a]) => { window.jupyterapp.commands.execute(c, a); }", [name, args or {}])

    def theme(self, name: Theme) -> None:
        """Changes the theme; returns when its style sheet holds."""
        self.command("apputils:change-theme", {"theme": name})
        self.page.wait_for_function("(name) => document.body.dataset.jpThemeName === name", arg=name)

    def shot(self, name: str, selector: str | None = None) -> Path:
        """Takes a picture of the page, or of one element, into `tests/shots/`."""
        SHOTS.mkdir(exist_ok=True)
        path = SHOTS / f"{name}.png"
        target = self.page.locator(selector).first if selector else self.page
        path.write_bytes(target.screenshot())
        return path


def write_notebook(path: Path, cells: Sequence[str]) -> Path:
    """Writes a notebook of these code cells, without outputs. (nbformat itself takes seconds to import.)"""
    kernelspec = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = {
        "nbformat": 4,
        "nbformat_minor": 5,
        "metadata": {"kernelspec": kernelspec, "language_info": {"name": "python"}},
        "cells": [_code_cell(index, source) for index, source in enumerate(cells)],
    }
    path.write_text(json.dumps(notebook))
    return path


def _code_cell(index: int, source: str) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "id": f"cell-{index}",
        "metadata": {},
        "execution_count": None,
        "source": source,
        "outputs": [],
    }
