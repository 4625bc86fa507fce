"""What happened, as frames for analysis. pandas and pyarrow are imported here only, when they are needed.

| column | dtype |
|---|---|
| `id` `trigger` `parent` `run_id` `thread` `reply_to` `message_id` `fact_id` | text |
| `created_at` `started_at` `updated_at` `ended_at` | time in UTC, microseconds |
| `status` `run_status` | categorical of the five durable statuses (in Arrow: dictionary) |
| `kind` `run_kind` | categorical of the kinds found (in Arrow: dictionary) |
| `took` `at_seconds` | seconds, float |
| `amount_usd` `cost_usd` `overrun_usd` | dollars, float |
| `tags` | list of text |
| all others | text, whole number or truth value; missing where there is none |

The columns are those of the views of the same names, in the same order. Filters combine: all must hold.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, TypedDict, TypeVar, Unpack, overload

import duckdb

from dvergr_nb.errors import BadFilter, DvergrError
from dvergr_nb.ids import RunId
from dvergr_nb.records.query import MessageFilter, RunFilter
from dvergr_nb.records.run import LIVE_ONLY, RunStatus
from dvergr_nb.store.reads import sendable

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

Value = TypeVar("Value")

STATUSES: Final = tuple(status.value for status in RunStatus if status not in LIVE_ONLY)

_RUNS = """
SELECT * FROM main.runs
WHERE ($room IS NULL OR room = $room)
  AND ($actor IS NULL OR actor = $actor)
  AND ($status IS NULL OR status = $status)
  AND ($kind IS NULL OR kind = $kind)
  AND ($tag IS NULL OR list_contains(tags, $tag))
  AND ($since IS NULL OR started_at >= CAST($since AS TIMESTAMPTZ))
ORDER BY started_at DESC, id DESC
LIMIT $limit
"""
_TREE = """
WITH RECURSIVE tree AS (
    SELECT key, 0 AS depth FROM dv.my_run_rows WHERE key = TRY_CAST($root AS UUID) AND ($room IS NULL OR room = $room)
    UNION ALL
    SELECT child.key, tree.depth + 1 FROM dv.my_run_rows AS child JOIN tree ON child.parent_key = tree.key
    WHERE $room IS NULL OR child.room = $room
)
SELECT r.* FROM tree JOIN main.runs AS r ON r.id = CAST(tree.key AS VARCHAR)
ORDER BY tree.depth, r.started_at, r.id
LIMIT $limit
"""
_MESSAGES = """
SELECT * EXCLUDE (key, thread_key, run_key) FROM dv.my_message_frame
WHERE ($room IS NULL OR room = $room)
  AND ($thread IS NULL OR thread_key = TRY_CAST($thread AS UUID))
  AND ($run IS NULL OR run_key = TRY_CAST($run AS UUID))
  AND ($since IS NULL OR created_at > CAST($since AS TIMESTAMPTZ))
ORDER BY created_at, key
"""
_LAST_MESSAGES = """
SELECT * EXCLUDE (key, thread_key, run_key) FROM (
    SELECT * FROM dv.my_message_frame
    WHERE ($room IS NULL OR room = $room)
      AND ($thread IS NULL OR thread_key = TRY_CAST($thread AS UUID))
      AND ($run IS NULL OR run_key = TRY_CAST($run AS UUID))
      AND ($since IS NULL OR created_at > CAST($since AS TIMESTAMPTZ))
    ORDER BY created_at DESC, key DESC
    LIMIT $limit
)
ORDER BY created_at, key
"""
_ACTIVITY = """
SELECT * EXCLUDE (key, place, thread_key, run_key) FROM dv.my_activity_frame
WHERE ($room IS NULL OR room = $room)
  AND ($thread IS NULL OR thread_key = TRY_CAST($thread AS UUID))
  AND ($run IS NULL OR run_key = TRY_CAST($run AS UUID))
  AND ($actor IS NULL OR actor = $actor)
  AND ($since IS NULL OR created_at > CAST($since AS TIMESTAMPTZ))
ORDER BY created_at, key, place
"""
_LAST_ACTIVITY = """
SELECT * EXCLUDE (key, place, thread_key, run_key) FROM (
    SELECT * FROM dv.my_activity_frame
    WHERE ($room IS NULL OR room = $room)
      AND ($thread IS NULL OR thread_key = TRY_CAST($thread AS UUID))
      AND ($run IS NULL OR run_key = TRY_CAST($run AS UUID))
      AND ($actor IS NULL OR actor = $actor)
      AND ($since IS NULL OR created_at > CAST($since AS TIMESTAMPTZ))
    ORDER BY created_at DESC, key DESC, place DESC
    LIMIT $limit
)
ORDER BY created_at, key, place
"""
_LEDGER = """
WITH RECURSIVE tree AS (
    SELECT key FROM dv.my_run_rows WHERE key = TRY_CAST($tree AS UUID)
    UNION ALL
    SELECT child.key FROM dv.my_run_rows AS child JOIN tree ON child.parent_key = tree.key
)
SELECT * EXCLUDE (key, run_key) FROM (
    SELECT * FROM dv.my_ledger_frame
    WHERE ($room IS NULL OR room = $room)
      AND ($run IS NULL OR run_key = TRY_CAST($run AS UUID))
      AND ($actor IS NULL OR actor = $actor)
      AND ($tree IS NULL OR run_key IN (SELECT key FROM tree))
      AND ($since IS NULL OR created_at > CAST($since AS TIMESTAMPTZ))
    ORDER BY created_at DESC, key DESC
    LIMIT $limit
)
ORDER BY created_at, key
"""


class Readable(Protocol):
    """An open store."""

    def read(self, ask: Callable[[duckdb.DuckDBPyConnection], Value]) -> Value:
        """Asks with a cursor that sees one tenant's rows."""


class RunFilters(TypedDict, total=False):
    """As `RunFilter`; without a limit all Runs are given."""

    room: str | None
    actor: str | None
    status: str | None
    kind: str | None
    tag: str | None
    since: dt.datetime | None
    tree: RunId | None
    limit: int | None


class MessageFilters(TypedDict, total=False):
    """As `MessageFilter`; without a limit all messages are given."""

    room: str | None
    thread: str | None
    run: RunId | None
    since: dt.datetime | None
    limit: int | None


class ActivityFilters(MessageFilters, total=False):
    """As for messages, and whose Run it was."""

    actor: str | None


class LedgerFilters(TypedDict, total=False):
    """As `MessageFilter`, without a thread; `tree` is a Run, with which all are meant that it contains."""

    room: str | None
    run: RunId | None
    actor: str | None
    tree: RunId | None
    since: dt.datetime | None
    limit: int | None


@overload
def runs(store: Readable, *, arrow: Literal[False] = False, **wanted: Unpack[RunFilters]) -> pd.DataFrame: ...
@overload
def runs(store: Readable, *, arrow: Literal[True], **wanted: Unpack[RunFilters]) -> pa.Table: ...
def runs(store: Readable, *, arrow: bool = False, **wanted: Unpack[RunFilters]) -> pd.DataFrame | pa.Table:
    """One row per Run, newest first; with `tree` breadth first. Raises `BadFilter`."""
    _check_names(wanted, RunFilters)
    RunFilter(**wanted)
    if root := wanted.get("tree"):
        tree = {"root": root, "room": wanted.get("room"), "limit": wanted.get("limit")}
        return _frame(store, _TREE, tree, arrow=arrow)
    return _frame(store, _RUNS, _parameters(RunFilters, wanted, without="tree"), arrow=arrow)


@overload
def messages(store: Readable, *, arrow: Literal[False] = False, **wanted: Unpack[MessageFilters]) -> pd.DataFrame: ...
@overload
def messages(store: Readable, *, arrow: Literal[True], **wanted: Unpack[MessageFilters]) -> pa.Table: ...
def messages(store: Readable, *, arrow: bool = False, **wanted: Unpack[MessageFilters]) -> pd.DataFrame | pa.Table:
    """One row per message, oldest first; a limit keeps the last ones. Raises `BadFilter`."""
    _check_names(wanted, MessageFilters)
    MessageFilter(limit=wanted.get("limit"))
    if wanted.get("limit") is None:
        return _frame(store, _MESSAGES, _parameters(MessageFilters, wanted, without="limit"), arrow=arrow)
    return _frame(store, _LAST_MESSAGES, _parameters(MessageFilters, wanted), arrow=arrow)


@overload
def activity(store: Readable, *, arrow: Literal[False] = False, **wanted: Unpack[ActivityFilters]) -> pd.DataFrame: ...
@overload
def activity(store: Readable, *, arrow: Literal[True], **wanted: Unpack[ActivityFilters]) -> pa.Table: ...
def activity(store: Readable, *, arrow: bool = False, **wanted: Unpack[ActivityFilters]) -> pd.DataFrame | pa.Table:
    """One row per fact, and one per activity message without facts, joined to its Run; oldest first. Raises `BadFilter`."""
    _check_names(wanted, ActivityFilters)
    MessageFilter(limit=wanted.get("limit"))
    if wanted.get("limit") is None:
        return _frame(store, _ACTIVITY, _parameters(ActivityFilters, wanted, without="limit"), arrow=arrow)
    return _frame(store, _LAST_ACTIVITY, _parameters(ActivityFilters, wanted), arrow=arrow)


@overload
def ledger(store: Readable, *, arrow: Literal[False] = False, **wanted: Unpack[LedgerFilters]) -> pd.DataFrame: ...
@overload
def ledger(store: Readable, *, arrow: Literal[True], **wanted: Unpack[LedgerFilters]) -> pa.Table: ...
def ledger(store: Readable, *, arrow: bool = False, **wanted: Unpack[LedgerFilters]) -> pd.DataFrame | pa.Table:
    """One row per move of money and per call of a model, oldest first; a limit keeps the last ones. Raises `BadFilter`."""
    _check_names(wanted, LedgerFilters)
    MessageFilter(room=wanted.get("room"), run=wanted.get("run"), since=wanted.get("since"), limit=wanted.get("limit"))
    RunFilter(actor=wanted.get("actor"))
    RunFilter(tree=wanted.get("tree"))
    return _frame(store, _LEDGER, _parameters(LedgerFilters, wanted), arrow=arrow)


def _check_names(wanted: Mapping[str, Any], known: type) -> None:
    if strange := sorted(set(wanted) - set(known.__annotations__)):
        raise BadFilter(f"no filter {strange[0]!r}; there are {', '.join(known.__annotations__)}")


def _parameters(known: type, wanted: Mapping[str, Any], without: str = "") -> Mapping[str, Any]:
    return {name: wanted.get(name) for name in known.__annotations__ if name != without}


def _frame(store: Readable, statement: str, parameters: Mapping[str, Any], *, arrow: bool) -> pd.DataFrame | pa.Table:
    parameters = sendable(parameters)
    if arrow:
        return _arrow(store, statement, parameters)
    import pandas as pd

    frame: pd.DataFrame = store.read(lambda con: con.execute(statement, parameters).df())
    status = pd.CategoricalDtype(list(STATUSES))
    for name in frame.columns:
        wanted = _dtype(frame, name, status)
        # Columns that are right already are not copied: a frame may have a million rows.
        if wanted != frame[name].dtype:
            is_void = frame[name].isna().all()
            frame[name] = pd.Series(None, index=frame.index, dtype=wanted) if is_void else frame[name].astype(wanted)
    return frame


def _dtype(frame: pd.DataFrame, name: str, status: pd.CategoricalDtype) -> Any:
    """What a column is to be, also where it is empty."""
    if name == "run_status" or (name == "status" and "run_status" not in frame):
        return status
    if name in {"kind", "run_kind"}:
        return "category"
    is_text = frame[name].dtype == object and name != "tags"
    return "str" if is_text else frame[name].dtype


def _arrow(store: Readable, statement: str, parameters: Mapping[str, Any]) -> pa.Table:
    try:
        import pyarrow as pa
    except ImportError as problem:
        raise DvergrError("Arrow tables need pyarrow; install it with: pip install pyarrow") from problem
    table: pa.Table = store.read(lambda con: con.sql(statement, params=parameters).to_arrow_table())
    for name in ("status", "run_status", "kind", "run_kind"):
        if name in table.column_names and not pa.types.is_null(table.schema.field(name).type):
            place = table.column_names.index(name)
            table = table.set_column(place, name, table.column(name).dictionary_encode())
    return table
