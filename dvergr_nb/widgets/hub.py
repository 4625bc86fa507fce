"""One subscription per session, shared by all its boards and cards, and the beat that tells them the loop comes round."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from typing import ClassVar, Final, Protocol, TypeVar
from weakref import WeakValueDictionary

from dvergr_nb.ids import RunId
from dvergr_nb.records.event import (
    CancelRequested,
    Event,
    MessagePosted,
    RoomChanged,
    RunActivity,
    RunFinished,
    RunPartial,
    RunProgressed,
    RunQueued,
    RunResumed,
    RunsSnapshot,
    RunStarted,
    RunWithdrawn,
)
from dvergr_nb.records.message import Message
from dvergr_nb.records.run import LiveRun, Run
from dvergr_nb.runtime.logs import logger
from dvergr_nb.session import Session

log = logger(__name__)

Value = TypeVar("Value")
Kind = TypeVar("Kind")

BEAT_S: Final = 1.0
BEATS_AT_ONCE: Final = 50
"""How many feeds are told in one beat; where more show something that lives, they take turns and are told so."""


class Listener(Protocol):
    """What a hub tells. Every method is called on the home loop."""

    @property
    def only(self) -> RunId | None:
        """The one Run it wants to hear of, None for all."""

    @property
    def is_live(self) -> bool:
        """Whether it shows anything that lives."""

    def take(self, run: Run, *, has_ended: bool) -> None: ...

    def withdraw(self, run_id: RunId) -> None:
        """A Run that was queued will never begin."""

    def beat(self, every_s: float) -> None: ...


class RoomListener(Protocol):
    """What a hub tells of a room besides its Runs. Every method is called on the home loop."""

    @property
    def room(self) -> str: ...

    def hear(self, message: Message) -> None:
        """Somebody said it in the room."""

    def look_again(self) -> None:
        """Who takes part has changed, or whether the room admits anything."""


class Hub:
    """What lives in a session, told on. Every method but `of` is called on the home loop."""

    _hubs: ClassVar[WeakValueDictionary[Session, Hub]] = WeakValueDictionary()
    """A hub holds its session, so what holds the hub is its listeners and, while there are any, the session's bus."""

    def __init__(self, session: Session) -> None:
        self.session = session
        self.live: dict[RunId, LiveRun] = {}
        self._boards: dict[Listener, None] = {}
        self._cards: dict[RunId, dict[Listener, None]] = {}
        self._rooms: dict[RoomListener, None] = {}
        self._is_watching = False
        self._beats: object | None = None
        self._turn = 0

    @classmethod
    def of(cls, session: Session) -> Hub:
        """The hub of that session."""
        return cls._hubs.get(session) or cls._hubs.setdefault(session, cls(session))

    def read(
        self,
        ask: Callable[[], Value],
        then: Callable[[Value], object],
        otherwise: Callable[[BaseException], object] = lambda _: None,
    ) -> None:
        """Asks the store in a thread and hands on what it said; an error is logged and told to `otherwise`."""

        def take(answer: Future[Value]) -> None:
            if (problem := answer.exception()) is None:
                then(answer.result())
            else:
                level = logging.WARNING if self.session.is_open else logging.DEBUG
                log.log(level, "a view could not read the store: %s", problem)
                otherwise(problem)

        self.session.home.in_thread(ask, take)

    def add(self, listener: Listener) -> None:
        """From now on it is told of every change; what lives at this moment is in `live`."""
        if listener.only is None:
            self._boards[listener] = None
        else:
            self._cards.setdefault(listener.only, {})[listener] = None
        if not self._is_watching:
            self._is_watching = True
            self.session.watch_runs(self, self._hear)

    def add_room(self, listener: RoomListener) -> None:
        """From now on it is told what is said in its room and who comes and goes, as long as it listens to Runs too."""
        self._rooms[listener] = None

    def remove_room(self, listener: RoomListener) -> None:
        """It is told no more of its room."""
        self._rooms.pop(listener, None)

    def watch_again(self) -> None:
        """Subscribes anew, where others have ended all subscriptions of the session."""
        if self._is_watching and self.session.is_open:
            self.session.watch_runs(self, self._hear)

    def remove(self, listener: Listener) -> None:
        """It is told no more. Without listeners nothing is watched."""
        self._boards.pop(listener, None)
        for run_id, cards in list(self._cards.items()):
            cards.pop(listener, None)
            if not cards:
                del self._cards[run_id]
        if not self._boards and not self._cards and self._is_watching:
            self._is_watching = False
            self.session.unwatch_runs(self)

    def _listeners(self) -> Iterator[Listener]:
        return itertools.chain(self._boards, *self._cards.values())

    def _hear(self, event: Event) -> None:
        match event:
            case RunsSnapshot(runs=runs):
                before, self.live = self.live, {run.id: run for run in runs}
                for run in runs:
                    self._tell(run, has_ended=False)
                for run_id in before.keys() - self.live.keys():
                    self._look_up(run_id)
            case RunFinished(run=run):
                self.live.pop(run.id, None)
                self._tell(run, has_ended=True)
            case RunWithdrawn(run=run):
                self._withdraw(run.id)
            case MessagePosted(message=message):
                self._tell_room(message.room, lambda listener: listener.hear(message))
            case RoomChanged(room=room):
                self._tell_room(room, lambda listener: listener.look_again())
            case RunQueued() | RunStarted() | CancelRequested() | RunResumed() | RunProgressed() | RunActivity() | RunPartial():
                self.live[event.run.id] = event.run
                self._tell(event.run, has_ended=False)

    def _withdraw(self, run_id: RunId) -> None:
        self.live.pop(run_id, None)
        self._each((*self._boards, *self._cards.get(run_id, ())), lambda listener: listener.withdraw(run_id))

    def _tell_room(self, room: str, tell: Callable[[RoomListener], object]) -> None:
        self._each([listener for listener in self._rooms if listener.room == room], tell)

    def _look_up(self, run_id: RunId) -> None:
        """Its end was not heard of: the store knows it, or it never began."""

        def known(run: Run | None) -> None:
            if run_id in self.live:
                return
            if run is None:
                self._withdraw(run_id)
            else:
                self._tell(run, has_ended=True)

        self.read(lambda: self.session.row_of(run_id), known)

    def _tell(self, run: Run, *, has_ended: bool) -> None:
        listeners = (*self._boards, *self._cards.get(run.id, ()))
        self._each(listeners, lambda listener: listener.take(run, has_ended=has_ended))

    @staticmethod
    def _each(listeners: Iterable[Kind], tell: Callable[[Kind], object]) -> None:
        for listener in listeners:
            try:
                tell(listener)
            except Exception:
                log.exception("a view could not be told what happened; the others were")

    def keep_beating(self) -> None:
        """Beats once a second from now on, for as long as anything that is shown lives."""
        if self._beats is None:
            self._beat()

    def _beat(self) -> None:
        listeners = [listener for listener in self._listeners() if listener.is_live]
        if not listeners:
            self._beats = None
            return
        turns = -(-len(listeners) // BEATS_AT_ONCE)
        self._turn = (self._turn + 1) % turns
        for listener in listeners[self._turn :: turns]:
            listener.beat(turns * BEAT_S)
        self._beats = self.session.home.later(BEAT_S, self._beat)
