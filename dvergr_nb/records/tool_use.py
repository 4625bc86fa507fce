"""What a tool was given and what it gave: kept apart from the facts of the record, and shown on demand only."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Final

from dvergr_nb.ids import RunId

ARGUMENTS_LIMIT: Final = 20_000
"""Longest arguments on record, in characters of JSON."""
RESULT_LIMIT: Final = 20_000
"""Longest result on record and in front of a model, in characters; the whole is a blob."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Blob:
    """Bytes beside the store, found by what they are."""

    sha256: str
    """As hex."""
    media_type: str
    size: int
    """Bytes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolUse:
    """One use of a tool, as it ended."""

    id: str
    """That of its `invoke` fact, so that both can be joined."""
    tenant_id: str
    room: str
    run_id: RunId
    round: int
    name: str
    tool_use_id: str
    arguments: str
    """JSON, cut at `ARGUMENTS_LIMIT`."""
    result: str
    """What its model was told, cut at `RESULT_LIMIT`."""
    status: str
    """`completed`, `failed` or `cancelled`."""
    blobs: tuple[Blob, ...] = ()
    """The whole result where it was cut, then pictures and the like."""
    started_at: dt.datetime
    ended_at: dt.datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Citation:
    """A chunk of text that a request to a model has used."""

    tenant_id: str
    room: str
    run_id: RunId
    round: int
    chunk_id: str
    """As its retriever names it."""
    title: str = ""
    """What a person may read instead of the id."""
    at: dt.datetime
