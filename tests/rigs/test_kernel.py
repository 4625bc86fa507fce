"""The kernel rig does what a notebook's front end does."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.rigs.kernel import Kernel, KernelDied
from tests.rigs.overlay import VERSIONS, label

pytestmark = pytest.mark.kernel

ECHO = """
from ipykernel.comm import Comm
import threading
seen = []
comm = Comm(target_name="echo", data={})
def answer(msg):
    seen.append((msg["content"]["data"], threading.current_thread() is threading.main_thread()))
    comm.send({"answer": msg["content"]["data"]["content"]})
comm.on_msg(answer)
"""


def test_a_cell_gives_its_streams_its_result_and_its_displays(kernel: Kernel) -> None:
    output = kernel.run("import sys\nprint('out')\nprint('err', file=sys.stderr)\ndisplay(1)\n[2]")
    assert (output.status, output.stdout, output.stderr) == ("ok", "out\n", "err\n")
    assert [bundle["text/plain"] for bundle in output.data] == ["1", "[2]"]
    assert kernel.value("{'a': 1}") == {"a": 1}


def test_an_exception_fails_the_test_unless_it_may(kernel: Kernel) -> None:
    assert kernel.run("1 / 0", may_fail=True).error == "ZeroDivisionError: division by zero"
    with pytest.raises(AssertionError, match="ZeroDivisionError"):
        kernel.run("1 / 0")


@pytest.mark.parametrize("version", VERSIONS, ids=label)
def test_the_kernel_is_of_the_version_asked_for(start_kernel: Callable[..., Kernel], version: str | None) -> None:
    found = start_kernel(version=version).value("__import__('ipykernel').__version__")
    assert found == version if version else found >= "7.4"


@pytest.mark.parametrize("version", VERSIONS, ids=label)
def test_an_interrupt_ends_the_cell_and_not_the_kernel(start_kernel: Callable[..., Kernel], version: str | None) -> None:
    kernel = start_kernel(version=version)
    cell = kernel.run_nowait("import time\nprint('in', flush=True)\nwhile True: time.sleep(0.01)")
    kernel.wait_for(lambda m: m["msg_type"] == "stream", since=0)
    kernel.interrupt()
    assert kernel.finish(cell).error.startswith("KeyboardInterrupt")
    assert kernel.value("1 + 1") == 2


def test_a_killed_kernel_is_gone_and_a_wait_on_it_says_so(kernel: Kernel) -> None:
    cell = kernel.run_nowait("import os, signal\nos.kill(os.getpid(), signal.SIGKILL)")
    with pytest.raises(KernelDied, match="-9"):
        kernel.finish(cell)
    kernel.restart(graceful=False)
    assert kernel.value("1") == 1


def test_a_shut_down_kernel_runs_its_exit_handlers(kernel: Kernel) -> None:
    kernel.run("import atexit, pathlib\natexit.register(pathlib.Path('bye').touch)")
    kernel.shutdown()
    assert (kernel.cwd / "bye").exists()


@pytest.mark.parametrize("version", VERSIONS, ids=label)
def test_a_message_on_a_comm_reaches_its_handler_and_is_answered(
    start_kernel: Callable[..., Kernel], version: str | None
) -> None:
    kernel = start_kernel(version=version)
    kernel.run(ECHO)
    (comm,) = kernel.comms()
    sent = kernel.widget_msg(comm, {"type": "ping"})
    kernel.handled(sent)
    answer = kernel.wait_for(lambda m: m["msg_type"] == "comm_msg", since=0)
    assert answer["content"]["data"] == {"answer": {"type": "ping"}}
    assert kernel.value("seen") == [({"method": "custom", "content": {"type": "ping"}}, True)]


@pytest.mark.parametrize("version", ["7.3.0", None], ids=label)
def test_a_message_by_a_subshell_is_handled_while_a_cell_blocks(
    start_kernel: Callable[..., Kernel], version: str | None
) -> None:
    kernel = start_kernel(version=version)
    assert kernel.has_subshells
    subshell = kernel.open_subshell()
    kernel.run(ECHO)
    (comm,) = kernel.comms()
    # The newest version handles a message where its comm was used last, so the subshell must have been used once.
    kernel.handled(kernel.widget_msg(comm, {}, subshell=subshell))
    kernel.run("gate = threading.Event()\ncomm.on_msg(lambda msg: gate.set())")
    cell = kernel.run_nowait("print(gate.wait(60))")
    kernel.wait_started(cell)
    kernel.widget_msg(comm, {}, subshell=subshell)
    assert kernel.finish(cell).stdout == "True\n"
    kernel.close_subshell(subshell)


def test_an_ipykernel_without_subshells_says_so(start_kernel: Callable[..., Kernel]) -> None:
    assert not start_kernel(version="6.29.5").has_subshells
