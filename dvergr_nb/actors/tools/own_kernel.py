"""A Jupyter kernel of an agent's own: a process tree with limits, that runs one piece of code at a time and can be killed."""

from __future__ import annotations

import contextlib
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import psutil
from jupyter_client.asynchronous.client import AsyncKernelClient
from jupyter_client.kernelspec import KernelSpec, KernelSpecManager
from jupyter_client.manager import AsyncKernelManager

from dvergr_nb.actors.tools import warden
from dvergr_nb.runtime.secrets import NAMES, scrub

READY_S: Final = 60.0
"""Longest start."""
MARK: Final = "DVERGR_EVAL"
"""The variable by which a process of such a kernel is known, wherever it has gone."""
LOOK_S: Final = 0.1
"""How often it is looked at whether it lives, while it says nothing."""
KILL_S: Final = 2.0
"""Longest killing."""
LEFT_OUT: Final = ("JPY_", "MPLBACKEND", "IPYTHONDIR", "PYTHONSTARTUP", "PYTHONINSPECT")
"""Variables of our own kernel that mean nothing in another, or too much."""


class KernelDied(Exception):
    """The kernel has ended by itself; `status` is how, as a shell says it."""

    def __init__(self, status: int) -> None:
        super().__init__(f"exited with {status}")
        self.status = status


class _OneSpec(KernelSpecManager):
    """Knows one kernel, that of this Python, whatever is installed."""

    def __init__(self, argv: list[str]) -> None:
        super().__init__()
        self._spec = KernelSpec(argv=argv, display_name="agent", language="python")

    def get_kernel_spec(self, kernel_name: str) -> KernelSpec:  # noqa: ARG002  # as it is named there
        return self._spec


class OwnKernel:
    """One kernel. `start` it, `run` code in it, `kill` it: that may be called in any thread, and any number of times."""

    def __init__(self, memory_mb: int) -> None:
        self._home = Path(tempfile.mkdtemp(prefix="dvergr-eval-"))
        self._mark = uuid.uuid4().hex
        self._killing = threading.Lock()
        self._is_killed = False
        self._reader, self._writer = os.pipe()
        argv = [sys.executable, warden.__file__, str(self._home), str(memory_mb)]
        argv += [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}", "--HistoryManager.enabled=False"]
        self._manager = AsyncKernelManager(
            kernel_spec_manager=_OneSpec(argv),
            kernel_name="agent",
            connection_file=str(self._home / "kernel.json"),
            transport="ipc",
            ip=str(self._home / "ipc"),
        )
        self._client: AsyncKernelClient = self._manager.client()

    @property
    def is_alive(self) -> bool:
        """Whether it can be given code."""
        return not self._is_killed and self.status is None

    @property
    def status(self) -> int | None:
        """How it has ended, None while it lives."""
        process = getattr(self._manager.provisioner, "process", None)
        return None if process is None else process.poll()

    async def start(self) -> None:
        """Starts it in a folder of its own, without the secrets of our environment, and waits until it is ready."""
        work = self._home / "work"
        work.mkdir()
        await self._manager.start_kernel(cwd=str(work), env=environment(self._home, self._mark), stdin=self._reader)
        self._client.load_connection_info(self._manager.get_connection_info())
        self._client.start_channels()
        try:
            await self._client.wait_for_ready(timeout=READY_S)
        except RuntimeError as problem:
            raise KernelDied(self.status or 1) from problem

    async def run(self, code: str, heard: Callable[[str, Mapping[str, Any]], object]) -> None:
        """Runs code to its end, and tells type and content of each message that comes of it. Raises `KernelDied`."""
        asked = self._client.execute(code, store_history=False, allow_stdin=False, stop_on_error=False)
        while True:
            message = await self._next()
            if message.get("parent_header", {}).get("msg_id") != asked:
                continue
            kind, content = message["msg_type"], message["content"]
            if kind == "status" and content["execution_state"] == "idle":
                return
            heard(kind, content)

    async def _next(self) -> Mapping[str, Any]:
        while True:
            with contextlib.suppress(queue.Empty):
                found: Mapping[str, Any] = await self._client.get_iopub_msg(timeout=LOOK_S)
                return found
            if not self.is_alive:
                raise KernelDied(self.status or 0)

    async def interrupt(self) -> None:
        """Interrupts what it runs, as a person does with the stop button."""
        await self._manager.interrupt_kernel()

    def kill(self) -> None:
        """Kills it with all that came of it. What has run away from its tree, and its folder, follow within moments."""
        with self._killing:
            if self._is_killed:
                return
            self._is_killed = True
        process = getattr(self._manager.provisioner, "process", None)
        if process is not None:
            warden.kill_descendants(process.pid, KILL_S)
        os.close(self._writer)  # at which the warden removes the folder and ends, also where we end first
        os.close(self._reader)
        threading.Thread(target=self._tidy, args=[process], name="dvergr-eval-tidy", daemon=True).start()

    def _tidy(self, process: subprocess.Popen[bytes] | None) -> None:
        if process is not None:
            try:
                process.wait(KILL_S)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for other in psutil.process_iter():
            with contextlib.suppress(psutil.Error):
                if other.environ().get(MARK) == self._mark:
                    other.kill()
        shutil.rmtree(self._home, ignore_errors=True)

    def close(self) -> None:
        """Kills it and lets go of its channels. On the loop that has used it."""
        self.kill()
        self._client.stop_channels()
        self._manager.cleanup_connection_file()
        self._manager.context.destroy(linger=0)


def environment(home: Path, mark: str) -> dict[str, str]:
    """Our environment as an agent's code may see it: no variable that holds a secret, by its name or by what is in it."""
    plain = {
        name: value
        for name, value in os.environ.items()
        if not NAMES.search(name) and not name.startswith(LEFT_OUT) and scrub(value) == value
    }
    return plain | {MARK: mark, "IPYTHONDIR": str(home / "ipython"), "PYTHONUNBUFFERED": "1"}
