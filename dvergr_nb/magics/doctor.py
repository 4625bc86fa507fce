"""`%dvergr doctor`: one line per thing that matters, each says ok or what to do."""

from __future__ import annotations

import importlib.metadata
import platform
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from pathlib import Path
from typing import Any, Final, NamedTuple

from dvergr_nb.api import KERNEL
from dvergr_nb.errors import DvergrError, SessionClosed
from dvergr_nb.magics.tables import Lines, aligned
from dvergr_nb.runtime.home import Home
from dvergr_nb.runtime.workers import LIMIT as WORKERS
from dvergr_nb.session import DEFAULT_PATH, Session

BACKLOG_OK: Final = 1_000
LAG_OK_S: Final = 0.1
LAG_LIMIT_S: Final = 2.0
GOOD_IPYKERNEL: Final = (7, 4)
OK: Final = "ok"


class Finding(NamedTuple):
    """One line: what was looked at, what was found, and `ok` or what to do."""

    what: str
    found: str
    advice: str = OK


def report(shell: Any) -> Lines:
    """All findings, in order. It never raises for what it finds."""
    found = [*store(), *loop(shell), kernel(shell), *packages(shell), threads()]
    return Lines(*aligned([tuple(finding) for finding in found]))


def store() -> Iterator[Finding]:
    """The store: its file, who holds it, how far behind the disk is."""
    path = Path(KERNEL.config.get("path") or DEFAULT_PATH).absolute()
    if KERNEL.session is None and not path.exists():
        yield Finding("store", f"{path}, not there yet", "ok, made at first use")
        return
    try:
        session = KERNEL.current()
    except SessionClosed as closed:
        yield Finding("store", "closed", str(closed))
    except DvergrError as problem:
        yield Finding("store", str(path), str(problem))
    else:
        yield from _opened(session)


def _opened(session: Session) -> Iterator[Finding]:
    stats = session.store.stats()
    yield Finding("store", f"{stats.path}, {size(stats.file_bytes)}, schema {stats.schema}")
    yield Finding("holder", stats.holder)
    behind = OK if stats.backlog <= BACKLOG_OK else "the disk is behind; wait, or look at what floods it (%board)"
    last = f"last commit {stats.last_commit:%Y-%m-%d %H:%M:%S} UTC" if stats.last_commit else "nothing committed in this life"
    yield Finding("backlog", f"{stats.backlog:,} units wait; {last}", behind)
    again = OK if not stats.reopened else "the disk or DuckDB failed under it; look at the log and at the free space"
    yield Finding("reopened", f"{stats.reopened} times", again)


def loop(shell: Any) -> Iterator[Finding]:
    """The loop that Runs live on, and how late it is."""
    home = KERNEL.session.home if KERNEL.session is not None else KERNEL.home
    if home is None or home.is_gone:
        where = "this kernel's" if hasattr(shell, "kernel") else "one of its own, in a thread"
        yield Finding("loop", f"{where}, from the first use on")
    elif home.is_here:
        yield Finding("loop", "this kernel's, main thread", "ok; Runs that await stand still while a cell computes")
    else:
        lag = _lag(home)
        late = f"{lag * 1000:.1f} ms late" if lag is not None else f"more than {LAG_LIMIT_S:g} s late"
        advice = OK if lag is not None and lag < LAG_OK_S else "something computes on it; await or move it to a worker thread"
        yield Finding("loop", f"in a thread of its own, {late}", advice)


def _lag(home: Home) -> float | None:
    came: Future[float] = Future()
    asked = time.perf_counter()
    home.post(lambda: came.set_result(time.perf_counter() - asked))
    try:
        return came.result(LAG_LIMIT_S)
    except FutureTimeout:
        return None


def kernel(shell: Any) -> Finding:
    """The kernel, and whether clicks wait in it."""
    if not hasattr(shell, "kernel"):
        return Finding("kernel", "none, this is a terminal", "ok; Runs show themselves as text")
    found = version("ipykernel") or "unknown"
    numbers = tuple(int(part) for part in found.split(".")[:2] if part.isdigit())
    if numbers >= GOOD_IPYKERNEL:
        return Finding("kernel", f"ipykernel {found}")
    what = "clicks wait for the running cell" if numbers < (7, 0) else "clicks are handled in threads that may wake tasks late"
    return Finding("kernel", f"ipykernel {found}", f"{what}: pip install -U 'ipykernel>=7.4'")


def packages(shell: Any) -> Iterator[Finding]:
    """What is installed of what is needed."""
    widgets = [(name, version(name)) for name in ("anywidget", "ipywidgets")]
    missing = [name for name, found in widgets if found is None]
    told = ", ".join(f"{name} {found or 'missing'}" for name, found in widgets)
    if missing:
        yield Finding("widgets", told, f"pip install {' '.join(missing)}, and restart the kernel")
    elif not hasattr(shell, "kernel"):
        yield Finding("widgets", told, "ok, not used in a terminal")
    else:
        yield Finding("widgets", told, "ok here; if %board shows no table, install jupyterlab_widgets beside the server")
    yield Finding("python", f"{platform.python_version()}, duckdb {version('duckdb')}, pandas {version('pandas')}")


def version(package: str) -> str | None:
    """The installed version, None where there is none."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def threads() -> Finding:
    """Worker threads of jobs."""
    busy = sum(thread.name == "dvergr-worker" for thread in threading.enumerate())
    advice = OK if busy < WORKERS else "functions wait for a thread; cancel some, or let them check with d.raise_if_cancelled()"
    return Finding("threads", f"{WORKERS - min(busy, WORKERS)} of {WORKERS} free", advice)


def size(count: float) -> str:
    """Bytes as people read them."""
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}"
        count /= 1000
    return f"{count:.1f} GB"
