"""Loading, unloading and reloading in a terminal."""

from __future__ import annotations

import re
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from dvergr_nb.api import KERNEL
from dvergr_nb.magics import extension
from dvergr_nb.records.event import Event
from dvergr_nb.records.run import RunStatus
from tests.magics.conftest import Shell

WORDS = "dvergr turn room job runs card board cancel activity runsql dvergr; room; runs; board;"
NAMES = set(WORDS.split())
SLEEPER = "%%job -o r\nimport asyncio\nawait asyncio.sleep(60)"


def registered(terminal: Shell) -> set[str]:
    """Our magics that the shell knows."""
    magics = terminal.shell.magics_manager.magics
    return NAMES & (set(magics["line"]) | set(magics["cell"]))


def test_loading_opens_no_store(terminal: Shell, tmp_path: Path) -> None:
    assert registered(terminal) == NAMES
    assert KERNEL.session is None
    assert not (tmp_path / ".dvergr").exists()


def test_loading_brings_in_nothing_heavy() -> None:
    script = """
import sys
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance()
shell.extension_manager.load_extension("dvergr_nb")
print(sorted({"pandas", "pyarrow", "numpy", "matplotlib", "ipykernel", "ipywidgets"} & set(sys.modules)))
"""
    root = Path(__file__).parents[2]
    done = subprocess.run([sys.executable, "-c", script], cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_loading_twice_changes_nothing(terminal: Shell) -> None:
    matchers = len(terminal.shell.Completer.custom_matchers)
    extension.load(terminal.shell)
    terminal.cell("%load_ext dvergr_nb")
    assert registered(terminal) == NAMES
    assert len(terminal.shell.Completer.custom_matchers) == matchers
    assert [type(each).__name__ for each in terminal.shell.configurables].count("DvergrMagics") == 1


def test_unloading_removes_all_that_loading_put_in(terminal: Shell) -> None:
    terminal.cell("%unload_ext dvergr_nb")
    assert registered(terminal) == set()
    assert not any(
        "dvergr" in getattr(matcher, "matcher_identifier", "") for matcher in terminal.shell.Completer.custom_matchers
    )
    assert not any(type(each).__name__ == "DvergrMagics" for each in terminal.shell.configurables)
    assert "DvergrMagics" not in terminal.shell.magics_manager.registry
    terminal.cell("%load_ext dvergr_nb")
    assert registered(terminal) == NAMES


def test_unloading_leaves_a_magic_that_somebody_else_has_put_in_its_place(terminal: Shell) -> None:
    def theirs(_line: str) -> str:
        return "theirs"

    terminal.shell.register_magic_function(theirs, "line", "runs")  # type: ignore[arg-type]  # IPython's own is wrong
    terminal.cell("%unload_ext dvergr_nb")
    assert terminal.value("%runs") == "theirs"
    del terminal.shell.magics_manager.magics["line"]["runs"]


def test_unloading_cancels_what_lives_and_lets_those_who_watch_go(terminal: Shell) -> None:
    terminal.cell(SLEEPER)
    session = KERNEL.current()
    heard: list[Event] = []
    session.watch_runs("mine", heard.append)
    terminal.cell("%unload_ext dvergr_nb")
    terminal.cell("await r.wait(30)")
    assert terminal.value("r").row.status is RunStatus.CANCELLED
    assert heard[-1].type == "run/finished"
    session.home.call(lambda: None)
    assert session.home.call(lambda: len(session.bus._watches)) == 0


def test_reloading_leaves_what_lives_and_those_who_watch_alone(terminal: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extension, "RELOAD_S", 0.05)
    terminal.cell(SLEEPER)
    session = KERNEL.current()
    heard: list[Event] = []
    session.watch_runs("mine", heard.append)
    terminal.cell("%reload_ext dvergr_nb")
    assert registered(terminal) == NAMES
    terminal.cell("%%job -o later\nimport asyncio\nawait asyncio.sleep(0.2)")
    terminal.cell("await later")
    assert terminal.value("r").row.status is RunStatus.RUNNING
    assert heard[-1].type == "run/finished"
    terminal.cell("%cancel r\nawait r.wait()")
    assert KERNEL.current() is session


def test_unloading_without_a_store_is_harmless(terminal: Shell) -> None:
    extension.unload(terminal.shell)
    extension.unload(terminal.shell)
    assert KERNEL.session is None


def test_a_store_opened_in_an_awaiting_cell_of_a_terminal_lives_on_when_the_cell_has_ended(terminal: Shell) -> None:
    terminal.cell(
        "import asyncio, dvergr_nb as d\nawait asyncio.sleep(0)\nsession = d.connect(':memory:')\nr = d.job(lambda: 7)"
    )
    assert not KERNEL.current().home.is_here
    handle = terminal.value("r")
    ended = threading.Event()
    handle.when_over(ended.set)
    assert ended.wait(30)
    assert handle.row.status is RunStatus.COMPLETED
    assert terminal.value("await r") == 7


def test_in_a_plain_script_a_run_is_a_line_of_text(tmp_path: Path) -> None:
    script = """
import asyncio
import dvergr_nb as d

async def main():
    run = d.job(lambda: 2, label="plain")
    print(run)
    print(await run)
    print(run.card())

d.connect(":memory:")
asyncio.run(main())
d.current_session().close()
"""
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, env={"PYTHONPATH": str(root)}, capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    first, value, last = done.stdout.splitlines()
    assert re.fullmatch(r"Run [0-9a-f]{8}: plain", first)
    assert (value, last) == ("2", f"{first}, completed")
