"""What a person means by RUN: a variable of the notebook, an id, or a piece of one."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from typing import Any, Final

from dvergr_nb.errors import NotFound
from dvergr_nb.ids import RunId
from dvergr_nb.records.run import Run, RunStatus
from dvergr_nb.records.text import clipped
from dvergr_nb.runtime.handle import RunHandle
from dvergr_nb.session import Session

ROOMS_AMONG: Final = 1_000
ROOMS_NAMED: Final = 5


def run_id(session: Session, names: Mapping[str, Any], word: str) -> RunId:
    """The id of the Run meant. Raises `NoSuchRun` with the nearest ids, or `AmbiguousRun` with the candidates."""
    held = names.get(word)
    return session.resolve(held if isinstance(held, (RunHandle, Run)) else word)


def handle(session: Session, names: Mapping[str, Any], word: str) -> RunHandle:
    """A handle of the Run meant: its own where it lives here, else one of its row."""
    held = names.get(word)
    if isinstance(held, RunHandle):
        return held
    wanted = run_id(session, names, word)
    for own in session.handles():
        if own.id == wanted:
            return own
    return _of_row(session, session.run(wanted))


def room(session: Session, name: str | None) -> str | None:
    """The room meant, None for all of them. Raises `NotFound` for one that has no Runs and is not the session's."""
    if name is None or name == session.room or session.active_runs(name) or session.runs(name, limit=1):
        return name
    known = list(dict.fromkeys([session.room, *(run.room for run in session.runs(limit=ROOMS_AMONG))]))
    nearest = difflib.get_close_matches(name, known, ROOMS_NAMED, 0.0)
    raise NotFound(f"no room {clipped(repr(name), 60)} in this store; rooms: {', '.join(map(repr, nearest))}")


def _of_row(session: Session, row: Run) -> RunHandle:
    made = RunHandle(row, session)
    made.settle_admitted()
    if row.status is not RunStatus.RUNNING:
        made.settle(row)
    return made
