"""A room as it lives in this kernel: who takes part, what is said, and which Runs that causes.

Every verb may be called in any thread. What is said is stored first and delivered after.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from dvergr_nb.errors import BadInput, NoSuchActor, Refused, RoomClosed
from dvergr_nb.ids import MessageId, RunId, named, short
from dvergr_nb.records import message as messages
from dvergr_nb.records import room as rooms
from dvergr_nb.records.message import EVERYONE, PERSON, Message
from dvergr_nb.records.operation import Join, Leave
from dvergr_nb.records.query import MessageFilter
from dvergr_nb.records.room import Member, Present, Unanswered
from dvergr_nb.records.run import checked_word
from dvergr_nb.records.text import first_line, mended, printable, shown
from dvergr_nb.runtime import context
from dvergr_nb.runtime.asking import ASK_S, Asking, named_of, together
from dvergr_nb.runtime.attending import Policy, default_policy
from dvergr_nb.runtime.delivery import Delivery
from dvergr_nb.runtime.handle import RunHandle
from dvergr_nb.runtime.handler import check, handler_of, program_of
from dvergr_nb.runtime.house import House
from dvergr_nb.runtime.line import Options
from dvergr_nb.runtime.participant import Participant
from dvergr_nb.runtime.ports import Settled
from dvergr_nb.runtime.posting import Posting
from dvergr_nb.runtime.reply import Handler, Wrapper
from dvergr_nb.runtime.shutting import Fence, Shutting, checked_drain
from dvergr_nb.runtime.speaking import OnBusy, Said, Speaking, Spoken, ThreadRef
from dvergr_nb.runtime.together import race
from dvergr_nb.runtime.treasury import Treasury
from dvergr_nb.runtime.wanted import NOTHING, Wanted

if TYPE_CHECKING:
    from dvergr_nb.records.money import Grant

log = logging.getLogger(__name__)

LABEL_CHARS = 60
"""How much of a message its Run is called by."""
UNANSWERED = 100


@dataclass(frozen=True, slots=True)
class Registration:
    """One joining of a room. Leaving by an older one of the same actor changes nothing."""

    room: Room
    actor: str
    handler: Handler

    def leave(self) -> bool:
        """Takes part no more; false where it has left, or has joined anew since."""
        return self.room.leave(self)

    def __repr__(self) -> str:
        return f"{printable(self.actor)} in room {printable(self.room.name)}"


class Room(Treasury):
    """One room. `d.room(name)` gives it."""

    def __init__(self, row: rooms.Room, house: House) -> None:
        self.row = row
        self._house = house
        self._home = house.tools.home
        self.shutting = Shutting(row.name, lambda: house.handles(row.name), lambda: house.cancel_room(row.name))
        self.delivery = Delivery(self._home)
        self.speaking = Speaking(row.name, house, self.delivery, lambda: self.shutting.admits)
        self._asking = Asking(house.tools, self.delivery, lambda handle, reason: house.stop(handle.id, reason))
        self._registered: dict[str, Registration] = {}
        self._were_here: set[str] = set()
        """Who has taken part before, as far as it was looked up."""

    @property
    def name(self) -> str:
        """Its name, unique among the rooms of a tenant."""
        return self.row.name

    def __repr__(self) -> str:
        here = ", ".join(printable(each.actor) for each in self.present()) or "nobody"
        return f"Room {printable(self.name)}" + (", closed" if self.is_closed else f": {here}")

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> Any:
        bundle = self._house.bundle(self.name)
        if bundle is None:
            return {"text/plain": repr(self)}
        return {key: value for key, value in bundle.items() if (not include or key in include) and key not in (exclude or ())}

    # Who takes part --------------------------------------------------------------------------------------------------

    def join(
        self,
        actor: str,
        handler: object,
        *,
        wrappers: Sequence[Wrapper] | None = None,
        attention: Policy | None = None,
    ) -> Registration:
        """Has an actor answer messages from now on with `handler(message)` or `handler(message, ctx)`.

        `wrappers` stand around the handler, the last one outermost; the usual ones unless told otherwise. `attention` decides
        about what comes while it works. Who takes part already is given the new handler with the next message; its work
        goes on. Raises `BadInput`, or `RoomClosed`.
        """
        name = rooms.checked_actor(actor)
        whole = handler_of(handler, self._house.wrappers if wrappers is None else wrappers)
        if attention is not None and not callable(attention):
            raise BadInput(f"attention is a function of a message and a situation, not {shown(attention)}")
        return self._home.call(lambda: self._join(name, whole, attention or default_policy))

    def _join(self, actor: str, handler: Handler, policy: Policy) -> Registration:
        self._house.asker()
        if not self.shutting.admits:
            raise RoomClosed(self.name)
        there = self.delivery.participants.get(actor)
        if there is None:
            self.delivery.participants[actor] = self._house.participant(self, actor, handler, policy)
        else:
            there.handler, there.policy = handler, policy
        made = self._registered[actor] = Registration(self, actor, handler)
        tools, row = self._house.tools, self.row
        stay = Member(
            tenant_id=row.tenant_id,
            room=row.name,
            actor=actor,
            program=program_of(handler),
            joined_at=tools.clock.now(),
        )
        tools.store.note(Join(member=stay), _hear)
        self._house.changed(self.name)
        return made

    def leave(self, who: str | Registration) -> bool:
        """Ends the part of an actor: its work is cancelled, `participant-left`. False where it takes no part."""
        if not isinstance(who, str | Registration):
            raise BadInput(f"leave() takes the name of an actor or what join gave, not {shown(who)}")
        return self._home.call(lambda: self._leave(who))

    def _leave(self, who: str | Registration) -> bool:
        actor = who.actor if isinstance(who, Registration) else mended(who)
        found = self._registered.get(actor)
        if found is None or (isinstance(who, Registration) and found is not who):
            return False
        del self._registered[actor]
        self.delivery.participants.pop(actor).leave()
        tools, row = self._house.tools, self.row
        tools.store.note(Leave(tenant_id=row.tenant_id, room=row.name, actor=actor, at=tools.clock.now()), _hear)
        self._house.changed(self.name)
        return True

    def present(self) -> tuple[Present, ...]:
        """Who takes part in this kernel, and how they stand."""
        return tuple(each.present() for each in list(self.delivery.participants.values()))

    def target(self) -> str | None:
        """Whom a message is for that names nobody: the only agent there, None for everyone."""
        agents = [actor for actor in list(self.delivery.participants) if rooms.is_agent(actor)]
        return agents[0] if len(agents) == 1 else None

    def found(self, actor: str) -> Participant:
        """Who of that name takes part; actors that are built in join when they are first named. Raises `NoSuchActor`."""
        name = checked_word(actor, "actor")
        if name not in self.delivery.participants:
            if name not in self._house.built_in:
                known = sorted({*self.delivery.participants, *self._house.built_in})
                raise NoSuchActor(name, self.name, known, self._house.rooms_with(name))
            self.join(name, self._house.built_in[name]())
        return self.delivery.participants[name]

    # Saying something ------------------------------------------------------------------------------------------------

    def post(
        self,
        content: str,
        *,
        to: str | None = None,
        reply_to: ThreadRef | None = None,
        sender: str = PERSON,
        key: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        parent: RunId | None = None,
    ) -> Posting:
        """Says something: to an actor, to `"*"` for everyone, or, without `to`, to the only agent or else to everyone.

        Who works on that thread is steered, others queue. Raises `BadMessage`, `NoSuchActor`, `NoSuchMessage` or `RoomClosed`.
        """

        def say() -> Posting:
            if not self.shutting.admits:
                raise RoomClosed(self.name)
            self._check_known(to)
            replied, root = (None, None) if reply_to is None else self.speaking.thread_of(reply_to)
            said = Said(
                content=content,
                sender=sender,
                to=self.target() if to is None else to,
                reply_to=replied,
                root=root,
                key=key,
                metadata=metadata or {},
            )
            return Posting(*self.speaking.post(said, Options(label=label_of(content), parent=parent)))

        return self._home.call(say)

    def _check_no_circle(self, participant: Participant, within: RunId | None) -> None:
        """Raises `Refused` where the Run that the actor works on would wait for the message, and the message for that Run."""
        working = participant.current_run
        if within is not None and working is not None and working in self._house.lineage(within):
            raise Refused(
                f"{participant.actor!r} works on Run {short(working)}, which would wait for this message, and the message "
                "for that Run; ask another actor, or leave parent out"
            )

    def _check_known(self, to: object) -> None:
        """Raises `NoSuchActor` for a name that nobody has or had there: what is said to a misspelled one would reach nobody."""
        if not isinstance(to, str) or not messages.is_address(to) or to in (EVERYONE, PERSON) or rooms.is_reserved(to):
            return  # what is no address is refused as that
        if to in self.delivery.participants or (to in self._were_here and to not in self._house.built_in):
            return
        self._were_here |= {member.actor for member in self.members()}
        if to not in self._were_here or to in self._house.built_in:
            self.found(to)

    def turn(self, actor: str, text: str, **options: Any) -> RunHandle:
        """Says something to an actor and gives the Run that answers; `speak` has the options."""
        return self.speak(actor, text, **options).handle

    def speak(
        self,
        actor: str,
        text: str,
        *,
        thread: ThreadRef | None = None,
        on_busy: OnBusy | None = None,
        label: str | None = None,
        tags: Sequence[str] = (),
        key: str | None = None,
        parent: RunId | None = None,
        sender: str = PERSON,
        grant: Grant | None = None,
        wanted: Wanted = NOTHING,
    ) -> Spoken:
        """Says something to an actor, in a new thread or in that of a message or Run, and tells at once what becomes of it.

        Where the actor works on that thread the message joins the open Run, unless the actor's attention says otherwise; else
        it waits in order. `steer` has it join whatever the attention says, `queue` has it wait in any case, and `refuse` raises
        `ActorBusy` where it could not begin at once. With a `parent` it has a Run of its own. Raises `Sealed`, `NoSuchActor`,
        or `Refused` where the actor's own work would wait for it.
        """

        def say() -> Spoken:
            if not self.shutting.admits:
                raise RoomClosed(self.name)
            participant = self.found(actor)
            check(participant.handler, wanted)
            replied, root = (None, None) if thread is None else self.speaking.thread_of(thread)
            said = Said(content=text, sender=sender, to=actor, reply_to=replied, root=root, key=key)
            self._check_no_circle(participant, parent)
            own_key = named(f"{actor}|{key}") if isinstance(key, str) else key
            options = Options(
                label=label_of(text) if label is None else label,
                tags=tags,
                key=own_key,
                parent=parent,
                grant=grant,
                wanted=wanted,
            )
            spoken = self.speaking.turn(participant, said, options, "queue" if parent and on_busy is None else on_busy)
            if sender == PERSON:
                self.speaking.follow(actor, spoken.message)
            return spoken

        return self._home.call(say)

    def latest(self, actor: str) -> MessageId | None:
        """The last message of the thread in which the person talks with that actor in this kernel; None before the first."""
        return self.speaking.latest(actor)

    async def ask(
        self,
        actor: str,
        text: str,
        *,
        thread: ThreadRef | None = None,
        timeout: float = ASK_S,  # noqa: ASYNC109  # as asyncio.wait_for names it
        parent: RunId | None = None,
    ) -> str:
        """The reply of an actor. Raises what its Run ends with, or `TimeoutError`: silence never answers."""
        asking = context.current()

        def say(address: str) -> RunHandle:
            if not self.shutting.admits:
                raise RoomClosed(self.name)
            self._check_no_circle(self.found(actor), parent if asking is None else asking.run.id)
            return self.turn(actor, text, thread=thread, on_busy="queue", parent=parent, sender=address)

        return (await self._asking.ask(actor, say, timeout)).content

    async def fan_out(self, actors: Sequence[str], text: str, *, timeout: float = ASK_S) -> list[str]:  # noqa: ASYNC109
        """The replies of all of them, in their order; where one fails, the others are cancelled."""
        return await together([self.ask(actor, text, timeout=timeout) for actor in named_of(actors, self.found)])

    async def race(self, actors: Sequence[str], text: str, *, timeout: float = ASK_S) -> str:  # noqa: ASYNC109
        """The first reply; the Runs of the others are cancelled."""
        return str(await race(*(self.ask(actor, text, timeout=timeout) for actor in named_of(actors, self.found))))

    # Looking ---------------------------------------------------------------------------------------------------------

    def messages(self, thread: ThreadRef | None = None, limit: int | None = 100) -> list[Message]:
        """What was said, oldest first: the last `limit` of the room or of a thread."""
        root = None if thread is None else self.speaking.thread_of(thread)[1]
        wanted = MessageFilter(room=self.name, thread=root, limit=limit, only_said=True)
        return list(self._house.tools.store.messages(wanted))

    def members(self) -> list[Member]:
        """Who is or was there, also in earlier kernels."""
        return list(self._house.tools.store.members(self.name))

    def unanswered(self, limit: int = UNANSWERED) -> list[Unanswered]:
        """Messages that were given to somebody here and that no Run answers or is to answer, as after the death of a kernel."""
        return self._house.unanswered(self.name, limit)

    def answer(self, what: Unanswered) -> RunHandle:
        """Has an unanswered message answered now, by the actor it was given to."""
        if not isinstance(what, Unanswered) or what.message.room != self.name:
            raise BadInput(f"answer() takes one of room.unanswered(), not {shown(what)}")

        def begin() -> RunHandle:
            if not self.shutting.admits:
                raise RoomClosed(self.name)
            return self.speaking.answer(self.found(what.actor), what.message, Options(label=label_of(what.message.content)))

        return self._home.call(begin)

    # Closing ---------------------------------------------------------------------------------------------------------

    @property
    def is_closed(self) -> bool:
        """Whether it admits nothing."""
        return not self.shutting.admits

    def cancel(self) -> int:
        """Asks everything that lives there to stop; how many were asked."""
        return self._house.cancel_room(self.name)

    def fence(self) -> Fence:
        """Admits nothing from now on; what was admitted goes on. `reopen` takes the fence."""
        fence = self._home.call(self.shutting.shut)
        self._house.changed(self.name)
        return fence

    def reopen(self, fence: Fence | None = None) -> bool:
        """Admits again; false where a newer fence stands. Without a fence: a room that was closed and has drained."""
        opened = self._home.call(lambda: self.shutting.reopen(fence))
        if opened:
            self._house.changed(self.name)
            self._home.post(self._go_on)
        return opened

    def _go_on(self) -> None:
        for participant in list(self.delivery.participants.values()):
            participant.next()

    async def close(self, drain_s: float = 5.0) -> tuple[RunHandle, ...]:
        """Admits nothing more, cancels what works there, waits for it up to `drain_s` seconds, and ends everybody's part.

        Raises `RoomNotDrained` with those that go on; the room stays fenced then, and may be closed again to wait longer.
        What has ended is the answer; nothing for a room that is closed already. Who reopens it meanwhile keeps it open.
        """
        limit_s = checked_drain(drain_s)
        if self.shutting.is_closed:
            return ()
        if self.shutting.admits:
            self.fence()
        ended = await self.shutting.drain(limit_s)
        if self.is_closed:
            for actor in list(self.delivery.participants):
                self.leave(actor)
        return ended


def _hear(answer: Settled) -> None:
    if (problem := answer.exception()) is not None:
        log.error("who takes part in a room was not noted, so nothing will read as unanswered by them: %s", problem)


def label_of(content: object) -> str:
    """What a turn is called by: the first line of what was said."""
    return first_line(content, LABEL_CHARS) if isinstance(content, str) else ""
