"""Tab after our magics: ids of Runs, rooms, actors, options, statuses, commands."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from IPython.core.completer import CompletionContext, SimpleCompletion, SimpleMatcherResult, context_matcher

from dvergr_nb.api import KERNEL
from dvergr_nb.errors import DvergrError
from dvergr_nb.ids import short
from dvergr_nb.magics import place
from dvergr_nb.magics.looking import STATUSES
from dvergr_nb.magics.magics import PARSERS
from dvergr_nb.magics.tables import plain
from dvergr_nb.records.run import Run, RunKind, RunStatus
from dvergr_nb.runtime.handle import RunHandle
from dvergr_nb.runtime.speaking import ON_BUSY
from dvergr_nb.session import Session

T = TypeVar("T")

RUNS_OFFERED: Final = 50
LINE: Final = re.compile(r"^\s*%{1,2}(?P<magic>\w+)\s(?P<words>.*)$", re.DOTALL)


class Offer(NamedTuple):
    """A word, and what stands beside it in the list."""

    text: str
    said: str


class Completion:
    """Our matcher in one shell's completer."""

    def __init__(self, shell: Any) -> None:
        self._shell = shell

        @context_matcher(identifier="dvergr")  # type: ignore[untyped-decorator]  # IPython's
        def matcher(context: CompletionContext) -> SimpleMatcherResult:
            return self._match(context)

        self._matcher = matcher

    def put_in(self) -> None:
        """Adds the matcher."""
        self._shell.Completer.custom_matchers.append(self._matcher)

    def take_out(self) -> None:
        """Removes it."""
        if self._matcher in self._shell.Completer.custom_matchers:
            self._shell.Completer.custom_matchers.remove(self._matcher)

    def _match(self, context: CompletionContext) -> SimpleMatcherResult:
        found = LINE.match(context.text_until_cursor)
        if found is None or found["magic"] not in PARSERS:
            return {"completions": []}
        before = found["words"][: len(found["words"]) - len(context.token)].split()
        offers = list(_fitting(self._offers(found["magic"], before, context.token), context.token))
        completions = [SimpleCompletion(text=offer.text, type=offer.said) for offer in offers]
        return {"completions": completions, "suppress": True}

    def _offers(self, magic: str, before: list[str], token: str) -> Iterable[Offer]:
        if token.startswith("-"):
            return [Offer(name, "option") for name in PARSERS[magic].options()]
        last = before[-1] if before else ""
        source = AFTER_OPTION.get(last) if PARSERS[magic].takes_value(last) else OF_MAGIC.get(magic)
        return source(self._shell.user_ns, before) if source is not None else []


Source = Callable[[Mapping[str, Any], list[str]], Iterable[Offer]]
"""What fits at a place: from the notebook's names, and the words before it."""


def _runs(names: Mapping[str, Any], _before: list[str]) -> Iterable[Offer]:
    for name, value in list(names.items()):
        if isinstance(value, RunHandle) and not name.startswith("_"):
            yield Offer(name, plain(value.label, 30))
    for run in _known():
        yield from (Offer(text, f"{plain(run.name, 30)}, {run.status.value}") for text in (short(run.id), run.id))


def _rooms(_names: Mapping[str, Any], _before: list[str]) -> Iterable[Offer]:
    session = _open()
    if session is None:
        return []
    opened = _asked(session.store.rooms)
    rooms = [session.room, *(room.name for room in opened), *(run.room for run in _known())]
    return [Offer(room, "room") for room in dict.fromkeys(rooms)]


def _present(_names: Mapping[str, Any], before: list[str]) -> Iterable[Offer]:
    """Who can be spoken to in the room that is named, else in the session's."""
    session = _open()
    if session is None or _words(before):
        return []
    room = before[before.index("--room") + 1] if "--room" in before[:-1] else session.room
    there = {each.actor: each.program for each in session.rooms.present(room)}
    known = {**dict.fromkeys(session.rooms.built_in, "built in"), **there}
    return [Offer(actor, program) for actor, program in known.items()]


def _words(before: list[str]) -> list[str]:
    """Those that are neither options nor their values."""
    values = {at + 1 for at, word in enumerate(before) if PARSERS["turn"].takes_value(word)}
    return [word for at, word in enumerate(before) if at not in values and not word.startswith("-")]


def _on_busy(_names: Mapping[str, Any], _before: list[str]) -> Iterable[Offer]:
    return [Offer(how, "what becomes of it") for how in ON_BUSY]


def _statuses(_names: Mapping[str, Any], _before: list[str]) -> Iterable[Offer]:
    return [Offer(status, "status") for status in STATUSES]


def _kinds(_names: Mapping[str, Any], _before: list[str]) -> Iterable[Offer]:
    kinds = [*map(str, RunKind), *(run.kind for run in _known())]
    return [Offer(kind, "kind") for kind in dict.fromkeys(kinds)]


def _actors(_names: Mapping[str, Any], _before: list[str]) -> Iterable[Offer]:
    return [Offer(actor, "actor") for actor in dict.fromkeys(run.actor for run in _known())]


def _tags(_names: Mapping[str, Any], _before: list[str]) -> Iterable[Offer]:
    return [Offer(tag, "tag") for tag in dict.fromkeys(tag for run in _known() for tag in run.tags)]


def _commands(names: Mapping[str, Any], before: list[str]) -> Iterable[Offer]:
    if before[:1] == ["room"]:
        return _rooms(names, before)
    return [] if before else [Offer(name, "command") for name in place.COMMANDS]


AFTER_OPTION: Final[dict[str, Source]] = {
    "--room": _rooms,
    "--status": _statuses,
    "--kind": _kinds,
    "--actor": _actors,
    "--tag": _tags,
    "--tree": _runs,
    "--thread": _runs,
    "--on-busy": _on_busy,
}
OF_MAGIC: Final[dict[str, Source]] = {
    "card": _runs,
    "cancel": _runs,
    "activity": _runs,
    "turn": _present,
    "room": _rooms,
    "runs": _rooms,
    "board": _rooms,
    "dvergr": _commands,
}


def _fitting(offers: Iterable[Offer], token: str) -> Iterable[Offer]:
    """Those that begin with what is typed. A whole id is offered only where its beginning was typed."""
    seen: set[str] = set()
    for offer in offers:
        is_whole_id = len(offer.text) == 36 and offer.text.count("-") == 4
        if offer.text.startswith(token) and (token or not is_whole_id) and offer.text not in seen:
            seen.add(offer.text)
            yield offer


def _open() -> Session | None:
    """The session, where one is open: Tab opens no store."""
    session = KERNEL.session
    return session if session is not None and session.is_open else None


def _known() -> list[Run]:
    """Those that are queued, and the newest on record."""
    session = _open()
    if session is None:
        return []
    queued = [run for run in session.active_runs() if run.status is RunStatus.QUEUED]
    return [*queued, *_asked(lambda: session.runs(limit=RUNS_OFFERED))]


def _asked(read: Callable[[], Sequence[T]]) -> Sequence[T]:
    """Where the store cannot answer, Tab offers nothing; whoever types on is told why."""
    try:
        return read()
    except DvergrError:
        return []
