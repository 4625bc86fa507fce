"""The writer alone against a plain model: batches of units, now and then with an operation that fails."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dvergr_nb.errors import BadAttention, BadMessage, BadRun, DvergrError, MoveRefused, NoSuchMessage, ThreadBusy
from dvergr_nb.ids import BootId
from dvergr_nb.records.attention import AttentionFact
from dvergr_nb.records.operation import (
    Admit,
    Admitted,
    Answer,
    Attend,
    Attended,
    End,
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
from dvergr_nb.records.run import MOVES, PAUSES, Reason, RunStatus
from tests.store.faults import Alone, alone, constraint
from tests.store.making import end, ids, message, now, pause, run, said
from tests.store.taking_part import axes, join, leave, ready, room

ROOMS, ACTORS, KEYS = ("lab", "office"), ("ann", "bob"), ("k1", "k2")
EXCLUSIVE = "office"
MESSAGES = [ids.message() for _ in range(8)]
RUNS = [ids.run() for _ in range(6)]
FACTS = [ids.message() for _ in range(4)]
MADE_AT = now()
places = st.integers(0, 7)
which = st.integers(0, 5)
rooms, actors = st.sampled_from(ROOMS), st.sampled_from(ACTORS)
ENDS = st.sampled_from(["completed", "failed", "cancelled", "paused", "stopped", "running", "cancel the waiting"])


def _home(at: int, twist: int = 0) -> str:
    """The room of a message; with a twist the other one."""
    return ROOMS[(at + twist) % 2]


def _post(at: int, twist: int, parent: int | None, root: int) -> Post:
    facts: dict[str, Any] = {} if parent is None else {"reply_to": MESSAGES[parent], "thread_root_id": MESSAGES[root]}
    return Post(message=message(**({"id": MESSAGES[at], "room": _home(at, twist)} | facts)))


def _admit(at: int, trigger: Post, actor: str, *, told: bool, key: str | None, parent: int | None) -> Admit:
    made = run(trigger.message, id=RUNS[at], actor=actor, parent=None if parent is None else RUNS[parent])
    return Admit(run=made, message=trigger.message if told else None, key=key)


def _record(at: int, room: str) -> Record:
    return said(run(message(room=room), id=RUNS[at]))


def _end(at: int, how: str) -> End:
    of = run(message(), id=RUNS[at])
    match how:
        case "paused":
            return pause(of)
        case "stopped":
            return end(of, RunStatus.WAITING, reason=Reason.BUDGET_EXHAUSTED.value)
        case "cancel the waiting":
            return end(of, RunStatus.CANCELLED, found=RunStatus.WAITING, reason="cancel-requested")
        case _:
            return end(of, RunStatus(how))


def _fact(at: int, status: str | None, run_at: int, twists: tuple[int, int, int]) -> AttentionFact:
    """The first two facts are decisions, the other two carry them out, unless told otherwise or twisted."""
    pair, (twist, another, one_more) = at % 2, twists
    status = status or ("ready" if at < 2 else "applied")
    is_applied, is_enqueue = status == "applied", bool((pair + one_more) % 2)
    return ready(
        message(id=MESSAGES[pair], room=_home(pair, twist)),
        ACTORS[(pair + another) % 2],
        id=FACTS[at],
        status=status,
        decision=axes(activation="enqueue") if is_enqueue else axes(),
        decision_id=FACTS[pair] if is_applied else None,
        result_run_id=RUNS[run_at] if is_applied and is_enqueue else None,
        created_at=MADE_AT,
    )


def _resume(at: int) -> Resume:
    return Resume(run_id=RUNS[at], tenant_id="t", boot_id=BootId("boot-2"), at=now())


twists = st.sampled_from([0] * 11 + [1])
posts = st.builds(_post, places, twists, st.none() | places, places)
facts = st.builds(
    _fact,
    st.integers(0, 3),
    st.sampled_from([None] * 6 + ["ready", "applied", "deferred"]),
    st.sampled_from([0, 5]),
    st.tuples(twists, twists, twists),
)
parents = st.sampled_from([None] * 6 + [0, 1, 2])
units: st.SearchStrategy[Unit] = st.one_of(
    posts,
    st.builds(lambda actor, in_room, program: join(actor, room=in_room, program=program), actors, rooms, st.sampled_from("pq")),
    st.builds(lambda actor, in_room: leave(actor, room=in_room), actors, rooms),
    st.builds(lambda some: Attend(facts=tuple(some)), st.lists(facts, min_size=1, max_size=3)),
    st.builds(_admit, which, posts, actors, told=st.booleans(), key=st.none() | st.sampled_from(KEYS), parent=parents),
    st.builds(_record, which, rooms),
    st.builds(_end, which, ENDS),
    st.builds(_resume, which),
)
BEFORE: list[Unit] = [_post(0, 0, None, 0), _admit(5, _post(1, 0, None, 0), "bob", told=True, key=None, parent=None)]
batches = st.lists(
    st.tuples(st.lists(units, min_size=1, max_size=8), st.none() | st.tuples(st.integers(0, 12), st.booleans())),
    min_size=1,
    max_size=8,
)


@dataclass
class Row:
    """A Run as the model has it."""

    room: str
    actor: str
    trigger: str
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

    def apply(self, unit: Unit) -> Answer | type:
        """What the unit is answered with, or of what class the answer is."""
        match unit:
            case Join(member=member):
                return self.join(member.room, member.actor, member.program)
            case Leave(room=room, actor=actor):
                return self.leave(room, actor)
            case Attend(facts=facts):
                return self.attend(facts)
            case _:
                return self.move(unit)

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
        self.runs[run.id] = Row(run.room, run.actor, run.trigger)
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
        return Moved


def _outcome(fact: AttentionFact) -> dict[str, Any]:
    """What an applied fact has besides its decision."""
    return {"decision_id": fact.decision_id, "result_run_id": fact.result_run_id}


@settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)
@given(batches)
def test_batches_do_what_a_plain_model_does_one_by_one_whatever_fails_once(
    sequence: list[tuple[list[Unit], tuple[int, bool] | None]],
) -> None:
    model = Model()
    with alone() as one:
        one.together([room(EXCLUSIVE, exclusive_threads=True)])
        for unit in BEFORE:
            one.together([unit])
            model.apply(unit)
        for batch, fault in sequence:
            fresh = [_as_of_now(unit) for unit in batch]
            _fail_once(one, fault)
            answers = one.together(fresh)
            expected = [model.apply(unit) for unit in fresh]
            found = [type(a) if isinstance(wanted, type) else a for a, wanted in zip(answers, expected, strict=True)]
            assert found == expected, [str(a) for a in answers if isinstance(a, DvergrError)]
        _compare(one, model)


def _as_of_now(unit: Unit) -> Unit:
    """Ends and resumptions of examples are made once; each submission is to be an act of its own."""
    if isinstance(unit, End | Resume | Leave):
        return dataclasses.replace(unit, at=now())
    if isinstance(unit, Join):
        return Join(member=dataclasses.replace(unit.member, joined_at=now()))
    if isinstance(unit, Record):
        return Record(message=dataclasses.replace(unit.message, id=ids.message()))
    return unit


def _fail_once(one: Alone, fault: tuple[int, bool] | None) -> None:
    one.faulty.seen.clear()
    one.faulty.has_failed = False
    place = fault[0] if fault else -1
    left = [1]

    def refuse(at: int, *_: object) -> Exception | None:
        if at != place or not left or one.faulty.has_failed:
            return None
        left.clear()
        return constraint()

    one.faulty.refuse = refuse


def _compare(one: Alone, model: Model) -> None:
    query = "SELECT CAST(id AS VARCHAR), room, CAST(thread_root_id AS VARCHAR) FROM dv.messages WHERE recipient IS NULL"
    known = {an_id: place for an_id, place in model.messages.items() if an_id in MESSAGES}
    assert {row[0]: row[1:] for row in one.rows(query)} == known
    found = one.rows(
        'SELECT CAST(id AS VARCHAR), room, actor, CAST("trigger" AS VARCHAR), status, reason, revision FROM dv.runs'
    )
    assert {row[0]: Row(*row[1:]) for row in found} == model.runs
    slots = {str(row[0]) for row in one.rows("SELECT CAST(run_id AS VARCHAR) FROM dv.open_slots WHERE run_id IS NOT NULL")}
    assert slots <= {an_id for an_id, row in model.runs.items() if row.is_open}
    paused = {an_id for an_id, row in model.runs.items() if row.status == "waiting" and row.is_open}
    assert {str(row[0]) for row in one.rows("SELECT CAST(run_id AS VARCHAR) FROM dv.envelopes")} == paused
    assert {
        (row[0], row[1]): str(row[2]) for row in one.rows("SELECT room, key, CAST(run_id AS VARCHAR) FROM dv.keys")
    } == model.keys
    assert set(one.writer.known.held.values()) == slots
    stays = one.rows("SELECT room, actor, program, left_at IS NULL FROM dv.members")
    assert sorted(stays) == sorted(model.stays)
    open_stays = sorted((*at_seat[1:], stay.program) for at_seat, stay in one.writer.known.stays.items())
    assert open_stays == sorted(stay[:3] for stay in model.stays if stay[3])
    assert {str(row[0]) for row in one.rows("SELECT CAST(id AS VARCHAR) FROM dv.attention")} == set(model.facts)
