"""The writer alone against a plain model: batches of units, now and then with an operation that fails."""

from __future__ import annotations

import dataclasses
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from dvergr_nb.errors import DvergrError
from dvergr_nb.ids import BootId
from dvergr_nb.records.attention import AttentionFact
from dvergr_nb.records.money import Grant
from dvergr_nb.records.operation import (
    Admit,
    Attend,
    Charge,
    End,
    Join,
    Leave,
    Post,
    Record,
    Resume,
    Unit,
)
from dvergr_nb.records.run import Reason, RunStatus
from tests.store.faults import Alone, alone, constraint
from tests.store.making import end, ids, message, now, pause, run, said
from tests.store.modelled import EXCLUSIVE, Model, Row
from tests.store.paying import BALANCES, charge, fund
from tests.store.taking_part import axes, join, leave, ready, room

ROOMS, ACTORS, KEYS = ("lab", "office"), ("ann", "bob"), ("k1", "k2")
MESSAGES = [ids.message() for _ in range(8)]
RUNS = [ids.run() for _ in range(6)]
FACTS = [ids.message() for _ in range(4)]
FUNDS = [ids.message() for _ in range(2)]
CALLS = [ids.message() for _ in range(4)]
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


def _admit(
    at: int, trigger: Post, actor: str, *, told: bool, key: str | None, parent: int | None, grant: Grant | None
) -> Admit:
    made = run(trigger.message, id=RUNS[at], actor=actor, parent=None if parent is None else RUNS[parent])
    return Admit(run=made, message=trigger.message if told else None, key=key, grant=grant)


def _record(at: int, room: str) -> Record:
    return said(run(message(room=room), id=RUNS[at]))


def _charge(at: int, room: str, call: int, cost: int) -> Charge:
    return charge(run(message(room=room), id=RUNS[at]), cost, id=CALLS[call])


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
grants = st.none() | st.builds(
    Grant, amount=st.integers(1, 300), mints=st.booleans(), takes_what_is_there=st.sampled_from([False, False, True])
)
units: st.SearchStrategy[Unit] = st.one_of(
    posts,
    st.builds(lambda actor, in_room, program: join(actor, room=in_room, program=program), actors, rooms, st.sampled_from("pq")),
    st.builds(lambda actor, in_room: leave(actor, room=in_room), actors, rooms),
    st.builds(lambda some: Attend(facts=tuple(some)), st.lists(facts, min_size=1, max_size=3)),
    st.builds(
        _admit, which, posts, actors, told=st.booleans(), key=st.none() | st.sampled_from(KEYS), parent=parents, grant=grants
    ),
    st.builds(_record, which, rooms),
    st.builds(_charge, which, rooms, st.integers(0, 3), st.integers(0, 200)),
    st.builds(lambda at: fund(250, ROOMS[at], id=FUNDS[at]), st.integers(0, 1)),
    st.builds(_end, which, ENDS),
    st.builds(_resume, which),
)
BEFORE: list[Unit] = [
    _post(0, 0, None, 0),
    _admit(5, _post(1, 0, None, 0), "bob", told=True, key=None, parent=None, grant=None),
]
batches = st.lists(
    st.tuples(st.lists(units, min_size=1, max_size=8), st.none() | st.tuples(st.integers(0, 12), st.booleans())),
    min_size=1,
    max_size=8,
)


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
    query = """
        SELECT CAST(id AS VARCHAR), room, actor, CAST("trigger" AS VARCHAR), CAST(parent AS VARCHAR), cost, status, reason,
            revision
        FROM dv.runs
    """
    found = one.rows(query)
    assert {row[0]: Row(*row[1:]) for row in found} == model.runs
    slots = {str(row[0]) for row in one.rows("SELECT CAST(run_id AS VARCHAR) FROM dv.open_slots WHERE run_id IS NOT NULL")}
    assert slots <= {an_id for an_id, row in model.runs.items() if row.is_open}
    paused = {an_id for an_id, row in model.runs.items() if row.status == "waiting" and row.is_open}
    assert {str(row[0]) for row in one.rows("SELECT CAST(run_id AS VARCHAR) FROM dv.envelopes")} == paused
    assert {
        (row[0], row[1]): str(row[2]) for row in one.rows("SELECT room, key, CAST(run_id AS VARCHAR) FROM dv.keys")
    } == model.keys
    assert set(one.writer.known.held.values()) == slots
    balances = {wallet: amount for wallet, amount in one.rows(BALANCES) if amount}
    for wallets in (model.wallets, one.writer.known.wallets):
        assert {wallet: amount for wallet, amount in wallets.items() if amount} == balances
    stays = one.rows("SELECT room, actor, program, left_at IS NULL FROM dv.members")
    assert sorted(stays) == sorted(model.stays)
    open_stays = sorted((*at_seat[1:], stay.program) for at_seat, stay in one.writer.known.stays.items())
    assert open_stays == sorted(stay[:3] for stay in model.stays if stay[3])
    assert {str(row[0]) for row in one.rows("SELECT CAST(id AS VARCHAR) FROM dv.attention")} == set(model.facts)
