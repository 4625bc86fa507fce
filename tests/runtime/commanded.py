"""A room that obeys commands, one at a time: its participants hold at a gate until they are told what to do.

A message is called by its content, a Run by its actor and the message it answers. What happens is told as short lists of
plain data, in whatever thread it happens; `state` and `record` say what stands in this kernel and in the store.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any, Final

from dvergr_nb.errors import DvergrError
from dvergr_nb.ids import MessageId
from dvergr_nb.records.message import Message
from dvergr_nb.records.query import RunFilter
from dvergr_nb.runtime.context import Context
from dvergr_nb.runtime.handle import RunHandle
from dvergr_nb.runtime.inbox import Inbox
from dvergr_nb.runtime.obligation import Obligation, carry_obligation, reply_obligation, withhold_reply
from dvergr_nb.runtime.participant import Participant
from dvergr_nb.runtime.reply import Given, Reply
from dvergr_nb.session import Session
from dvergr_nb.store import slots

ROOM: Final = "lab"
LIMIT_S: Final = 60.0
TURNS_OF_LOOP: Final = 40
"""How often the loop turns without anything to write before it counts as at rest; what happens at once needs fewer."""

Command = list[Any]
Tell = Callable[[list[Any]], object]


class Played:
    """What answers for an actor. The name says how it takes what joins: `eager` at once, `patient` when it is let through,
    `plain` never.
    """

    program_kind = "played"

    def __init__(self, actor: str, tell: Tell) -> None:
        self.actor = actor
        self.is_steerable = not actor.startswith("plain")
        self._tell = tell
        self._gates: list[asyncio.Future[list[Any]]] = []

    def let_through(self, how: list[Any]) -> bool:
        """Opens the gate of the Run that began last; false where none holds there."""
        held = next((gate for gate in reversed(self._gates) if not gate.done()), None)
        if held is not None:
            held.set_result(how)
        return held is not None

    async def __call__(self, message: Message, ctx: Context) -> Given:
        name = message.content
        self._tell(["began", self.actor, name])
        duty = reply_obligation(
            on_emitted=lambda: self._tell(["word", self.actor, name, "emitted"]),
            on_failed=lambda _: self._tell(["word", self.actor, name, "refused"]),
            on_dropped=lambda why: self._tell(["word", self.actor, name, why]),
        )
        while True:
            self._take(name, ctx.inbox)
            how = await self._held(ctx.inbox)
            if how is not None and await self._may_end(how, ctx.inbox):
                return _given(how, duty)

    def _take(self, name: str, inbox: Inbox | None) -> None:
        if inbox is not None and inbox._come:
            self._tell(["joined", self.actor, name, [joining.message.content for joining in inbox._come]])
            inbox.take()

    async def _held(self, inbox: Inbox | None) -> list[Any] | None:
        """How to go on; None where a message has cut the round."""
        gate = asyncio.get_running_loop().create_future()
        self._gates.append(gate)
        cut = None
        if self.actor.startswith("eager") and inbox is not None:
            cut = asyncio.ensure_future(inbox.until_preempted())
        try:
            await asyncio.wait({gate} if cut is None else {gate, cut}, return_when=asyncio.FIRST_COMPLETED)
            return gate.result() if gate.done() else None
        finally:
            self._gates.remove(gate)
            if cut is not None:
                cut.cancel()

    async def _may_end(self, how: list[Any], inbox: Inbox | None) -> bool:
        if how[0] == "fail":
            raise RuntimeError("told to fail")
        if inbox is not None:
            await inbox.settled()
            if inbox.needs_round:
                return False
            inbox.close()
        return True


def _given(how: list[Any], duty: Obligation) -> Given:
    match how:
        case ["reply", name, to]:
            return carry_obligation(Reply(content=name, to=to), duty)
        case ["withhold"]:
            return withhold_reply(None, "held-back")
        case _:
            return None


class Commanded:
    """One kernel life of the room. Made on the loop that it lives on."""

    def __init__(self, path: str, tell: Tell, *, exclusive: bool) -> None:
        self._tell = tell
        self.session = Session(path, tenant_id="t", user_id="u")
        self.room = self.session.rooms.open(ROOM, exclusive_threads=exclusive)
        self._names = {message.content: message.id for message in self._said()}
        self._contents = {an_id: name for name, an_id in self._names.items()}
        self._played: dict[str, Played] = {}
        self._handles: dict[str, RunHandle] = {}
        self._closing: asyncio.Task[Any] | None = None
        self.session.watch_runs("names", self._heard)

    def _said(self) -> list[Message]:
        return self.room.messages(limit=None)

    def _heard(self, event: Any) -> None:
        if event.type == "message/posted":
            self._know(event.message)

    def _know(self, message: Message) -> None:
        self._names[message.content] = message.id
        self._contents[message.id] = message.content

    # Commands --------------------------------------------------------------------------------------------------------

    async def obey(self, command: Command) -> Any:
        """Carries a command out. An error of the package is answered with its name."""
        verb, *arguments = command
        if verb in ("settle", "breathe"):
            return await getattr(self, f"_{verb}")(*arguments)
        try:
            return getattr(self, f"_{verb}")(*arguments)
        except DvergrError as problem:
            return type(problem).__name__

    def _join(self, actor: str) -> str:
        played = self._played.setdefault(actor, Played(actor, self._tell))
        self.room.join(actor, played, wrappers=())
        return "ok"

    def _leave(self, actor: str) -> bool:
        return self.room.leave(actor)

    def _thread(self, name: str | None) -> MessageId | None:
        return None if name is None else self._names.get(name, MessageId(name))

    def _turn(self, name: str, actor: str, thread: str | None, on_busy: Any) -> str:
        spoken = self.room.speak(actor, name, thread=self._thread(thread), on_busy=on_busy, sender="user")
        self._know(spoken.message)
        spoken.durable.add_done_callback(lambda done: None if done.exception() else self._tell(["durable", name]))
        self._follow(name, spoken.handle)
        return spoken.how

    def _follow(self, name: str, handle: RunHandle) -> None:
        self._handles[name] = handle

        def over() -> None:
            if handle._done.exception() is None:
                run = handle._done.result()
                self._tell(["over", self._contents[run.trigger], run.actor, run.status, run.reason])

        handle.when_over(over)

    def _post(self, name: str, to: str, thread: str | None) -> str:
        posting = self.room.post(name, to=to, reply_to=self._thread(thread))
        self._know(posting.message)
        posting.durable.add_done_callback(lambda done: None if done.exception() else self._tell(["durable", name]))
        return "ok"

    def _finish(self, actor: str, *how: Any) -> bool:
        return actor in self._played and self._played[actor].let_through(list(how))

    def _cancel(self, actor: str) -> bool:
        found = next((each.working for each in self.room.present() if each.actor == actor), None)
        return found is not None and self.session.cancel_run(found)

    def _cancel_queued(self, actor: str, place: int) -> bool:
        queued = next((each.queued for each in self.room.present() if each.actor == actor), ())
        return place < len(queued) and self.session.cancel_run(queued[place])

    def _answer(self, place: int) -> Any:
        """The message, so that it is known to be out of its order."""
        listed = self.room.unanswered(limit=10_000)
        if not listed:
            return None
        what = listed[place % len(listed)]
        self.room.answer(what)
        return [what.message.content, what.actor]

    def _fence_off(self) -> bool:
        if self.room.is_closed:
            return False
        self.room.fence()
        return True

    def _reopen(self) -> bool:
        return self.room.reopen(None if self.room.shutting.is_closed else self.room.shutting.fence)

    def _close(self) -> bool:
        if self._closing is None or self._closing.done():
            self._closing = asyncio.ensure_future(self.room.close(drain_s=LIMIT_S))
        return True

    async def _breathe(self, turns: int) -> str:
        for _ in range(turns):
            await asyncio.sleep(0)
        return "ok"

    async def _settle(self) -> dict[str, Any]:
        """Returns once nothing happens any more by itself: what stands here and what is on record then."""
        writer = self.session.store._writer
        before = -1
        while writer.counts.submitted != before:
            before = writer.counts.submitted
            writer.errand(lambda _: None).result(LIMIT_S)
            await self._breathe(TURNS_OF_LOOP)
        return {**self.state(), **self.record()}

    # Looking ---------------------------------------------------------------------------------------------------------

    def state(self) -> dict[str, Any]:
        """What lives here."""
        shutting = self.room.shutting
        return {
            "door": "open" if shutting.admits else "closed" if shutting.is_closed else "fenced",
            "torn": shutting.admits and shutting.is_closed,
            "closing": self._closing is not None and not self._closing.done(),
            "present": [self._standing(each) for each in self.room.delivery.participants.values()],
            "waiting": sorted(name for name, handle in self._handles.items() if not handle.is_done),
            "coming": sum(each.coming for each in self.room.delivery.participants.values()),
            "live": len(self.session.rooms.handles(ROOM)),
        }

    def _standing(self, participant: Participant) -> dict[str, Any]:
        current = participant._current
        inbox = None if current is None else current.entry.inbox
        return {
            "actor": participant.actor,
            "current": None if current is None else current.arrival.message.content,
            "pending": [] if inbox is None else [joining.message.content for joining in inbox._come],
            "line": [turn.arrival.message.content for turn in participant._line],
            "held": [turn.arrival.message.content for turn in participant._line if turn.held_by is not None],
        }

    def record(self) -> dict[str, Any]:
        """What the store says."""
        said = sorted(self._said(), key=lambda message: message.id)
        names = {message.id: message.content for message in said}
        store = self.session.store
        runs = sorted(store.runs(RunFilter(room=ROOM, limit=None)), key=lambda run: run.id)
        names_of_runs = {run.id: [run.actor, names[run.trigger]] for run in runs}
        held = store.read(slots.held)
        facts = store.attention(ROOM, None)
        return {
            "messages": [_message(each, names, names_of_runs) for each in said],
            "runs": [[run.actor, names[run.trigger], run.status, run.reason] for run in runs],
            "unanswered": [[each.message.content, each.actor] for each in store.unanswered(ROOM, 10_000)],
            "listed": [[each.message.content, each.actor] for each in self.room.unanswered(limit=10_000)],
            "applied": [[fact.actor, names[fact.message_id]] for fact in facts if fact.status == "applied"],
            "settled": [[fact.actor, names[fact.message_id]] for fact in facts if fact.status in ("deferred", "invalid")],
            "slots": [names_of_runs.get(run_id, [slot.actor, run_id]) for slot, run_id in held.items()],
            "stays": [
                [each.actor, each.joined_at.isoformat(), each.left_at.isoformat() if each.left_at else None]
                for each in self.room.members()
            ],
        }


def _message(message: Message, names: dict[MessageId, str], runs: dict[Any, list[str]]) -> dict[str, Any]:
    return {
        "name": message.content,
        "sender": message.sender,
        "to": message.to,
        "root": names[message.thread_root_id],
        "run": None if message.run_id is None else runs[message.run_id],
        "at": message.created_at.isoformat(),
    }
