"""Magics that act on Runs: `%cancel`."""

from __future__ import annotations

from typing import Any

from dvergr_nb.api import KERNEL
from dvergr_nb.errors import BadInput
from dvergr_nb.ids import RunId, short
from dvergr_nb.magics import refs
from dvergr_nb.magics._parse import Line, Parser
from dvergr_nb.magics.looking import RUN_HELP
from dvergr_nb.magics.tables import Lines, plain
from dvergr_nb.session import Session


def cancel_parser() -> Parser:
    """What stands behind `%cancel`."""
    described = Parser("%cancel", "Asks Runs to stop. A Run is cancelled once it has acknowledged; its card shows when.")
    described.add_argument("runs", nargs="*", metavar="RUN", help=RUN_HELP)
    described.add_argument("--room", metavar="ROOM", help="everything that lives in this room")
    described.add_argument("--after-step", action="store_true", help="let the current step finish first")
    return described


def cancel(shell: Any, given: Line) -> Lines:
    """What was asked of which Run. All of them are looked up before any is asked."""
    if bool(given.runs) == bool(given.room):
        raise BadInput("%cancel needs either Runs (%cancel RUN…) or a room (%cancel --room ROOM); %runs lists what there is")
    session = KERNEL.current()
    if given.room:
        refs.room(session, given.room)
        asked = session.cancel_room_turn(given.room, after_step=given.after_step)
        nothing = f"nothing lives in room {plain(given.room)}"
        return Lines(f"asked {asked} Run{'' if asked == 1 else 's'} to stop" if asked else nothing)
    meant = dict.fromkeys(refs.run_id(session, shell.user_ns, word) for word in given.runs)
    return Lines(*(_one(session, run_id, given.after_step) for run_id in meant))


def _one(session: Session, run_id: RunId, after_step: bool) -> str:
    before = session.run(run_id)
    name = f"{short(run_id)} ({plain(before.name)})"
    if session.cancel_run(run_id, after_step=after_step):
        return f"asked {name} to stop" + (" after its step" if after_step else "")
    return f"{name} has ended already: {session.run(run_id).status.value}"
