"""The rooms of a session: which live in this kernel, and what leaves a Run for them."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dvergr_nb.errors import NotFound, StoreFailed
from dvergr_nb.ids import MessageId, RunId
from dvergr_nb.records import room as records
from dvergr_nb.records.event import MessagePosted, RoomChanged
from dvergr_nb.records.message import Message
from dvergr_nb.records.operation import Opened, OpenRoom
from dvergr_nb.records.query import check_limit
from dvergr_nb.records.room import Present, Unanswered
from dvergr_nb.records.run import Provenance, Reason, Run, RunKind, checked_word
from dvergr_nb.records.text import shown
from dvergr_nb.runtime.answering import Answering
from dvergr_nb.runtime.attending import Ledger, Policy
from dvergr_nb.runtime.entry import Entry, Tools
from dvergr_nb.runtime.handle import Display, RunHandle
from dvergr_nb.runtime.handler import budget_of, provenance_of
from dvergr_nb.runtime.line import Arrival
from dvergr_nb.runtime.participant import Participant
from dvergr_nb.runtime.posting import Posting
from dvergr_nb.runtime.reply import Handler, Wrapper
from dvergr_nb.runtime.request import Asker, Request, drafted
from dvergr_nb.runtime.room import Room
from dvergr_nb.runtime.supervisor import Supervisor

if TYPE_CHECKING:
    from dvergr_nb.records.money import Grant

ALL = 2**31
"""More messages than a room ever has."""
OPEN_S = 10.0
"""How long the opening of a room waits for its row."""


class Rooms:
    """All rooms of one session that were named in this kernel."""

    def __init__(
        self,
        tools: Tools,
        supervisor: Supervisor,
        asker: Callable[[], Asker],
        *,
        wrappers: Sequence[Wrapper],
        built_in: Mapping[str, Callable[[], Handler]],
        display: Callable[[], Display | None],
    ) -> None:
        self.tools = tools
        self.wrappers = wrappers
        self.built_in = built_in
        self._supervisor = supervisor
        self.asker = asker
        self._display = display
        self._rooms: dict[str, Room] = {}
        self._holds: dict[RunId, list[Participant]] = {}
        supervisor.tell(self)

    # Rooms -----------------------------------------------------------------------------------------------------------

    def open(
        self, name: str, *, title: str | None = None, exclusive_threads: bool | None = None, parent: str | None = None
    ) -> Room:
        """The room of that name, made where there is none, and open again where it was closed. Waits until it is durable."""
        word = checked_word(name, "room")
        known = self._rooms.get(word)
        if known is not None and exclusive_threads in (None, known.row.exclusive_threads):
            known.reopen()
            return known
        asker = self.asker()
        wanted = records.Room(
            tenant_id=asker.tenant_id,
            name=word,
            title=word if title is None else records.checked_title(title),
            created_at=asker.clock.now(),
            parent=parent,
            exclusive_threads=bool(exclusive_threads),
        )
        answer = self.tools.store.submit(OpenRoom(room=wanted, is_asked=exclusive_threads is not None)).result(OPEN_S)
        if not isinstance(answer, Opened):
            raise StoreFailed("", f"the opening of room {word!r} was answered with {answer!r}")
        return self._rooms.setdefault(word, Room(answer.room, self))

    def live(self) -> tuple[Room, ...]:
        """The rooms that were named in this kernel."""
        return tuple(self._rooms.values())

    def present(self, room: str) -> tuple[Present, ...]:
        """Who takes part."""
        return self._rooms[room].present() if room in self._rooms else ()

    def is_closed(self, room: str) -> bool:
        """Whether it admits nothing."""
        return not self.admits(room)

    def title(self, room: str) -> str:
        """What people call it."""
        return self._rooms[room].row.title if room in self._rooms else room

    def here(self, name: str) -> Room:
        """The room of that name, made where there is none; one that was closed stays closed."""
        return self._rooms.get(checked_word(name, "room")) or self.open(name)

    def find(self, room: str | Room) -> Room:
        """The room meant, which is there already. Raises `NotFound` for a name that no room has."""
        name = name_of(room)
        if name in self._rooms or any(each.name == name for each in self.tools.store.rooms()):
            return self.here(name)
        raise NotFound(f"no room {shown(name)} in this store; d.room({shown(name)}) makes it")

    def post(self, room: str, content: str, *, to: str | None = None, reply_to: MessageId | None = None) -> Posting:
        """Says something there."""
        return self.find(room).post(content, to=to, reply_to=reply_to)

    # What a room asks ------------------------------------------------------------------------------------------------

    def participant(self, room: Room, actor: str, handler: Handler, policy: Policy) -> Participant:
        """A new one."""
        turns = _Turns(self, room)
        return Participant(actor, handler, policy, turns, Ledger(self.tools.store, self.tools.ids, self.tools.clock))

    def told(self, message: Message) -> None:
        """A message of a room is stored: those who watch are told."""
        self.tools.bus.publish(lambda seq: MessagePosted(seq=seq, message=message))
        if (room := self._rooms.get(message.room)) is not None:
            room.speaking.heard(message)

    def unanswered(self, room: str | None, limit: int | None) -> list[Unanswered]:
        """What no Run answers. What waits here, or is about to join a turn, will be answered and is not among it."""
        check_limit(limit)
        waiting = sum(len(each.queued) + 1 for live in self.live() if room in (None, live.name) for each in live.present())
        found = self.tools.store.unanswered(room, (ALL if limit is None else limit) + waiting)
        return [each for each in found if not self._is_to_be_answered(each)][:limit]

    def _is_to_be_answered(self, what: Unanswered) -> bool:
        room = self._rooms.get(what.message.room)
        participant = None if room is None else room.delivery.participants.get(what.actor)
        return participant is not None and participant.answering(what.message.id) is not None

    def lineage(self, run_id: RunId) -> frozenset[RunId]:
        """A live Run and all that contain it."""
        return self._supervisor.lineage(run_id)

    def forget(self, room: Room) -> None:
        """Lets a room go that was closed for good; its name opens it anew."""
        self._rooms.pop(room.name, None)

    def rooms_with(self, actor: str) -> Sequence[str]:
        """The rooms in which somebody of that name takes part."""
        return [room.name for room in self.live() if actor in room.delivery.participants]

    def handles(self, room: str) -> Sequence[RunHandle]:
        """Of all that lives in a room or is on its way."""
        return self._supervisor.handles(room)

    def stop(self, run_id: RunId, reason: str) -> bool:
        """Asks a Run to stop."""
        return self._supervisor.cancel(run_id, reason)

    def cancel_room(self, room: str) -> int:
        """Asks all that lives in a room to stop."""
        return self._supervisor.cancel_room(room, Reason.CANCEL_REQUESTED)

    def changed(self, room: str) -> None:
        """Who takes part has changed, or whether it is open."""
        home = self.tools.home

        def tell() -> None:
            self.tools.bus.publish(lambda seq: RoomChanged(seq=seq, room=room))

        tell() if home.is_here else home.post(tell)

    def bundle(self, room: str) -> Any:
        """How a room shows itself, None where there are no widgets."""
        display = self._display()
        return None if display is None else display.room_bundle(room)

    # What a participant asks -----------------------------------------------------------------------------------------

    def prepare(self, arrival: Arrival, body: Answering, actor: str, handler: Handler) -> Entry:
        """A Run for a message."""
        message, options = arrival.message, arrival.options
        request = Request(
            actor=actor,
            room=message.room,
            kind=RunKind.AGENT_TURN,
            trigger=message.id,
            label=options.label,
            parent=options.parent,
            key=options.key,
            tags=options.tags,
            provenance=provenance_of(handler),
            grant=self._grant(arrival, handler),
        )
        entry = self._supervisor.prepare(drafted(request, self.asker()), body)
        entry.wanted = options.wanted
        return entry

    def acts(self, entry: Entry, arrival: Arrival, handler: Handler) -> None:
        """Another handler answers than the one it was prepared for: the row says so."""
        entry.row = dataclasses.replace(entry.row, provenance=Provenance.of(provenance_of(handler)))
        entry.grant = self._grant(arrival, handler)

    def _grant(self, arrival: Arrival, handler: Handler) -> Grant | None:
        """What the Run may spend. What a person says is paid for by the person; agents share what their room has."""
        if (given := arrival.options.grant) is not None:
            return given
        budget = budget_of(handler)
        if budget is None:
            return None
        from dvergr_nb.records.money import Grant

        return Grant(amount=budget, mints=_is_from_person(arrival.message), takes_what_is_there=True)

    @property
    def supervisor(self) -> Supervisor:
        """Where Runs live."""
        return self._supervisor

    def hold(self, holder: RunId, waits: Participant) -> None:
        """Has a participant told once that Run has ended."""
        self._holds.setdefault(holder, []).append(waits)

    # What leaves a Run -----------------------------------------------------------------------------------------------

    def admits(self, room: str) -> bool:
        """Whether new Runs may begin there."""
        return room not in self._rooms or self._rooms[room].shutting.admits

    def saying(self, message: Message) -> None:
        """A Run is about to say something."""
        if (room := self._rooms.get(message.room)) is not None:
            room.delivery.expect(message)

    def heard(self, message: Message) -> None:
        """It is stored."""
        self.told(message)
        if (room := self._rooms.get(message.room)) is not None:
            room.delivery.landed(message, message.thread_root_id)

    def unheard(self, message: Message) -> None:
        """It was refused."""
        if (room := self._rooms.get(message.room)) is not None:
            room.delivery.lost(message, StoreFailed("", "the reply could not be stored"))

    def ended(self, run: Run) -> None:
        """A Run has ended or waits: what waits for its thread may begin."""
        if run.is_paused:
            for participant in self._holds.get(run.id, ()):
                participant.heed()
            return
        for participant in self._holds.pop(run.id, ()):
            participant.freed(run.id)


def _is_from_person(message: Message) -> bool:
    """Whether a person pays for it: it is no Run's reply, and no code of a Run has said it in another name."""
    return message.run_id is None and "provenance" not in message.metadata


def name_of(room: str | Room) -> str:
    """The name of a room that is given by its name or as itself. Raises `BadRun`."""
    return room.name if isinstance(room, Room) else checked_word(room, "room")


class _Turns:
    """What the participants of one room ask."""

    def __init__(self, rooms: Rooms, room: Room) -> None:
        self._rooms, self._room = rooms, room

    def prepare(self, arrival: Arrival, body: Answering, actor: str, handler: Handler) -> Entry:
        return self._rooms.prepare(arrival, body, actor, handler)

    def acts(self, entry: Entry, arrival: Arrival, handler: Handler) -> None:
        self._rooms.acts(entry, arrival, handler)

    def send(self, entry: Entry, message: Message | None) -> None:
        self._rooms.supervisor.send(entry, message)

    def queue(self, entry: Entry) -> None:
        self._rooms.supervisor.queue(entry)

    def withdraw(self, entry: Entry, why: BaseException) -> None:
        self._rooms.supervisor.withdraw(entry, why)

    def stop(self, entry: Entry, reason: str) -> None:
        self._rooms.supervisor.cancel(entry.row.id, reason)

    def post(self, message: Message, then: Callable[[BaseException | None], object]) -> None:
        self._room.speaking.store(message, then)

    def said(self, message: Message) -> None:
        self._rooms.told(message)

    def forget(self, message: Message) -> None:
        self._room.speaking.forget(message)

    def hold(self, holder: RunId, waits: Participant) -> None:
        self._rooms.hold(holder, waits)

    def lives(self, run_id: RunId) -> bool:
        return self._rooms.supervisor.live(run_id) is not None

    @property
    def is_admitting(self) -> bool:
        return self._room.shutting.admits and not self._rooms.supervisor.is_closing
