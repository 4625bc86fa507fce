"""The writer alone, with a failure in every operation of a folded batch."""

from __future__ import annotations

import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dvergr_nb.errors import DvergrError, StoreFailed
from dvergr_nb.ids import BootId
from dvergr_nb.records.message import Fact
from dvergr_nb.records.operation import (
    Admit,
    Admitted,
    Attend,
    Cause,
    Charge,
    Cite,
    Define,
    End,
    Fund,
    Join,
    Keep,
    Leave,
    Left,
    Moved,
    OpenRoom,
    Post,
    Posted,
    Record,
    Resume,
    Unit,
)
from dvergr_nb.records.profile import Profile
from dvergr_nb.records.room import Member, Room
from dvergr_nb.records.run import RunStatus
from dvergr_nb.store.connect import Instance
from tests.store.faults import Alone, alone, constraint, fatal, full
from tests.store.making import BOOT, admit, end, message, message_id, now, pause, reply, run, said
from tests.store.paying import BALANCES, charge, fund, paid
from tests.store.taking_part import attend, join, leave, ready
from tests.store.test_tool_uses import citation, use


class Everything:
    """Units that together touch every table, and those that must be stored before them."""

    def __init__(self) -> None:
        self.root = message()
        self.paused, self.cause, self.noting = admit(reply(self.root)), admit(), admit()
        self.pausing, self.spending = admit(), paid(500, mints=True)
        self.ending = paid(300, mints=True)
        self.waiting = pause(self.paused.run)
        self.before: list[Unit] = [Post(message=self.root), self.paused, self.ending, self.cause, self.noting, self.pausing]
        self.before.append(self.spending)
        self.before_too: list[Unit] = [self.waiting, end(self.cause.run), join("old")]
        fact = Fact(id=message_id(), run_id=self.ending.run.id, kind="tool", verb="invoke", tool_name="grep")
        other = message(room="another")
        self.units: dict[str, Unit] = {
            "room": OpenRoom(room=Room(tenant_id="t", name="lab", title="Lab", created_at=now())),
            "post": Post(message=other),
            "post too": Post(message=message()),
            "record": said(self.ending.run, facts=(fact,)),
            "record too": said(self.ending.run),
            "admit": admit(key="k"),
            "admit too": Admit(run=run(self.root, actor="second")),
            "admit reply": admit(reply(self.root), actor="third"),
            "end": end(self.ending.run, messages=(said(self.ending.run).message,)),
            "pause": pause(self.pausing.run),
            "resume": Resume(run_id=self.paused.run.id, tenant_id="t", boot_id=BootId("boot-2"), at=now()),
            "join": join("new"),
            "leave": leave("old"),
            "attend": attend(ready(self.root)),
            "cause": Cause(run_id=self.noting.run.id, cause_id=self.cause.run.id, tenant_id="t", at=now()),
            "define": Define(tenant_id="t", user_id="u", profile=Profile(id="critic", model="m"), at=now()),
            "fund": fund(100),
            "admit paid": paid(150, mints=True),
            "charge": charge(self.spending.run, 50),
            "charge too": charge(self.spending.run, None),
            "keep": Keep(uses=(use(self.spending.run),)),
            "cite": Cite(citations=(citation(self.spending.run, "chunk"),)),
        }

    def prepare(self, one: Alone) -> None:
        for units in (self.before, self.before_too):
            assert not [answer for answer in one.together(units) if isinstance(answer, DvergrError)]
        one.faulty.seen.clear()


def operations() -> list[str]:
    with alone() as one:
        all_of_it = Everything()
        all_of_it.prepare(one)
        one.together(list(all_of_it.units.values()))
        return one.faulty.seen


SEEN = operations()


def test_a_batch_that_touches_every_table_is_one_transaction() -> None:
    assert SEEN.count("BEGIN TRANSACTION") == SEEN.count("COMMIT") == 1
    assert len(SEEN) >= 10


@pytest.mark.parametrize("place", range(len(SEEN)), ids=[f"{n}-{text}" for n, text in enumerate(SEEN)])
def test_an_operation_that_fails_once_costs_nobody_anything(place: int) -> None:
    with alone() as one:
        all_of_it = Everything()
        all_of_it.prepare(one)
        one.faulty.refuse = lambda at, *_: constraint() if at == place else None
        answers = one.together(list(all_of_it.units.values()))
        assert not [answer for answer in answers if isinstance(answer, DvergrError)]
        assert one.rows("SELECT count(*), count(DISTINCT id) FROM dv.messages") == [(15, 15)]
        assert one.rows("SELECT count(*) FROM dv.runs WHERE status = 'running'") == [(7,)]
        for table in ("activities", "keys", "attention", "profiles", "tool_uses", "citations"):
            assert one.rows(f"SELECT count(*) FROM dv.{table}") == [(1,)]  # noqa: S608 - names of our own tables
        assert sum(amount for _, amount in one.rows(BALANCES)) == 500 + 300 + 100 - 50
        assert sum(one.writer.known.wallets.values()) == 850
        assert one.rows("SELECT actor, left_at IS NULL FROM dv.members ORDER BY actor") == [("new", True), ("old", False)]


@pytest.mark.parametrize("name", list(Everything().units))
def test_a_unit_that_cannot_be_stored_fails_alone(name: str) -> None:
    with alone() as one:
        all_of_it = Everything()
        all_of_it.prepare(one)
        guilty = _mark_of(all_of_it.units[name])
        one.faulty.refuse = lambda _, text, values: constraint() if _holds(values, guilty) and _writes(text) else None
        answers = dict(zip(all_of_it.units, one.together(list(all_of_it.units.values())), strict=True))
        failed = {each for each, answer in answers.items() if isinstance(answer, StoreFailed)}
        assert failed == {name}
        assert len([answer for answer in answers.values() if not isinstance(answer, DvergrError)]) == len(answers) - 1


def _writes(text: str) -> bool:
    return text.lstrip().startswith(("INSERT", "UPDATE", "APPEND"))


def _holds(values: Any, guilty: str) -> bool:
    flat = [inner for value in values or () for inner in (value if isinstance(value, list) else [value])]
    return guilty in flat


def _mark_of(unit: Unit) -> str:
    """A value that only this unit writes."""
    match unit:
        case OpenRoom(room=room):
            return room.title
        case Join(member=Member(actor=actor)) | Leave(actor=actor):
            return actor
        case Attend(facts=facts):
            return facts[0].id
        case Post(message=message) | Record(message=message):
            return message.id
        case Admit(run=run):
            return run.id
        case End(messages=(first, *_)):
            return first.id
        case End(run_id=run_id) | Resume(run_id=run_id) | Cause(run_id=run_id):
            return run_id
        case _:
            return _mark_of_agents(unit)


def _mark_of_agents(unit: Unit) -> str:
    match unit:
        case Define(profile=profile):
            return profile.id
        case Fund(id=an_id):
            return an_id
        case Charge(spend=spend):
            return spend.id
        case Keep(uses=uses):
            return uses[0].id
        case Cite(citations=citations):
            return citations[0].chunk_id
    raise AssertionError(unit)


def test_a_lost_line_makes_the_end_that_was_to_be_completed_a_failure() -> None:
    with alone() as one:
        unit = admit()
        lines = [said(unit.run, f"line {n}") for n in range(3)]
        one.together([unit])
        one.faulty.refuse = lambda _, text, values: constraint() if _holds(values, lines[1].message.id) else None
        answers = one.together([*lines, end(unit.run)])
        assert [type(answer) for answer in answers] == [Posted, StoreFailed, Posted, Moved]
        ended = answers[3]
        assert isinstance(ended, Moved)
        assert (ended.run.status, ended.run.reason) == (RunStatus.FAILED, "record-lost")
        assert "injected" in (ended.run.error or "")
        assert one.rows("SELECT status, reason FROM dv.runs") == [("failed", "record-lost")]


@pytest.mark.parametrize(
    ("place", "kind"),
    [pytest.param(n, fatal, id=f"{n}-{text}") for n, text in enumerate(SEEN)]
    + [pytest.param(len(SEEN) - 1, full, id="disk full at COMMIT")],
)
def test_after_a_fatal_error_all_is_opened_again_and_sent_again(
    tmp_path: Path, place: int, kind: Callable[[], Exception]
) -> None:
    with alone(Instance(tmp_path / "a.duckdb", "t")) as one:
        all_of_it = Everything()
        all_of_it.prepare(one)
        one.faulty.refuse = lambda at, *_: kind() if at == place else None
        answers = one.together(list(all_of_it.units.values()))
        assert not [answer for answer in answers if isinstance(answer, DvergrError)]
        assert one.writer.counts.reopened == 1
        assert one.rows("SELECT count(*), count(DISTINCT id) FROM dv.messages") == [(15, 15)]


def test_units_whose_commit_came_through_before_the_fatal_error_are_answered_as_if_new(tmp_path: Path) -> None:
    with alone(Instance(tmp_path / "a.duckdb", "t")) as one:
        all_of_it = Everything()
        all_of_it.prepare(one)
        real = one.faulty.con

        def commits_and_dies(_: int, text: str, __: object) -> Exception | None:
            if text != "COMMIT":
                return None
            real.execute("COMMIT")
            return fatal()

        one.faulty.refuse = commits_and_dies
        answers = dict(zip(all_of_it.units, one.together(list(all_of_it.units.values())), strict=True))
        assert not [answer for answer in answers.values() if isinstance(answer, DvergrError)]
        resumed = answers["resume"]
        assert isinstance(resumed, Moved)
        assert resumed.run.status is RunStatus.RUNNING
        assert answers["leave"] == Left(was_there=True)
        assert one.rows("SELECT actor, left_at IS NULL FROM dv.members ORDER BY actor") == [("new", True), ("old", False)]
        assert one.rows("SELECT count(*), count(DISTINCT id) FROM dv.messages") == [(15, 15)]


def test_while_the_store_cannot_be_opened_every_unit_fails_soon_and_later_ones_are_tried(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "a.duckdb"
    with caplog.at_level(logging.ERROR), alone(Instance(path, "t")) as one:
        kept = message()
        assert isinstance(one.together([Post(message=kept)])[0], Posted)
        one.faulty.refuse = lambda *_: full()
        aside = tmp_path / "aside"
        one.writer.errand(lambda _: path.rename(aside)).result(30)
        path.mkdir()
        answers = one.together([Post(message=message()) for _ in range(200)])
        assert all(isinstance(answer, StoreFailed | DvergrError) for answer in answers)
        path.rmdir()
        aside.rename(path)
        assert isinstance(one.together([Post(message=message())])[0], Posted)
        assert one.rows("SELECT count(*) FROM dv.messages") == [(2,)]


def test_a_move_that_hits_no_row_takes_its_whole_transaction_back() -> None:
    with alone() as one:
        unit, neighbour = admit(), message()
        one.together([unit])
        one.rows("UPDATE dv.runs SET revision = 7 RETURNING 1")
        output = said(unit.run).message
        answers = one.together([Post(message=neighbour), end(unit.run, messages=(output,))])
        assert isinstance(answers[0], Posted)
        assert isinstance(answers[1], Moved)
        assert answers[1].run.revision == 8
        one.rows("UPDATE dv.runs SET status = 'failed', revision = 9 RETURNING 1")
        assert one.rows("SELECT count(*) FROM dv.messages") == [(3,)]


def test_two_moves_of_one_run_never_share_a_transaction() -> None:
    with alone() as one:
        unit = admit()
        one.faulty.seen.clear()
        cancelled = end(unit.run, RunStatus.CANCELLED, found=RunStatus.WAITING, reason="cancel-requested")
        resume = Resume(run_id=unit.run.id, tenant_id="t", boot_id=BOOT, at=now())
        answers = one.together([unit, pause(unit.run), resume, pause(unit.run, "again"), cancelled])
        assert [type(answer) for answer in answers] == [Admitted, Moved, Moved, Moved, Moved]
        assert one.faulty.seen.count("COMMIT") == 5
        assert one.rows("SELECT status, revision FROM dv.runs") == [("cancelled", 4)]
        assert one.rows("SELECT count(*) FROM dv.envelopes") == [(0,)]
