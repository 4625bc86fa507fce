"""`%%turn` and `%room` in real kernels: steering, queueing, interrupts, and what a killed kernel leaves."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

import pytest

from tests.rigs.kernel import Kernel, kernels

VIEW: Final = "application/vnd.jupyter.widget-view+json"
PRELUDE: Final = """
import asyncio, threading, time
import dvergr_nb as d
from dvergr_nb.records.operation import Admit, Post
from tests.kernel.held import Held
"""
ACTORS: Final = """
gate, order = asyncio.Event(), []
async def slow(message, ctx):
    order.append(message.content)
    await gate.wait()
    return f"done {message.content}"
d.room().join("slow", slow)
d.room().join("thinking", d.echo(delay_ms=60_000))
d.room().join("quick", d.echo(delay_ms=500));
"""
HOLD: Final = """
disk = Held(d.current_session().store, Admit, Post)
threading.Thread(target=lambda: (disk.asked.wait(), print("asked", flush=True)), daemon=True).start()
"""


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Kernel]:
    with kernels(tmp_path_factory.mktemp("turns")) as start:
        kernel = start()
        kernel.run("%load_ext dvergr_nb")
        kernel.run(PRELUDE)
        yield kernel


@pytest.fixture
def notebook(shared: Kernel) -> Iterator[Kernel]:
    """A kernel with an empty store and three actors in main; nothing lives in it afterwards."""
    shared.run("%dvergr connect :memory:;")
    shared.run(ACTORS)
    yield shared
    shared.run("for each in d.active_runs(): d.cancel_run(each)")
    shared.run("await d.drain(30);")


def status(kernel: Kernel, name: str) -> str:
    found: str = kernel.value(f"{name}.row.status.value")
    return found


# What a front end sees -----------------------------------------------------------------------------------------------


def test_a_turn_shows_a_card_at_once_and_prints_nothing(notebook: Kernel) -> None:
    output = notebook.run("%%turn thinking -o r\nhello")
    (bundle,) = output.data
    assert set(bundle) == {"text/plain", "text/html", VIEW}
    assert bundle["text/plain"] == f"Run {notebook.value('r.id')[-8:]}: thinking"
    assert output.stdout == output.stderr == ""
    assert status(notebook, "r") == "running"


def test_a_room_shows_itself_as_a_view(notebook: Kernel) -> None:
    (bundle,) = notebook.run("%room").data
    assert set(bundle) == {"text/plain", "text/html", VIEW}
    assert bundle["text/plain"] == "Room main"
    assert notebook.run("%room;").data == []


def test_an_unknown_actor_is_one_line_that_names_who_is_there(notebook: Kernel) -> None:
    output = notebook.run("%%turn nobody\nhello", may_fail=True)
    (line,) = [line for part in output.traceback for line in part.splitlines()]
    assert line.startswith(
        "NoSuchActor: no actor 'nobody' takes part in room 'main', there are 'echo', 'quick', 'slow', 'thinking'; "
    )


def test_tab_offers_the_actors_of_the_room(notebook: Kernel) -> None:
    code = "%%turn thi"
    assert notebook.reply(notebook.client.complete(code, len(code)))["content"]["matches"] == ["thinking"]


# Steering and queueing -----------------------------------------------------------------------------------------------


def test_a_second_turn_joins_the_running_one_and_a_third_of_another_thread_runs_after_it(notebook: Kernel) -> None:
    notebook.run("%%turn quick -o a\none")
    steering = notebook.run("%%turn quick -o b\ntwo")
    queued = notebook.run("%%turn quick --new-thread -o c\nthree")
    run_id = notebook.value("a.id")
    assert steering.stdout == f"joined Run {run_id[-8:]} (quick)\n"
    assert steering.text == f"Run {run_id[-8:]}: quick"
    assert queued.stdout == "queued behind 1\n"
    assert notebook.value("a.id == b.id != c.id")
    assert notebook.run("print(await a); print(await c)").stdout == "echo: one\necho: two\necho: three\n"
    assert notebook.value("a.row.ended_at <= c.row.started_at")
    assert notebook.value("len(d.runs())") == 2


def test_queued_turns_are_listed_and_begin_in_order_but_for_a_cancelled_one(notebook: Kernel) -> None:
    notebook.run("%%turn slow -o a\nA")
    for at, name in enumerate("bce"):
        said = notebook.run(f"%%turn slow --new-thread -o {name}\n{name.upper()}").stdout
        assert said == f"queued behind {at + 1}\n"
    assert notebook.value("[run.status.value for run in d.active_runs()]") == ["running", "queued", "queued", "queued"]
    assert notebook.run("%runs --status queued").text.count(" queued ") == 3
    piece = notebook.value("c.id")[-8:]
    assert notebook.run(f"%cancel {piece}").text == f"asked {piece} (slow) to stop"
    notebook.run("await c.wait();")
    assert status(notebook, "c") == "cancelled"
    notebook.run("gate.set()")
    assert notebook.run("print(await a, await b, await e)").stdout == "done A done B done E\n"
    assert notebook.value("order") == ["A", "B", "E"]


def test_turns_said_in_one_cell_that_holds_the_loop_keep_their_order(notebook: Kernel) -> None:
    notebook.run(
        "say = lambda text: get_ipython().run_cell_magic('turn', 'slow --new-thread', text)\n"
        "runs = [say(text) for text in 'ABC']\ntime.sleep(0.2)\ngate.set()"
    )
    assert notebook.run("print([await run for run in runs])").stdout == "['done A', 'done B', 'done C']\n"
    assert notebook.value("order") == ["A", "B", "C"]


# Interrupts ----------------------------------------------------------------------------------------------------------


def interrupted(notebook: Kernel, cell: str) -> str:
    """The error of a cell that is interrupted while its message waits for the disk, which answers afterwards."""
    notebook.run(HOLD)
    since = len(notebook.messages)
    running = notebook.run_nowait(cell)
    notebook.wait_for(lambda m: m["msg_type"] == "stream" and "asked" in m["content"]["text"], since=since)
    notebook.interrupt()
    error = notebook.finish(running).error
    notebook.run("disk.let_go()")
    return error.split(":")[0]


def test_an_interrupted_turn_that_would_begin_is_cancelled_and_its_actor_works_on(notebook: Kernel) -> None:
    assert interrupted(notebook, "%%turn slow\nA") == "KeyboardInterrupt"
    notebook.run("await d.drain(30);")
    assert notebook.value("[(run.status.value, run.reason) for run in d.runs()]") == [("cancelled", "cancel-requested")]
    notebook.run("gate.set()")
    notebook.run("%%turn slow -o r\nB")
    assert notebook.run("await r").text == "'done B'"
    assert notebook.value("order") == ["B"]


def test_an_interrupted_turn_that_would_queue_is_cancelled_and_the_running_one_is_not(notebook: Kernel) -> None:
    notebook.run("%%turn slow -o a\nA")
    assert interrupted(notebook, "%%turn slow --new-thread\nB") == "KeyboardInterrupt"
    notebook.run("gate.set()\nawait d.drain(30);")
    assert notebook.value("{run.label: run.status.value for run in d.runs()}") == {"A": "completed", "B": "cancelled"}
    assert notebook.value("order") == ["A"]


def test_an_interrupted_turn_that_joins_leaves_its_run_alone(notebook: Kernel) -> None:
    notebook.run("%%turn quick -o a\none")
    assert interrupted(notebook, "%%turn quick\ntwo") == "KeyboardInterrupt"
    assert notebook.run("print(await a)").stdout == "echo: one\necho: two\n"


# Ended ---------------------------------------------------------------------------------------------------------------


def prepared(kernel: Kernel) -> None:
    kernel.run("%load_ext dvergr_nb")
    kernel.run(PRELUDE)


@pytest.mark.parametrize("graceful", [True, False], ids=["shut down", "killed"])
def test_a_kernel_that_ends_leaves_its_queue_unanswered_and_it_is_answered_only_when_asked(
    start_kernel: Callable[..., Kernel], graceful: bool
) -> None:
    kernel = start_kernel()
    prepared(kernel)
    kernel.run(ACTORS)
    kernel.run("%%turn slow -o a\nA")
    assert kernel.run("%%turn slow --new-thread -o b\nB").stdout == "queued behind 1\n"
    kernel.restart(graceful=graceful)
    prepared(kernel)
    assert kernel.value("[(run.label, run.status.value, run.reason) for run in d.runs()]") == [("A", "failed", "orphaned")]
    assert kernel.run("%dvergr").text.splitlines()[-1] == "1 message is unanswered: d.unanswered()"
    kernel.run(ACTORS)
    kernel.run("gate.set()\nawait asyncio.sleep(0)")
    assert kernel.value("(order, [(each.actor, each.message.content) for each in d.unanswered()])") == ([], [("slow", "B")])
    assert kernel.run("run = d.room().answer(d.unanswered()[0])\nprint(await run)").stdout == "done B\n"
    assert kernel.value("(order, d.unanswered(), len(d.runs()))") == (["B"], [], 2)
