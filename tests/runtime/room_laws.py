"""What must hold of a room after any schedule: nothing lost, doubled or reordered, no duty open, no slot taken."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Iterator
from typing import Any

Event = list[Any]
Report = dict[str, Any]


class Trace:
    """What was told over all lives of the kernel."""

    def __init__(self) -> None:
        self.events: list[Event] = []
        self.life_began = 0
        self.out_of_order: set[tuple[str, str]] = set()
        """Message and actor of what was answered because somebody asked for it later."""

    def begin_life(self) -> None:
        """A new kernel."""
        self.life_began = len(self.events)

    def of(self, *kinds: str, this_life: bool = False) -> list[Event]:
        """The events of those kinds."""
        return [event for event in self.events[self.life_began if this_life else 0 :] if event[0] in kinds]

    @property
    def seen(self) -> dict[str, list[str]]:
        """Per actor, the messages that its handler was given, in that order."""
        found: dict[str, list[str]] = {}
        for event in self.of("began", "joined"):
            found.setdefault(event[1], []).extend([event[2]] if event[0] == "began" else event[3])
        return found

    @property
    def words(self) -> dict[tuple[str, str], str]:
        """Per Run, what became of its duty to reply."""
        return {(actor, name): word for _, actor, name, word in self.of("word")}


def found(report: Report, trace: Trace) -> dict[str, Any]:
    """The same, as the model has it."""
    return {
        "door": report["door"],
        "present": report["present"],
        "runs": {(actor, name): (status, reason) for actor, name, status, reason in report["runs"]},
        "unanswered": sorted((name, actor) for name, actor in report["unanswered"]),
        "seen": trace.seen,
        "words": trace.words,
        "roots": {each["name"]: each["root"] for each in report["messages"]},
        "senders": {each["name"]: each["sender"] for each in report["messages"]},
    }


def broken(report: Report, trace: Trace) -> list[str]:
    """Every law that does not hold, in words. For a room at rest."""
    return [*_fates(report), *_order(report, trace), *_kept(report, trace), *_duties(report, trace), *_slots(report)]


def _twice(of: Iterable[Hashable]) -> list[Any]:
    return [each for each, count in Counter(of).items() if count > 1]


def _given(report: Report) -> set[tuple[str, str]]:
    """Who was given what: the members at that time, but for the sender."""
    return {
        (each["name"], actor)
        for each in report["messages"]
        for actor, since, until in report["stays"]
        if each["sender"] != actor and each["to"] in (None, actor) and since <= each["at"] <= (until or "9")
    }


def _fates(report: Report) -> Iterator[str]:
    """Each message has one fate with each whom it was given to."""
    answered = [(name, actor) for actor, name, *_ in report["runs"]]
    applied = {(name, actor) for actor, name in report["applied"]} - set(answered)
    fates = {
        "answered": set(answered),
        "joined": applied,
        "settled": {(name, actor) for actor, name in report["settled"]},
        "unanswered": {(name, actor) for name, actor in report["unanswered"]},
    }
    yield from (f"{each} has two Runs" for each in _twice(answered))
    yield from (f"{each} is listed twice" for each in _twice(map(tuple, report["unanswered"])))
    yield from (f"{each} is stored twice" for each in _twice(each["name"] for each in report["messages"]))
    given = _given(report)
    for pair in sorted(given.union(*fates.values())):
        what = [fate for fate, pairs in fates.items() if pair in pairs]
        if pair not in given or len(what) != 1:
            yield f"{pair} was {'' if pair in given else 'not '}given and is {what or 'lost'}"
    waiting = {(name, each["actor"]) for each in report["present"] for name in (*each["pending"], *each["line"])}
    if (listed := {(name, actor) for name, actor in report["listed"]}) != fates["unanswered"] - waiting:
        yield f"{listed} are listed as unanswered, and {waiting} of {fates['unanswered']} will be answered"


def _order(report: Report, trace: Trace) -> Iterator[str]:
    """Each handler sees the messages of a thread in the order in which they were stored, and none twice."""
    place = {each["name"]: number for number, each in enumerate(report["messages"])}
    root = {each["name"]: each["root"] for each in report["messages"]}
    for actor, names in trace.seen.items():
        yield from (f"{actor} has seen {name} twice" for name in _twice(names))
        last: dict[str, str] = {}
        for name in names:
            if name not in place:
                yield f"{actor} has seen {name}, which is not stored"
            elif (name, actor) not in trace.out_of_order:
                if name != (older := last.setdefault(root[name], name)) and place[older] > place[name]:
                    yield f"{actor} has seen {name} after {older}, which was stored later"
                last[root[name]] = name


def _kept(report: Report, trace: Trace) -> Iterator[str]:
    """What was acknowledged is there, and what has happened is on record."""
    stored = {each["name"] for each in report["messages"]}
    runs = {(name, actor): (status, reason) for actor, name, status, reason in report["runs"]}
    applied = {(name, actor) for actor, name in report["applied"]}
    yield from (f"{name} was durable and is gone" for _, name in trace.of("durable") if name not in stored)
    yield from (f"{name} of {actor} began without a row" for _, actor, name in trace.of("began") if (name, actor) not in runs)
    for _, name, actor, *came_to in trace.of("over"):
        if runs.get((name, actor)) != tuple(came_to):
            yield f"{name} of {actor} was told to be {came_to} and is {runs.get((name, actor))}"
    for _, actor, _, names in trace.of("joined", this_life=True):
        yield from (f"{name} joined {actor} and is not noted" for name in names if (name, actor) not in applied)
    seen = {(name, actor) for actor, names in trace.seen.items() for name in names}
    yield from (f"{pair} is noted as joined and was not seen" for pair in applied - set(runs) if pair not in seen)


def _word(status: str, reason: str | None) -> str:
    match status, reason:
        case "completed", None:
            return "emitted"
        case "failed", "error":
            return "handler-failed"
        case "cancelled", "participant-left":
            return "abandoned"
        case _:
            return str(reason)


def _duties(report: Report, trace: Trace) -> Iterator[str]:
    """A duty to reply is settled once, when its Run is over, with the word for its end; a reply is there where it says so."""
    runs = {(actor, name): (status, reason) for actor, name, status, reason in report["runs"]}
    told = [(actor, name) for _, actor, name, _ in trace.of("word")]
    yield from (f"the duty of {each} was settled twice" for each in _twice(told))
    for _, actor, name, word in trace.of("word"):
        status, reason = runs[actor, name]
        if status == "running" or word != _word(status, reason):
            yield f"the duty of {actor}/{name} was settled with {word}, and it is {status} ({reason})"
    for _, actor, name in trace.of("began", this_life=True):
        if runs[actor, name][0] != "running" and (actor, name) not in told:
            yield f"the duty of {actor}/{name} is open, and it is over"
    replies = [tuple(each["run"]) for each in report["messages"] if each["run"] is not None]
    wanted = [run for run, came_to in runs.items() if came_to == ("completed", None)]
    if sorted(replies) != sorted(wanted):
        yield f"replies of {replies}, but these have ended with one: {wanted}"


def _slots(report: Report) -> Iterator[str]:
    """A slot is held by nobody but a Run that works, a thread by one Run per actor; the room remembers nothing else."""
    running = sorted([actor, name] for actor, name, status, _ in report["runs"] if status == "running")
    working = sorted([each["actor"], each["current"]] for each in report["present"] if each["current"] is not None)
    lines = sum(len(each["line"]) for each in report["present"])
    root = {each["name"]: each["root"] for each in report["messages"]}
    yield from (f"{each} has two Runs at work" for each in _twice((actor, root[name]) for actor, name in running))
    if [each for each in report["slots"] if each not in running]:
        yield f"slots are held by {report['slots']}, and running are {running}"
    if working != running:
        yield f"at work are {working}, and running are {running}"
    if report["torn"]:
        yield "the room admits and is closed"
    if report["coming"] or report["closing"]:
        yield f"{report['coming']} messages are on their way, closing: {report['closing']}"
    gone = report["live"] - len(working) - lines
    if gone < 0 or (gone and not working):  # who has left may wait for a thread to become free, so that its end is on record
        yield f"{report['live']} Runs live, and {len(working)} work and {lines} wait"
    if report["waiting"] and not (working or lines):
        yield f"nobody works, and {report['waiting']} have not ended"
    held = {each["actor"]: {root[name] for name in each["held"]} for each in report["present"]}
    for each in report["present"]:
        free = [name for name in each["line"] if root[name] not in held[each["actor"]]]
        if report["door"] == "open" and each["current"] is None and free:
            yield f"{each['actor']} could begin with {free[0]} and does not"
