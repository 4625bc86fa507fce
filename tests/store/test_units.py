"""What each unit does, seen from outside."""

from __future__ import annotations

import dataclasses
import datetime as dt

import pytest

from dvergr_nb.errors import BadRun, MoveRefused, NoSuchMessage, ThreadBusy
from dvergr_nb.ids import BootId
from dvergr_nb.records.message import Fact
from dvergr_nb.records.operation import (
    Admit,
    Admitted,
    Cause,
    KeyTaken,
    Moved,
    Noted,
    Opened,
    OpenRoom,
    Resume,
)
from dvergr_nb.records.query import MessageFilter, RunFilter
from dvergr_nb.records.room import Room
from dvergr_nb.records.run import Provenance, Reason, RunStatus
from dvergr_nb.store.store import Store
from tests.store.making import (
    BOOT,
    admit,
    done,
    end,
    message,
    message_id,
    now,
    pause,
    post,
    reply,
    run,
    run_id,
    said,
    together,
)


def test_a_run_is_stored_with_its_trigger_and_read_back_as_it_was(store: Store) -> None:
    unit = admit(tags=("fast", "a,b"), label="fit", kind="workflow", provenance=Provenance(profile_id="p", profile_version=3))
    answer = done(store, unit)
    assert answer == Admitted(run=unit.run, thread_root_id=unit.run.trigger)
    assert store.run(unit.run.id) == unit.run
    assert store.message(unit.run.trigger) == unit.message


def test_the_same_admission_sent_again_changes_nothing(store: Store) -> None:
    unit = admit()
    done(store, unit)
    done(store, end(unit.run))
    again = done(store, unit)
    assert again.run.status is RunStatus.COMPLETED
    assert len(store.runs(RunFilter())) == len(store.messages(MessageFilter())) == 1


def test_an_admission_without_its_trigger_in_the_room_is_refused(store: Store) -> None:
    elsewhere = message(room="other")
    post(store, elsewhere)
    with pytest.raises(NoSuchMessage):
        done(store, Admit(run=run(message())))
    with pytest.raises(NoSuchMessage):
        done(store, Admit(run=run(elsewhere, room="main")))
    assert store.runs(RunFilter()) == []


def test_a_trigger_that_is_stored_already_admits_a_run(store: Store) -> None:
    trigger = message()
    post(store, trigger)
    unit = Admit(run=run(trigger))
    assert done(store, unit) == Admitted(run=unit.run, thread_root_id=trigger.id)


def test_one_trigger_causes_one_run_of_an_actor_and_one_of_another(store: Store) -> None:
    trigger = message()
    first = admit(trigger)
    done(store, first)
    with pytest.raises(ThreadBusy) as busy:
        done(store, Admit(run=run(trigger)))
    assert busy.value.run_id == first.run.id
    done(store, end(first.run))
    with pytest.raises(BadRun) as taken:
        done(store, Admit(run=run(trigger)))
    assert taken.value.code == "trigger-taken"
    assert isinstance(done(store, Admit(run=run(trigger, actor="other"))), Admitted)


def test_a_reply_is_refused_while_the_run_of_the_thread_root_is_open(store: Store) -> None:
    first = admit()
    done(store, first)
    assert first.message is not None
    answer = reply(first.message)
    with pytest.raises(ThreadBusy) as busy:
        done(store, admit(answer))
    assert (busy.value.run_id, busy.value.thread) == (first.run.id, first.run.trigger)
    assert store.message(answer.id) is None
    done(store, end(first.run))
    second = admit(reply(first.message))
    done(store, second)
    with pytest.raises(ThreadBusy) as busy:
        done(store, admit(reply(first.message)))
    assert busy.value.run_id == second.run.id


def test_a_slot_is_freed_in_place_and_taken_again(store: Store) -> None:
    root = message()
    post(store, root)
    for _ in range(3):
        unit = admit(reply(root))
        done(store, unit)
        done(store, end(unit.run))
    assert store.read(lambda con: con.execute("SELECT count(*), count(run_id) FROM dv.open_slots").fetchall()) == [(1, 0)]


def test_of_two_claims_in_one_batch_the_first_wins(store: Store) -> None:
    root = message()
    post(store, root)
    first, second, other = admit(reply(root)), admit(reply(root)), admit(reply(root), actor="other")
    answers = together(store, [first, second, other])
    assert [type(answer) for answer in answers] == [Admitted, ThreadBusy, Admitted]
    assert {each.id for each in store.runs(RunFilter())} == {first.run.id, other.run.id}


def test_an_end_and_a_new_claim_of_its_slot_share_a_batch(store: Store) -> None:
    root = message()
    first, second = admit(reply(root)), admit(reply(root))
    post(store, root)
    done(store, first)
    answers = together(store, [end(first.run), second])
    assert [type(answer) for answer in answers] == [Moved, Admitted]


def test_a_key_that_was_used_gives_the_first_run_whatever_its_status(store: Store) -> None:
    first, second = admit(key="nightly"), admit(key="nightly")
    answers = together(store, [first, second])
    assert answers == [Admitted(run=first.run, thread_root_id=first.run.trigger), KeyTaken(run=first.run)]
    ended = done(store, end(first.run, RunStatus.FAILED, reason="error", error="x")).run
    assert done(store, admit(key="nightly")) == KeyTaken(run=ended)
    assert store.message(second.run.trigger) is None
    elsewhere = admit(message(room="other"), key="nightly")
    assert isinstance(done(store, elsewhere), Admitted)


def test_a_parent_must_be_in_the_store(store: Store) -> None:
    parent = admit()
    done(store, parent)
    with pytest.raises(BadRun) as refused:
        done(store, admit(parent=run_id()))
    assert refused.value.code == "no-such-parent"
    child = admit(message(room="other"), parent=parent.run.id)
    assert done(store, child).run.parent == parent.run.id


def test_only_a_running_run_is_admitted(store: Store) -> None:
    with pytest.raises(BadRun):
        done(store, admit(status=RunStatus.WAITING, reason="approval"))


def test_an_end_stores_output_row_and_frees_what_the_run_held(store: Store) -> None:
    unit = admit()
    done(store, unit)
    assert unit.message is not None
    output = reply(unit.message, run_id=unit.run.id, content="42", kind="result")
    last = said(unit.run, "the last line").message
    ended = end(unit.run, steps=7, messages=(last, output))
    after = done(store, ended).run
    assert after == dataclasses.replace(
        unit.run, status=RunStatus.COMPLETED, ended_at=ended.at, updated_at=ended.at, revision=1, steps=7
    )
    assert store.run(unit.run.id) == after
    assert {each.content for each in store.messages(MessageFilter(run=unit.run.id))} == {"42", "the last line"}
    assert isinstance(done(store, admit(reply(unit.message))), Admitted)


def test_a_move_from_another_status_is_refused_with_the_one_found(store: Store) -> None:
    unit = admit()
    done(store, unit)
    done(store, end(unit.run))
    with pytest.raises(MoveRefused) as refused:
        done(store, end(unit.run, RunStatus.FAILED, reason="error"))
    assert refused.value.found == "completed"
    with pytest.raises(MoveRefused) as refused:
        done(store, end(run(message())))
    assert refused.value.found is None


def test_a_refused_end_stores_none_of_its_messages(store: Store) -> None:
    unit = admit()
    done(store, unit)
    done(store, end(unit.run))
    late = said(unit.run, "too late").message
    with pytest.raises(MoveRefused):
        done(store, end(unit.run, RunStatus.CANCELLED, reason="cancel-requested", messages=(late,)))
    assert store.message(late.id) is None


def test_the_same_end_sent_again_is_answered_as_before(store: Store) -> None:
    unit = admit()
    done(store, unit)
    ended = end(unit.run, messages=(said(unit.run).message,))
    assert done(store, ended) == done(store, ended)
    assert store.runs(RunFilter())[0].revision == 1


@pytest.mark.parametrize("status", [RunStatus.RUNNING, RunStatus.QUEUED, RunStatus.CANCELLING])
def test_a_move_that_no_run_may_make_is_refused(store: Store, status: RunStatus) -> None:
    unit = admit()
    done(store, unit)
    with pytest.raises(BadRun) as refused:
        done(store, end(unit.run, status))
    assert refused.value.code == "invalid-finish-status"


def test_a_pause_needs_envelopes_and_nothing_else_may_have_them(store: Store) -> None:
    unit = admit()
    done(store, unit)
    paused = pause(unit.run)
    for wrong in (dataclasses.replace(paused, envelopes=()), dataclasses.replace(paused, reason="budget-exhausted")):
        with pytest.raises(BadRun):
            done(store, wrong)
    assert store.run(unit.run.id) == unit.run


def test_a_paused_run_holds_its_thread_and_a_stopped_one_does_not(store: Store) -> None:
    root = message()
    post(store, root)
    first = admit(reply(root))
    done(store, first)
    done(store, pause(first.run, "a", "b"))
    assert [envelope.id for envelope in store.envelopes(first.run.id)] == ["a", "b"]
    with pytest.raises(ThreadBusy):
        done(store, admit(reply(root)))
    done(store, end(first.run, RunStatus.CANCELLED, found=RunStatus.WAITING, reason="cancel-requested"))
    assert store.envelopes(first.run.id) == []
    second = admit(reply(root))
    done(store, second)
    done(store, end(second.run, RunStatus.WAITING, reason=Reason.BUDGET_EXHAUSTED.value))
    assert isinstance(done(store, admit(reply(root))), Admitted)


def test_a_pause_is_decided_once(store: Store) -> None:
    unit = admit()
    done(store, unit)
    done(store, pause(unit.run))
    first = Resume(run_id=unit.run.id, tenant_id="t", boot_id=BootId("boot-2"), at=now())
    second = Resume(run_id=unit.run.id, tenant_id="t", boot_id=BootId("boot-3"), at=now())
    answers = together(store, [first, second, first])
    assert [type(answer) for answer in answers] == [Moved, MoveRefused, MoveRefused]
    after = store.run(unit.run.id)
    assert after is not None
    assert (after.status, after.boot_id, after.reason, after.revision) == (RunStatus.RUNNING, "boot-2", None, 2)
    assert store.envelopes(unit.run.id) == []


def test_a_stopped_run_cannot_be_resumed_as_itself(store: Store) -> None:
    unit = admit()
    done(store, unit)
    done(store, end(unit.run, RunStatus.WAITING, reason=Reason.BUDGET_EXHAUSTED.value))
    with pytest.raises(MoveRefused):
        done(store, Resume(run_id=unit.run.id, tenant_id="t", boot_id=BOOT, at=now()))


def test_a_cause_is_noted_once_it_has_ended(store: Store) -> None:
    parent, child = admit(), admit()
    together(store, [parent, child])
    cause = Cause(run_id=parent.run.id, cause_id=child.run.id, tenant_id="t", at=now())
    with pytest.raises(BadRun, match="has not resolved"):
        done(store, cause)
    done(store, end(child.run))
    for _ in range(2):
        assert done(store, cause) == Noted(causes=(child.run.id,))
    assert store.causes(parent.run.id) == [child.run.id]
    with pytest.raises(BadRun, match="not durable"):
        done(store, dataclasses.replace(cause, cause_id=run_id()))
    with pytest.raises(BadRun):
        done(store, dataclasses.replace(cause, cause_id=parent.run.id))


def test_a_room_is_opened_once_and_made_by_its_first_message(store: Store) -> None:
    room = Room(tenant_id="t", name="lab", title="The lab", created_at=now())
    assert together(store, [OpenRoom(room=room), OpenRoom(room=dataclasses.replace(room, title="x"))]) == [
        Opened(room=room, inserted=True),
        Opened(room=room, inserted=False),
    ]
    post(store, message(room="side"))
    side = Room(tenant_id="t", name="side", title="s", created_at=now())
    found = done(store, OpenRoom(room=side))
    assert (found.inserted, found.room.title) == (False, "side")


def test_facts_come_back_in_their_order(store: Store) -> None:
    unit = admit()
    done(store, unit)
    at = dt.datetime(2026, 5, 1, tzinfo=dt.UTC)
    facts = tuple(
        Fact(id=message_id(), run_id=unit.run.id, kind="tool", verb="invoke", tool_name=name, critical=True, at=at)
        for name in ("zeta", "alpha")
    )
    record = said(unit.run, kind=None, facts=facts, metadata={"role": "tool", "tool-uses": [{"id": 1}]})
    done(store, record)
    assert store.message(record.message.id) == record.message


def test_a_fact_that_is_projected_again_is_stored_once(store: Store) -> None:
    unit = admit()
    done(store, unit)
    fact = Fact(id=message_id(), run_id=unit.run.id, kind="tool", verb="invoke")
    for _ in range(2):
        assert done(store, said(unit.run, facts=(fact,))).inserted
    assert store.read(lambda con: con.execute("SELECT count(*) FROM dv.activities").fetchall()) == [(1,)]


def test_a_run_whose_activity_was_lost_does_not_end_as_completed(store: Store) -> None:
    unit = admit()
    done(store, unit)
    lost = together(store, [said(unit.run, room="elsewhere"), end(unit.run)])[1]
    assert isinstance(lost, Moved)
    assert (lost.run.status, lost.run.reason) == (RunStatus.FAILED, "record-lost")
    assert store.run(unit.run.id) == lost.run


def test_what_a_run_loses_in_the_transaction_that_admits_it_is_not_forgotten(store: Store) -> None:
    unit = admit()
    together(store, [unit, said(unit.run, room="elsewhere")])
    assert done(store, end(unit.run)).run.reason == "record-lost"


def test_what_was_refused_before_a_run_was_there_is_none_of_its_losses(store: Store) -> None:
    unit = admit()
    together(store, [said(unit.run), unit])
    assert done(store, end(unit.run)).run.status is RunStatus.COMPLETED


def test_an_end_that_became_record_lost_is_answered_again_with_its_row(store: Store) -> None:
    unit = admit()
    done(store, unit)
    ending = end(unit.run)
    first = together(store, [said(unit.run, room="elsewhere"), ending])[1]
    assert done(store, ending) == first


def test_refused_reports_of_unknown_runs_are_not_remembered(store: Store) -> None:
    together(store, [said(admit().run)])
    assert store._writer.known.lost == {}


def test_an_admission_sent_again_after_its_end_is_answered_with_its_own_row(store: Store) -> None:
    unit = admit(key="k")
    done(store, unit)
    ended = done(store, end(unit.run)).run
    store._writer.known.places.clear()
    assert done(store, unit) == Admitted(run=ended, thread_root_id=unit.run.trigger)


def test_an_end_takes_only_its_own_tenant(store: Store) -> None:
    unit = admit()
    done(store, unit)
    with pytest.raises(MoveRefused) as refused:
        done(store, dataclasses.replace(end(unit.run), tenant_id="other"))
    assert refused.value.found is None
    assert isinstance(done(store, end(unit.run)), Moved)
