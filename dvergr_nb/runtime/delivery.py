"""Who is told of a message, and in which order: every participant hears the messages of a room as they were stored.

A message is expected from the moment it is given to the store, so that nobody begins with a newer one before it. It is
handed over a few participants at a time, so that a broadcast to hundreds does not hold the loop. On the home loop.
"""

from __future__ import annotations

import contextvars
from collections import OrderedDict, deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Final

from dvergr_nb.ids import MessageId
from dvergr_nb.records.message import Message
from dvergr_nb.runtime.handle import RunHandle
from dvergr_nb.runtime.home import Home
from dvergr_nb.runtime.line import PLAIN, Arrival, Options
from dvergr_nb.runtime.logs import logger
from dvergr_nb.runtime.participant import Participant

log = logger(__name__)

SLICE: Final = 8
"""How many participants are handed a message before others have a turn on the loop: about 3 ms."""
ROOTS_KEPT: Final = 10_000
"""How many messages' threads are remembered."""

Act = Callable[[], object]


@dataclass(eq=False, slots=True)
class Flight:
    """A message on its way to those who took part when it was sent."""

    message: Message
    recipients: tuple[Participant, ...]
    options: Options
    runs: list[RunHandle] = field(default_factory=list)
    """The Runs it has caused or joined, once it has landed."""
    landed: Future[None] = field(default_factory=Future)
    context: contextvars.Context = field(default_factory=contextvars.copy_context)
    """Where it was sent: its Runs carry that, for instance the span of a trace."""


class Delivery:
    """The participants of one room and what is on its way to them."""

    def __init__(self, home: Home) -> None:
        self._home = home
        self.participants: dict[str, Participant] = {}
        self.askers: dict[str, tuple[str, Future[Message]]] = {}
        """Who waits for the one message to an address of its own, and from which actor."""
        self._roots: OrderedDict[MessageId, MessageId] = OrderedDict()
        self._flights: dict[MessageId, deque[Flight]] = {}
        """By message: what is said twice under one key is on its way twice."""
        self._acts: deque[Act] = deque()
        self._is_going = False

    def root_of(self, message_id: MessageId) -> MessageId | None:
        """The thread of a message, where it is remembered."""
        return self._roots.get(message_id)

    def know(self, message_id: MessageId, root: MessageId) -> None:
        """Remembers the thread of a message."""
        self._roots[message_id] = root
        if len(self._roots) > ROOTS_KEPT:
            self._roots.popitem(last=False)

    def expect(self, message: Message, options: Options = PLAIN) -> Flight:
        """A message is given to the store. `landed` or `lost` follows."""
        flight = Flight(message, self._recipients(message), options)
        self._flights.setdefault(message.id, deque()).append(flight)
        for participant in flight.recipients:
            participant.coming += 1
        return flight

    def _recipients(self, message: Message) -> tuple[Participant, ...]:
        """All others, or the one it is for; a sender never hears itself."""
        named = self.participants.get(message.to) if message.to is not None else None
        everyone: Iterable[Participant] = self.participants.values() if message.to is None else [named] if named else []
        return tuple(each for each in everyone if each.actor != message.sender)

    def lost(self, message: Message, why: BaseException) -> None:
        """The store has refused it."""
        if (flight := self._first_flight(message.id)) is not None:
            for participant in flight.recipients:
                participant.coming -= 1
            flight.landed.set_exception(why)

    def landed(self, message: Message, root: MessageId) -> None:
        """It is stored, in that thread."""
        self.know(message.id, root)
        self._tell_asker(message)
        if (flight := self._first_flight(message.id)) is None:
            return
        arrival = Arrival(message, root, flight.options)
        acts: list[Act] = [lambda each=each: self._hand_over(flight, each, arrival) for each in flight.recipients]  # type: ignore[misc]
        self.act(*acts, lambda: flight.landed.set_result(None))

    def _tell_asker(self, message: Message) -> None:
        asked, reply = self.askers.get(message.to or "", ("", None))
        if reply is not None and message.sender == asked and not reply.done():
            del self.askers[message.to or ""]
            reply.set_result(message)

    def _first_flight(self, message_id: MessageId) -> Flight | None:
        """Takes the one that the store has answered: it answers in the order in which it was asked."""
        flights = self._flights.get(message_id)
        if flights is None:
            return None
        first = flights.popleft()
        if not flights:
            del self._flights[message_id]
        return first

    def _hand_over(self, flight: Flight, participant: Participant, arrival: Arrival) -> None:
        participant.coming -= 1
        handle = flight.context.run(participant.arrive, arrival)
        if handle is not None:
            flight.runs.append(handle)

    def act(self, *acts: Act) -> None:
        """Does it after all that was to be done before; now where that is nothing."""
        self._acts.extend(acts)
        if not self._is_going:
            self._go()

    def _go(self) -> None:
        self._is_going = True
        try:
            for _ in range(min(SLICE, len(self._acts))):
                self._do(self._acts.popleft())
        finally:  # an interrupt of a cell may strike here, on the kernel's own thread
            self._is_going = bool(self._acts)
            if self._acts:
                self._home.post(self._go)

    def _do(self, act: Act) -> None:
        try:
            act()
        except Exception:
            log.exception("a message could not be handed over; the others were")
