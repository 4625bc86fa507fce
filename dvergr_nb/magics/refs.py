"""What a person means by RUN, ROOM and THREAD: a variable of the notebook, a name, an id, or a piece of one."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping
from typing import Any, Final

from dvergr_nb.errors import NoSuchRun, NotFound, Refused
from dvergr_nb.ids import MessageId, RunId, is_id
from dvergr_nb.records.message import Message
from dvergr_nb.records.run import Run, RunStatus
from dvergr_nb.records.text import shown
from dvergr_nb.runtime.handle import RunHandle
from dvergr_nb.runtime.room import Room
from dvergr_nb.runtime.rooms import OPEN_S
from dvergr_nb.runtime.speaking import ThreadRef
from dvergr_nb.session import Session

ROOMS_AMONG: Final = 1_000
ROOMS_NAMED: Final = 5
SAID_AMONG: Final = 1_000
"""Pieces of the ids of older messages are not looked for."""


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
    """The room meant, None for all of them. Raises `NotFound` for one that was never opened, has no Runs and is not ours."""
    if name is None or name == session.room or session.active_runs(name) or session.runs(name, limit=1):
        return name
    if name in (opened := [each.name for each in session.store.rooms()]):
        return name
    known = list(dict.fromkeys([session.room, *opened, *(run.room for run in session.runs(limit=ROOMS_AMONG))]))
    nearest = difflib.get_close_matches(name, known, ROOMS_NAMED, 0.0)
    raise NotFound(f"no room {shown(name)} in this store; rooms: {', '.join(map(repr, nearest))}")


def opened(session: Session, name: str) -> Room:
    """The live room of that name, made where there is none. Raises `Refused` where the disk does not answer in time."""
    return _in_time(name, lambda: session.rooms.open(name))


def meant(session: Session, name: str | None) -> Room:
    """The live room to say something in; only the session's own is made by that. Raises `NotFound`, or `Refused`."""
    known = room(session, name) or session.room
    return _in_time(known, lambda: session.rooms.here(known))


def _in_time(name: str, open_it: Callable[[], Room]) -> Room:
    try:
        return open_it()
    except TimeoutError:
        raise Refused(f"room {shown(name)} is not on record after {OPEN_S:g} s, the disk is behind; try again") from None


def thread(session: Session, names: Mapping[str, Any], where: Room, word: str) -> ThreadRef:
    """The message or Run meant, whose thread is to go on. Raises `NotFound`, or `AmbiguousRun` where several Runs fit."""
    held = names.get(word)
    if isinstance(held, (RunHandle, Run, Message)):
        return held
    said = _messages(session, where, word.strip().lower())
    try:
        fits: list[ThreadRef] = [session.run(word), *said]
    except NoSuchRun:
        fits = [*said]
    if len(fits) == 1:
        return fits[0]
    if fits:
        ids = ", ".join(each if isinstance(each, str) else each.id for each in fits)
        raise NotFound(f"{shown(word)} fits {len(fits)} messages and Runs; type more of one: {ids}")
    raise NotFound(
        f"no Run and no message {shown(word)}; %runs lists Runs, d.room({shown(where.name)}).messages() what was said"
    )


def _messages(session: Session, where: Room, piece: str) -> list[MessageId]:
    """The message of that id, else the messages of the room whose ids begin or end so."""
    if is_id(piece):
        found = session.store.message(MessageId(piece))
        return [] if found is None else [found.id]
    said = where.messages(limit=SAID_AMONG) if piece else []
    return [each.id for each in said if each.id.startswith(piece) or each.id.endswith(piece)]


def _of_row(session: Session, row: Run) -> RunHandle:
    made = RunHandle(row, session)
    made.settle_admitted()
    if row.status is not RunStatus.RUNNING:
        made.settle(row)
    return made
