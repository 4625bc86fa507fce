"""A real ipykernel in a process of its own, driven by messages as a notebook would drive it."""

from __future__ import annotations

import ast
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import zmq
from jupyter_client.blocking.client import BlockingKernelClient
from jupyter_client.connect import write_connection_file

from tests.rigs.overlay import overlay

ROOT: Final = Path(__file__).parents[2]
LIMIT_S: Final = 60.0

Msg = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Output:
    """What one execution sent back; every message that has the execution as its parent is in `messages`."""

    status: str
    """`ok`, `error` or `aborted`."""
    messages: Sequence[Msg] = field(repr=False)
    stdout: str = ""
    stderr: str = ""
    error: str = ""
    """`Class: sentence` of the exception, empty when there was none."""
    traceback: Sequence[str] = ()
    data: Sequence[Mapping[str, Any]] = ()
    """Mime bundles of results and displays, in order."""

    @property
    def text(self) -> str:
        """The plain text of the last result or display."""
        return str(self.data[-1].get("text/plain", "")) if self.data else ""


class KernelDied(Exception):
    """The kernel's process ended while an answer was awaited."""


def _environment(home: Path, version: str | None, extra: Mapping[str, str]) -> dict[str, str]:
    env = {k: v for k, v in os.environ.items() if not k.startswith(("JUPYTER", "IPYTHON", "DVERGR", "PYTEST", "PYTHON"))}
    path = [str(overlay(version))] if version else []
    return env | {
        "PYTHONPATH": os.pathsep.join([*path, str(ROOT)]),
        "IPYTHONDIR": str(home / "ipython"),
        "JUPYTER_CONFIG_DIR": str(home / "config"),
        "JUPYTER_DATA_DIR": str(home / "data"),
        "JUPYTER_RUNTIME_DIR": str(home / "runtime"),
        "JPY_PARENT_PID": str(os.getpid()),
        **extra,
    }


class Kernel:
    """A kernel that lives until `shutdown`, `kill` or the end of its test."""

    def __init__(self, cwd: Path, version: str | None = None, env: Mapping[str, str] | None = None) -> None:
        self.cwd = cwd
        self.version = version
        self.messages: list[Msg] = []
        """Every iopub message seen so far, in order."""
        self._replies: dict[str, Msg] = {}
        self._home = Path(tempfile.mkdtemp(prefix="kernel-"))
        self._env = _environment(self._home, version, env or {})
        self._start()

    # -- life ---------------------------------------------------------------------------------------------------------

    def _start(self) -> None:
        runtime = self._home / "runtime"
        runtime.mkdir(exist_ok=True)
        # Sockets with names instead of ports: nobody else can take one between the choice and the use.
        connection, _ = write_connection_file(
            str(runtime / f"{uuid.uuid4()}.json"), ip=str(self._home / uuid.uuid4().hex[:6]), transport="ipc"
        )
        self.log = self._home / "kernel.log"
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-Xfrozen_modules=off", "-m", "ipykernel_launcher", "-f", connection],
                cwd=self.cwd,
                env=self._env,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        self.client = BlockingKernelClient(connection_file=connection)
        self.client.load_connection_file()
        self.client.start_channels(stdin=False, hb=False)
        channels = (self.client.shell_channel, self.client.control_channel, self.client.iopub_channel)
        self._channels = {channel.socket: channel for channel in channels}
        self._poller = zmq.Poller()
        for socket in self._channels:
            self._poller.register(socket, zmq.POLLIN)
        self._wait_ready()

    def _wait_ready(self) -> None:
        """Asks for its name until an answer comes by shell and by iopub: what was sent before iopub was subscribed is lost."""
        end = time.monotonic() + LIMIT_S
        while time.monotonic() < end:
            asked = self.client.kernel_info()
            self.reply(asked)
            with contextlib.suppress(TimeoutError):
                self.handled(asked, timeout=1)
                return
        raise TimeoutError("the kernel did not get ready\n" + self.log.read_text()[-2000:])

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def is_alive(self) -> bool:
        return self.process.poll() is None

    def interrupt(self) -> None:
        """What the stop button does: SIGINT to the kernel's process group."""
        os.killpg(self.pid, signal.SIGINT)

    def kill(self) -> None:
        """SIGKILL to the kernel and to what it started; returns when the kernel is gone."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, signal.SIGKILL)
        self.process.wait(LIMIT_S)
        self.client.stop_channels()

    def shutdown(self) -> None:
        """A graceful end, as the menu's Shut Down: the kernel runs its exit handlers."""
        self.client.shutdown()
        self.process.wait(LIMIT_S)
        self.client.stop_channels()

    def restart(self, *, graceful: bool = True) -> None:
        """A new process in the same place. Messages of the old life stay in `messages`."""
        self.shutdown() if graceful else self.kill()
        self._start()

    def close(self) -> None:
        """Kills what lives and removes what the rig made; not the working folder."""
        self.kill()
        shutil.rmtree(self._home, ignore_errors=True)

    # -- cells --------------------------------------------------------------------------------------------------------

    def run(self, code: str, *, timeout: float = LIMIT_S, may_fail: bool = False, history: bool = True) -> Output:
        """Runs a cell to its end. An exception in it fails the test, unless it `may_fail`."""
        output = self.finish(self.run_nowait(code, history=history), timeout=timeout)
        if output.status != "ok" and not may_fail:
            raise AssertionError(f"cell failed: {output.error or output.status}\n" + "\n".join(output.traceback))
        return output

    def run_nowait(self, code: str, *, history: bool = True) -> str:
        """Sends a cell and returns its message id, for `finish`."""
        return str(self.client.execute(code, store_history=history, allow_stdin=False, stop_on_error=True))

    def finish(self, msg_id: str, *, timeout: float = LIMIT_S) -> Output:
        """Waits for the end of a cell that was sent: its reply, and idle after all its outputs."""
        reply = self.reply(msg_id, timeout=timeout)
        self.handled(msg_id, timeout=timeout)
        return _collected(reply, [m for m in self.messages if m["parent_header"].get("msg_id") == msg_id])

    def value(self, expression: str) -> Any:
        """The value of an expression of literals, evaluated outside the history."""
        return ast.literal_eval(self.run(f"print(repr({expression}))", history=False).stdout)

    def wait_started(self, msg_id: str) -> None:
        """Returns when the kernel has begun the cell."""
        self.wait_for(lambda m: m["msg_type"] == "execute_input" and m["parent_header"].get("msg_id") == msg_id, since=0)

    # -- messages -----------------------------------------------------------------------------------------------------

    def reply(self, msg_id: str, *, timeout: float = LIMIT_S) -> Msg:
        """The reply on shell or control to a request, whenever it came."""
        self._pump_until(lambda: msg_id in self._replies, timeout, f"no reply to {msg_id}")
        return self._replies[msg_id]

    def wait_for(self, wanted: Callable[[Msg], bool], *, timeout: float = LIMIT_S, since: int | None = None) -> Msg:
        """The first iopub message that `wanted` accepts, from index `since` of `messages` on (default: from now on)."""
        at = len(self.messages) if since is None else since

        def arrived() -> bool:
            nonlocal at
            while at < len(self.messages) and not wanted(self.messages[at]):
                at += 1
            return at < len(self.messages)

        self._pump_until(arrived, timeout, "no such message on iopub")
        return self.messages[at]

    def handled(self, msg_id: str, *, timeout: float = LIMIT_S) -> None:
        """Returns when the kernel is done with a request or a comm message, and all its outputs are here."""
        self.wait_for(lambda msg: _is_idle(msg, msg_id), timeout=timeout, since=0)

    def _pump_until(self, done: Callable[[], bool], timeout: float, what: str) -> None:
        """Takes messages off all channels as they come, so that none is lost to a full socket, until `done`."""
        end = time.monotonic() + timeout
        while not done():
            if time.monotonic() > end:
                raise TimeoutError(f"{what} within {timeout:g} s")
            if not self._pump(min(0.2, timeout)) and not self.is_alive:
                raise KernelDied(f"{what}: the kernel ended with {self.process.returncode}\n{self.log.read_text()[-2000:]}")

    def _pump(self, timeout: float) -> bool:
        ready = [self._channels[socket] for socket, _ in self._poller.poll(int(timeout * 1000))]
        for channel in ready:
            msg = channel.get_msg(timeout=0)
            if channel is self.client.iopub_channel:
                self.messages.append(msg)
            else:
                self._replies[msg["parent_header"].get("msg_id", "")] = msg
        return bool(ready)

    # -- comms, as a browser sends them -------------------------------------------------------------------------------

    def comms(self) -> list[str]:
        """Ids of the comms that the kernel opened and did not close, oldest first."""
        is_open: dict[str, bool] = {}
        for msg in self.messages:
            if msg["msg_type"] in ("comm_open", "comm_close"):
                is_open[msg["content"]["comm_id"]] = msg["msg_type"] == "comm_open"
        return [comm_id for comm_id, still in is_open.items() if still]

    def open_subshell(self) -> str:
        """A subshell of the kernel, as JupyterLab opens for widgets. ipykernel 6 has none and answers with an error."""
        reply = self._control("create_subshell_request", {})
        return str(reply["content"]["subshell_id"])

    def close_subshell(self, subshell_id: str) -> None:
        """Ends a subshell; its pending work is dropped."""
        self._control("delete_subshell_request", {"subshell_id": subshell_id})

    @property
    def has_subshells(self) -> bool:
        """Whether this ipykernel offers subshells."""
        reply = self.reply(self.client.kernel_info())
        return "kernel subshells" in reply["content"].get("supported_features", [])

    def comm_msg(self, comm_id: str, data: Mapping[str, Any], *, subshell: str | None = None) -> str:
        """Sends a message on a comm; returns its id at once."""
        msg = self.client.session.msg("comm_msg", {"comm_id": comm_id, "data": dict(data)})
        if subshell is not None:
            msg["header"]["subshell_id"] = subshell
        self.client.shell_channel.send(msg)
        return str(msg["header"]["msg_id"])

    def widget_msg(self, comm_id: str, content: Mapping[str, Any], *, subshell: str | None = None) -> str:
        """Sends what `model.send(content)` in a widget's view sends."""
        return self.comm_msg(comm_id, {"method": "custom", "content": dict(content)}, subshell=subshell)

    def _control(self, msg_type: str, content: Msg) -> Msg:
        msg = self.client.session.msg(msg_type, content)
        self.client.control_channel.send(msg)
        return self.reply(str(msg["header"]["msg_id"]))


def _is_idle(msg: Msg, parent: str) -> bool:
    is_status = msg["msg_type"] == "status" and msg["parent_header"].get("msg_id") == parent
    return bool(is_status and msg["content"]["execution_state"] == "idle")


def _collected(reply: Msg, messages: list[Msg]) -> Output:
    def streamed(name: str) -> str:
        return "".join(m["content"]["text"] for m in messages if m["msg_type"] == "stream" and m["content"]["name"] == name)

    errors = [m["content"] for m in messages if m["msg_type"] == "error"]
    shown = ("execute_result", "display_data", "update_display_data")
    return Output(
        status=reply["content"]["status"],
        messages=messages,
        stdout=streamed("stdout"),
        stderr=streamed("stderr"),
        error=f"{errors[-1]['ename']}: {errors[-1]['evalue']}" if errors else "",
        traceback=errors[-1]["traceback"] if errors else (),
        data=[m["content"]["data"] for m in messages if m["msg_type"] in shown],
    )


@contextlib.contextmanager
def kernels(cwd: Path) -> Iterator[Callable[..., Kernel]]:
    """Gives a function that starts kernels in `cwd`; it takes `version`, `env` and another `cwd`."""
    with contextlib.ExitStack() as stack:

        def start(**how: Any) -> Kernel:
            started = Kernel(**{"cwd": cwd, **how})
            stack.callback(started.close)
            return started

        yield start
