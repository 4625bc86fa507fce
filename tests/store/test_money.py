"""Wallets: who is given what, what a call takes, and where the rest goes. Nothing is lost and nothing made."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dvergr_nb.errors import BadInput, BadMessage, ThreadBusy
from dvergr_nb.ids import BootId
from dvergr_nb.records.money import Grant, Usage, grant_id, mint_id, return_id, room_wallet
from dvergr_nb.records.operation import Charged, Funded, KeyTaken, Unit
from dvergr_nb.records.run import Reason, RunStatus
from dvergr_nb.store import frames
from dvergr_nb.store.connect import Instance
from dvergr_nb.store.store import Store
from tests.store.faults import alone, fatal
from tests.store.making import admit, done, end, ids, message, opened, outcome, pause, reply, run, said, together
from tests.store.paying import BALANCES, MAIN, charge, check_conserved, fund, paid


@pytest.fixture
def store() -> Iterator[Store]:
    """A store in memory, whose money is counted at the end of every test."""
    made = opened()
    yield made
    check_conserved(made)
    made.close()


# Rooms ---------------------------------------------------------------------------------------------------------------------


def test_a_room_that_is_funded_holds_the_money_and_is_made_where_it_is_new(store: Store) -> None:
    unit = fund(700, "lab")
    assert done(store, unit) == Funded(balances={room_wallet("t", "lab"): 700})
    assert [each.name for each in store.rooms()] == ["lab"]
    assert store.balance(room_wallet("t", "lab")) == 700


def test_funding_that_is_sent_twice_mints_once_alone_and_in_one_batch(store: Store) -> None:
    unit = fund(700)
    assert done(store, unit) == done(store, unit) == Funded(balances={MAIN: 700})
    other = fund(5)
    assert together(store, [other, other])[1] == Funded(balances={MAIN: 705})


@pytest.mark.parametrize("amount", [0, -1, 10**12 + 1, True, 1.5, "5"])
def test_an_amount_that_is_none_is_refused_before_there_is_a_room(store: Store, amount: Any) -> None:
    with pytest.raises(BadInput, match="whole number of micro-dollars from 1 to"):
        done(store, fund(amount))
    assert store.rooms() == []


def test_the_id_of_another_transfer_funds_nothing(store: Store) -> None:
    unit = fund(700)
    done(store, unit)
    with pytest.raises(BadInput, match="is that of another transfer"):
        done(store, fund(700, "lab", id=unit.id))
    with pytest.raises(BadInput, match="is a UUID"):
        done(store, fund(700, id="mine"))


# Grants --------------------------------------------------------------------------------------------------------------------


def test_a_run_is_given_a_wallet_from_its_room(store: Store) -> None:
    done(store, fund(700))
    unit = paid(500)
    answer = done(store, unit)
    assert (answer.balances, answer.lacking) == ({MAIN: 200, unit.run.id: 500}, None)
    assert store.balance(unit.run.id) == 500


def test_what_the_room_lacks_is_minted_for_a_person_in_their_name_and_no_more(store: Store) -> None:
    done(store, fund(200, user_id="boss"))
    unit = paid(500, mints=True, user_id="ann")
    assert done(store, unit).balances == {MAIN: 0, unit.run.id: 500}
    minted = frames.ledger(store)
    minted = minted[minted["kind"] == "mint"]
    assert sorted(zip(minted["user_id"], minted["amount_usd"], strict=True)) == [("ann", 0.0003), ("boss", 0.0002)]
    assert mint_id(unit.run.id) in set(minted["id"])


def test_a_run_whose_grant_cannot_be_paid_is_admitted_without_a_wallet_and_the_answer_says_what_there_was(store: Store) -> None:
    done(store, fund(200))
    unit = paid(500)
    answer = done(store, unit)
    assert (answer.balances, answer.lacking) == ({}, 200)
    assert store.run(unit.run.id) == unit.run
    assert done(store, charge(unit.run, 50)) == Charged(inserted=True, taken=0)
    assert store.balance(MAIN) == 200


def test_a_run_that_takes_what_is_there_gets_that(store: Store) -> None:
    unit = paid(500, takes_what_is_there=True)
    assert done(store, unit).lacking == 0
    done(store, fund(200))
    unit = paid(500, takes_what_is_there=True)
    assert done(store, unit).balances == {MAIN: 0, unit.run.id: 200}


def test_a_child_is_paid_by_its_parent_which_is_never_filled_up(store: Store) -> None:
    parent = paid(500, mints=True)
    child, greedy = paid(300, parent=parent.run.id), paid(300, parent=parent.run.id, mints=True)
    done(store, parent)
    assert done(store, child).balances == {parent.run.id: 200, child.run.id: 300}
    assert done(store, greedy).lacking == 200
    assert store.balance(MAIN) == 0


def test_a_child_of_a_waiting_parent_is_paid_by_it_also_after_the_store_was_opened_again(tmp_store_path: Path) -> None:
    store = opened(tmp_store_path)
    parent = paid(500, mints=True)
    done(store, parent)
    done(store, end(parent.run, RunStatus.WAITING, reason="budget-exhausted"))
    store.close()
    store = opened(tmp_store_path, boot_id=BootId("boot-2"))
    child = paid(300, parent=parent.run.id)
    assert done(store, child).balances == {parent.run.id: 200, child.run.id: 300}
    assert done(store, end(child.run)).balances == {child.run.id: 0, parent.run.id: 500}
    check_conserved(store)
    store.close()


def test_a_child_of_a_run_without_a_wallet_or_of_one_that_has_ended_is_paid_by_the_room(store: Store) -> None:
    poor, over = admit(), paid(100, mints=True)
    together(store, [poor, over])
    done(store, end(over.run))
    done(store, fund(500))
    for parent, left in ((poor, 500), (over, 400)):
        child = paid(100, parent=parent.run.id)
        assert done(store, child).balances == {MAIN: left, child.run.id: 100}


def test_an_admission_that_is_sent_again_gives_no_second_grant_and_the_same_answer(store: Store) -> None:
    unit = paid(500, mints=True)
    first = done(store, unit)
    assert done(store, unit) == first
    done(store, end(unit.run))
    assert done(store, unit).balances == {MAIN: 500, unit.run.id: 0}
    poor = paid(600)
    assert done(store, poor).lacking == done(store, poor).lacking == 500


def test_a_key_that_is_taken_grants_nothing(store: Store) -> None:
    first = dataclasses.replace(paid(500, mints=True), key="k")
    second = dataclasses.replace(paid(300, mints=True), key="k")
    done(store, first)
    assert isinstance(done(store, second), KeyTaken)
    assert store.balance(MAIN) == store.balance(second.run.id) == 0


def test_an_admission_that_is_refused_mints_nothing(store: Store) -> None:
    first = paid(500, mints=True)
    done(store, first)
    assert first.message is not None
    answer = reply(first.message)
    busy = dataclasses.replace(admit(answer, actor=first.run.actor), grant=Grant(amount=70, mints=True))
    with pytest.raises(ThreadBusy):
        done(store, busy)
    with pytest.raises(BadInput, match="a grant is a whole number of micro-dollars"):
        done(store, paid(10**12 + 1, mints=True))
    assert store.balance(MAIN) == 0


# Calls ---------------------------------------------------------------------------------------------------------------------


def test_a_call_takes_what_it_cost_as_far_as_the_wallet_reaches_and_the_rest_is_overrun(store: Store) -> None:
    unit = paid(500, mints=True)
    done(store, unit)
    assert done(store, charge(unit.run, 400)) == Charged(inserted=True, taken=400, balances={unit.run.id: 100})
    assert done(store, charge(unit.run, 150)) == Charged(inserted=True, taken=100, balances={unit.run.id: 0})
    assert done(store, charge(unit.run, 1)) == Charged(inserted=True, taken=0, balances={unit.run.id: 0})
    row = done(store, end(unit.run)).run
    assert (row.cost, row.unpriced) == (551, 0)
    assert list(frames.ledger(store, run=unit.run.id).query("kind == 'consume'")["overrun_usd"]) == [0, 5e-05, 1e-06]


def test_a_call_without_a_price_takes_nothing_and_is_counted(store: Store) -> None:
    unit = paid(500, mints=True)
    free = charge(unit.run, None, usage={"is_measured": False, "outcome": "cancelled"})
    together(store, [unit, free, charge(unit.run, 0), charge(unit.run, 20)])
    row = done(store, end(unit.run)).run
    assert (row.cost, row.unpriced) == (20, 1)
    assert store.run(unit.run.id) == row
    assert [each.usage.cost for each in store.spends(unit.run.id)] == [None, 0, 20]


def test_a_charge_is_read_again_as_it_was_noted(store: Store) -> None:
    unit = admit()
    usage = Usage(
        model="m",
        answered_as="m-2026",
        provider="p",
        input_tokens=7,
        output_tokens=5,
        cache_read_tokens=3,
        cache_write_tokens=2,
        cost=11,
        is_measured=False,
        outcome="cut",
    )
    noted = charge(unit.run, 0, round=4)
    noted = dataclasses.replace(noted, spend=dataclasses.replace(noted.spend, usage=usage))
    together(store, [unit, noted])
    assert store.spends(unit.run.id) == [noted.spend]
    assert (store.spent("main", "researcher"), store.spent("main", "ann"), store.spent("lab", "researcher")) == (11, 0, 0)


def test_a_charge_that_is_sent_twice_is_paid_once(store: Store) -> None:
    unit = paid(500, mints=True)
    call = charge(unit.run, 100)
    answers = together(store, [unit, call, call])
    assert answers[2] == dataclasses.replace(done(store, call), inserted=False)
    assert done(store, call) == Charged(inserted=False, taken=100, balances={unit.run.id: 400})
    assert done(store, end(unit.run)).run.cost == 100
    assert done(store, call) == Charged(inserted=False, taken=100)


def test_a_charge_of_a_run_that_has_ended_is_noted_and_takes_nothing(store: Store) -> None:
    unit = paid(500, mints=True)
    together(store, [unit, end(unit.run)])
    assert done(store, charge(unit.run, 100)) == Charged(inserted=True, taken=0)
    assert store.balance(MAIN) == 500
    assert len(store.spends(unit.run.id)) == 1


@pytest.mark.parametrize("wrong", ["room", "tenant_id", "run_id"])
def test_a_charge_that_belongs_elsewhere_is_refused_and_its_run_does_not_end_as_if_all_were_on_record(
    store: Store, wrong: str
) -> None:
    unit = paid(500, mints=True)
    done(store, unit)
    with pytest.raises(BadMessage, match="which is not in room"):
        done(store, charge(unit.run, 100, **{wrong: ids.run() if wrong == "run_id" else "other"}))
    row = done(store, end(unit.run)).run
    is_lost = wrong != "run_id"
    assert (row.status, row.reason) == ((RunStatus.FAILED, Reason.RECORD_LOST) if is_lost else (RunStatus.COMPLETED, None))
    assert store.balance(MAIN) == 500


def test_a_call_of_absurd_size_is_refused_and_the_run_can_still_end(store: Store) -> None:
    unit = paid(500, mints=True)
    done(store, unit)
    for name in ("cost", "input_tokens"):
        with pytest.raises(BadInput, match=f"{name} of a call is at most"):
            done(store, charge(unit.run, 1, usage={name: 10**30}))
    assert done(store, end(unit.run)).run.reason == Reason.RECORD_LOST


def test_the_id_of_another_call_is_refused(store: Store) -> None:
    one, other = paid(500, mints=True), paid(500, mints=True)
    call = charge(one.run, 100)
    together(store, [one, other, call])
    with pytest.raises(BadInput, match="is that of another call"):
        done(store, charge(other.run, 100, id=call.spend.id))


def test_hostile_text_of_a_provider_is_mended_and_cut(store: Store) -> None:
    unit = admit()
    done(store, unit)
    done(store, charge(unit.run, 1, usage={"answered_as": "a\0b\ud800" * 1000}))
    named = store.spends(unit.run.id)[0].usage.answered_as
    assert named is not None
    assert named.startswith("a\ufffdb\ufffd")
    assert len(named) == 200


# Ends ----------------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("status", [RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELLED])
def test_a_run_that_ends_gives_back_what_is_left(store: Store, status: RunStatus) -> None:
    unit = paid(500, mints=True)
    together(store, [unit, charge(unit.run, 100)])
    over = end(unit.run, status)
    answer = done(store, over)
    assert answer.balances == {unit.run.id: 0, MAIN: 400}
    assert done(store, over) == answer
    assert return_id(unit.run.id) in set(frames.ledger(store)["id"])


def test_a_child_gives_back_to_its_parent_while_that_is_open_and_else_to_the_room(store: Store) -> None:
    parent = paid(500, mints=True)
    first, second, third = (paid(100, parent=parent.run.id) for _ in range(3))
    together(store, [parent, first, second, third])
    assert done(store, end(first.run)).balances == {first.run.id: 0, parent.run.id: 300}
    together(store, [end(parent.run), end(second.run)])
    assert store.balance(MAIN) == 400
    assert done(store, end(third.run)).balances == {third.run.id: 0, MAIN: 500}


def test_a_waiting_run_keeps_its_wallet_and_gives_it_back_when_it_is_cancelled(store: Store) -> None:
    for stop in (pause, lambda of: end(of, RunStatus.WAITING, reason="budget-exhausted")):
        unit = paid(500, mints=True)
        together(store, [unit, charge(unit.run, 100)])
        answer = done(store, stop(unit.run))
        assert answer.balances == {}
        assert answer.run.cost == 100
        assert done(store, charge(unit.run, 50)).balances == {unit.run.id: 350}
        answer = done(store, end(unit.run, RunStatus.CANCELLED, found=RunStatus.WAITING))
        assert answer.balances[unit.run.id] == 0
        assert answer.run.cost == 150


def test_a_run_that_has_spent_all_gives_nothing_back(store: Store) -> None:
    unit = paid(500, mints=True)
    together(store, [unit, charge(unit.run, 500)])
    over = end(unit.run)
    assert done(store, over).balances == done(store, over).balances == {}


def test_an_end_that_is_refused_moves_no_money(store: Store) -> None:
    unit = paid(500, mints=True)
    done(store, unit)
    with pytest.raises(BadMessage):
        done(store, end(unit.run, messages=(message(room="elsewhere"),)))
    assert store.balance(unit.run.id) == 500


def test_orphans_give_back_what_they_had_and_say_what_they_spent(tmp_store_path: Path) -> None:
    store = opened(tmp_store_path)
    waiting = paid(1000, mints=True)
    of_waiting, grand = paid(400, parent=waiting.run.id), None
    done(store, waiting)
    done(store, of_waiting)
    grand = paid(300, parent=of_waiting.run.id)
    done(store, grand)
    done(store, end(waiting.run, RunStatus.WAITING, reason="budget-exhausted"))
    together(store, [charge(grand.run, 50), charge(grand.run, None), charge(of_waiting.run, 500)])
    _killed(store)
    store = opened(tmp_store_path, boot_id=BootId("boot-2"))
    assert len(store.orphaned) == 2
    rows = {each: store.run(each) for each in store.orphaned}
    assert {each: row and (row.cost, row.unpriced) for each, row in rows.items()} == {
        grand.run.id: (50, 1),
        of_waiting.run.id: (500, 0),
    }
    assert (store.balance(waiting.run.id), store.balance(MAIN)) == (600, 250)
    assert store.balance(grand.run.id) == store.balance(of_waiting.run.id) == 0
    check_conserved(store)
    store.close()


def _killed(store: Store) -> None:
    """Lets go of the file as a process does that is killed: nothing is ended."""
    store._ended = lambda pen: pen.drop()  # type: ignore[method-assign]
    store.close()


def test_runs_of_other_lives_that_are_failed_later_give_back_to_parents_of_this_life(store: Store) -> None:
    mine = paid(1000, mints=True)
    theirs = paid(400, parent=mine.run.id, boot_id=BootId("another"))
    together(store, [mine, theirs, charge(theirs.run, 100)])
    assert store.reconcile() == 1
    assert store.balance(mine.run.id) == 900
    assert done(store, end(mine.run)).balances == {mine.run.id: 0, MAIN: 900}


# Failures ------------------------------------------------------------------------------------------------------------------


def test_units_whose_answer_was_lost_move_money_once_and_are_answered_the_same(tmp_store_path: Path) -> None:
    tmp_store_path.parent.mkdir()
    given = paid(500, mints=True)
    units: list[Unit] = [fund(100), given, charge(given.run, 40)]
    with alone(Instance(tmp_store_path, "t")) as one:
        failed: list[str] = []

        def refuse(_: int, text: str, __: Any) -> Exception | None:
            if text == "COMMIT" and not failed:
                failed.append(text)
                one.faulty.con.execute("COMMIT")  # it is durable, and the answer is lost
                return fatal()
            return None

        one.faulty.refuse = refuse
        answers = one.together(units)
        assert failed
        assert [getattr(answer, "balances", answer) for answer in answers] == [
            {MAIN: 0},
            {MAIN: 0, given.run.id: 460},
            {given.run.id: 460},
        ]
        assert one.rows("SELECT kind, CAST(sum(amount) AS BIGINT) FROM dv.transfers GROUP BY kind ORDER BY kind") == [
            ("consume", 40),
            ("grant", 500),
            ("mint", 500),
        ]
        over = end(given.run)
        failed.clear()
        (moved,) = one.together([over])
        assert getattr(moved, "balances", moved) == {given.run.id: 0, MAIN: 460}
        assert dict(one.rows(BALANCES)) == {given.run.id: 0, MAIN: 460}


def test_a_run_of_another_tenant_pays_nothing(tmp_store_path: Path) -> None:
    store = opened(tmp_store_path)
    done(store, fund(500))
    store.close()
    other = opened(tmp_store_path, tenant_id="other")
    assert other.balance(MAIN) == 0
    assert len(frames.ledger(other)) == 0
    mine = message(tenant_id="other")
    unit = dataclasses.replace(admit(mine), grant=Grant(amount=5))
    assert done(other, unit).lacking == 0
    other.close()


# The ledger ----------------------------------------------------------------------------------------------------------------


def test_the_ledger_has_every_move_and_every_call_also_those_that_took_nothing(store: Store) -> None:
    unit, poor = paid(500, mints=True), admit()
    together(store, [unit, charge(unit.run, 100, round=3), charge(unit.run, None), poor, charge(poor.run, 70)])
    done(store, end(unit.run))
    ledger = frames.ledger(store)
    assert sorted(ledger["kind"]) == ["consume", "consume", "consume", "grant", "mint", "return"]
    calls = ledger[ledger["kind"] == "consume"]
    assert list(calls["amount_usd"]) == [0.0001, 0, 0]
    assert calls["cost_usd"].fillna(-1).tolist() == [0.0001, -1, 7e-05]
    assert calls["is_priced"].tolist() == [True, False, True]
    assert calls["round"].tolist() == [3, 0, 0]
    assert set(ledger.loc[ledger["kind"] != "consume", "model"].isna()) == {True}
    assert set(ledger["actor"]) == {"researcher"}
    signed = ledger["amount_usd"].where(ledger["kind"] == "mint", 0) - ledger["amount_usd"].where(
        ledger["kind"] == "consume", 0
    )
    assert round(signed.sum() * 1e6) == 400
    assert store.sql("SELECT count(*) FROM ledger WHERE overrun_usd > 0").rows == ((1,),)
    assert store.sql("SELECT cost_usd, unpriced FROM runs WHERE status = 'completed'").rows == ((0.0001, 1),)


def test_the_ledger_is_filtered_by_room_run_actor_and_tree(store: Store) -> None:
    parent = paid(500, mints=True)
    child = paid(100, parent=parent.run.id, actor="ann")
    other = paid(100, room="lab", mints=True)
    together(store, [parent, child, other, charge(child.run, 30)])
    assert len(frames.ledger(store, room="lab")) == 2
    assert list(frames.ledger(store, run=child.run.id)["kind"]) == ["grant", "consume"]
    assert len(frames.ledger(store, tree=parent.run.id)) == 4
    assert len(frames.ledger(store, tree=parent.run.id, actor="ann")) == 2
    assert list(frames.ledger(store, limit=1)["kind"]) == ["consume"]
    assert grant_id(child.run.id) in set(frames.ledger(store, tree=child.run.id)["id"])


def test_facts_of_a_refused_charge_are_told_when_the_run_ends(store: Store) -> None:
    unit = admit()
    together(store, [unit, said(unit.run), charge(run(message(room="lab"), id=unit.run.id), 5)])
    assert "a call of a model of Run" in (done(store, end(unit.run)).run.error or "")


def test_money_is_moved_by_threads_that_ask_at_once_without_a_loss(store: Store) -> None:
    done(store, fund(1000))
    units = [paid(300, takes_what_is_there=True) for _ in range(6)]
    answers = [outcome(future) for future in [store.submit(unit) for unit in units]]
    assert [getattr(answer, "lacking", answer) for answer in answers] == [None, None, None, None, 0, 0]
