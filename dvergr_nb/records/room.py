"""The room: the durable venue of messages and Runs."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Final

DEFAULT_ROOM: Final = "main"


@dataclass(frozen=True, slots=True, kw_only=True)
class Room:
    """One room. `name` is unique within a tenant."""

    tenant_id: str
    name: str
    title: str
    created_at: dt.datetime
