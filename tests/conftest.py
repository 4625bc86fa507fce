"""Coroutine tests, stores of their own, the rigs, and a look for what a test left running."""

from __future__ import annotations

import asyncio
import inspect
import signal
import threading
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import pytest

from dvergr_nb.api import KERNEL
from tests.rigs.kernel import Kernel, kernels
from tests.rigs.lab import Lab

HERE = Path(__file__).parent
LIMIT_S = 60.0
"""How long a coroutine test may take before it counts as stuck."""

GROUPS = ("kernel", "crash", "browser", "notebooks")
"""Folders of `tests/` whose tests carry the folder's name as their marker."""


def pytest_configure() -> None:
    """What a shell starts in the background ignores interrupts; tests of interrupts need what a kernel has."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        inside = item.path.relative_to(HERE).parts if item.path.is_relative_to(HERE) else ()
        if inside and inside[0] in GROUPS:
            item.add_marker(inside[0])


@pytest.fixture(autouse=True)
def _no_closed_session_is_left() -> Iterator[None]:
    """A test that has closed the current session leaves the process as a new one is: the next one opens its own."""
    yield
    if KERNEL.session is not None and not KERNEL.session.is_open:
        KERNEL.__init__()  # type: ignore[misc]  # as in a new process


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Runs a coroutine test on a loop of its own. Debug mode refuses calls from foreign threads that would be lost."""
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    given = {name: pyfuncitem.funcargs[name] for name in pyfuncitem._fixtureinfo.argnames}
    asyncio.run(alone(pyfuncitem.obj(**given)), debug=True)
    return True


async def alone(test: Coroutine[Any, Any, object]) -> None:
    """Runs a test within its limit, and fails it for every task that it leaves."""
    async with asyncio.timeout(LIMIT_S):
        await test
    for _ in range(3):
        await asyncio.sleep(0)
    if closing := [task for task in _left() if type(task.get_coro()).__name__ == "async_generator_athrow"]:
        await asyncio.wait(closing, timeout=LIMIT_S)  # the loop closes generators that a library has left
    if left := _left():
        pytest.fail("tasks left running: " + ", ".join(repr(task.get_coro()) for task in left))


def _left() -> list[asyncio.Task[Any]]:
    return [task for task in asyncio.all_tasks() if task is not asyncio.current_task()]


@pytest.fixture(autouse=True)
def _no_thread_left() -> Iterator[None]:
    """A thread that is no daemon keeps a kernel from ending, so no test may leave one."""
    before = set(threading.enumerate())
    yield
    for thread in [t for t in threading.enumerate() if t not in before and not t.daemon]:
        thread.join(timeout=30)
        assert not thread.is_alive(), f"{thread.name} is no daemon and still runs"


@pytest.fixture
def tmp_store_path(tmp_path: Path) -> Path:
    """Where a test may put a store; nothing is there yet."""
    return tmp_path / ".dvergr" / "store.duckdb"


@pytest.fixture
def start_kernel(tmp_path: Path) -> Iterator[Callable[..., Kernel]]:
    """Starts real kernels (see `Kernel`) that work in `tmp_path`; what still lives at the end is killed."""
    with kernels(tmp_path) as start:
        yield start


@pytest.fixture
def kernel(start_kernel: Callable[..., Kernel]) -> Kernel:
    """One real kernel of the installed ipykernel, in `tmp_path`."""
    return start_kernel()


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    """A JupyterLab and a Chromium for the tests of one module; notebooks are written into `lab.root`."""
    with Lab.start(tmp_path_factory.mktemp("lab")) as running:
        yield running
