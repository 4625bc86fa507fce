"""A process as its observers see it: one living stretch of work that can be inspected and directed."""

from __future__ import annotations

import datetime as dt
import enum
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dvergr_nb.ids import RunId


class ProcessStatus(enum.StrEnum):
    """Where a process is in its life."""

    RUNNING = "running"
    AWAITING_DECISION = "awaiting-decision"
    """Stopped at a checkpoint, a directive is looked for."""
    COMPLETED = "completed"
    ABORTED = "aborted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Process:
    """One process. `progress` is what its last checkpoint reported."""

    id: str
    run_id: RunId | None
    room: str
    description: str
    status: ProcessStatus
    progress: Mapping[str, Any] = field(default_factory=dict)
    started_at: dt.datetime
    ended_at: dt.datetime | None = None
