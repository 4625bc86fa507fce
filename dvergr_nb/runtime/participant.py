"""A participant: an actor in a live room, answering one message at a time, in order.

A message of the thread it works on joins that Run where its handler takes it; any other waits. What waits is admitted in
order, one after another; a message whose thread somebody else holds lets later ones pass. Everything on the home loop.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Final

from dvergr_nb.errors import RunCancelled, ThreadBusy
from dvergr_nb.ids import MessageId, RunId
from dvergr_nb.records.attention import RESTART, Attention, AttentionFact
from dvergr_nb.records.message import Message
from dvergr_nb.records.room import Present
from dvergr_nb.records.run import Reason, Run
from dvergr_nb.runtime.answering import Answering
from dvergr_nb.runtime.attending import CUTS, Ledger, Policy, Situation, judged
from dvergr_nb.runtime.coming import Coming, Owned
from dvergr_nb.runtime.dials import UNSET, Dials
from dvergr_nb.runtime.handle import RunHandle
from dvergr_nb.runtime.handler import is_steerable, program_of
from dvergr_nb.runtime.inbox import Inbox, Joining
from dvergr_nb.runtime.line import Arrival, Line, Turn
from dvergr_nb.runtime.reply import Handler
from dvergr_nb.runtime.turns import Turns

SEEN: Final = 512
"""How many messages are known again when they come twice."""


class Participant:
    """One actor in one room."""

    def __init__(self, actor: str, handler: Handler, policy: Policy, turns: Turns, ledger: Ledger) -> None:
        self.actor = actor
        self.handler = handler
        self.policy = policy
        self._turns = turns
        self._ledger = ledger
        self._current: Turn | None = None
        self._line = Line()
        self._carried: list[Joining] = []
        """What the next turn shall see without being asked for it."""
        self._awaited: list[Turn] = []
        """Those whose message is being stored; they line up then."""
        self._seen: OrderedDict[MessageId, None] = OrderedDict()
        self.coming = 0
        """How many messages are on their way to it: being stored, or stored and not delivered."""
        self.is_gone = False
        self.dials = UNSET

    # Looking ---------------------------------------------------------------------------------------------------------

    @property
    def is_free(self) -> bool:
        """Whether it works on nothing and nothing waits."""
        return self._current is None and not len(self._line)

    @property
    def is_quiet(self) -> bool:
        """Whether, besides, nothing older is on its way, so that it may begin with a message before that is stored."""
        return self.is_free and not self.coming

    def takes_part(self) -> bool:
        """Whether it takes part and may begin with something new."""
        return not self.is_gone and self._turns.is_admitting

    def present(self) -> Present:
        """How it stands."""
        return Present(
            actor=self.actor,
            program=program_of(self.handler),
            working=None if self._current is None else self._current.entry.handle.id,
            queued=tuple(turn.entry.handle.id for turn in self._line),
        )

    @property
    def current_run(self) -> RunId | None:
        """What it works on."""
        return None if self._current is None else self._current.entry.handle.id

    @property
    def open_run(self) -> RunHandle | None:
        """What it works on, or what it will begin with."""
        first = self._current or next(iter(self._line), None)
        return None if first is None else first.entry.handle

    def answering(self, message_id: MessageId) -> RunHandle | None:
        """The Run that has this message or that it will join, where one has it already."""
        turns: list[Turn] = [*([self._current] if self._current else []), *self._awaited, *self._line]
        for turn in turns:
            if turn.arrival.message.id == message_id or (turn.entry.inbox is not None and turn.entry.inbox.has(message_id)):
                return turn.entry.handle
        return None

    def joinable(self, arrival: Arrival, *, is_judged: bool) -> Coming | None:
        """For a message that is about to be stored: how it joins the running turn of its thread, None where it does not.

        It never overtakes one of its thread that waits. Where it `is_judged`, the policy of the actor has to agree.
        """
        turn, inbox = self._current, None if self._current is None else self._current.entry.inbox
        if turn is None or inbox is None or not inbox.is_open or turn.root != arrival.root:
            return None
        if self._line.holds(arrival.root) or any(waiting.root == arrival.root for waiting in self._awaited):
            return None
        if turn.entry.token.stop is not None or turn.entry.over:
            return None
        decision, status = RESTART, "ready"
        if is_judged:
            decision, status = judged(self.policy, arrival.message, self._situation(turn, arrival))
        joins = status == "ready" and decision.activation == "none" and decision.control in ("integrate", "restart")
        return Coming(self, turn, inbox, decision) if joins else None

    def _situation(self, turn: Turn, arrival: Arrival) -> Situation:
        same = turn.root == arrival.root
        return Situation(actor=self.actor, run=turn.entry.run, same_thread=same, queued=len(self._line))

    # Messages --------------------------------------------------------------------------------------------------------

    def is_new(self, message: Message) -> bool:
        """Whether it has not come before; from now on it has."""
        if message.id in self._seen:
            return False
        self._seen[message.id] = None
        if len(self._seen) > SEEN:
            self._seen.popitem(last=False)
        return True

    def arrive(self, arrival: Arrival) -> RunHandle | None:
        """A message is stored. Gives the Run that answers it, None where none does."""
        if not self.takes_part() or not self.is_new(arrival.message):
            return None
        if self._current is None:
            return self.line_up(arrival)
        turn = self._current
        decision, status = judged(self.policy, arrival.message, self._situation(turn, arrival))
        if not self.takes_part():
            return None  # a policy is somebody else's code, and may have the actor leave or shut the room
        if status == "ready" and turn.entry.inbox is None and decision.needs_inbox:
            status = "deferred"
        return self._attend(turn, arrival, self._noted(arrival.message, decision, status))

    def join(self, turn: Turn, arrival: Arrival, decision: Attention) -> RunHandle | None:
        """A message is stored that was to join that turn."""
        if self.is_gone or not self.is_new(arrival.message):
            return None
        if self._current is not turn:
            return self.line_up(arrival) if self._turns.is_admitting else None
        return self._attend(turn, arrival, self._noted(arrival.message, decision))

    def begin_with(self, arrival: Arrival, *, refuses: bool) -> RunHandle:
        """Begins now with a message that is stored together with its Run."""
        turn = self._turn(arrival, is_durable=False)
        self.is_new(arrival.message)
        turn.refuses_to_wait = refuses
        self._begin(turn)
        return turn.entry.handle

    def wait(self, arrival: Arrival) -> Turn:
        """A Run for a message that is about to be stored; it is queued from now on and lines up by `stored`."""
        turn = self._turn(arrival, is_durable=False)
        self.is_new(arrival.message)
        self.coming += 1
        self._awaited.append(turn)
        self._turns.queue(turn.entry)
        return turn

    def stored(self, turn: Turn, problem: BaseException | None) -> None:
        """The message of a turn that waits is stored, or was refused."""
        self.coming -= 1
        self._awaited.remove(turn)
        if problem is not None:
            self._withdraw(turn, problem)
            return
        turn.is_durable = True
        if turn.entry.owner is None:
            return  # let go meanwhile, as the session ends
        self._line.add(turn)
        if turn.entry.token.stop is not None:
            self.asked_to_stop(turn)
        elif self.is_gone:
            self._turns.stop(turn.entry, Reason.PARTICIPANT_LEFT)
        self.next()

    # Attention -------------------------------------------------------------------------------------------------------

    def _noted(self, message: Message, decision: Attention, status: str = "ready") -> AttentionFact:
        run = None if self._current is None else self._current.entry.row.id
        return self._ledger.note(message, self.actor, run, decision, status)

    def _attend(self, turn: Turn, arrival: Arrival, fact: AttentionFact) -> RunHandle | None:
        """Does what was decided. A decision that cannot be carried out is on record as such, and nothing else happens."""
        if fact.status != "ready":
            return None
        decision, handle = fact.decision, None
        if decision.control == "suspend" and turn.entry.inbox is not None:
            turn.entry.inbox.suspend()
        if decision.activation != "none":
            handle = self.line_up(arrival, fact)
        elif decision.control in ("integrate", "restart"):
            handle = self._join(turn, arrival, fact)
        else:
            self._remember(turn, arrival.message, fact)
        if decision.control == "cancel":
            self._turns.stop(turn.entry, Reason.CANCEL_REQUESTED)
        return handle

    def _join(self, turn: Turn, arrival: Arrival, fact: AttentionFact) -> RunHandle:
        """Has a message join the running turn; where that takes none any more, it has a Run of its own."""
        joining = Joining(arrival.message, needs_round=True, fact=fact, taken=lambda: self._ledger.apply(fact))
        cuts = fact.decision.control == "restart" and fact.decision.at in CUTS
        inbox = turn.entry.inbox
        if inbox is None or self._line.holds(arrival.root) or not inbox.put(joining, preempts=cuts):
            return self.line_up(arrival, fact)
        return turn.entry.handle

    def _remember(self, turn: Turn, message: Message, fact: AttentionFact) -> None:
        if fact.decision.memory != "include":
            self._ledger.apply(fact)
            return
        joining = Joining(message, needs_round=False, fact=fact, taken=lambda: self._ledger.apply(fact))
        inbox = turn.entry.inbox
        if inbox is None or inbox.is_suspended or not inbox.put(joining, preempts=False):
            self._carried.append(joining)

    # The queue -------------------------------------------------------------------------------------------------------

    def _turn(self, arrival: Arrival, *, is_durable: bool) -> Turn:
        body = Answering(self.handler, arrival.message)
        entry = self._turns.prepare(arrival, body, self.actor, self.handler)
        turn = Turn(arrival=arrival, entry=entry, body=body, is_durable=is_durable)
        entry.owner, entry.trigger = Owned(self, turn), arrival.message
        entry.dials_now = lambda: self.dials
        return turn

    def line_up(self, arrival: Arrival, fact: AttentionFact | None = None) -> RunHandle:
        """A Run of its own for a stored message, at once or when its turn has come."""
        turn = self._turn(arrival, is_durable=True)
        turn.fact = fact
        if fact is not None and fact.decision.activation != "none":
            turn.priority = fact.decision.priority + (0.5 if fact.decision.activation == "wake" else 0)
        if self.is_free:
            self._begin(turn)
        else:
            self._line.add(turn)
            self._turns.queue(turn.entry)
            self.next()
        return turn.entry.handle

    def next(self) -> None:
        """Begins with the first message that can be begun with."""
        if self._current is not None or self.is_gone or not self._turns.is_admitting:
            return
        if (turn := self._line.first()) is not None:
            self._line.remove(turn)
            self._begin(turn)

    def _begin(self, turn: Turn) -> None:
        self._current = turn
        if turn.body.handler is not self.handler:
            turn.body.handler = self.handler
            self._turns.acts(turn.entry, turn.arrival, self.handler)
        inbox = Inbox() if is_steerable(self.handler) else None
        turn.entry.joinable(inbox)
        if inbox is not None:
            for joining in self._carried:
                inbox.put(joining, preempts=False)
            self._carried.clear()
        self._send(turn)

    def _send(self, turn: Turn) -> None:
        self._turns.send(turn.entry, None if turn.is_durable else turn.arrival.message)

    def freed(self, run_id: RunId) -> None:
        """A Run that may have held a thread has ended."""
        self._line.free(run_id)
        self.heed()
        self.next()

    def heed(self) -> None:
        """Lets those go that wait and were asked to stop."""
        for turn in self._line:
            if turn.entry.token.stop is not None:
                self.asked_to_stop(turn)

    def tune(self, dials: Dials) -> None:
        """Sets what holds from the next round on; for another model the running call is cut."""
        is_other, self.dials = dials.model is not self.dials.model and dials.model != self.dials.model, dials
        inbox = None if self._current is None else self._current.entry.inbox
        if is_other and inbox is not None and inbox.is_open:
            inbox.cut()

    def leave(self) -> None:
        """Answers nothing any more. What it works on is cancelled, and what waits for it."""
        self.is_gone = True
        for turn in (*([self._current] if self._current else []), *self._line):
            self._turns.stop(turn.entry, Reason.PARTICIPANT_LEFT)

    # What becomes of its Runs ----------------------------------------------------------------------------------------

    def admitted(self, turn: Turn) -> None:
        """Its row is durable."""
        if not turn.is_durable:
            turn.is_durable = True
            self._turns.said(turn.arrival.message)
        if turn.fact is not None:
            causes = turn.fact.decision.activation != "none"
            self._ledger.apply(turn.fact, turn.entry.row.id if causes else None)

    def refused(self, turn: Turn, problem: BaseException) -> bool:
        """Whether it goes on: a message whose thread somebody else has waits until that one is through with it."""
        self._let_go(turn)
        waits = isinstance(problem, ThreadBusy) and not turn.refuses_to_wait
        if waits and isinstance(problem, ThreadBusy):
            self._wait_for(RunId(problem.run_id), turn)
        elif not turn.is_durable:
            self._seen.pop(turn.arrival.message.id, None)
            self._turns.forget(turn.arrival.message)
        self.next()
        return waits

    def _wait_for(self, holder: RunId, turn: Turn) -> None:
        """Keeps its place, before what came later, until its thread is free."""
        turn.held_by = holder
        self._line.put_first([turn])
        self._turns.queue(turn.entry)
        self._turns.hold(holder, self)
        if turn.is_durable:
            self.heed()
            return
        self.coming += 1
        self._turns.post(turn.arrival.message, lambda why: self._posted(turn, why))

    def _posted(self, turn: Turn, problem: BaseException | None) -> None:
        """The message of a turn that waits for its thread is stored, or was refused."""
        self.coming -= 1
        if problem is not None:
            self._withdraw(turn, problem)
        turn.is_durable = problem is None
        self.heed()
        self.next()

    def _withdraw(self, turn: Turn, why: BaseException) -> None:
        if not turn.is_durable:
            self._seen.pop(turn.arrival.message.id, None)
        self._line.remove(turn)
        turn.entry.owner = None
        self._turns.withdraw(turn.entry, why)

    def over(self, turn: Turn, row: Run | None) -> None:
        """Its Run is over: obligations are settled, and what came too late to join it is next."""
        turn.body.settle(row)
        self._line.remove(turn)
        self._let_go(turn)
        self.next()

    def _let_go(self, turn: Turn) -> None:
        """Is free for the next one. What no round of the turn has seen has a Run of its own, or is carried into the next."""
        if self._current is not turn:
            return
        self._current = None
        goes_on = turn.entry.inbox is not None and self._turns.is_admitting and not self.is_gone
        left = turn.entry.inbox.close() if turn.entry.inbox is not None and goes_on else ()
        self._carried += [joining for joining in left if not joining.needs_round]
        self._line.put_first([self._late(turn, joining) for joining in left if joining.needs_round])

    def _late(self, turn: Turn, joining: Joining) -> Turn:
        late = self._turn(Arrival(joining.message, turn.root), is_durable=True)
        late.fact = joining.fact
        self._turns.queue(late.entry)
        return late

    def asked_to_stop(self, turn: Turn) -> None:
        """A turn that waits was cancelled: it is admitted as soon as its thread is free, so that its end is on record.

        It does not wait for what only a person can decide; then it has no Run.
        """
        stop, row = turn.entry.token.stop, turn.entry.row
        if turn not in self._line or not turn.is_durable:
            return
        if turn.held_by is None:
            self._line.remove(turn)
            self._send(turn)
        elif not self._turns.lives(turn.held_by):
            self._withdraw(turn, RunCancelled(row.id, row.name, stop.reason if stop else None))
