"""Saying something in a room: to an actor, whose Run is given at once, or to whoever is addressed.

Everything on the home loop. What is said is checked before anything happens, stored, and only then delivered.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, Final, Literal, Protocol

from dvergr_nb.errors import ActorBusy, BadInput, NoSuchMessage, RoomClosed, ThreadBusy
from dvergr_nb.ids import MessageId, named
from dvergr_nb.records import message as messages
from dvergr_nb.records.message import EVERYONE, PERSON, Message
from dvergr_nb.records.operation import Answer, Post, Posted
from dvergr_nb.records.run import Run, checked_id
from dvergr_nb.records.text import mended, shown
from dvergr_nb.runtime.coming import Coming
from dvergr_nb.runtime.delivery import Delivery, Flight
from dvergr_nb.runtime.entry import Tools
from dvergr_nb.runtime.handle import RunHandle
from dvergr_nb.runtime.line import PLAIN, Arrival, Options
from dvergr_nb.runtime.participant import Participant
from dvergr_nb.runtime.paying import said_by_code
from dvergr_nb.runtime.ports import Noted, Settled
from dvergr_nb.runtime.request import Asker, checked_key
from dvergr_nb.runtime.said import own_words

OnBusy = Literal["steer", "queue", "refuse"]
ON_BUSY: Final = ("steer", "queue", "refuse")
ThreadRef = str | Message | RunHandle | Run
"""A message of the thread, or a Run of it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What somebody wants to say."""

    content: str
    sender: str = PERSON
    to: str | None = None
    """None for everyone."""
    reply_to: MessageId | None = None
    root: MessageId | None = None
    """The thread of `reply_to`, as far as it is known."""
    key: str | None = None
    """Makes the message's id, so that saying it twice stores it once."""
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spoken:
    """What became of a message to an actor, as far as it is known at once."""

    handle: RunHandle
    message: Message
    how: Literal["started", "queued", "joined"]
    stored: Callable[[], Future[Answer]]
    """The answer of the store."""
    alone: Callable[[], Callable[[], Future[Answer]]] | None = None
    """Where its Run was refused because somebody else has the thread, the message waits: stores it without the Run."""

    @property
    def durable(self) -> Future[None]:
        """Set by the writer thread once the message is stored: what a sync caller that holds the loop may wait for."""
        durable: Future[None] = Future()

        def hear(answer: Future[Answer]) -> None:
            if self.alone is not None and isinstance(answer.exception(), ThreadBusy):
                self.alone()().add_done_callback(lambda stored: _copy(stored, durable))
            else:
                _copy(answer, durable)

        self.stored().add_done_callback(hear)
        return durable


class House(Protocol):
    """What it asks of the session."""

    @property
    def tools(self) -> Tools: ...

    def asker(self) -> Asker: ...

    def told(self, message: Message) -> None:
        """A message is stored: those who watch are told."""


class Speaking:
    """The voice of one room."""

    def __init__(self, name: str, house: House, delivery: Delivery, admits: Callable[[], bool]) -> None:
        self._name = name
        self._house = house
        self._tools = house.tools
        self._delivery = delivery
        self._admits = admits
        self._latest: dict[str, MessageId] = {}
        """Per actor, the last message of the thread that the person talks with it in."""
        self._before: dict[MessageId, MessageId | None] = {}
        """What was the last one before a message of the person's that is not stored yet."""

    def latest(self, actor: str) -> MessageId | None:
        """The last message of the thread that the person talks with that actor in."""
        return self._latest.get(actor)

    def follow(self, actor: str, message: Message) -> None:
        """The person has said this to the actor; `forget` where it was refused."""
        self._before[message.id] = self._latest.get(actor)
        self._latest[actor] = message.id

    def heard(self, message: Message) -> None:
        """A message is stored; an actor's reply in the thread that the person talks with it in is its last one."""
        self._before.pop(message.id, None)
        last = self._latest.get(message.sender)
        if last is not None and self._delivery.root_of(last) == message.thread_root_id:
            self._latest[message.sender] = message.id

    def forget(self, message: Message) -> None:
        """A message was refused, so nothing can reply to it."""
        before = self._before.pop(message.id, None)
        if message.to is not None and self._latest.get(message.to) == message.id:
            if before is None:
                del self._latest[message.to]
            else:
                self._latest[message.to] = before

    def thread_of(self, ref: ThreadRef) -> tuple[MessageId, MessageId]:
        """The message to reply to and its thread. Raises `NoSuchMessage` where it is not in this room."""
        match ref:
            case Message(id=message_id):
                pass
            case RunHandle() | Run():
                message_id = ref.trigger
            case str():
                message_id = MessageId(ref)
            case _:
                raise BadInput(f"a thread is given by one of its messages or Runs, not by {shown(ref)}")
        if (root := self._delivery.root_of(message_id)) is not None:
            return message_id, root
        found = self._tools.store.message(message_id)
        if found is None or found.room != self._name:
            raise NoSuchMessage(message_id, self._name)
        return message_id, found.thread_root_id

    def message(self, said: Said) -> Message:
        """The message, checked. Raises `BadMessage` or `RoomClosed`; nothing has happened then."""
        if not self._admits():
            raise RoomClosed(self._name)
        asker = self._house.asker()
        key = checked_key(said.key)
        own = asker.ids.message() if key is None else named(mended(f"{asker.tenant_id}|{self._name}|{key}"))
        message = messages.checked(
            Message(
                id=MessageId(own),
                tenant_id=asker.tenant_id,
                user_id=asker.user_id,
                room=self._name,
                sender=said.sender,
                to=None if isinstance(said.to, str) and said.to == EVERYONE else said.to,
                content=said.content,
                reply_to=said.reply_to,
                thread_root_id=MessageId(own) if said.reply_to is None else said.root or said.reply_to,
                metadata={**said.metadata, **said_by_code()},
                created_at=asker.clock.now(),
            )
        )
        return own_words(message)

    def post(self, said: Said, options: Options = PLAIN) -> tuple[Flight, Noted]:
        """Stores a message and has it delivered; what it causes is known once it has landed."""
        message = self.message(said)
        if options.parent is not None:
            checked_id(options.parent, "parent")
        flight = self._delivery.expect(message, options)

        def hear(answer: Settled) -> None:
            if (problem := answer.exception()) is not None:
                self._delivery.lost(message, problem)
            else:
                self._stored(message, answer)
                self._delivery.landed(message, _root(answer))

        return flight, self._tools.store.note(Post(message=message), hear)

    def _stored(self, message: Message, answer: Settled) -> None:
        posted = answer.result()
        if isinstance(posted, Posted) and posted.inserted:
            self._house.told(message)

    def turn(self, participant: Participant, said: Said, options: Options, on_busy: OnBusy | None) -> Spoken:
        """Says something to an actor, which begins with it now, has it join what it works on, or has it wait.

        Without `on_busy` the actor's attention decides whether it joins; what does not join has a Run of its own.
        """
        if on_busy is not None and (not isinstance(on_busy, str) or on_busy not in ON_BUSY):
            raise BadInput(f"on_busy is one of {', '.join(ON_BUSY)}, not {shown(on_busy)}")
        if on_busy == "refuse" and not participant.is_quiet:
            open_run = participant.open_run
            raise ActorBusy(open_run.id if open_run else "", participant.actor, said.root or "")
        message = self.message(said)
        arrival = Arrival(message, message.thread_root_id, options)
        self._delivery.know(message.id, arrival.root)
        if participant.is_quiet:
            handle = participant.begin_with(arrival, refuses=on_busy == "refuse")
            alone = None if on_busy == "refuse" else lambda: self.store(message, _nothing)
            return Spoken(handle=handle, message=message, how="started", stored=lambda: handle.admission, alone=alone)
        may_join = on_busy in (None, "steer")
        if may_join and (coming := participant.joinable(arrival, is_judged=on_busy is None)) is not None:
            return Spoken(handle=coming.handle, message=message, how="joined", stored=self._steer(coming, arrival))
        waiting = participant.wait(arrival)
        stored = self.store(message, lambda problem: self._delivery.act(lambda: participant.stored(waiting, problem)))
        return Spoken(handle=waiting.entry.handle, message=message, how="queued", stored=stored)

    def answer(self, participant: Participant, message: Message, options: Options) -> RunHandle:
        """Has a stored message answered that was given to the actor before, in its order, by the Run that has it if one has."""
        if (there := participant.answering(message.id)) is not None:
            return there
        participant.is_new(message)
        self._delivery.know(message.id, message.thread_root_id)
        return participant.line_up(Arrival(message, message.thread_root_id, options))

    def _steer(self, coming: Coming, arrival: Arrival) -> Callable[[], Future[Answer]]:
        def then(problem: BaseException | None) -> None:
            if problem is None:
                self._delivery.act(lambda: coming.stored(arrival))
            else:
                coming.over()

        return self.store(arrival.message, then)

    def store(self, message: Message, then: Callable[[BaseException | None], object]) -> Callable[[], Future[Answer]]:
        """Stores a message that is for one participant alone; `then` is told on the loop. Gives what makes its future."""

        def hear(answer: Settled) -> None:
            if (problem := answer.exception()) is None:
                self._stored(message, answer)
            else:
                self.forget(message)
            then(problem)

        noted = self._tools.store.note(Post(message=message), hear)
        return lambda: noted.future


def _root(answer: Settled) -> MessageId:
    match answer.result():
        case Posted(thread_root_id=root):
            return root
        case other:
            raise AssertionError(f"a post was answered with {other!r}")


def _nothing(_problem: BaseException | None) -> None:
    """The participant stores the message as well, and acts on that."""


def _copy(done: Future[Answer], to: Future[None]) -> None:
    if (problem := done.exception()) is None:
        to.set_result(None)
    else:
        to.set_exception(problem)
