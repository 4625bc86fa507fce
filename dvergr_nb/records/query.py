"""What can be asked of the store, as data."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Final

from dvergr_nb.errors import BadFilter
from dvergr_nb.ids import RunId
from dvergr_nb.records.run import RunStatus
from dvergr_nb.records.text import shown

RUNS_LIMIT: Final = 100
"""How many Runs a listing holds unless told otherwise; the newest."""
DURABLE: Final = tuple(status.value for status in RunStatus if status.is_durable)
"""The statuses that a row may have."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFilter:
    """Which Runs, newest first. All filters apply before `limit`."""

    room: str | None = None
    actor: str | None = None
    status: str | None = None
    kind: str | None = None
    tag: str | None = None
    since: dt.datetime | None = None
    """Started at or after."""
    tree: RunId | None = None
    """This Run and its descendants by `parent`, breadth first; goes with `room` and `limit` only."""
    limit: int | None = RUNS_LIMIT
    """None: all of them."""

    def __post_init__(self) -> None:
        if self.tree is not None and (self.actor or self.status or self.kind or self.tag or self.since):
            raise BadFilter("tree goes with room and limit only: a filtered tree would have holes (incompatible-run-filters)")
        _check_words(self, "room", "actor", "kind", "tag", "tree")
        if self.status is not None and self.status not in DURABLE:
            raise BadFilter(f"status must be one of {', '.join(DURABLE)}, not {shown(self.status)}")
        _check_since(self.since)
        check_limit(self.limit)


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageFilter:
    """Which messages, oldest first; `limit` keeps the last ones."""

    room: str | None = None
    thread: str | None = None
    run: RunId | None = None
    since: dt.datetime | None = None
    """Strictly after."""
    only_said: bool = False
    """Leaves out what Runs report, and their private inputs and outputs."""
    limit: int | None = None

    def __post_init__(self) -> None:
        _check_words(self, "room", "thread", "run")
        _check_since(self.since)
        check_limit(self.limit)


def _check_words(wanted: object, *names: str) -> None:
    for name in names:
        if not isinstance(value := getattr(wanted, name), str | None):
            raise BadFilter(f"{name} must be text, not {shown(value)}")


def _check_since(since: object) -> None:
    if since is not None and (not isinstance(since, dt.datetime) or since.tzinfo is None):
        raise BadFilter(f"since must be an aware time, as d.runs() shows them, not {shown(since)}")


def check_limit(limit: object) -> None:
    """Raises `BadFilter` where it is no number of rows."""
    if limit is not None and (not isinstance(limit, int) or isinstance(limit, bool) or limit < 1):
        raise BadFilter(f"limit must be a whole number from 1, or None for all, not {shown(limit)}")
