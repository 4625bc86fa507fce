"""Magics that look at Runs: `%runs`, `%card`, `%board`, `%activity`, `%%runsql`."""

from __future__ import annotations

import datetime as dt
import re
from typing import Any, Final

from dvergr_nb.api import KERNEL
from dvergr_nb.clock import UTC
from dvergr_nb.errors import BadInput
from dvergr_nb.magics import refs
from dvergr_nb.magics._parse import Line, Parser, seconds, variable, whole
from dvergr_nb.magics.tables import RunTable
from dvergr_nb.magics.told import told
from dvergr_nb.records.query import DURABLE, RUNS_LIMIT
from dvergr_nb.records.run import Run, RunStatus
from dvergr_nb.records.text import shown
from dvergr_nb.session import Session

RUN_HELP: Final = "a variable that holds a Run, an id, or the beginning or ending of one"
QUEUED: Final = RunStatus.QUEUED.value
STATUSES: Final = (QUEUED, *DURABLE)
SPANS: Final = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
SQL_LIMIT_S: Final = 30.0


# %runs ---------------------------------------------------------------------------------------------------------------


def runs_parser() -> Parser:
    """What stands behind `%runs`."""
    described = Parser("%runs", "Runs, newest first, as a table; .df() gives the frame of those on record with all columns.")
    described.add_argument("room", nargs="?", metavar="ROOM", help="only this room; all rooms unless given")
    described.add_argument("--actor", help="only Runs of this actor")
    described.add_argument("--status", choices=STATUSES, metavar="STATUS", help=", ".join(STATUSES))
    described.add_argument("--kind", help="for instance workflow or agent-turn")
    described.add_argument("--tree", metavar="RUN", help="this Run and all below it; goes with ROOM and --limit only")
    described.add_argument("--since", metavar="WHEN", help="30m, 2h, 1d, or a time such as 2026-05-01T12:00 (UTC)")
    described.add_argument("--tag", metavar="T", help="only Runs with this tag")
    described.add_argument("--limit", type=whole, default=RUNS_LIMIT, metavar="N", help=f"at most N; {RUNS_LIMIT} unless given")
    return described


def runs(shell: Any, given: Line) -> RunTable:
    """The table. Raises `BadFilter` and the errors of a RUN."""
    session = KERNEL.current()
    filters = {
        "actor": given.actor,
        "status": given.status,
        "kind": given.kind,
        "tag": given.tag,
        "since": None if given.since is None else moment(given.since, session.clock.now),
        "tree": None if given.tree is None else refs.run_id(session, shell.user_ns, given.tree),
        "limit": given.limit,
    }
    found = _found(session, refs.room(session, given.room), filters)
    is_narrowed = given.room or any(filters[name] for name in filters if name != "limit")
    nothing = "no Runs that fit" if is_narrowed else "no Runs yet; start one with %%job or d.job(…)"
    return RunTable(found, lambda: frame_of(found), nothing)


def _found(session: Session, room: str | None, filters: dict[str, Any]) -> list[Run]:
    """First those that wait for their actor, which have no row yet, then those on record."""
    durable = [] if filters["status"] == QUEUED else session.runs(room, **filters)
    if filters["status"] not in (None, QUEUED) or filters["tree"] is not None:
        return durable
    queued = [run for run in session.active_runs(room) if run.status is RunStatus.QUEUED and _fits(run, filters)]
    known = {run.id for run in durable}
    return [*(run for run in reversed(queued) if run.id not in known), *durable][: filters["limit"]]


def _fits(run: Run, filters: dict[str, Any]) -> bool:
    """As the store narrows what is on record."""
    actor, kind, tag, since = (filters[name] for name in ("actor", "kind", "tag", "since"))
    is_of = actor in (None, run.actor) and kind in (None, run.kind)
    return is_of and (tag is None or tag in run.tags) and (since is None or run.started_at >= since)


def frame_of(listed: list[Any]) -> Any:
    """These Runs as a DataFrame, in this order, as they stand on record now; those that are queued have no row yet."""
    since = min((run.started_at for run in listed), default=None)
    frame = KERNEL.current().frame("runs", since=since, limit=None if listed else 1)
    rows = frame.set_index("id", drop=False)
    return rows.loc[[run.id for run in listed if run.id in rows.index]].reset_index(drop=True)


def moment(text: str, now: Any) -> dt.datetime:
    """The time meant: so long ago, or a time of its own; one without a zone is UTC, as all times here are shown."""
    if span := re.fullmatch(r"(\d+(?:\.\d+)?)([smhdw])", text):
        return now() - dt.timedelta(**{SPANS[span[2]]: float(span[1])})  # type: ignore[no-any-return]
    try:
        at = dt.datetime.fromisoformat(text)
    except ValueError:
        raise BadInput(f"--since needs a span (30m, 2h, 1d) or a time (2026-05-01T12:00), not {shown(text)}") from None
    return at if at.tzinfo is not None else at.replace(tzinfo=UTC)


# %card, %board -------------------------------------------------------------------------------------------------------


def card_parser() -> Parser:
    """What stands behind `%card`."""
    described = Parser("%card", "A live card of one Run; without widgets, what it did, in words.")
    described.add_argument("run", metavar="RUN", help=RUN_HELP)
    return described


def card(shell: Any, given: Line) -> Any:
    """The card, live as long as this kernel."""
    session = KERNEL.current()
    meant = refs.handle(session, shell.user_ns, given.run)
    return told(session.details(meant), meant.row) if session.display is None else meant.card()


def board_parser() -> Parser:
    """What stands behind `%board`."""
    described = Parser("%board", "A live board of the Runs of a room; without widgets, those that live now, in words.")
    described.add_argument("room", nargs="?", metavar="ROOM", help="only this room; all rooms unless given")
    return described


def board(given: Line) -> Any:
    """The board, live as long as this kernel."""
    session = KERNEL.current()
    room = refs.room(session, given.room)
    if session.display is not None:
        from dvergr_nb.widgets.run_board import RunBoard

        return RunBoard(session, room=room)
    live = session.active_runs(room)
    return RunTable(live, lambda: frame_of(live), "nothing lives here now")


# %activity, %%runsql -------------------------------------------------------------------------------------------------


def activity_parser() -> Parser:
    """What stands behind `%activity`."""
    described = Parser(
        "%activity", "A DataFrame of everything a Run did, joined to the Run, its actor, its thread and its trigger."
    )
    described.add_argument("run", metavar="RUN", help=RUN_HELP)
    return described


def activity(shell: Any, given: Line) -> Any:
    """The frame."""
    session = KERNEL.current()
    return session.activity_of(refs.run_id(session, shell.user_ns, given.run))


def runsql_parser() -> Parser:
    """What stands behind `%%runsql` and before the query of `%runsql`."""
    described = Parser(
        "%%runsql",
        "One read-only SELECT over the views runs, messages and activity, as a DataFrame.",
        "In one line: %runsql [options] SELECT …",
    )
    described.add_argument("-o", type=variable, dest="output", metavar="NAME", help="store the frame under this name")
    described.add_argument(
        "--limit-s", type=seconds, default=SQL_LIMIT_S, metavar="S", help=f"stop it after S seconds; {SQL_LIMIT_S:g}"
    )
    return described


def runsql(shell: Any, given: Line, query: str) -> Any:
    """The frame. Raises `QueryRefused`, `QueryFailed` or `QueryTimedOut`."""
    if not query.strip():
        raise BadInput("%%runsql has no query: write one SELECT below its line, or %runsql SELECT … in one")
    frame = KERNEL.current().store.sql(query, None, limit_s=given.limit_s).df()
    if given.output:
        shell.push({given.output: frame})
    return frame
