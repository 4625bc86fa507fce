"""The magics in a real kernel: what a notebook's front end gets to see of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from tests.rigs.kernel import Kernel, Output, kernels

VIEW: Final = "application/vnd.jupyter.widget-view+json"
PAUSES: Final = """
class Pausing:
    place = "loop"
    async def execute(self, ctx):
        return d.Pause(reason="budget-exhausted")
"""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    with kernels(tmp_path_factory.mktemp("magics")) as start:
        kernel = start()
        kernel.run("%load_ext dvergr_nb")
        kernel.run("import asyncio, threading, time\nimport dvergr_nb as d")
        yield kernel


@pytest.fixture
def notebook(shared: Kernel) -> Iterator[Kernel]:
    """A kernel with the extension loaded and an empty store; nothing lives in it afterwards."""
    shared.run("%dvergr connect :memory:;")
    yield shared
    shared.run("for each in d.active_runs(): d.cancel_run(each)")
    shared.run("await d.drain(30);")


@pytest.fixture
def fresh(start_kernel: Callable[..., Kernel]) -> Kernel:
    """A kernel of its own, in a folder of its own, with the extension loaded."""
    kernel = start_kernel()
    prepared(kernel)
    return kernel


def prepared(kernel: Kernel) -> None:
    kernel.run("%load_ext dvergr_nb")
    kernel.run("import asyncio\nimport dvergr_nb as d")


def rows(kernel: Kernel) -> dict[str, tuple[str, str | None]]:
    """What is on record: status and reason by label."""
    found: dict[str, tuple[str, str | None]] = kernel.value("{run.label: (run.status.value, run.reason) for run in d.runs()}")
    return found


# What a front end sees -----------------------------------------------------------------------------------------------


def test_a_job_shows_itself_as_a_card_with_text_and_html_beside_it(notebook: Kernel) -> None:
    output = notebook.run("%%job hello -o r\n1 + 1")
    (bundle,) = output.data
    assert set(bundle) == {"text/plain", "text/html", VIEW}
    run_id = notebook.value("r.id")
    assert bundle["text/plain"].startswith(f"Run {run_id[-8:]}: hello")
    assert notebook.run("await r").text == "2"


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ("%card r", "Run "),
        ("%board", "Board of all rooms"),
        ("%runs", "run "),
        ("%activity r", " "),
        ("%runsql SELECT label FROM runs", "  label\n0  kept"),
        ("%dvergr", "store  :memory:"),
        ("%cancel r", ""),
    ],
)
def test_every_magic_answers_in_a_kernel(notebook: Kernel, cell: str, text: str) -> None:
    notebook.run("%%job kept -o r\nprint('x')\n1")
    notebook.run("await r")
    output = notebook.run(cell)
    assert len(output.data) == 1
    assert output.text.startswith(text)
    assert output.stderr == ""


def test_the_doctor_of_a_kernel_knows_its_ipykernel_and_its_loop(notebook: Kernel) -> None:
    text = notebook.run("%dvergr doctor").text
    assert "this kernel's, main thread" in text
    assert "ipykernel 7." in text


def test_a_semicolon_silences_a_magic_and_a_cell_magic(notebook: Kernel) -> None:
    assert notebook.run("%runs;").data == []
    assert notebook.run("%%job quiet -o r;\n1").data == []
    assert notebook.run("await r").text == "1"


def error_of(output: Output) -> list[str]:
    """The lines of the error that a cell showed."""
    assert output.status == "error"
    assert [message["msg_type"] for message in output.messages].count("error") == 1
    assert output.stdout == output.stderr == ""
    return [line for part in output.traceback for line in part.splitlines()]


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("%runs --lmit 3", "BadInput: %runs has no option --lmit; did you mean --limit?"),
        ("%card Tom's", "BadInput: %card: a ' is opened and never closed"),
        ("%card 0123456z", "NoSuchRun: no Run '0123456z' in this store"),
        ("%runs nowhere", "NotFound: no room 'nowhere' in this store; rooms: 'main'"),
        ("%%job\nx = = 1", "BadInput: line 1 of the cell: invalid syntax: x = = 1"),
        ("%%runsql\nDELETE FROM runs", "QueryRefused: "),
        ("%dvergr nonsense", "BadInput: %dvergr has no command 'nonsense'"),
    ],
)
def test_a_mistake_is_one_line_and_stops_run_all(notebook: Kernel, tmp_path: Path, cell: str, said: str) -> None:
    all_sent = tmp_path / "sent"  # what comes after the end of a cell that failed is no part of the same Run All
    notebook.run_nowait(f"import pathlib, time\nwhile not pathlib.Path({str(all_sent)!r}).exists(): time.sleep(0.01)")
    first = notebook.run_nowait(cell)
    second = notebook.run_nowait("reached = True")
    all_sent.touch()
    (line,) = error_of(notebook.finish(first))
    assert line.startswith(said)
    assert notebook.reply(second)["content"]["status"] == "aborted"


def test_a_run_that_failed_is_one_line_where_it_is_awaited(notebook: Kernel) -> None:
    notebook.run("%%job bad -o r\n1 / 0")
    (line,) = error_of(notebook.run("await r", may_fail=True))
    assert line.startswith("RunFailed: 'bad' failed, error: ZeroDivisionError: division by zero (Run ")


def test_a_run_that_the_store_refuses_is_said_once(notebook: Kernel) -> None:
    notebook.run("from dvergr_nb.api import KERNEL\nfrom dvergr_nb.records.operation import Admit")
    notebook.run("from tests.rigs.session import RefusingSession\nd.current_session().close()")
    notebook.run("KERNEL.session = RefusingSession(':memory:')\nKERNEL.session.store.refused = (Admit,)")
    since = len(notebook.messages)
    (line,) = error_of(notebook.run("%%job\n1", may_fail=True))
    assert line == "StoreFailed: the store refuses Admit"
    notebook.run("await d.drain(30);")
    assert [m for m in notebook.messages[since:] if m["msg_type"] == "stream"] == []
    notebook.run("KERNEL.session.close()\nKERNEL.session = None")


def test_tab_works_through_the_kernel(notebook: Kernel) -> None:
    notebook.run("%%job first -o r\n1")
    run_id = notebook.value("r.id")

    def tab(code: str) -> Any:
        return notebook.reply(notebook.client.complete(code, len(code)))["content"]["matches"]

    assert tab(f"%card {run_id[-8:-3]}") == [run_id[-8:]]
    assert tab("%runs --sta") == ["--status"]
    assert tab("%dvergr co") == ["compact", "connect"]


# Bodies and the kernel -----------------------------------------------------------------------------------------------


def test_interrupting_a_cell_cancels_no_run(notebook: Kernel) -> None:
    notebook.run("%%job lives -o r\nwhile True:\n    await asyncio.sleep(0.01)")
    blocked = notebook.run_nowait("print('in', flush=True)\nwhile True: time.sleep(0.01)")
    notebook.wait_for(lambda m: m["msg_type"] == "stream" and m["content"]["text"] == "in\n")
    notebook.interrupt()
    assert notebook.finish(blocked).error.startswith("KeyboardInterrupt")
    waiting = notebook.run_nowait("print('on', flush=True)\nawait r")
    notebook.wait_for(lambda m: m["msg_type"] == "stream" and m["content"]["text"] == "on\n")
    notebook.interrupt()
    assert notebook.finish(waiting).error.split(":")[0] in ("CancelledError", "KeyboardInterrupt")
    assert notebook.value("r.row.status.value") == "running"


@pytest.mark.parametrize("raised", ["KeyboardInterrupt", "SystemExit"])
@pytest.mark.parametrize("before", ["", "await asyncio.sleep(0)\n"], ids=["in a thread", "on the loop"])
def test_what_escapes_a_body_ends_its_run_and_not_the_kernel(notebook: Kernel, raised: str, before: str) -> None:
    notebook.run(f"%%job -o r\n{before}raise {raised}('mine')")
    notebook.run("await r.wait();")
    assert notebook.value("(r.row.status.value, r.row.reason, r.row.error)") == ("failed", "error", f"{raised}: mine")
    assert notebook.is_alive


@pytest.mark.parametrize("before", ["", "await asyncio.sleep(0)\n"], ids=["in a thread", "on the loop"])
def test_what_a_body_prints_becomes_activity_and_lands_in_no_cell(notebook: Kernel, before: str) -> None:
    since = len(notebook.messages)
    notebook.run(f"%%job -o r\nimport sys\n{before}print('said by a body')\nprint('loudly', file=sys.stderr)")
    notebook.run("print('said by a cell')\nawait r")
    streams = [m["content"]["text"] for m in notebook.messages[since:] if m["msg_type"] == "stream"]
    assert "".join(streams) == "said by a cell\n"
    assert notebook.value("list(r.activity()['content'])") == ["said by a body\nloudly"]


# Loading, closing, ending --------------------------------------------------------------------------------------------


def test_reload_keeps_live_runs_and_unload_cancels_them(fresh: Kernel) -> None:
    fresh.run("%%job -o r\nwhile True:\n    await asyncio.sleep(0.01)")
    fresh.run("%reload_ext dvergr_nb")
    fresh.run("%%job short -o s\nawait asyncio.sleep(1)")
    fresh.run("await s")
    assert fresh.value("r.row.status.value") == "running"
    fresh.run("%unload_ext dvergr_nb")
    fresh.run("await r.wait(30);")
    assert fresh.value("(r.row.status.value, r.row.reason)") == ("cancelled", "cancel-requested")
    assert "not found" in fresh.run("%runs", may_fail=True).stderr
    fresh.run("%load_ext dvergr_nb")
    assert len(fresh.run("%runs").text.splitlines()) == 3


def test_close_and_connect_again(fresh: Kernel) -> None:
    fresh.run("%%job one -o r\n1")
    fresh.run("await r")
    fresh.run("%dvergr close")
    (line,) = error_of(fresh.run("%runs", may_fail=True))
    assert line.startswith("SessionClosed: the store ")
    fresh.run(line.partition("type ")[2].partition(",")[0])
    assert rows(fresh) == {"one": ("completed", None)}


def test_a_second_kernel_is_told_who_holds_the_store(fresh: Kernel, start_kernel: Callable[..., Kernel]) -> None:
    fresh.run("%dvergr connect shared.duckdb")
    other = start_kernel()
    prepared(other)
    (line,) = error_of(other.run("%dvergr connect shared.duckdb", may_fail=True))
    assert line.startswith("StoreBusy: ")
    assert f"process {fresh.pid}" in line
    fresh.run("%dvergr close")
    other.run("%dvergr connect shared.duckdb")


@pytest.mark.parametrize("graceful", [True, False], ids=["shut down", "killed"])
def test_a_kernel_that_ends_leaves_its_live_runs_orphaned_and_waiting_ones_alone(fresh: Kernel, graceful: bool) -> None:
    fresh.run(PAUSES)
    fresh.run("%%job ended -o r\n1")
    fresh.run("await r")
    fresh.run("await d.start(Pausing(), actor='agent', kind='workflow', label='stopped').wait();")
    fresh.run("%%job on-the-loop\nawait asyncio.sleep(600)")
    fresh.run("%%job in-a-thread\nimport time\ntime.sleep(600)")
    fresh.restart(graceful=graceful)
    prepared(fresh)
    assert rows(fresh) == {
        "ended": ("completed", None),
        "stopped": ("waiting", "budget-exhausted"),
        "on-the-loop": ("failed", "orphaned"),
        "in-a-thread": ("failed", "orphaned"),
    }
