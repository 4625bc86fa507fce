"""What subscribers are told. The union stands whole; they ignore the types they do not know.

`seq` is one counter per session, given after coalescing: a subscriber that sees n and then n + 2 has missed something.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from dvergr_nb.records.message import Message
from dvergr_nb.records.process import Process
from dvergr_nb.records.run import LiveRun


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsSnapshot:
    """The first event of every subscription: all live Runs, by `started_at` then id."""

    type: ClassVar[str] = "runs/snapshot"
    seq: int
    runs: tuple[LiveRun, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class RunQueued:
    """Its trigger is durable and its actor works on something else. Live only: there is no row yet."""

    type: ClassVar[str] = "run/queued"
    seq: int
    run: LiveRun


@dataclass(frozen=True, slots=True, kw_only=True)
class RunWithdrawn:
    """It was queued and will not be admitted: there never was a row."""

    type: ClassVar[str] = "run/withdrawn"
    seq: int
    run: LiveRun


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted:
    """Its row is durable and its body is about to begin."""

    type: ClassVar[str] = "run/started"
    seq: int
    run: LiveRun


@dataclass(frozen=True, slots=True, kw_only=True)
class CancelRequested:
    """It was asked to stop, for the first time."""

    type: ClassVar[str] = "run/cancel-requested"
    seq: int
    run: LiveRun


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFinished:
    """It is terminal or waiting, and its output, activity and row can be queried."""

    type: ClassVar[str] = "run/finished"
    seq: int
    run: LiveRun


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResumed:
    """A pause was decided: the same Run goes on."""

    type: ClassVar[str] = "run/resumed"
    seq: int
    run: LiveRun


@dataclass(frozen=True, slots=True, kw_only=True)
class RunProgressed:
    """Its body said how far it is, or printed. Coalesced: at most one per Run in 50 ms."""

    type: ClassVar[str] = "run/progress"
    seq: int
    run: LiveRun


@dataclass(frozen=True, slots=True, kw_only=True)
class RunActivity:
    """A message of its activity is durable."""

    type: ClassVar[str] = "run/activity"
    seq: int
    run: LiveRun
    message: Message


@dataclass(frozen=True, slots=True, kw_only=True)
class RunPartial:
    """Text it streams, as far as it has come, its beginning cut off where it is long; live only, never stored."""

    type: ClassVar[str] = "run/partial"
    seq: int
    run: LiveRun
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MessagePosted:
    """A message that somebody said in a room is durable; activity and private messages of Runs are not told so."""

    type: ClassVar[str] = "message/posted"
    seq: int
    message: Message


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomChanged:
    """Who takes part in a room has changed, or whether it admits anything."""

    type: ClassVar[str] = "room/changed"
    seq: int
    room: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessRegistered:
    """A process began."""

    type: ClassVar[str] = "process/registered"
    seq: int
    process: Process


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessChanged:
    """A process reached or left a checkpoint."""

    type: ClassVar[str] = "process/changed"
    seq: int
    process: Process


@dataclass(frozen=True, slots=True, kw_only=True)
class ProcessEnded:
    """A process completed or was aborted."""

    type: ClassVar[str] = "process/ended"
    seq: int
    process: Process


RunEvent = (
    RunQueued
    | RunWithdrawn
    | RunStarted
    | CancelRequested
    | RunFinished
    | RunResumed
    | RunProgressed
    | RunActivity
    | RunPartial
)
RoomEvent = MessagePosted | RoomChanged
ProcessEvent = ProcessRegistered | ProcessChanged | ProcessEnded
Event = RunsSnapshot | RunEvent | RoomEvent | ProcessEvent
