"""`%dvergr`: where the store is, who I am, what lives; and to connect, close and care for it."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from dvergr_nb.api import KERNEL
from dvergr_nb.errors import BadInput
from dvergr_nb.ids import short
from dvergr_nb.magics import doctor, refs
from dvergr_nb.magics._parse import Line, Parser
from dvergr_nb.magics.tables import Lines, aligned, live_word, plain
from dvergr_nb.records.run import LiveRun
from dvergr_nb.runtime.room import Room
from dvergr_nb.session import DEFAULT_PATH, Session

COMMANDS: Final = {
    "connect": "connect PATH: open the store at PATH (made where there is none) and close the one that is open",
    "room": "room NAME: the room of Runs that name none, made where there is none",
    "close": "close [--now]: close the store; --now also with live Runs, which end failed, orphaned",
    "doctor": "doctor: what stands well and what to do about the rest",
    "compact": "compact: give the disk back what the store no longer needs",
}
TAKES: Final = {"connect": "a path", "room": "a name"}
LIVE_SHOWN: Final = 20
ROOMS_SHOWN: Final = 10
UNANSWERED_COUNTED: Final = 1_000


def parser() -> Parser:
    """What stands behind `%dvergr`."""
    commands = "Commands: " + "; ".join(COMMANDS.values())
    described = Parser("%dvergr", "Where the store is, who I am, the room, and what lives.", commands)
    described.add_argument("command", nargs="?", metavar="COMMAND", help=", ".join(COMMANDS))
    described.add_argument("value", nargs="?", metavar="VALUE", help="the path for connect, the name for room")
    described.add_argument("--now", action="store_true", help="with close: also where Runs live")
    return described


def dvergr(shell: Any, given: Line) -> Lines:
    """Does what the command says. Raises `BadInput`, and the errors of opening a store."""
    _check(given)
    match given.command:
        case "connect":
            KERNEL.connect(given.value)
            return status()
        case "room":
            session = KERNEL.current()
            session.room = refs.opened(session, given.value).name
            return status()
        case "close":
            return close(given.now)
        case "doctor":
            return doctor.report(shell)
        case "compact":
            return compact(KERNEL.current())
        case _:
            return status()


def _check(given: Line) -> None:
    command, value = given.command, given.value
    if command is not None and command not in COMMANDS:
        raise BadInput(f"%dvergr has no command {plain(repr(command))}; it has {', '.join(COMMANDS)}")
    if command in TAKES and value is None:
        raise BadInput(f"%dvergr {command} needs {TAKES[command]}: %dvergr {COMMANDS[command].split(':', maxsplit=1)[0]}")
    if value is not None and command not in TAKES:
        raise BadInput(f"%dvergr {command} takes nothing more, so {plain(repr(value))} is too much")
    if given.now and command != "close":
        raise BadInput("--now goes with %dvergr close only")


def status() -> Lines:
    """Where, who and what lives. It does not open a store. Raises `SessionClosed` after `close`."""
    if KERNEL.session is None:
        return Lines(f"store  {Path(KERNEL.config.get('path') or DEFAULT_PATH).absolute()} (opened at first use)")
    session = KERNEL.current()
    live = session.active_runs()
    heading = [
        ("store", session.path),
        ("user", session.user_id if session.user_id == session.tenant_id else f"{session.user_id} of {session.tenant_id}"),
        ("room", plain(session.room)),
        *_rooms(session),
        ("lives", f"{len(live)} Run{'' if len(live) == 1 else 's'}" if live else "nothing"),
    ]
    more = [f"… and {len(live) - LIVE_SHOWN} more; %board shows all"] if len(live) > LIVE_SHOWN else []
    return Lines(*aligned(heading), *_live_lines(live[:LIVE_SHOWN]), *more, *_unanswered(session))


def _rooms(session: Session) -> list[tuple[str, str]]:
    """The rooms that live here, and who takes part."""
    rooms = session.rooms.live()
    told = [("rooms" if not at else "", _takes_part(each)) for at, each in enumerate(rooms[:ROOMS_SHOWN])]
    return [*told, ("", f"… and {len(rooms) - ROOMS_SHOWN} more")] if len(rooms) > ROOMS_SHOWN else told


def _takes_part(room: Room) -> str:
    here = ", ".join(plain(each.actor) for each in room.present()) or "nobody"
    return f"{plain(room.name)}: " + ("closed" if room.is_closed else here)


def _unanswered(session: Session) -> list[str]:
    """What nobody works on, for instance because the kernel died."""
    count = len(session.unanswered(limit=UNANSWERED_COUNTED))
    least = "at least " if count == UNANSWERED_COUNTED else ""
    many = f"{least}{count:,} messages are" if count > 1 else "1 message is"
    return [f"{many} unanswered: d.unanswered()"] if count else []


def _live_lines(live: list[LiveRun]) -> list[str]:
    rows = [("", short(run.id), run.status.value, plain(run.name), f"in {plain(run.room)}", live_word(run)) for run in live]
    return aligned(rows) if rows else []


def close(now: bool) -> Lines:
    """Closes the store."""
    path = KERNEL.current().path
    KERNEL.close(force=now)
    return Lines(f"closed {path}; %dvergr connect {path} opens it again")


def compact(session: Session) -> Lines:
    """Writes the store's file anew without what it no longer needs."""
    before, after = session.store.compact()
    return Lines(f"{session.path}: {size(before)} before, {size(after)} now")


size = doctor.size
