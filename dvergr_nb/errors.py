"""Everything that can go wrong, as one tree.

    DvergrError
    ├── BadInput (ValueError)            a value that cannot be used; nothing was changed
    │   ├── BadRun                       a field of a Run that its rules refuse
    │   ├── BadMessage                   a field of a message or of an activity fact
    │   ├── BadAttention                 what a participant decided about a message that arrived while it works
    │   └── BadFilter                    filters that cannot be combined, or unknown ones
    ├── NotFound (LookupError)           nothing of that id or name
    │   ├── NoSuchRun
    │   ├── NoSuchMessage
    │   ├── NoSuchActor                  nobody of that name takes part in the room
    │   ├── BlobMissing                  bytes that the record names are not beside the store any more
    │   └── AmbiguousRun                 a piece of an id that fits several Runs
    ├── Refused                          the state it would need is not there
    │   ├── ThreadBusy                   another Run is open on that thread
    │   │   └── ActorBusy                the actor works already, and the caller lets nothing wait
    │   ├── MoveRefused                  the Run is not in the status the move starts from
    │   ├── RoomDiffers                  the room was made with another rule for its threads
    │   ├── RoomClosed                   the room admits nothing any more
    │   ├── RoomNotDrained               Runs of a room that is being closed go on
    │   ├── Sealed                       the Run that would contain it is ending
    │   └── LoopBusy                     the kernel's loop did not come round in time
    ├── NoReply (TimeoutError)           an actor that was asked gave no reply in time
    ├── SessionClosed                    there is no open store to work on
    ├── StoreError
    │   ├── StoreBusy                    another kernel holds the store
    │   ├── StoreDamaged                 the file cannot be read as it stands
    │   ├── NotAStore                    the file is something else
    │   ├── StoreTooNew                  written by a newer version
    │   └── StoreFailed                  the disk or the database refused a write or a read
    ├── QueryError
    │   ├── QueryRefused                 not exactly one SELECT on the views
    │   ├── QueryFailed                  DuckDB could not answer it
    │   └── QueryTimedOut
    └── RunEnd                           what awaiting a Run raises when it has no value
        ├── RunFailed
        ├── RunCancelled
        └── RunWaiting

What can go wrong with agents, their models, tools and money goes on in `agent_errors.py`.

A class makes its own sentence from typed values and keeps them as attributes: what is wrong, with which
value, what to do.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence
from typing import Final

TYPED_LIMIT: Final = 80
"""How much of what somebody typed an error repeats, in characters."""
_WAYS_ON: Final = {
    "budget-exhausted": ": say something on its thread, or hire anew, with a budget= that is larger; "
    "when you cancel this Run, what it has left goes back"
}
"""What can be done about a Run that waits, by its reason."""


class DvergrError(Exception):
    """Base of all errors of this package. In a cell it is one line, without a traceback."""

    def _render_traceback_(self) -> list[str]:
        line = " ".join(str(self).split())
        shown = "".join(char if char.isprintable() else "\ufffd" for char in line)
        return [f"{type(self).__name__}: {shown}"]


class BadInput(DvergrError, ValueError):
    """A value that cannot be used. Nothing was changed."""


class BadRun(BadInput):
    """A field of a Run breaks its rule; `code` is the rule's short name."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code


class BadMessage(BadInput):
    """A field of a message or of one of its activity facts breaks its rule; `code` is the rule's short name."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code


class BadAttention(BadInput):
    """What a participant decided about a message breaks a rule of attention; `code` is the rule's short name."""

    def __init__(self, code: str, sentence: str) -> None:
        super().__init__(sentence)
        self.code = code


class BadFilter(BadInput):
    """Filters that cannot be combined, or a filter that does not exist."""


class NotFound(DvergrError, LookupError):
    """Nothing of that id or name is in this store."""


class NoSuchRun(NotFound):
    """No Run has that id, or an id with that piece; `nearest` are the ids that look most like it."""

    def __init__(self, piece: str, nearest: Sequence[str] = ()) -> None:
        hint = f"; nearest: {', '.join(one[-8:] for one in nearest)}" if nearest else "; %runs lists what there is"
        super().__init__(f"no Run {brief(piece)} in this store{hint}")
        self.piece = piece
        self.nearest = tuple(nearest)


class NoSuchMessage(NotFound):
    """No message has that id in that room."""

    def __init__(self, message_id: str, room: str) -> None:
        super().__init__(f"no message {brief(message_id)} in room {brief(room)}; post it first, or name its room")
        self.message_id = message_id
        self.room = room


class NoSuchActor(NotFound):
    """Nobody of that name takes part in the room in this kernel; `known` are those who do, `elsewhere` rooms where it does."""

    def __init__(self, actor: str, room: str, known: Sequence[str] = (), elsewhere: Sequence[str] = ()) -> None:
        near = difflib.get_close_matches(actor, known, 1, 0.6)
        there = f"there {'is' if len(known) == 1 else 'are'} {', '.join(map(brief, known))}" if known else "nobody is there"
        if near:
            advice = f"did you mean {brief(near[0])}?"
        elif elsewhere:
            advice = f"it is in room {', '.join(map(brief, elsewhere))}"
        else:
            joining = f"d.room({brief(room)}).join({brief(actor)}, FUNCTION)"
            advice = f"have it join: {joining}, or define an agent: d.agent({brief(actor)}, model=…)"
        super().__init__(f"no actor {brief(actor)} takes part in room {brief(room)}, {there}; {advice}")
        self.actor = actor
        self.room = room
        self.known = tuple(known)


class BlobMissing(NotFound):
    """Bytes that the record names are not there; `sha256` is their name, `path` where they should be."""

    def __init__(self, sha256: str, path: str) -> None:
        super().__init__(f"the bytes {sha256[:12]}… are not at {path} any more; restore that file beside the store")
        self.sha256 = sha256
        self.path = path


class AmbiguousRun(NotFound):
    """A piece of an id that several Runs share; `candidates` are their full ids."""

    def __init__(self, piece: str, candidates: Sequence[str]) -> None:
        super().__init__(f"{brief(piece)} fits {len(candidates)} Runs; type more of one: {', '.join(candidates)}")
        self.piece = piece
        self.candidates = tuple(candidates)


class Refused(DvergrError):
    """The state that the act would need is not there. Nothing was changed."""


class ThreadBusy(Refused):
    """The actor has an open Run on that thread; `run_id` is that Run."""

    def __init__(self, run_id: str, actor: str, thread: str) -> None:
        super().__init__(
            f"{actor!r} already works on thread {thread[-8:]} as Run {run_id[-8:]}; "
            f"await it, cancel it (%cancel {run_id[-8:]}) or use another thread"
        )
        self.run_id = run_id
        self.actor = actor
        self.thread = thread


class ActorBusy(ThreadBusy):
    """The actor works, or has something waiting, and the caller wants no message to wait; `run_id` is empty before it works."""

    def __init__(self, run_id: str, actor: str, thread: str) -> None:
        super().__init__(run_id, actor, thread)
        at_work = f" as Run {run_id[-8:]}" if run_id else ""
        advice = "await it, cancel it, or leave on_busy out"
        self.args = (f"{actor!r} works already{at_work}, and on_busy='refuse' lets nothing wait; {advice}",)


class MoveRefused(Refused):
    """A Run was to leave a status that it is not in; `found` is the durable status, None if there is no such Run."""

    def __init__(self, run_id: str, wanted: str, found: str | None) -> None:
        state = f"is {found}" if found else "is not in this store"
        super().__init__(f"Run {run_id[-8:]} {state}, so it cannot become {wanted}")
        self.run_id = run_id
        self.wanted = wanted
        self.found = found


class RoomDiffers(Refused):
    """The room was made with the other rule for its threads, which never changes; `exclusive_threads` is the one it has."""

    def __init__(self, room: str, *, exclusive_threads: bool) -> None:
        per = "at most one open Run per thread" if exclusive_threads else "one open Run per thread and actor"
        super().__init__(
            f"room {brief(room)} was made with {per}, which cannot be changed; "
            f"open it with exclusive_threads={exclusive_threads} or use another name"
        )
        self.room = room
        self.exclusive_threads = exclusive_threads


class RoomClosed(Refused):
    """The room was closed, or is being closed: it admits no message and no Run."""

    def __init__(self, room: str) -> None:
        name = brief(room)
        super().__init__(f"room {name} is closed and admits nothing; d.room({name}) opens it, after a fence room.reopen(fence)")
        self.room = room


class RoomNotDrained(Refused):
    """Runs of a room that is being closed have not ended in time; it stays closed to new ones. `run_ids` are those Runs."""

    def __init__(self, room: str, drain_s: float, runs: Sequence[tuple[str, str]]) -> None:
        named = ", ".join(f"{run_id[-8:]} ({name})" for run_id, name in runs)
        super().__init__(
            f"room {brief(room)} has not drained within {drain_s:g} s and admits nothing; still working: {named}; "
            "close it again to wait longer"
        )
        self.room = room
        self.run_ids = tuple(run_id for run_id, _ in runs)


class Sealed(Refused):
    """A Run that is ending or was asked to stop takes no new child; `run_id` is that Run."""

    def __init__(self, run_id: str) -> None:
        super().__init__(f"Run {run_id[-8:]} is ending or was asked to stop, so it takes no new child (supervisor-sealed)")
        self.run_id = run_id


class LoopBusy(Refused):
    """The kernel's loop is held by a cell; `waited_s` is how long we tried to reach it."""

    def __init__(self, waited_s: float) -> None:
        super().__init__(
            f"the kernel's loop did not come round within {waited_s:g} s; a cell holds it, interrupt that cell or wait for it"
        )
        self.waited_s = waited_s


class NoReply(DvergrError, TimeoutError):
    """An actor that was asked gave no reply in time; `run_id` is the Run that was to give it, cancelled if it still worked."""

    def __init__(self, actor: str, limit_s: float, run_id: str) -> None:
        super().__init__(
            f"{brief(actor)} gave no reply within {limit_s:g} s, so its Run {run_id[-8:]} is cancelled where it still works; "
            "give it longer with timeout="
        )
        self.actor = actor
        self.limit_s = limit_s
        self.run_id = run_id


class SessionClosed(DvergrError):
    """The store was closed, or none was opened."""

    def __init__(self, path: str | None = None) -> None:
        what = f"the store {path} is closed" if path else "no store is open"
        again = path or "PATH"
        super().__init__(f"{what}; type %dvergr connect {again}, or d.connect({again!r}) in Python")
        self.path = path


class StoreError(DvergrError):
    """The store cannot do what it was asked; `path` is its file."""

    def __init__(self, path: str, sentence: str) -> None:
        super().__init__(sentence)
        self.path = path


class StoreBusy(StoreError):
    """Another process holds the store; `holder` says which, in words."""

    def __init__(self, path: str, holder: str) -> None:
        super().__init__(
            path,
            f"{path} is held by {holder}; shut that kernel down, or give this notebook a store of its own: "
            "%dvergr connect OTHER.duckdb",
        )
        self.holder = holder


class StoreDamaged(StoreError):
    """The file is a DuckDB file but cannot be read as it stands. It was not changed."""

    def __init__(self, path: str, detail: str) -> None:
        super().__init__(
            path,
            f"{path} is damaged and was left as it is ({detail}); restore a copy, or connect another store: "
            "%dvergr connect OTHER.duckdb",
        )
        self.detail = detail


class NotAStore(StoreError):
    """The path leads to something that is no DuckDB file, or to a DuckDB file of another program."""

    def __init__(self, path: str, what: str) -> None:
        super().__init__(path, f"{path} is {what}, not a dvergr store, and was left alone; connect another path")
        self.what = what


class StoreTooNew(StoreError):
    """The store was written by a newer version of this package."""

    def __init__(self, path: str, found: int, known: int) -> None:
        super().__init__(path, f"{path} has schema {found}, this version knows {known}; upgrade with: pip install -U dvergr_nb")
        self.found = found
        self.known = known


class StoreFailed(StoreError):
    """The disk or the database refused a write or a read, for instance because the disk is full."""


class QueryError(DvergrError):
    """A query over the views did not give a result."""


class QueryRefused(QueryError):
    """Not exactly one SELECT (or EXPLAIN of one) over the views, or it would change something."""


class QueryFailed(QueryError):
    """DuckDB could not bind or run the query; the text is DuckDB's first line."""


class QueryTimedOut(QueryError):
    """The query was stopped at its time limit."""

    def __init__(self, limit_s: float) -> None:
        super().__init__(f"the query was stopped after {limit_s:g} s; narrow it, or give it longer with --limit-s")
        self.limit_s = limit_s


class RunEnd(DvergrError):
    """A Run that was awaited has no value; `run_id` and `reason` say which and why."""

    def __init__(self, run_id: str, label: str, reason: str | None, sentence: str) -> None:
        super().__init__(sentence)
        self.run_id = run_id
        self.label = label
        self.reason = reason


class RunFailed(RunEnd):
    """The awaited Run failed; the exception of its body, where there is one, is the cause."""

    def __init__(self, run_id: str, label: str, reason: str | None, error: str | None) -> None:
        detail = f": {error}" if error else ""
        super().__init__(run_id, label, reason, f"{label!r} failed, {reason or 'error'}{detail} (Run {run_id[-8:]})")
        self.error = error


class RunCancelled(RunEnd):
    """The awaited Run was cancelled."""

    def __init__(self, run_id: str, label: str, reason: str | None) -> None:
        super().__init__(run_id, label, reason, f"{label!r} was cancelled, {reason} (Run {run_id[-8:]})")


class RunWaiting(RunEnd):
    """The awaited Run stopped at a boundary where it can go on later."""

    def __init__(self, run_id: str, label: str, reason: str | None) -> None:
        advice = _WAYS_ON.get(reason or "", "")
        super().__init__(run_id, label, reason, f"{label!r} waits, {reason}{advice} (Run {run_id[-8:]})")


def brief(text: str) -> str:
    """What was typed, in quotes, and not more of it than a line holds."""
    return repr(text if len(text) <= TYPED_LIMIT else text[: TYPED_LIMIT - 1] + "…")
