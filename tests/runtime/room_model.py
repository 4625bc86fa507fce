"""The rules of a room as plain data and plain loops: what one command does to a room that is at rest.

Nothing here knows the package. Messages are called by their content; a Run by its actor and the message it answers.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

RunKey = tuple[str, str]


@dataclass
class Standing:
    """One participant."""

    actor: str
    current: str | None = None
    pending: list[str] = field(default_factory=list)
    """What will join its Run with the next round."""
    line: list[str] = field(default_factory=list)
    held: list[str] = field(default_factory=list)
    """Of the line: cancelled, but the Run that has its thread must end first."""


class Model:
    """One room with a Run per actor and thread."""

    def __init__(self) -> None:
        self.door = "open"
        self.present: dict[str, Standing] = {}
        self.roots: dict[str, str] = {}
        self.senders: dict[str, str] = {}
        self.runs: dict[RunKey, tuple[str, str | None]] = {}
        self.left: set[tuple[str, str]] = set()
        """Given to somebody who will not answer by itself."""
        self.seen: dict[str, list[str]] = {}
        self.words: dict[RunKey, str] = {}

    # What can be compared --------------------------------------------------------------------------------------------

    def looks(self) -> dict[str, Any]:
        """All that is predicted."""
        waiting = {(name, each.actor) for each in self.present.values() for name in (*each.pending, *each.line)}
        return {
            "door": self.door,
            "present": [vars(each) for each in self.present.values()],
            "runs": self.runs,
            "unanswered": sorted(self.left | waiting),
            "seen": {actor: names for actor, names in self.seen.items() if names},
            "words": self.words,
            "roots": self.roots,
        }

    def adopt(self, found: dict[str, Any]) -> None:
        """Takes over what was found where no prediction was made."""
        self.door = found["door"]
        self.present = {each["actor"]: Standing(**each) for each in found["present"]}
        self.runs, self.words, self.roots = dict(found["runs"]), dict(found["words"]), dict(found["roots"])
        self.senders = dict(found["senders"])
        self.seen = {actor: list(names) for actor, names in found["seen"].items()}
        waiting = {(name, each.actor) for each in self.present.values() for name in (*each.pending, *each.line)}
        self.left = set(found["unanswered"]) - waiting

    # Commands --------------------------------------------------------------------------------------------------------

    def obey(self, command: list[Any]) -> Any:
        """What the command is answered with, once it has taken effect."""
        verb, *arguments = command
        return getattr(self, verb)(*arguments)

    def join(self, actor: str) -> str:
        if self.door != "open":
            return "RoomClosed"
        self.present.setdefault(actor, Standing(actor))
        return "ok"

    def leave(self, actor: str) -> bool:
        if actor not in self.present:
            return False
        there = self.present.pop(actor)
        self._stop_all(there, "participant-left", "abandoned")
        return True

    def _stop_all(self, there: Standing, reason: str, word: str) -> None:
        for name in there.line:
            self.runs[there.actor, name] = ("cancelled", "cancel-requested" if name in there.held else reason)
        if there.current is not None:
            self.runs[there.actor, there.current] = ("cancelled", reason)
            self.words[there.actor, there.current] = word
        self.left |= {(name, there.actor) for name in there.pending}

    def turn(self, name: str, actor: str, thread: str | None, on_busy: str) -> str:
        if self.door != "open":
            return "RoomClosed"
        there = self.present.get(actor)
        if there is None:
            return "NoSuchActor"
        if thread is not None and thread not in self.roots:
            return "NoSuchMessage"
        is_free = there.current is None and not there.line
        if on_busy == "refuse" and not is_free:
            return "ThreadBusy"
        root = self._say(name, "user", thread)
        if is_free:
            self._begin(there, name)
            return "started"
        if on_busy == "steer" and self._joins(there, name, root):
            return "joined"
        there.line.append(name)
        return "queued"

    def post(self, name: str, to: str, thread: str | None) -> str:
        if self.door != "open":
            return "RoomClosed"
        if thread is not None and thread not in self.roots:
            return "NoSuchMessage"
        self._say(name, "user", thread)
        self._deliver(name, to)
        return "ok"

    def finish(self, actor: str, how: str, name: str = "", to: str = "") -> bool:
        there = self.present.get(actor)
        if there is None or there.current is None:
            return False
        if how != "fail" and there.pending:
            self._take(there)
            return True
        if how == "reply":
            self._say(name, actor, there.current)
            self._end(there, ("completed", None), "emitted", lambda: self._deliver(name, to))
        elif how == "fail":
            self._end(there, ("failed", "error"), "handler-failed")
        else:
            word = "held-back" if how == "withhold" else "withheld"
            self._end(there, ("completed", word), word)
        return True

    def cancel(self, actor: str) -> bool:
        there = self.present.get(actor)
        if there is None or there.current is None:
            return False
        self._end(there, ("cancelled", "cancel-requested"), "cancel-requested")
        return True

    def cancel_queued(self, actor: str, place: int) -> bool:
        there = self.present.get(actor)
        if there is None or place >= len(there.line):
            return False
        name = there.line.pop(place)
        if there.current is not None and self.roots[name] == self.roots[there.current]:
            there.held = [name, *(each for each in there.held if each != name)]
            there.line.insert(0, name)
        else:
            self.runs[actor, name] = ("cancelled", "cancel-requested")
        return True

    def answered(self, name: str, actor: str) -> None:
        """What `answer` has chosen is answered in its turn."""
        self.left.discard((name, actor))
        there = self.present[actor]
        if name == there.current or name in there.line or name in there.pending:
            return
        if there.current is None and not there.line:
            self._begin(there, name)
        else:
            there.line.append(name)

    def fence_off(self) -> bool:
        was_open = self.door == "open"
        self.door = "fenced" if was_open else self.door
        return was_open

    def reopen(self) -> bool:
        was_shut, self.door = self.door != "open", "open"
        for there in self.present.values():
            self._next(there)
        return was_shut

    def close(self) -> bool:
        self.door = "closed"
        for there in self.present.values():
            self._stop_all(there, "cancel-requested", "cancel-requested")
        self.present = {}
        return True

    # Rules -----------------------------------------------------------------------------------------------------------

    def _say(self, name: str, sender: str, thread: str | None) -> str:
        self.senders[name] = sender
        self.roots[name] = name if thread is None else self.roots[thread]
        return self.roots[name]

    def _deliver(self, name: str, to: str) -> None:
        for there in [each for each in self.present.values() if to in ("*", each.actor) and each.actor != self.senders[name]]:
            if self.door != "open":
                self.left.add((name, there.actor))
            elif there.current is None and not there.line:
                self._begin(there, name)
            elif not self._joins(there, name, self.roots[name]):
                there.line.append(name)

    def _joins(self, there: Standing, name: str, root: str) -> bool:
        is_same = there.current is not None and self.roots[there.current] == root
        waits = any(self.roots[each] == root for each in there.line)
        if there.actor == "plain" or not is_same or waits:
            return False
        there.pending.append(name)
        if there.actor == "eager":
            self._take(there)
        return True

    def _take(self, there: Standing) -> None:
        self.seen.setdefault(there.actor, []).extend(there.pending)
        there.pending = []

    def _begin(self, there: Standing, name: str) -> None:
        there.current = name
        self.runs[there.actor, name] = ("running", None)
        self.seen.setdefault(there.actor, []).append(name)

    def _end(self, there: Standing, came_to: tuple[str, str | None], word: str, deliver: Any = None) -> None:
        assert there.current is not None
        self.runs[there.actor, there.current] = came_to
        self.words[there.actor, there.current] = word
        if deliver is not None:
            deliver()  # what it says is heard before it begins anew
        for name in there.held:
            there.line.remove(name)
            self.runs[there.actor, name] = ("cancelled", "cancel-requested")
        if self.door == "open":
            there.line[:0] = there.pending
        else:
            self.left |= {(name, there.actor) for name in there.pending}
        there.current, there.pending, there.held = None, [], []
        self._next(there)

    def _next(self, there: Standing) -> None:
        if self.door == "open" and there.current is None and there.line:
            self._begin(there, there.line.pop(0))
