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

_API: Final = """active_runs cancel_room_turn cancel_run causes connect current_session drain events frames job
reconcile_orphaned_runs record_cause register_cancel_hook room_turn_running run runs sql start unwatch_runs
watch_runs""".split()
_CONVERSATION: Final = "ask debate episode iterative_refinement post room turn unanswered".split()
_AGENTS: Final = "agent blob citations hire profile profiles tool_uses tune".split()
_CONTEXT: Final = "checkpoint progress raise_if_cancelled spawn".split()
_OBLIGATION: Final = "carry_obligation release_obligation reply_obligation withhold_reply".split()
_WRAPPERS: Final = "budget_guard flaky latency own_messages plain_reply silence".split()
_AGENT_ERRORS: Final = "BadModel BadTool ModelError NoSuchProfile ProfileConflict StepLimit WalletShort".split()
_ERRORS: Final = """ActorBusy AmbiguousRun BadInput BlobMissing DvergrError MoveRefused NoReply NoSuchActor NoSuchRun NotAStore
QueryError RoomClosed RoomNotDrained RunCancelled RunFailed RunWaiting Sealed SessionClosed StoreBusy StoreDamaged StoreError
StoreFailed StoreTooNew ThreadBusy""".split()

_HOMES: Final = {
    **dict.fromkeys(_API, "dvergr_nb.api"),
    **dict.fromkeys(_CONVERSATION, "dvergr_nb.conversation"),
    **dict.fromkeys(_AGENTS, "dvergr_nb.agents"),
    **dict.fromkeys(_CONTEXT, "dvergr_nb.runtime.context"),
    **dict.fromkeys(_OBLIGATION, "dvergr_nb.runtime.obligation"),
    **dict.fromkeys(_WRAPPERS, "dvergr_nb.actors.wrappers"),
    **dict.fromkeys(_AGENT_ERRORS, "dvergr_nb.agent_errors"),
    **dict.fromkeys(_ERRORS, "dvergr_nb.errors"),
    "Aborted": "dvergr_nb.runtime.cancel",
    "Attention": "dvergr_nb.records.attention",
    "Done": "dvergr_nb.runtime.body",
    "Envelope": "dvergr_nb.records.pause",
    "Pause": "dvergr_nb.runtime.body",
    "Reason": "dvergr_nb.records.run",
    "Reply": "dvergr_nb.runtime.reply",
    "Room": "dvergr_nb.runtime.room",
    "RoomView": "dvergr_nb.widgets.room_view",
    "Run": "dvergr_nb.records.run",
    "RunBoard": "dvergr_nb.widgets.run_board",
    "RunCard": "dvergr_nb.widgets.run_card",
    "RunHandle": "dvergr_nb.runtime.handle",
    "RunStatus": "dvergr_nb.records.run",
    "Session": "dvergr_nb.session",
    "Skill": "dvergr_nb.records.profile",
    "Withheld": "dvergr_nb.runtime.reply",
    "echo": "dvergr_nb.actors.echo",
    "embedded_model": "dvergr_nb.actors.models.embedded",
    "join": "dvergr_nb.runtime.together",
    "race": "dvergr_nb.runtime.together",
    "scripted": "dvergr_nb.actors.scripted",
    "scripted_model": "dvergr_nb.actors.models.scripted_model",
    "tool": "dvergr_nb.actors.tools.defining",
}
_MODULES: Final = {"script": "dvergr_nb.actors.script", "tools": "dvergr_nb.actors.tools.shipped"}
"""Public names that are modules: a handful of functions that belong together."""
__version__ = "0.1.0"
__all__ = sorted([*_HOMES, *_MODULES, "load_ipython_extension", "unload_ipython_extension"])  # noqa: PLE0605  # a list of str


def __getattr__(name: str) -> Any:
    """Loads a public name's module when it is first asked for: importing this package is cheap."""
    if name in _MODULES:
        value: Any = importlib.import_module(_MODULES[name])
    elif name in _HOMES:
        value = getattr(importlib.import_module(_HOMES[name]), name)
    else:
        raise AttributeError(f"module 'dvergr_nb' has no attribute {name!r}")
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
