"""`%%turn` in a terminal: what it says to whom, what becomes of it, and what is never left behind."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable
from typing import Any

import pytest

from dvergr_nb.api import KERNEL
from dvergr_nb.errors import BadInput, DvergrError, NoSuchActor, NotFound, StoreFailed, ThreadBusy
from dvergr_nb.ids import short
from dvergr_nb.magics.turn import said
from dvergr_nb.records.operation import Admit, Post
from dvergr_nb.records.run import RunStatus
from tests.kernel.held import Held
from tests.magics.conftest import Shell
from tests.rigs.session import RefusingSession

ACTORS = """
import asyncio, threading
import dvergr_nb as d
gate = threading.Event()
async def slow(message, ctx):
    while not gate.is_set():
        await asyncio.sleep(0.01)
    return f"done {message.content}"
d.room().join("slow", slow);
"""


@pytest.fixture
def slow(terminal: Shell) -> Shell:
    """A terminal with an actor `slow` in main, which answers once `gate` is set."""
    terminal.cell(ACTORS)
    return terminal


def contents(terminal: Shell, room: str = "main") -> list[tuple[str, str | None, str]]:
    """What was said in a room."""
    return [(m.sender, m.to, m.content) for m in terminal.value(f"d.room({room!r}).messages()")]


# Saying --------------------------------------------------------------------------------------------------------------


def test_the_cell_is_the_trigger_and_the_reply_is_the_value(slow: Shell) -> None:
    slow.cell("x = 'wrong'")
    printed = slow.printed("%%turn echo --tag a --tag b -o r\n\nwhat is $x {x}?\n  and more\n\n")
    run = slow.value("r")
    assert printed.splitlines() == [f"Out[{slow.shell.execution_count - 2}]: Run {short(run.id)}: echo"]
    assert slow.value("await r") == "echo: what is $x {x}?\n  and more"
    assert (run.row.kind, run.row.actor, run.row.tags, run.row.room) == ("agent-turn", "echo", ("a", "b"), "main")
    assert contents(slow)[0] == ("user", "echo", "what is $x {x}?\n  and more")


def test_it_answers_once_the_row_is_durable_and_before_the_actor_does(slow: Shell) -> None:
    run = slow.value("%%turn slow -o r\nA")
    durable = KERNEL.current().store.run(run.id)
    assert durable is not None
    assert durable.status is RunStatus.RUNNING
    slow.cell("gate.set()")
    assert slow.value("await r") == "done A"


def test_turns_go_on_in_one_thread_until_a_new_one_is_asked_for(slow: Shell) -> None:
    for line in ("echo", "echo", "echo --new-thread", "echo"):
        slow.cell(f"%%turn {line} -o r\nhi")
        slow.cell("await r")
    roots = [m.thread_root_id for m in slow.value("d.room().messages()") if m.sender == "user"]
    assert roots[0] == roots[1] != roots[2] == roots[3]


def test_the_threads_of_two_actors_are_two(slow: Shell) -> None:
    slow.cell("d.room().join('other', d.scripted('one', 'two'));")
    for actor in ("echo", "other"):
        slow.cell(f"%%turn {actor} -o r\nhi")
        slow.cell("await r")
    assert len({m.thread_root_id for m in slow.value("d.room().messages()")}) == 2


@pytest.mark.parametrize("ref", ["{run}", "{run_end}", "{message}", "{message_end}", "first", "said"])
def test_a_thread_is_given_by_a_message_or_a_run_of_it(slow: Shell, ref: str) -> None:
    first = slow.value("%%turn echo -o first\nhi")
    slow.cell("await first\nsaid = d.room().messages()[0]")
    slow.cell("%%turn echo --new-thread -o other\nsomething else")
    slow.cell("await other")
    message = slow.value("said").id
    word = ref.format(run=first.id, run_end=first.id[-8:], message=message, message_end=message[-8:])
    slow.cell(f"%%turn echo --thread {word} -o r\nback")
    slow.cell("await r")
    assert slow.value("d.room().messages()")[-1].thread_root_id == message


def test_a_used_key_gives_the_first_run(slow: Shell) -> None:
    first = slow.value("%%turn echo --key once -o a\nhi")
    slow.cell("await a")
    assert slow.value("%%turn echo --key once\nhi").id == first.id
    assert len(KERNEL.current().runs()) == 1
    assert [content for *_, content in contents(slow)] == ["hi", "echo: hi"]


def test_a_named_room_is_not_made_by_a_turn_and_its_actors_are_its_own(slow: Shell) -> None:
    assert "no room 'lab' in this store" in str(slow.error("%%turn echo --room lab\nhi"))
    slow.cell("d.room('lab');")
    slow.cell("%%turn echo --room lab -o r\nhi")
    assert slow.value("await r") == "echo: hi"
    problem = slow.error("%%turn slow --room lab\nhi")
    assert str(problem) == "no actor 'slow' takes part in room 'lab', there is 'echo'; it is in room 'main'"


@pytest.mark.parametrize(
    ("cell", "kind", "said"),
    [
        ("%%turn echo\n \n\n", BadInput, "%%turn has nothing to say"),
        ("%%turn\nhi", BadInput, "ACTOR"),
        ("%%turn nobody\nhi", NoSuchActor, "there are 'echo', 'slow'; have it join: d.room('main')"),
        ("%%turn echo --on-busy wait\nhi", BadInput, "--on-busy"),
        ("%%turn echo --new-thread --thread x\nhi", BadInput, "not allowed with"),
        ("%%turn echo --thread zz\nhi", NotFound, "no Run and no message 'zz'"),
        ("%%turn echo --key ''\nhi", BadInput, "a key is text"),
        ("%%turn echo --tag ''\nhi", BadInput, "a tag must be text"),
        ("%%turn echo --budget 0\nhi", BadInput, "--budget: needs an amount of dollars above 0"),
        ("%%turn echo --model openai:x\nhi", BadInput, "model is for agents"),
        (f"%%turn echo --room {'x' * 201}\nhi", BadInput, "room must be a line of 1 to 200 characters"),
    ],
)
def test_a_mistake_says_nothing_to_anybody(slow: Shell, cell: str, kind: type[DvergrError], said: str) -> None:
    problem = slow.error(cell)
    assert isinstance(problem, kind)
    assert said in str(problem)
    assert KERNEL.current().runs() == []
    assert contents(slow) == []


# Being busy ----------------------------------------------------------------------------------------------------------


def test_a_message_on_the_thread_of_a_running_turn_joins_it_and_says_so(slow: Shell) -> None:
    slow.cell("d.room().join('echoing', d.echo(delay_ms=60_000));")
    first = slow.value("%%turn echoing -o a\none")
    assert slow.printed("%%turn echoing -o b\ntwo").splitlines()[0] == f"joined Run {short(first.id)} (echoing)"
    assert slow.value("b") is first
    slow.cell("while not len(a.activity()):\n    await asyncio.sleep(0)")  # the round was cut, so the next one knows both
    slow.cell("a.cancel()\nawait a.wait()")
    assert len(KERNEL.current().runs()) == 1


def test_a_message_of_another_thread_waits_in_order_and_says_behind_how_many(slow: Shell) -> None:
    slow.cell("%%turn slow -o a\nA")
    assert slow.printed("%%turn slow --new-thread -o b\nB").splitlines()[0] == "queued behind 1"
    assert slow.printed("%%turn slow --on-busy queue -o c\nC").splitlines()[0] == "queued behind 2"
    assert slow.value("(b.row.status, c.row.status)") == (RunStatus.QUEUED, RunStatus.QUEUED)
    slow.cell("gate.set()")
    assert slow.value("[await a, await b, await c]") == ["done A", "done B", "done C"]


def test_a_semicolon_silences_what_it_prints_too(slow: Shell) -> None:
    slow.cell("%%turn slow -o a;\nA")
    assert slow.printed("%%turn slow --new-thread;\nB") == ""
    slow.cell("%cancel --room main\nawait d.drain(30)")


def test_refuse_says_which_run_is_in_the_way_and_stores_nothing(slow: Shell) -> None:
    run = slow.value("%%turn slow -o a\nA")
    problem = slow.error("%%turn slow --on-busy refuse\nB")
    assert isinstance(problem, ThreadBusy)
    assert problem.run_id == run.id
    assert [content for *_, content in contents(slow)] == ["A"]
    slow.cell("gate.set()\nawait a")


def test_a_message_whose_thread_another_actor_has_says_for_whom_it_waits(slow: Shell) -> None:
    slow.cell("both = d.room('both', exclusive_threads=True)\nboth.join('one', slow)\nboth.join('two', slow);")
    first = slow.value("%%turn one --room both -o a\nA")
    printed = slow.printed("%%turn two --room both --thread a -o b\nB")
    assert printed.splitlines()[0] == f"queued until Run {short(first.id)} leaves the thread"
    slow.cell("gate.set()")
    assert slow.value("[await a, await b]") == ["done A", "done B"]


# Queued Runs ---------------------------------------------------------------------------------------------------------


def test_a_queued_run_is_listed_before_those_on_record_and_filters_hold_for_it(slow: Shell) -> None:
    slow.cell("%%turn slow -o a\nA")
    slow.cell("%%turn slow --new-thread --tag t -o b\nB")
    table = slow.value("%runs")
    assert [(run.label, run.status) for run in table] == [("B", "queued"), ("A", "running")]
    assert list(table.df()["label"]) == ["A"]
    for line, labels in [
        ("--status queued", ["B"]),
        ("--status running", ["A"]),
        ("--tag t", ["B"]),
        ("--tag other", []),
        ("--actor slow --limit 1", ["B"]),
        ("--actor echo", []),
        ("--tree a", ["A"]),
        ("--since 1h --kind agent-turn", ["B", "A"]),
    ]:
        assert [run.label for run in slow.value(f"%runs {line}")] == labels, line
    assert list(slow.value("%board").df()["label"]) == ["A"]
    slow.cell("gate.set()\nawait b")
    assert [run.status for run in slow.value("%runs")] == ["completed", "completed"]


@pytest.mark.parametrize("name", [lambda run: "b", lambda run: run.id, lambda run: run.id[-8:]], ids=["name", "id", "piece"])
def test_a_queued_run_is_cancelled_by_name_id_or_piece_and_never_begins(slow: Shell, name: Callable[[Any], str]) -> None:
    slow.cell("%%turn slow -o a\nA")
    run = slow.value("%%turn slow --new-thread -o b\nB")
    assert slow.text(f"%cancel {name(run)}") == f"asked {short(run.id)} (slow) to stop"
    slow.cell("await b.wait()")
    assert (run.row.status, run.row.reason) == (RunStatus.CANCELLED, "cancel-requested")
    slow.cell("gate.set()")
    assert slow.value("await a") == "done A"
    assert [content for *_, content in contents(slow)] == ["A", "B", "done A"]


def test_what_is_queued_here_is_not_unanswered(slow: Shell) -> None:
    slow.cell("%%turn slow -o a\nA")
    slow.cell("%%turn slow --new-thread -o b\nB")
    assert slow.value("d.unanswered()") == []
    assert "unanswered" not in slow.text("%dvergr")
    slow.cell("gate.set()\nawait b")


# A disk that is slow or refuses --------------------------------------------------------------------------------------


def pressing(disk: Held) -> None:
    """Interrupts the main thread once something waits for the disk."""

    def press() -> None:
        disk.asked.wait()
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)

    threading.Thread(target=press, daemon=True).start()


def test_an_interrupt_while_a_new_turn_waits_for_the_disk_cancels_its_run(slow: Shell) -> None:
    session = KERNEL.current()
    slow.cell("d.room()")
    disk = Held(session.store, Admit, Post)
    pressing(disk)
    assert isinstance(slow.cell("%%turn slow\nA").error_in_exec, KeyboardInterrupt)
    (handle,) = session.handles()
    disk.let_go()
    slow.shell.user_ns["late"] = handle
    slow.cell("await late.wait()")
    assert (handle.row.status, handle.row.reason) == (RunStatus.CANCELLED, "cancel-requested")


def test_an_interrupt_while_a_queued_turn_waits_for_the_disk_cancels_that_one_alone(slow: Shell) -> None:
    session = KERNEL.current()
    slow.cell("%%turn slow -o a\nA")
    disk = Held(session.store, Admit, Post)
    pressing(disk)
    assert isinstance(slow.cell("%%turn slow --new-thread\nB").error_in_exec, KeyboardInterrupt)
    (slow.shell.user_ns["late"],) = [handle for handle in session.handles() if handle is not slow.value("a")]
    disk.let_go()
    slow.cell("await late.wait()")
    assert slow.value("late").row.status is RunStatus.CANCELLED
    slow.cell("gate.set()")
    assert slow.value("await a") == "done A"


def test_an_interrupt_while_a_joining_message_waits_for_the_disk_leaves_its_run_alone(slow: Shell) -> None:
    session = KERNEL.current()
    slow.cell("d.room().join('echoing', d.echo(delay_ms=300));")
    slow.cell("%%turn echoing -o a\none")
    disk = Held(session.store, Admit, Post)
    pressing(disk)
    assert isinstance(slow.cell("%%turn echoing\ntwo").error_in_exec, KeyboardInterrupt)
    disk.let_go()
    assert slow.value("await a") == "echo: one\necho: two"


def test_a_disk_that_is_late_says_what_will_happen(slow: Shell, capsys: pytest.CaptureFixture[str]) -> None:
    session = KERNEL.current()
    room = session.rooms.open("main")
    disk = Held(session.store, Admit, Post)
    spoken = said(lambda: room.speak("slow", "A"), 0.01)
    run = short(spoken.handle.id)
    assert capsys.readouterr().err == (
        f"the message is not on record after 0.01 s, the disk is behind; Run {run} answers it once it is; "
        f"%cancel {run} withdraws that\n"
    )
    disk.let_go()
    slow.shell.user_ns["r"] = spoken.handle
    slow.cell("gate.set()")
    assert slow.value("await r") == "done A"


@pytest.mark.parametrize("how", ["started", "queued"])
def test_a_message_that_the_store_refuses_is_raised_and_leaves_nothing(terminal: Shell, how: str) -> None:
    session = KERNEL.session = RefusingSession(":memory:")
    store: Any = session.store
    terminal.cell(ACTORS)
    if how == "queued":
        terminal.cell("%%turn slow -o a\nA")
    store.refused = (Admit, Post)
    assert isinstance(terminal.error("%%turn slow --new-thread\nB"), StoreFailed)
    store.refused = ()
    terminal.cell("gate.set()\nawait d.drain(30)")
    terminal.cell("%%turn slow -o c\nC")
    assert terminal.value("await c") == "done C"
    assert "B" not in [content for *_, content in contents(terminal)]
