"""`%%job`: what it runs, what it answers, and what is never left behind."""

from __future__ import annotations

import signal
import threading
from typing import Any

import pytest

from dvergr_nb.api import KERNEL
from dvergr_nb.errors import BadInput, RunFailed, StoreFailed
from dvergr_nb.magics._interrupt import held
from dvergr_nb.magics.job import admitted
from dvergr_nb.records.operation import Admit
from dvergr_nb.records.run import RunStatus
from tests.kernel.held import Held
from tests.magics.conftest import Shell
from tests.rigs.session import RefusingSession


def test_the_last_expression_is_the_result_and_the_cell_as_typed_is_the_trigger(terminal: Shell) -> None:
    run = terminal.value("%%job sums --tag a --tag b --kind check --room lab -o r\ntotal = sum(range(5))\ntotal * 2\n")
    assert terminal.value("await r") == 20
    row = run.row
    assert (row.label, row.tags, row.kind, row.room, row.actor) == ("sums", ("a", "b"), "check", "lab", "dvergr")
    trigger = KERNEL.current().store.message(row.trigger)
    assert trigger is not None
    assert (trigger.content, trigger.sender, trigger.to) == ("total = sum(range(5))\ntotal * 2\n", "user", "_runs")


def test_it_answers_once_the_row_is_durable_and_before_the_body_ends(terminal: Shell) -> None:
    terminal.cell("import threading\ngate = threading.Event()")
    run = terminal.value("%%job -o r\ngate.wait(30)")
    durable = KERNEL.current().store.run(run.id)
    assert durable is not None
    assert durable.status is RunStatus.RUNNING
    terminal.cell("gate.set()")
    assert terminal.value("await r") is True


def test_a_cell_without_a_label_is_called_by_its_first_line(terminal: Shell) -> None:
    terminal.cell("%%job -o r\n\n# " + "x" * 90 + "\n1")
    assert terminal.value("r").label == "# " + "x" * 57 + "…"


def test_a_label_may_be_quoted_or_not_and_is_not_expanded(terminal: Shell) -> None:
    terminal.cell("name = 'wrong'")
    assert terminal.value("%%job two  words $name {name}\n1").label == "two words $name {name}"
    assert terminal.value("%%job 'two  words'\n1").label == "two words"


def test_names_are_a_copy_taken_when_the_cell_is_run(terminal: Shell) -> None:
    terminal.cell("import threading\ngate = threading.Event()\nx = 1\nshared = []")
    terminal.cell("%%job -o r\ngate.wait(30)\nx = x + 1\nshared.append(x)\nx")
    terminal.cell("x = 100\ngate.set()")
    assert terminal.value("await r") == 2
    assert terminal.value("(x, shared)") == (100, [2])


def test_a_cell_that_awaits_runs_on_the_loop_and_any_other_in_a_thread(terminal: Shell) -> None:
    where = "import threading, asyncio\n{wait}threading.current_thread().name"
    terminal.cell("%%job -o r\n" + where.format(wait="await asyncio.sleep(0)\n"))
    assert terminal.value("await r") == "dvergr-loop"
    terminal.cell("%%job -o r\n" + where.format(wait=""))
    assert terminal.value("await r") == "dvergr-worker"
    terminal.cell("%%job --loop -o r\n" + where.format(wait=""))
    assert terminal.value("await r") == "dvergr-loop"


def test_ipython_syntax_works_inside(terminal: Shell) -> None:
    terminal.cell("%%job -o r\n%time 1 + 1")
    assert terminal.value("await r") == 2


def test_a_used_key_gives_the_first_run(terminal: Shell) -> None:
    first = terminal.value("%%job --key once -o a\n1")
    assert terminal.value("await a") == 1
    second = terminal.value("%%job --key once -o b\n2")
    assert second.id == first.id
    assert terminal.value("await b") is None, "the value of a Run that has ended before stays with its first handle"
    assert len(KERNEL.current().runs()) == 1


def test_a_time_limit_fails_the_run(terminal: Shell) -> None:
    terminal.cell("%%job --timeout 0.05 -o r\nimport asyncio\nawait asyncio.sleep(30)")
    problem = terminal.error("await r")
    assert isinstance(problem, RunFailed)
    assert problem.reason == "timeout"


@pytest.mark.parametrize(
    ("cell", "said"),
    [
        ("%%job x\n  \n", "nothing to run"),
        ("%%job\ndef f(:\n", "line 1 of the cell"),
        ("%%job --thread\nawait x", "leave --thread out"),
        (f"%%job --room {'x' * 201}\n1", "room must be a line of 1 to 200 characters"),
        ("%%job --kind 'a\tb' --tag ''\n1", "a tag must be text"),
        ("%%job --key ''\n1", "a key is text"),
    ],
)
def test_bad_input_starts_nothing(terminal: Shell, cell: str, said: str) -> None:
    problem = terminal.error(cell)
    assert isinstance(problem, BadInput)
    assert said in str(problem)
    assert KERNEL.session is None or not KERNEL.session.runs()


def test_an_interrupt_while_it_waits_for_the_disk_cancels_the_run(terminal: Shell) -> None:
    session = KERNEL.connect(":memory:")
    disk = Held(session.store)

    def press() -> None:
        disk.asked.wait()
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    threading.Thread(target=press, daemon=True).start()
    result = terminal.cell("%%job -o r\nran = True\n")
    assert isinstance(result.error_in_exec, KeyboardInterrupt)
    (handle,) = session.handles()
    disk.let_go()
    handle.admission.result(30)
    terminal.shell.user_ns["late"] = handle
    terminal.cell("await late.wait()")
    assert (handle.row.status, handle.row.reason) == (RunStatus.CANCELLED, "cancel-requested")
    assert [run.id for run in session.runs()] == [handle.id]


def test_a_disk_that_does_not_answer_in_time_leaves_a_queued_run_that_begins_later(
    terminal: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    session = KERNEL.connect(":memory:")
    disk = Held(session.store)
    handle = admitted(lambda: session.job(lambda: 5, label="late"), 0.01)
    assert "the disk is behind; it is queued" in capsys.readouterr().err
    assert handle.row.status is RunStatus.QUEUED
    disk.let_go()
    terminal.shell.user_ns["r"] = handle
    assert terminal.value("await r") == 5


def test_a_refused_admission_is_raised_and_leaves_no_run(terminal: Shell) -> None:
    session = KERNEL.session = RefusingSession(":memory:")
    store: Any = session.store
    store.refused = (Admit,)
    assert isinstance(terminal.error("%%job\n1"), StoreFailed)
    terminal.value("import dvergr_nb as d\nawait d.drain(30)")
    assert session.runs() == []
    store.refused = ()
    terminal.cell("%%job -o r\n1")
    assert terminal.value("await r") == 1


def test_an_interrupt_inside_a_held_block_strikes_right_after_it() -> None:
    done = []
    with pytest.raises(KeyboardInterrupt), held():  # noqa: PT012  # the interrupt must come in the middle
        signal.raise_signal(signal.SIGINT)
        done.append("the rest of the block")
    assert done
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
