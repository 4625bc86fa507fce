"""A timeline as views get it, as plain data: offsets and lengths in seconds, what is empty left out."""

from __future__ import annotations

import datetime as dt
from typing import Final, Literal, NotRequired, TypedDict

from dvergr_nb.records.text import clipped
from dvergr_nb.records.timeline import Entry, Lane, Mark, Timeline

RESULT_LIMIT: Final = 2_000
"""How much of an output is told with the details, in characters."""


class MarkWire(TypedDict):
    """One bar, dot or tick; offsets and lengths in seconds."""

    shape: Literal["phase", "round", "tool", "failed", "cut", "said", "tick", "bad"]
    at: float
    took: NotRequired[float]
    text: NotRequired[str]
    title: NotRequired[str]


class LaneWire(TypedDict):
    """One line of the chart."""

    name: str
    marks: list[MarkWire]
    count: int
    took: NotRequired[float]


class EntryWire(TypedDict):
    """One line of the list. `cost` in micro-dollars; `unpriced`: something of it has no known price.

    `use`: a use of a tool, whose arguments and result may be asked for by the key.
    """

    key: str
    who: str
    at: float
    text: str
    took: NotRequired[float]
    goes_on: NotRequired[bool]
    tone: NotRequired[Literal["person", "bad"]]
    more: NotRequired[str]
    cost: NotRequired[int]
    unpriced: NotRequired[bool]
    use: NotRequired[bool]


class TimelineWire(TypedDict):
    """One Run from its beginning to `took` seconds after it."""

    began: float
    took: float
    lives: bool
    lanes: list[LaneWire]
    entries: list[EntryWire]
    left_out: int
    activities: int
    result: NotRequired[str]
    error: NotRequired[str]


def milliseconds(at: dt.datetime) -> float:
    """A time as a view counts it."""
    return round(at.timestamp() * 1000, 1)


def timeline_wire(drawn: Timeline) -> TimelineWire:
    """A timeline as a view draws it."""
    wire: TimelineWire = {
        "began": milliseconds(drawn.began),
        "took": drawn.took,
        "lives": drawn.lives,
        "lanes": [_lane(lane) for lane in drawn.lanes],
        "entries": [_entry(entry) for entry in drawn.entries],
        "left_out": drawn.left_out,
        "activities": drawn.activities,
    }
    if drawn.result:
        wire["result"] = clipped(drawn.result, RESULT_LIMIT)
    if drawn.error:
        wire["error"] = drawn.error
    return wire


def _lane(lane: Lane) -> LaneWire:
    wire: LaneWire = {"name": lane.name, "marks": [_mark(mark) for mark in lane.marks], "count": lane.count}
    if lane.took is not None:
        wire["took"] = lane.took
    return wire


def _mark(mark: Mark) -> MarkWire:
    wire: MarkWire = {"shape": mark.shape, "at": mark.at}
    if mark.took is not None:
        wire["took"] = mark.took
    if mark.text:
        wire["text"] = mark.text
    if mark.title:
        wire["title"] = mark.title
    return wire


def _entry(entry: Entry) -> EntryWire:
    wire: EntryWire = {"key": entry.key, "who": entry.who, "at": entry.at, "text": entry.text}
    if entry.took is not None:
        wire["took"] = entry.took
    if entry.goes_on:
        wire["goes_on"] = True
    if entry.tone:
        wire["tone"] = entry.tone
    if entry.more:
        wire["more"] = entry.more
    if entry.cost is not None:
        wire["cost"] = entry.cost
    if entry.is_unpriced:
        wire["unpriced"] = True
    if entry.is_use:
        wire["use"] = True
    return wire
