"""The store as plain dictionaries, one unit after the other."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from dvergr_nb.errors import BadAttention, BadInput, BadMessage, BadRun, MoveRefused, NoSuchMessage, ThreadBusy
from dvergr_nb.records.attention import AttentionFact
from dvergr_nb.records.money import Grant, room_wallet
from dvergr_nb.records.operation import (
    Admit,
    Admitted,
    Answer,
    Attend,
    Attended,
    Charge,
    Charged,
    End,
    Fund,
    Funded,
    Join,
    Joined,
    KeyTaken,
    Leave,
    Left,
    Moved,
    Post,
    Posted,
    Record,
    Resume,
    Unit,
)
from dvergr_nb.records.run import MOVES, PAUSES

EXCLUSIVE = "office"
"""The room with exclusive threads."""


@dataclass
class Row:
    """A Run as the model has it."""

    room: str
    actor: str
    trigger: str
    parent: str | None = None
    cost: int = 0
    status: str = "running"
    reason: str | None = None
    revision: int = 0

    @property
    def is_open(self) -> bool:
        return self.status == "running" or (self.status == "waiting" and self.reason in PAUSES)


@dataclass
class Model:
    """The store as plain dictionaries. The laws are written as laws, without slots."""

    messages: dict[str, tuple[str, str]] = field(default_factory=dict)
    """Room and thread root by id."""
    runs: dict[str, Row] = field(default_factory=dict)
    keys: dict[tuple[str, str], str] = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)
    stays: list[tuple[str, str, str, bool]] = field(default_factory=list)
    """Room, actor, program and whether it is open."""
    facts: dict[str, AttentionFact] = field(default_factory=dict)
    wallets: dict[str, int] = field(default_factory=dict)
    """Of Runs only those that have not ended."""
    funds: set[str] = field(default_factory=set)
    calls: dict[str, tuple[str, int, int]] = field(default_factory=dict)
    """By id, the Run, what it cost and what was taken."""

    def apply(self, unit: Unit) -> Answer | type:
        """What the unit is answered with, or of what class the answer is."""
        match unit:
            case Join(member=member):
                return self.join(member.room, member.actor, member.program)
            case Leave(room=room, actor=actor):
                return self.leave(room, actor)
            case Attend(facts=facts):
                return self.attend(facts)
            case Fund():
                return self.fund(unit)
            case Charge():
                return self.charge(unit)
            case _:
                return self.move(unit)

    def fund(self, unit: Fund) -> Funded:
        wallet = room_wallet("t", unit.room)
        if unit.id not in self.funds:
            self.funds.add(unit.id)
            self.put(wallet, unit.amount)
        return Funded(balances={wallet: self.wallets[wallet]})

    def put(self, wallet: str, amount: int) -> None:
        self.wallets[wallet] = self.wallets.get(wallet, 0) + amount

    def source(self, run_id: str) -> str:
        """Who pays a Run, and is paid back."""
        of = self.runs[run_id]
        return of.parent if of.parent in self.wallets else room_wallet("t", of.room)

    def charge(self, unit: Charge) -> Charged | type:
        spend = unit.spend
        of = self.runs.get(spend.run_id)
        if of is None or of.room != spend.room:
            self.lost |= {spend.run_id} if of is not None else set()
            return BadMessage
        if spend.id in self.calls and self.calls[spend.id][0] != spend.run_id:
            self.lost.add(spend.run_id)
            return BadInput
        is_new = spend.id not in self.calls
        if is_new:
            cost = spend.usage.cost or 0
            taken = min(cost, self.wallets.get(spend.run_id, 0))
            self.calls[spend.id] = (spend.run_id, cost, taken)
            if spend.run_id in self.wallets:
                self.put(spend.run_id, -taken)
        balances: dict[str, int] = {}
        if spend.run_id in self.wallets:
            balances[spend.run_id] = self.wallets[spend.run_id]
        return Charged(inserted=is_new, taken=self.calls[spend.id][2], balances=balances)

    def grant(self, run_id: str, grant: Grant) -> None:
        source = self.source(run_id)
        lacks = grant.amount - self.wallets.get(source, 0)
        if lacks > 0 and grant.mints and source not in self.runs:
            self.put(source, lacks)
        there = self.wallets.get(source, 0)
        amount = min(grant.amount, there) if grant.takes_what_is_there else grant.amount
        if 0 < amount <= there:
            self.put(source, -amount)
            self.put(run_id, amount)

    def join(self, room: str, actor: str, program: str) -> Joined:
        for place, (a_room, an_actor, _, is_open) in enumerate(self.stays):
            if (a_room, an_actor, is_open) == (room, actor, True):
                self.stays[place] = (room, actor, program, True)
                return Joined(inserted=False)
        self.stays.append((room, actor, program, True))
        return Joined(inserted=True)

    def leave(self, room: str, actor: str) -> Left:
        for place, (a_room, an_actor, program, is_open) in enumerate(self.stays):
            if (a_room, an_actor, is_open) == (room, actor, True):
                self.stays[place] = (room, actor, program, False)
                return Left(was_there=True)
        return Left(was_there=False)

    def attend(self, facts: tuple[AttentionFact, ...]) -> Attended | type:
        noted = dict(self.facts)
        for fact in facts:
            if fact.id in noted and noted[fact.id] != fact:
                return BadAttention
            if fact.id not in noted:
                if not self.is_true(fact, noted):
                    return BadAttention
                noted[fact.id] = fact
        inserted, self.facts = len(noted) - len(self.facts), noted
        return Attended(inserted=inserted)

    def is_true(self, fact: AttentionFact, noted: dict[str, AttentionFact]) -> bool:
        if self.messages.get(fact.message_id, ("", ""))[0] != fact.room:
            return False
        if fact.decision_id is None:
            return True
        made = noted.get(fact.decision_id)
        if made is None or dataclasses.replace(made, id=fact.id, status="applied", **_outcome(fact)) != fact:
            return False
        if made.status != "ready" or any(each.decision_id == made.id for each in noted.values()):
            return False
        if fact.result_run_id is None:
            return True
        of = self.runs.get(fact.result_run_id)
        return of is not None and (of.room, of.actor, of.trigger) == (fact.room, fact.actor, fact.message_id)

    def move(self, unit: Unit) -> type:
        match unit:
            case Post(message=message):
                return self.post(message.id, message.room, message.reply_to, message.thread_root_id)
            case Record(message=message):
                of = self.runs.get(message.run_id or "")
                if of is None or of.room != message.room:
                    self.lost |= {message.run_id} if of is not None and message.run_id else set()
                    return BadMessage
                return self.post(message.id, message.room, message.reply_to, message.thread_root_id)
            case Admit():
                return self.admit(unit)
            case End():
                return self.end(unit)
            case Resume(run_id=run_id):
                of = self.runs.get(run_id)
                if of is None or of.status != "waiting" or not of.is_open:
                    return MoveRefused
                of.status, of.reason, of.revision = "running", None, of.revision + 1
                return Moved
        raise AssertionError(unit)

    def post(self, an_id: str, room: str, parent: str | None, root: str) -> type:
        self.messages.setdefault(an_id, (room, self.root(an_id, room, parent, root)))
        return Posted

    def root(self, an_id: str, room: str, parent: str | None, root: str) -> str:
        if parent is None:
            return an_id
        found = self.messages.get(parent)
        return found[1] if found and found[0] == room else root

    def admit(self, unit: Admit) -> type:
        run, message = unit.run, unit.message
        if run.id in self.runs:
            return Admitted
        if unit.key and (run.room, unit.key) in self.keys:
            return KeyTaken
        if run.parent and run.parent not in self.runs:
            return BadRun
        there = self.messages.get(run.trigger)
        if (there is None and message is None) or (there and there[0] != run.room):
            return NoSuchMessage
        if there is None and message is not None:
            there = (run.room, self.root(message.id, message.room, message.reply_to, message.thread_root_id))
        assert there is not None
        here = [each for each in self.runs.values() if each.room == run.room]
        same = [each for each in here if each.actor == run.actor]
        rivals = here if run.room == EXCLUSIVE else same
        if any(each.is_open and self.messages[each.trigger][1] == there[1] for each in rivals):
            return ThreadBusy
        if any(each.trigger == run.trigger for each in same):
            return BadRun
        self.messages.setdefault(run.trigger, there)
        self.runs[run.id] = Row(run.room, run.actor, run.trigger, run.parent)
        if unit.grant is not None:
            self.grant(run.id, unit.grant)
        if unit.key:
            self.keys[run.room, unit.key] = run.id
        return Admitted

    def end(self, unit: End) -> type:
        of = self.runs.get(unit.run_id)
        if of is None:
            return MoveRefused
        if unit.status not in MOVES[unit.found]:
            return BadRun
        if of.status != unit.found:
            return MoveRefused
        of.status, of.reason, of.revision = unit.status.value, unit.reason, of.revision + 1
        if of.status == "completed" and unit.run_id in self.lost:
            of.status, of.reason = "failed", "record-lost"
        of.cost = sum(cost for run_id, cost, _ in self.calls.values() if run_id == unit.run_id)
        if of.status != "waiting" and unit.run_id in self.wallets:
            left = self.wallets.pop(unit.run_id)
            self.put(self.source(unit.run_id), left)
        return Moved


def _outcome(fact: AttentionFact) -> dict[str, Any]:
    """What an applied fact has besides its decision."""
    return {"decision_id": fact.decision_id, "result_run_id": fact.result_run_id}
