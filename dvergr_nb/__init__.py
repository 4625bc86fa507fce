"""Runs for notebooks: durable records of bounded work, started from cells, watched in cards, asked in DataFrames.

%load_ext dvergr_nb
import dvergr_nb as d

run = d.job(train, data, label="train")     # gives the prompt back at once
await run                                   # the value; interrupting the wait does not cancel
d.frames.runs()                             # what happened, also after the kernel died
"""

from __future__ import annotations

import importlib
from typing import Any, Final

_API: Final = """active_runs cancel_room_turn cancel_run connect current_session drain events frames job
reconcile_orphaned_runs register_cancel_hook room_turn_running run runs sql start unwatch_runs watch_runs""".split()
_CONTEXT: Final = "checkpoint progress raise_if_cancelled".split()
_ERRORS: Final = """AmbiguousRun BadInput DvergrError MoveRefused NoSuchRun NotAStore QueryError RunCancelled RunFailed
RunWaiting SessionClosed StoreBusy StoreDamaged StoreError StoreFailed StoreTooNew ThreadBusy""".split()

_HOMES: Final = {
    **dict.fromkeys(_API, "dvergr_nb.api"),
    **dict.fromkeys(_CONTEXT, "dvergr_nb.runtime.context"),
    **dict.fromkeys(_ERRORS, "dvergr_nb.errors"),
    "Aborted": "dvergr_nb.runtime.cancel",
    "Done": "dvergr_nb.runtime.body",
    "Envelope": "dvergr_nb.records.pause",
    "Pause": "dvergr_nb.runtime.body",
    "Reason": "dvergr_nb.records.run",
    "Run": "dvergr_nb.records.run",
    "RunBoard": "dvergr_nb.widgets.run_board",
    "RunCard": "dvergr_nb.widgets.run_card",
    "RunHandle": "dvergr_nb.runtime.handle",
    "RunStatus": "dvergr_nb.records.run",
    "Session": "dvergr_nb.session",
}
__version__ = "0.1.0"
__all__ = sorted([*_HOMES, "load_ipython_extension", "unload_ipython_extension"])  # noqa: PLE0605  # a list of str


def __getattr__(name: str) -> Any:
    """Loads a public name's module when it is first asked for: importing this package is cheap."""
    if name not in _HOMES:
        raise AttributeError(f"module 'dvergr_nb' has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return __all__


def load_ipython_extension(shell: Any) -> None:
    """What `%load_ext dvergr_nb` calls."""
    from dvergr_nb.magics.extension import load

    load(shell)


def unload_ipython_extension(shell: Any) -> None:
    """What `%unload_ext dvergr_nb` calls."""
    from dvergr_nb.magics.extension import unload

    unload(shell)
