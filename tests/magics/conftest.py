"""A real IPython shell without a kernel, with the extension loaded and a store of its own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from IPython.core.interactiveshell import ExecutionResult, InteractiveShell

from dvergr_nb.api import KERNEL
from dvergr_nb.magics import extension


class Shell:
    """A terminal: cells go in, results and text come out."""

    def __init__(self, shell: InteractiveShell, read: Callable[[], Any]) -> None:
        self.shell = shell
        self._read = read

    def cell(self, source: str) -> ExecutionResult:
        """Runs a cell as Run All would: what went wrong is in the result."""
        result: ExecutionResult = self.shell.run_cell(source, store_history=True)
        return result

    def value(self, source: str) -> Any:
        """What a cell shows; raises what it raised."""
        result = self.cell(source)
        result.raise_error()
        return result.result

    def text(self, source: str) -> str:
        """The plain text a cell shows."""
        formatter = self.shell.display_formatter
        assert formatter is not None
        return str(formatter.format(self.value(source))[0]["text/plain"])

    def error(self, source: str) -> BaseException:
        """What a cell raises."""
        problem = self.cell(source).error_in_exec
        assert problem is not None
        return problem

    def printed(self, source: str) -> str:
        """What a cell prints."""
        self._read()
        self.cell(source)
        return str(self._read().out)


@pytest.fixture
def terminal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Iterator[Shell]:
    """A shell in `tmp_path` with the extension loaded; no store is open yet."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    InteractiveShell.clear_instance()
    shell = InteractiveShell.instance()
    history, extensions = shell.history_manager, shell.extension_manager
    assert history is not None
    assert extensions is not None
    history.enabled = False
    extensions.load_extension("dvergr_nb")
    yield Shell(shell, capsys.readouterr)
    if KERNEL.session is not None:
        KERNEL.session.close(force=True)
    extension.unload(shell)
    KERNEL.__init__()  # type: ignore[misc]  # as in a new process
    history.end_session()
    InteractiveShell.clear_instance()
