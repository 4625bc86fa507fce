"""Admission on the user's loop: every way to ask for a Run, in every state of the kernel, on every kind of ipykernel.

Nothing waits for ever, every admitted Run gets its body or ends cancelled, and no row says `running` without a body.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

import pytest

from tests.rigs.kernel import Kernel, kernels
from tests.rigs.overlay import VERSIONS, label

PRELUDE: Final = """
import asyncio, pathlib, threading, time
import dvergr_nb as d
from ipykernel.comm import Comm
from tests.kernel.held import Held

def body():
    ran.append("body")
    return "value"

def ask():
    global r
    r = d.job(body)

def ask_and_wait():
    ask()
    r.admission.result(60)

async def tick():
    while not disk.let_go_of.is_set():
        await asyncio.sleep(0.05)

def block_until(path):
    while not pathlib.Path(path).exists():
        time.sleep(0.01)
    pathlib.Path(path).unlink()

comm = Comm(target_name="asks", data={})
comm.on_msg(lambda msg: (ask(), comm.send({"asked": True})))
"""
FRESH: Final = """
session = d.connect(":memory:")
ran = []
r = None
"""
"""A store of its own for each test; the kernel is shared."""
HOLD: Final = """
disk = Held(session.store)
threading.Thread(target=lambda: (disk.asked.wait(), print("asked", flush=True)), daemon=True).start()
"""
MAGIC: Final = "%%job -o r\nran.append('body')\n'value'"
OUTCOME: Final = """
await d.drain(60)
print([(run.status.value, run.reason) for run in session.runs()], ran)
"""
GOT_ITS_BODY: Final = "[('completed', None)] ['body']\n"
CANCELLED: Final = "[('cancelled', 'cancel-requested')] []\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Lab:
    """A kernel, and a subshell of it where its ipykernel has those."""

    kernel: Kernel
    subshell: str | None

    def comm_msg(self) -> str:
        """What a browser sends for a click."""
        (comm_id, *_) = self.kernel.comms()
        return self.kernel.widget_msg(comm_id, {"type": "ask"}, subshell=self.subshell)

    def answered(self, since: int) -> None:
        """Returns when the handler has asked for its Run."""
        self.kernel.wait_for(lambda m: m["msg_type"] == "comm_msg" and m["content"]["data"] == {"asked": True}, since=since)

    def asked(self, since: int) -> None:
        """Returns when an admission waits for the disk."""
        self.kernel.wait_for(lambda m: m["msg_type"] == "stream" and "asked" in m["content"]["text"], since=since)

    def outcome(self) -> str:
        """What became of all Runs, and which bodies ran."""
        return self.kernel.run(OUTCOME).stdout


@pytest.fixture(scope="module", params=VERSIONS, ids=label)
def shared(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    with kernels(tmp_path_factory.mktemp("admission")) as start:
        kernel = start(version=request.param)
        kernel.run("%load_ext dvergr_nb")
        kernel.run(PRELUDE)
        yield Lab(kernel=kernel, subshell=kernel.open_subshell() if kernel.has_subshells else None)


@pytest.fixture
def lab(shared: Lab) -> Lab:
    shared.kernel.run(FRESH)
    return shared


# Idle ----------------------------------------------------------------------------------------------------------------


def test_sync_magic_in_an_idle_kernel(lab: Lab) -> None:
    lab.kernel.run(MAGIC)
    assert lab.outcome() == GOT_ITS_BODY


def test_async_cell_in_an_idle_kernel(lab: Lab) -> None:
    assert lab.kernel.run("r = d.job(body)\nawait r.admitted\nprint(await r)").stdout == "value\n"
    assert lab.outcome() == GOT_ITS_BODY


def test_worker_thread_in_an_idle_kernel(lab: Lab) -> None:
    lab.kernel.run("t = threading.Thread(target=ask_and_wait)\nt.start()")
    lab.kernel.run("t.join()")
    assert lab.outcome() == GOT_ITS_BODY


def test_widget_handler_in_an_idle_kernel(lab: Lab) -> None:
    since = len(lab.kernel.messages)
    lab.kernel.handled(lab.comm_msg())
    lab.answered(since)
    assert lab.outcome() == GOT_ITS_BODY


# Blocked by a sync cell ----------------------------------------------------------------------------------------------

ON_RECORD: Final = "print(session.store.run(r.id).status.value, ran)"
"""Printed while the cell still holds the loop: the row is durable, and no body has begun."""


def test_sync_magic_in_a_cell_that_holds_the_loop(lab: Lab) -> None:
    magic = "get_ipython().run_cell_magic('job', '-o r', 'ran.append(\"body\")')"
    assert lab.kernel.run(f"{magic}\n{ON_RECORD}").stdout == "running []\n"
    assert lab.outcome() == GOT_ITS_BODY


def test_async_cell_that_holds_the_loop(lab: Lab) -> None:
    cell = f"await asyncio.sleep(0)\nask_and_wait()\n{ON_RECORD}\nawait r.admitted"
    assert lab.kernel.run(cell).stdout == "running []\n"
    assert lab.outcome() == GOT_ITS_BODY


def test_worker_thread_while_a_cell_holds_the_loop(lab: Lab) -> None:
    cell = f"t = threading.Thread(target=ask_and_wait)\nt.start()\nt.join()\n{ON_RECORD}"
    assert lab.kernel.run(cell).stdout == "running []\n"
    assert lab.outcome() == GOT_ITS_BODY


def test_widget_handler_while_a_cell_holds_the_loop(lab: Lab) -> None:
    """With subshells the message may be handled meanwhile, without them it is after the cell; both are fine."""
    since = len(lab.kernel.messages)
    cell = lab.kernel.run_nowait("block_until('go')")
    lab.kernel.wait_started(cell)
    sent = lab.comm_msg()
    if lab.kernel.version == "7.3.0":
        lab.answered(since)
    (lab.kernel.cwd / "go").touch()
    lab.kernel.finish(cell)
    lab.kernel.handled(sent)
    lab.answered(since)
    assert lab.outcome() == GOT_ITS_BODY


def test_turn_magic_in_a_cell_that_holds_the_loop(lab: Lab) -> None:
    magic = "get_ipython().run_cell_magic('turn', 'echo -o r', 'hello')"
    assert lab.kernel.run(f"{magic}\n{ON_RECORD}").stdout == "running []\n"
    assert lab.kernel.run("print(await r)").stdout == "echo: hello\n"


# Interrupted while the disk does not answer --------------------------------------------------------------------------


def interrupted(lab: Lab, cell: str) -> str:
    """The error of a cell that is interrupted while its admission waits for the disk, which answers afterwards."""
    lab.kernel.run(HOLD)
    since = len(lab.kernel.messages)
    running = lab.kernel.run_nowait(cell)
    lab.asked(since)
    lab.kernel.interrupt()
    error = lab.kernel.finish(running).error
    lab.kernel.run("disk.let_go()")
    return error.split(":")[0]


def test_sync_magic_interrupted_while_it_waits_ends_its_run_cancelled(lab: Lab) -> None:
    assert interrupted(lab, MAGIC) == "KeyboardInterrupt"
    assert lab.outcome() == CANCELLED


def test_async_cell_interrupted_while_it_waits_leaves_its_run_alone(lab: Lab) -> None:
    """Older ipykernels notice an interrupt of an awaiting cell when their loop next wakes up, so something must tick."""
    assert interrupted(lab, "ticker = asyncio.create_task(tick())\nr = d.job(body)\nawait r.admitted") in (
        "CancelledError",
        "KeyboardInterrupt",
    )
    assert lab.outcome() == GOT_ITS_BODY


def test_worker_thread_interrupted_while_it_waits_leaves_its_run_alone(lab: Lab) -> None:
    cell = "t = threading.Thread(target=ask_and_wait, daemon=True)\nt.start()\nt.join()"
    assert interrupted(lab, cell) == "KeyboardInterrupt"
    assert lab.outcome() == GOT_ITS_BODY


def test_widget_handler_interrupted_while_it_waits_leaves_its_run_alone(lab: Lab) -> None:
    lab.kernel.run(HOLD)
    since = len(lab.kernel.messages)
    lab.kernel.handled(lab.comm_msg())
    lab.asked(since)
    lab.kernel.interrupt()
    lab.kernel.run("disk.let_go()")
    assert lab.outcome() == GOT_ITS_BODY


def test_a_magic_after_an_interrupted_one_works(lab: Lab) -> None:
    interrupted(lab, MAGIC)
    lab.kernel.run(MAGIC)
    assert lab.kernel.run("print(await r)").stdout == "value\n"
    assert lab.kernel.run("print([run.id for run in session.runs(status='running')])").stdout == "[]\n"
