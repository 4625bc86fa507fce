"""What one Run did and when, ready to be drawn: lanes of marks, and the same in words.

Offsets are seconds since the Run began. It is a pure function of the row and its messages, so that a card, a test and a
notebook get the same picture.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, pairwise
from typing import TYPE_CHECKING, Final, Literal

from dvergr_nb.ids import RunId
from dvergr_nb.records import calls
from dvergr_nb.records.message import ACTIVITY, PERSON, RUNS, Fact, Message
from dvergr_nb.records.room import is_reserved
from dvergr_nb.records.run import Run, RunStatus
from dvergr_nb.records.text import clipped, first_line

if TYPE_CHECKING:
    from dvergr_nb.records.money import Spend
    from dvergr_nb.records.tool_use import Citation

HEAD_ITEMS: Final = 100
TAIL_ITEMS: Final = 400
"""Of a Run that did more than both together, the first and the last items are shown."""
HEAD_MESSAGES: Final = 2 * HEAD_ITEMS
TAIL_MESSAGES: Final = 2 * TAIL_ITEMS
"""How many messages are read for them: several reports may be one item."""
MORE_LIMIT: Final = 1_500
"""Longest text that an entry opens to, in characters."""
RESULT_LIMIT: Final = 60_000
"""How much of an output is kept, in characters; a card shows less of it."""
TEXT_LIMIT: Final = 300
"""Longest text of a line of names, in characters."""

Shape = Literal["phase", "round", "tool", "failed", "cut", "said", "tick", "bad"]
"""Bars: a phase, a round, a tool call, one that failed, one cut short. Dots: a person said it. Ticks: facts, a failed one."""
Tone = Literal["", "person", "bad"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """One bar, dot or tick. `took` is None for dots and ticks, and for a bar that goes on."""

    shape: Shape
    at: float
    took: float | None = None
    text: str = ""
    """What stands inside a bar."""
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One line of the list: who, when, what, how long. `more` is what it opens to, empty where the line says it all."""

    key: str
    """Unique within the timeline and the same each time it is made."""
    who: str
    at: float
    text: str
    took: float | None = None
    goes_on: bool = False
    tone: Tone = ""
    more: str = ""
    cost: int | None = None
    """What it cost, in micro-dollars; None where it cost nothing or nobody knows."""
    is_unpriced: bool = False
    """Whether something of it has no known price."""
    is_use: bool = False
    """Whether it is a use of a tool, whose arguments and result may be asked for by the key."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lane:
    """One line of the chart. At its end stands the sum of its bars, or how many marks there were."""

    name: str
    marks: tuple[Mark, ...]
    count: int
    took: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """One Run from its beginning to `took` seconds after it."""

    run_id: RunId
    began: dt.datetime
    took: float
    lives: bool
    lanes: tuple[Lane, ...]
    entries: tuple[Entry, ...]
    left_out: int
    """How many items between the first and the last are neither drawn nor listed."""
    activities: int
    """Distinct correlated activity messages."""
    result: str | None
    """Its output, where it has one."""
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Item:
    lane: str
    mark: Mark
    entry: Entry


def timeline(
    run: Run,
    messages: Iterable[Message],
    now: dt.datetime,
    *,
    unread: int = 0,
    spends: Sequence[Spend] = (),
    citations: Sequence[Citation] = (),
) -> Timeline:
    """The timeline of a Run: `messages` are its trigger, those that carry its id and those that joined it, in any order.

    `unread` is how many reports lie between the first and the last of them and were not read. `spends` are its calls of
    models, `citations` the chunks of text it has used.
    """
    end = _end(run, now)
    own = sorted(messages, key=lambda message: (message.created_at, message.id))
    found = [*_items(run, own, end, calls.by_round(spends)), *_cited(run, citations)]
    items = sorted(found, key=lambda item: item.mark.at)
    shown = items if len(items) <= HEAD_ITEMS + TAIL_ITEMS else items[:HEAD_ITEMS] + items[-TAIL_ITEMS:]
    left_out = unread + len(items) - len(shown)
    output = next((message.content for message in reversed(own) if _is_output(run, message)), None)
    return Timeline(
        run_id=run.id,
        began=run.started_at,
        took=_since(run, end),
        lives=_lives(run),
        lanes=tuple(_lanes(items, shown, _since(run, end))),
        entries=tuple(_entries(shown, left_out)),
        left_out=left_out,
        activities=unread + sum(message.to == ACTIVITY and message.run_id == run.id for message in own),
        result=None if output is None else clipped(output, RESULT_LIMIT),
        error=run.error,
    )


def _entries(shown: Sequence[_Item], left_out: int) -> Iterator[Entry]:
    for index, item in enumerate(shown):
        if left_out and index == HEAD_ITEMS:
            yield Entry(key="left-out", who="", at=item.entry.at, text=f"{left_out:,} items before this are left out")
        yield item.entry


def _lives(run: Run) -> bool:
    return run.status in (RunStatus.QUEUED, RunStatus.RUNNING, RunStatus.CANCELLING)


def _end(run: Run, now: dt.datetime) -> dt.datetime:
    return now if _lives(run) else run.ended_at or run.updated_at


def _since(run: Run, at: dt.datetime) -> float:
    return max(0.0, (at - run.started_at).total_seconds())


def _is_output(run: Run, message: Message) -> bool:
    return _is_reply(run, message) or (message.to == RUNS and message.kind == "result")


def _is_reply(run: Run, message: Message) -> bool:
    """Whether its actor said it to somebody as the Run's end."""
    return message.run_id == run.id and not (message.to is not None and is_reserved(message.to))


def _items(run: Run, messages: Sequence[Message], end: dt.datetime, made: calls.Calls) -> Iterator[_Item]:
    yield from _phases(run, [message for message in messages if message.kind == "progress"], end)
    yield from (_round(run, facts, end, made.pop(_use_of(facts), [])) for facts in _uses(messages, "round"))
    yield from (_calls_alone(run, who, spends) for who, spends in made.items())
    yield from (_tool_call(run, facts) for facts in _uses(messages, "tool"))
    for message in messages:
        if message.kind == "progress":
            continue
        yield from (_fact(run, message, fact) for fact in message.facts if fact.kind not in ("round", "tool") or _is_note(fact))
        if not message.facts or _is_reply(run, message):
            yield _plain(run, message)


def _phases(run: Run, reports: Sequence[Message], end: dt.datetime) -> Iterator[_Item]:
    """A bar from the first report of a label to the first of the next one, the last to the end."""
    firsts = [next(same) for _, same in groupby(reports, key=lambda report: report.content)]
    edges = [report.created_at for report in firsts] + [max([end, *(report.created_at for report in firsts[-1:])])]
    for number, (report, (start, stop)) in enumerate(zip(firsts, pairwise(edges), strict=True), start=1):
        goes_on = report is firsts[-1] and _lives(run)
        at, took = _since(run, start), (stop - start).total_seconds()
        label = first_line(report.content) or "progress"
        mark = Mark(shape="phase", at=at, took=None if goes_on else took, text=str(number), title=label)
        entry = Entry(key=report.id, who=f"phase {number}", at=at, text=label, took=took, goes_on=goes_on)
        yield _Item(lane="progress", mark=mark, entry=entry)


Use = Sequence[tuple[dt.datetime, Fact]]
"""The facts of one round or of one use of a tool, with their times, oldest first."""


def _uses(messages: Sequence[Message], kind: str) -> Iterator[Use]:
    """The facts of that kind by what they belong to. What begins once more under a name that was used is another one."""
    of_kind = [(message, fact) for message in messages for fact in message.facts if fact.kind == kind and not _is_note(fact)]
    facts = ((fact.at or message.created_at, fact) for message, fact in of_kind)
    uses: dict[str, list[tuple[dt.datetime, Fact]]] = {}
    for at, fact in sorted(facts, key=lambda pair: pair[0]):
        name = fact.tool_use_id or fact.id
        if fact.verb == "begin" and name in uses:
            yield uses.pop(name)
        uses.setdefault(name, []).append((at, fact))
    yield from uses.values()


def _use_of(facts: Use) -> str:
    return facts[0][1].tool_use_id or ""


def _is_note(fact: Fact) -> bool:
    """Whether it tells what happened within a round, such as a retry, and is neither its beginning nor its end."""
    return fact.kind == "round" and fact.status == "noted"


def _round(run: Run, facts: Use, end: dt.datetime, spends: Sequence[Spend]) -> _Item:
    """A bar with its number from the beginning of a round to its end; one that never ended was cut short with the Run."""
    (start, first), (stop, last) = facts[0], facts[-1]
    has_ended = last.verb != "begin"
    goes_on = not has_ended and _lives(run)
    status = last.status or ("" if has_ended or goes_on else "cut")
    shape: Shape = "failed" if _is_bad(last) else "cut" if status == "cut" else "round"
    who, at = last.tool_use_id or "round", _since(run, start)
    took = ((stop if has_ended else max(start, end)) - start).total_seconds()
    name = last.tool_name or first.tool_name or "rounds"
    how = "cut short" if status == "cut" else "" if status == "completed" and spends else status
    text = ", ".join(word for word in (calls.models(spends) or name, how, last.outcome, *calls.tokens(spends)) if word)
    mark = Mark(shape=shape, at=at, took=None if goes_on else took, text=who.rpartition(" ")[2], title=f"{who}: {text}")
    entry = Entry(key=first.id, who=who, at=at, text=text, took=took, goes_on=goes_on, tone="bad" if _is_bad(last) else "")
    return _Item(lane=name, mark=mark, entry=_paid(entry, spends))


def _calls_alone(run: Run, who: str, spends: Sequence[Spend]) -> _Item:
    """Calls of a round that is on no record yet, or of work that has no rounds."""
    at, text = _since(run, spends[0].at), ", ".join((calls.models(spends), *calls.tokens(spends)))
    entry = Entry(key=spends[0].id, who=who, at=at, text=text)
    return _Item(lane=calls.models(spends), mark=Mark(shape="tick", at=at, title=f"{who}: {text}"), entry=_paid(entry, spends))


def _paid(entry: Entry, spends: Sequence[Spend]) -> Entry:
    """The entry with what its calls have cost, and opening to a line for each."""
    if not spends:
        return entry
    cost, is_unpriced = calls.cost(spends)
    return replace(entry, cost=cost, is_unpriced=is_unpriced, more=clipped(calls.told(spends), MORE_LIMIT))


def _cited(run: Run, citations: Sequence[Citation]) -> Iterator[_Item]:
    """The chunks of text that a round has used, in one line that opens to their ids."""
    for number, same in groupby(sorted(citations, key=lambda each: each.round), key=lambda each: each.round):
        chunks = list(same)
        at, text = _since(run, chunks[0].at), ", ".join(first_line(chunk.title or chunk.chunk_id, 80) for chunk in chunks)
        more = clipped("\n".join(f"{chunk.chunk_id}  {chunk.title}".rstrip() for chunk in chunks), MORE_LIMIT)
        title = f"{len(chunks)} cited in round {number + 1}"
        entry = Entry(key=f"cited {number}", who="cited", at=at, text=clipped(text, TEXT_LIMIT), more=more)
        yield _Item(lane="cited", mark=Mark(shape="tick", at=at, title=title), entry=entry)


def _is_bad(fact: Fact) -> bool:
    return fact.verb == "fail" or fact.status in ("failed", "error")


def _tool_call(run: Run, facts: Use) -> _Item:
    """A bar from the first to the last fact of one use of a tool; a tick where there is but one."""
    (start, first), (stop, last) = facts[0], facts[-1]
    failed = any(_is_bad(fact) for _, fact in facts)
    took = (stop - start).total_seconds() if len(facts) > 1 else None
    shape: Shape = ("bad" if failed else "tick") if took is None else ("failed" if failed else "tool")
    name, at = last.tool_name or first.tool_name or "tool", _since(run, start)
    text = ", ".join(dict.fromkeys(word for word in (last.status, last.outcome) if word)) or last.verb
    tone: Tone = "bad" if failed else ""
    return _Item(
        lane=name,
        mark=Mark(shape=shape, at=at, took=took, title=f"{name}: {text}"),
        entry=Entry(key=first.id, who=name, at=at, text=text, took=took, tone=tone, is_use=first.verb == "invoke"),
    )


def _fact(run: Run, message: Message, fact: Fact) -> _Item:
    at = _since(run, fact.at or message.created_at)
    bad = _is_bad(fact) or fact.verb == "exhaust"
    who, words = fact.kind, [fact.verb, fact.status, fact.outcome]
    if _is_note(fact):
        who, words = fact.verb, [fact.outcome, fact.tool_use_id and f"in {fact.tool_use_id}"]
    text = first_line(message.content) if fact.kind == "budget" else ", ".join(word for word in words if word)
    return _Item(
        lane="notes" if _is_note(fact) or fact.kind == "budget" else "messages",
        mark=Mark(shape="bad" if bad else "tick", at=at, title=f"{who}: {text}"),
        entry=Entry(key=fact.id, who=who, at=at, text=text, tone="bad" if bad else ""),
    )


def _plain(run: Run, message: Message) -> _Item:
    """A message as such: what was asked, what joined, what was printed, noted, replied, or given as the result."""
    spoken = message.id == run.trigger or message.run_id is None or _is_reply(run, message)
    who, lane, shape = _who(message, spoken)
    at, line = _since(run, message.created_at), _telling_line(message)
    tone: Tone = "person" if shape == "said" else "bad" if message.kind == "error" else ""
    more = clipped(message.content, MORE_LIMIT) if line != message.content.strip() else ""
    return _Item(
        lane=lane,
        mark=Mark(shape=shape, at=at, title=f"{who}: {clipped(line, 80)}" if line else who),
        entry=Entry(key=message.id, who=who, at=at, text=line, tone=tone, more=more),
    )


def _telling_line(message: Message) -> str:
    """The line that says most: the first, of a traceback the last."""
    lines = [line for line in message.content.splitlines() if line.strip()]
    return first_line(lines[-1] if message.kind == "error" and lines else message.content)


def _who(message: Message, spoken: bool) -> tuple[str, str, Shape]:
    """Who or what, on which lane, as what; `spoken` where somebody said it to somebody."""
    sender = _named(message.sender)
    match message.kind:
        case _ if spoken:
            return sender, "messages", "said" if message.sender == PERSON else "tick"
        case "print":
            return "printed", "printed", "tick"
        case "error":
            return "error", "notes", "bad"
        case "note" | "checkpoint" | "dropped" as kind:
            return kind, "notes", "tick"
        case "result":
            return "result", "messages", "tick"
        case _:
            return sender, "messages", "said" if message.sender == PERSON else "tick"


def _named(sender: str) -> str:
    """What speaks from a reserved address is a program that asked; the address exists for that question alone."""
    return "you" if sender == PERSON else "a program" if is_reserved(sender) else sender


LAST_LANES: Final = ("cited", "printed", "notes", "messages")
BARS: Final = frozenset({"phase", "round", "tool", "failed", "cut"})


def _lanes(items: Sequence[_Item], shown: Sequence[_Item], end: float) -> Iterator[Lane]:
    """Progress first, then rounds, then tools as they came, then what was printed, noted and said."""
    rounds = {item.lane for item in items if item.mark.text}
    names = list(dict.fromkeys(item.lane for item in items if item.lane not in LAST_LANES))
    names.sort(key=lambda name: (name != "progress", name not in rounds))
    for name in (*names, *LAST_LANES):
        marks = [item.mark for item in items if item.lane == name]
        if not marks:
            continue
        bars = [end - mark.at if mark.took is None else mark.took for mark in marks if mark.shape in BARS]
        lane = Lane(name=name, marks=tuple(item.mark for item in shown if item.lane == name), count=len(marks))
        yield replace(lane, took=sum(bars)) if bars else lane
