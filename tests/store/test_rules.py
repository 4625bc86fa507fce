"""The numbered rules that the store keeps, each named by what it says."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from dvergr_nb.errors import BadFilter, BadMessage, BadRun
from dvergr_nb.records.message import Fact
from dvergr_nb.records.operation import End, Post, Posted, Record
from dvergr_nb.records.query import MessageFilter, RunFilter
from dvergr_nb.records.run import RunStatus
from dvergr_nb.store.store import Store
from tests.store.making import admit, done, end, message, message_id, post, reply, run, run_id, said, together


def test_case_11_an_identity_cannot_be_changed_by_any_unit(store: Store) -> None:
    unit = admit(label="first")
    done(store, unit)
    done(store, dataclasses.replace(unit, run=dataclasses.replace(unit.run, actor="other", label="second", room="x")))
    assert store.run(unit.run.id) == unit.run
    changeable = {"status", "reason", "error", "steps", "at"}
    assert {field.name for field in dataclasses.fields(End)} - changeable == {
        "run_id",
        "tenant_id",
        "found",
        "messages",
        "envelopes",
    }


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param({"status": RunStatus.COMPLETED}, id="terminal without an end"),
        pytest.param({"ended_at": message().created_at}, id="running with an end"),
        pytest.param({"status": RunStatus.QUEUED}, id="a live status"),
        pytest.param({"trigger": "not-an-id"}, id="a trigger that is no id"),
        pytest.param({"id": "' OR 1=1"}, id="an id that is no id"),
    ],
)
def test_case_12_a_row_that_breaks_its_shape_is_refused(store: Store, wrong: dict[str, Any]) -> None:
    trigger = message()
    post(store, trigger)
    unit = dataclasses.replace(admit(trigger), run=dataclasses.replace(run(trigger), **wrong))
    with pytest.raises(BadRun):
        done(store, unit)
    assert store.runs(RunFilter()) == []


def test_case_19_filters_apply_before_the_limit_and_the_newest_come_first(store: Store) -> None:
    units = [admit(actor=actor, tags=(actor[0],)) for actor in ("ann", "bob") * 4]
    together(store, units)
    together(store, [end(unit.run) for unit in units[:6]])
    found = store.runs(RunFilter(actor="ann", status="completed", limit=2))
    assert [each.id for each in found] == [units[4].run.id, units[2].run.id]
    assert [each.id for each in store.runs(RunFilter(tag="b", limit=1))] == [units[7].run.id]
    assert [each.id for each in store.runs(RunFilter(since=units[6].run.started_at))] == [units[7].run.id, units[6].run.id]
    assert len(store.runs(RunFilter(room="elsewhere"))) == 0
    assert len(store.runs(RunFilter(kind="agent-turn", limit=None))) == 8


def test_case_20_a_tree_is_root_and_descendants_breadth_first_whatever_the_noise(store: Store) -> None:
    root = admit()
    first, second = admit(parent=root.run.id), admit(parent=root.run.id)
    grandchild = admit(parent=first.run.id)
    together(store, [root, first, second, grandchild, *(admit() for _ in range(205))])
    tree = [root, first, second, grandchild]
    assert [each.id for each in store.runs(RunFilter(tree=root.run.id))] == [unit.run.id for unit in tree]
    assert [each.id for each in store.runs(RunFilter(tree=root.run.id, limit=1))] == [root.run.id]
    assert [each.id for each in store.runs(RunFilter(tree=root.run.id, room="main"))] == [unit.run.id for unit in tree]


def test_case_21_a_tree_takes_no_other_filter_and_an_unknown_root_has_no_runs(store: Store) -> None:
    with pytest.raises(BadFilter, match="incompatible-run-filters"):
        RunFilter(tree=run_id(), status="running")
    assert store.runs(RunFilter(tree=run_id())) == []


def test_case_57_a_reply_may_come_before_its_parent_and_the_thread_has_all_levels(store: Store) -> None:
    root, other = message(), message()
    middle = reply(root)
    leaf = reply(middle)
    post(store, leaf, middle, root, other, reply(other))
    assert {each.id for each in store.messages(MessageFilter(thread=root.id))} == {root.id, middle.id, leaf.id}


def test_case_57_the_room_decides_the_root_of_a_reply_whose_parent_it_has(store: Store) -> None:
    root, stranger = message(), message_id()
    middle, leaf = reply(root, thread_root_id=stranger), reply(root, thread_root_id=stranger)
    answers = together(store, [Post(message=root), Post(message=middle)])
    assert answers[1] == Posted(inserted=True, thread_root_id=root.id)
    assert done(store, Post(message=leaf)).thread_root_id == root.id
    elsewhere = reply(root, room="other", thread_root_id=stranger)
    assert done(store, Post(message=elsewhere)).thread_root_id == stranger


def test_case_58_the_first_write_of_an_id_wins(store: Store) -> None:
    first = message(content="first")
    second = dataclasses.replace(first, content="second")
    answers = together(store, [Post(message=first), Post(message=second)])
    assert answers == [Posted(inserted=True, thread_root_id=first.id), Posted(inserted=False, thread_root_id=first.id)]
    store._writer.known.places.clear()
    assert done(store, Post(message=second)) == answers[1]
    assert store.messages(MessageFilter()) == [first]


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        pytest.param({"metadata": {"colour": 1}}, "unknown-message-metadata", id="unknown metadata"),
        pytest.param({"metadata": {"run-id": "x"}}, "unknown-message-metadata", id="metadata with a field of its own"),
        pytest.param({"metadata": {"object": {"size": 1}}}, "unknown-message-metadata", id="unknown key below"),
        pytest.param({"facts": (Fact(id=message_id(), kind="", verb="v"),)}, "invalid-activity", id="a kind that is no word"),
        pytest.param({"facts": (Fact(id="1", kind="k", verb="v"),)}, "invalid-activity", id="an id that is no id"),
        pytest.param(
            {"facts": (Fact(id=message_id(), run_id=run_id(), kind="k", verb="v"),)}, "invalid-activity", id="another run"
        ),
        pytest.param({"run_id": run_id()}, "orphan-message-activity", id="an unknown run"),
        pytest.param({"room": "elsewhere"}, "orphan-message-activity", id="a run of another room"),
    ],
)
def test_case_59_activity_that_breaks_its_shape_or_names_no_run_of_the_room_is_refused(
    store: Store, wrong: dict[str, Any], code: str
) -> None:
    unit = admit()
    done(store, unit)
    good, bad = said(unit.run), said(unit.run, **wrong)
    answers = together(store, [good, bad, said(unit.run)])
    assert isinstance(answers[1], BadMessage)
    assert answers[1].code == code
    assert [isinstance(answer, Posted) for answer in answers] == [True, False, True]
    assert store.message(bad.message.id) is None


def test_case_59_facts_of_a_message_without_a_run_must_name_runs_of_the_room(store: Store) -> None:
    fact = Fact(id=message_id(), run_id=run_id(), kind="run", verb="fail")
    with pytest.raises(BadMessage, match="not in room"):
        done(store, Record(message=message(to="_activity", facts=(fact,))))
