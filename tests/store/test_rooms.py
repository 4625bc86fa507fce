"""Rooms, who is in them, and threads that one Run has for itself."""

from __future__ import annotations

import dataclasses
import time
from pathlib import Path

import pytest

from dvergr_nb.errors import BadInput, BadMessage, BadRun, RoomDiffers, ThreadBusy
from dvergr_nb.ids import BootId
from dvergr_nb.records.message import Message
from dvergr_nb.records.operation import Admit, Admitted, Joined, Left, Moved, Opened, OpenRoom, Post, Resume, Unit
from dvergr_nb.records.query import MessageFilter
from dvergr_nb.records.run import Reason, RunStatus
from dvergr_nb.store.connect import Instance
from dvergr_nb.store.store import Store
from tests.store.faults import alone, constraint, fatal
from tests.store.making import admit, done, end, message, now, opened, pause, post, reply, run, said, together
from tests.store.taking_part import join, leave, room


def test_a_room_keeps_where_it_was_made_and_its_rule_for_threads(tmp_store_path: Path) -> None:
    store = opened(tmp_store_path)
    made = room("talk", parent="main", exclusive_threads=True, title="The talk")
    assert done(store, made) == Opened(room=made.room, inserted=True)
    post(store, message())
    store.close()
    again = opened(tmp_store_path)
    assert [each.name for each in again.rooms()] == ["main", "talk"]
    assert again.rooms()[1] == made.room
    assert done(again, made) == Opened(room=made.room, inserted=False)
    again.close()


@pytest.mark.parametrize("is_exclusive", [True, False])
def test_a_room_that_is_there_is_not_opened_when_the_other_rule_for_its_threads_is_asked_for(
    store: Store, is_exclusive: bool
) -> None:
    made = room(exclusive_threads=is_exclusive)
    done(store, made)
    other = dataclasses.replace(made.room, exclusive_threads=not is_exclusive)
    assert done(store, OpenRoom(room=other)) == Opened(room=made.room, inserted=False)
    assert done(store, OpenRoom(room=made.room, is_asked=True)) == Opened(room=made.room, inserted=False)
    with pytest.raises(RoomDiffers, match=f"open it with exclusive_threads={is_exclusive}") as refused:
        done(store, OpenRoom(room=other, is_asked=True))
    assert (refused.value.room, refused.value.exclusive_threads) == ("lab", is_exclusive)
    assert store.rooms() == [made.room]


def test_a_room_that_its_first_message_or_member_makes_has_the_defaults(store: Store) -> None:
    post(store, message(room="by message"))
    done(store, join(room="by member"))
    assert [(each.name, each.exclusive_threads, each.parent) for each in store.rooms()] == [
        ("by member", False, None),
        ("by message", False, None),
    ]
    with pytest.raises(RoomDiffers):
        done(store, dataclasses.replace(room("by message", exclusive_threads=True), is_asked=True))


def test_who_joins_is_in_the_room_until_it_leaves_and_each_stay_is_on_record(store: Store) -> None:
    first, gone, second = join(), leave(), join(program="scripted")
    assert [done(store, unit) for unit in (first, gone, second)] == [
        Joined(inserted=True),
        Left(was_there=True),
        Joined(inserted=True),
    ]
    done(store, join(room="elsewhere"))
    assert store.members("main") == [dataclasses.replace(first.member, left_at=gone.at), second.member]
    assert store.sql("SELECT room, actor, program, left_at IS NULL FROM members ORDER BY joined_at").rows == (
        ("main", "ann", "echo", False),
        ("main", "ann", "scripted", True),
        ("elsewhere", "ann", "echo", True),
    )


def test_who_is_there_and_joins_again_keeps_its_stay_and_has_the_new_program(store: Store) -> None:
    first = join()
    done(store, first)
    assert done(store, join()) == Joined(inserted=False)
    assert store.members("main") == [first.member]
    assert done(store, join(program="scripted")) == Joined(inserted=False)
    assert store.members("main") == [dataclasses.replace(first.member, program="scripted")]


def test_who_is_not_there_cannot_leave(store: Store) -> None:
    assert done(store, leave()) == Left(was_there=False)
    done(store, join())
    assert done(store, leave(room="other")) == done(store, leave(tenant_id="other")) == Left(was_there=False)
    assert done(store, leave()) == Left(was_there=True)
    assert done(store, leave()) == Left(was_there=False)


def test_joining_and_leaving_in_one_batch_do_what_they_do_one_by_one(store: Store) -> None:
    before = join("old")
    done(store, before)
    at = now()
    units: list[Unit] = [
        leave("old", at=at),
        join("old", joined_at=at),
        leave("old", at=at),
        join("old", joined_at=at, program="p"),
    ]
    assert together(store, [*units, join("new"), join("new", program="q"), leave("new", at=at), leave("new")]) == [
        Left(was_there=True),
        Joined(inserted=True),
        Left(was_there=True),
        Joined(inserted=True),
        Joined(inserted=True),
        Joined(inserted=False),
        Left(was_there=True),
        Left(was_there=False),
    ]
    found = [(each.actor, each.program, each.left_at) for each in store.members("main")]
    assert found == [("old", "echo", at), ("old", "echo", at), ("old", "p", None), ("new", "q", at)]
    assert done(store, join("old", program="p")) == Joined(inserted=False)


def test_who_was_there_when_the_kernel_ended_was_there_for_what_was_said_until_then(tmp_store_path: Path) -> None:
    store = opened(tmp_store_path)
    unit, last = join(), message()
    done(store, unit)
    done(store, Post(message=last))
    store.close()
    again = opened(tmp_store_path)
    assert again.members("main") == [dataclasses.replace(unit.member, left_at=max(last.created_at, unit.member.joined_at))]
    assert done(again, leave()) == Left(was_there=False)
    assert done(again, join()) == Joined(inserted=True)
    again.close()


@pytest.mark.parametrize("name", ["_activity", "_x", "*", "", "a\nb"])
def test_a_reserved_name_joins_no_room(store: Store, name: str) -> None:
    with pytest.raises(BadInput):
        done(store, join(name))
    assert store.members("main") == []


def test_a_batch_of_stays_that_fails_once_costs_nobody_anything() -> None:
    with alone() as one:
        one.together([join("old"), join("other")])
        one.faulty.refuse = lambda at, *_: constraint() if at == 4 else None
        one.faulty.seen.clear()
        units: list[Unit] = [leave("old"), join("old"), join("new"), leave("other")]
        assert one.together(units) == [
            Left(was_there=True),
            Joined(inserted=True),
            Joined(inserted=True),
            Left(was_there=True),
        ]
        assert one.rows("SELECT actor FROM dv.members WHERE left_at IS NULL ORDER BY actor") == [("new",), ("old",)]


def test_stays_whose_commit_came_through_before_a_fatal_error_are_not_noted_twice(tmp_path: Path) -> None:
    with alone(Instance(tmp_path / "a.duckdb", "t")) as one:
        one.together([join("old")])
        real = one.faulty.con

        def commits_and_dies(_: int, text: str, __: object) -> Exception | None:
            if text != "COMMIT":
                return None
            real.execute("COMMIT")
            return fatal()

        one.faulty.refuse = commits_and_dies
        answers = one.together([leave("old"), join("new"), leave("new"), join("newer")])
        assert [answer for answer in answers if isinstance(answer, Left)] == [Left(was_there=True)] * 2
        assert one.rows("SELECT actor, left_at IS NULL FROM dv.members ORDER BY joined_at") == [
            ("old", False),
            ("new", False),
            ("newer", True),
        ]


def test_ten_thousand_joins_are_folded_and_look_nothing_up(store: Store) -> None:
    began, cpu = time.perf_counter(), time.process_time()
    answers = together(store, [join(f"actor {n}") for n in range(10_000)])
    took = min(time.perf_counter() - began, time.process_time() - cpu)
    assert set(answers) == {Joined(inserted=True)}
    assert len(store.members("main")) == 10_000
    assert took < 5


# Law 4 --------------------------------------------------------------------------------------------------------------------


def admitted(store: Store, trigger: Message, **facts: str) -> Admit:
    unit = admit(trigger, **facts)
    assert isinstance(done(store, unit), Admitted)
    return unit


def test_law_4_a_thread_has_one_open_run_per_actor_where_threads_are_shared(store: Store) -> None:
    done(store, room())
    root = message(room="lab")
    first = admitted(store, root, actor="ann")
    second = admitted(store, reply(root), actor="bob")
    for actor, holder in (("ann", first), ("bob", second)):
        with pytest.raises(ThreadBusy) as busy:
            done(store, admit(reply(root), actor=actor))
        assert (busy.value.run_id, busy.value.actor) == (holder.run.id, actor)


def test_law_4_a_thread_has_one_open_run_whoever_acts_where_threads_are_exclusive(store: Store) -> None:
    done(store, room(exclusive_threads=True))
    root = message(room="lab")
    first = admitted(store, root, actor="ann")
    for actor in ("ann", "bob"):
        with pytest.raises(ThreadBusy, match="'ann' already works") as busy:
            done(store, admit(reply(root), actor=actor))
        assert (busy.value.run_id, busy.value.actor, busy.value.thread) == (first.run.id, "ann", root.id)
    with pytest.raises(ThreadBusy):
        done(store, Admit(run=run(root, actor="bob")))
    done(store, end(first.run))
    with pytest.raises(BadRun, match="has caused Run"):
        done(store, Admit(run=run(root, actor="ann")))
    second = admitted(store, reply(root), actor="bob")
    with pytest.raises(ThreadBusy, match="'bob' already works") as busy:
        done(store, admit(reply(root), actor="ann"))
    assert busy.value.run_id == second.run.id
    assert isinstance(done(store, admit(message(room="lab"), actor="ann")), Admitted)


def test_law_4_of_two_actors_that_claim_an_exclusive_thread_in_one_batch_the_first_wins(store: Store) -> None:
    root = message(room="lab")
    answers = together(
        store,
        [
            room(exclusive_threads=True),
            admit(root, actor="ann"),
            admit(reply(root), actor="bob"),
            Admit(run=run(root, actor="cat")),
        ],
    )
    assert [type(answer) for answer in answers] == [Opened, Admitted, ThreadBusy, ThreadBusy]


def test_law_4_a_paused_run_keeps_an_exclusive_thread_and_a_stopped_one_does_not(tmp_store_path: Path) -> None:
    store = opened(tmp_store_path)
    done(store, room(exclusive_threads=True))
    root = message(room="lab")
    first = admitted(store, root, actor="ann")
    done(store, pause(first.run))
    store.close()
    again = opened(tmp_store_path)
    with pytest.raises(ThreadBusy) as busy:
        done(again, admit(reply(root), actor="bob"))
    assert busy.value.run_id == first.run.id
    done(again, Resume(run_id=first.run.id, tenant_id="t", boot_id=BootId("boot-2"), at=now()))
    with pytest.raises(ThreadBusy):
        done(again, admit(reply(root), actor="bob"))
    done(again, end(first.run, RunStatus.WAITING, reason=Reason.ATTENTION_SUSPENDED.value))
    assert isinstance(done(again, admit(reply(root), actor="bob")), Admitted)
    again.close()


def test_law_4_an_orphaned_run_frees_its_exclusive_thread(tmp_store_path: Path) -> None:
    store = opened(tmp_store_path)
    done(store, room(exclusive_threads=True))
    root = message(room="lab")
    admitted(store, root, actor="ann")
    store.close()
    again = opened(tmp_store_path)
    assert isinstance(done(again, admit(reply(root), actor="bob")), Admitted)
    again.close()


# What an end says ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("to", ["ann", "user", None], ids=["an actor", "a person", "everyone"])
def test_a_reply_that_comes_with_an_end_is_in_the_thread_of_the_trigger(store: Store, to: str | None) -> None:
    root = message()
    post(store, root)
    trigger = reply(root)
    unit = admitted(store, trigger)
    answer = reply(trigger, to=to, sender="researcher", run_id=unit.run.id, type="agent/reply", thread_root_id=trigger.id)
    done(store, end(unit.run, messages=(answer,)))
    assert store.message(answer.id) == dataclasses.replace(answer, thread_root_id=root.id)
    assert [each.id for each in store.messages(MessageFilter(thread=root.id))] == [root.id, trigger.id, answer.id]


@pytest.mark.parametrize("wrong", [{"room": "elsewhere"}, {"tenant_id": "other"}])
def test_a_run_ends_with_messages_of_its_own_room_or_not_at_all(store: Store, wrong: dict[str, str]) -> None:
    unit = admitted(store, message())
    fine = said(unit.run, "fine").message
    stray = message(**({"run_id": unit.run.id, "to": "ann"} | wrong))
    with pytest.raises(BadMessage, match="says nothing in") as refused:
        done(store, end(unit.run, messages=(fine, stray)))
    assert refused.value.code == "foreign-room"
    assert store.run(unit.run.id) == unit.run
    assert store.message(fine.id) is None
    assert isinstance(done(store, end(unit.run, messages=(fine,))), Moved)


def test_an_end_with_an_id_of_another_tenant_stores_none_of_its_messages(store: Store) -> None:
    theirs = message(tenant_id="other")
    done(store, Post(message=theirs))
    unit = admitted(store, message())
    fine = said(unit.run, "fine").message
    with pytest.raises(BadMessage, match="is in use"):
        done(store, end(unit.run, messages=(fine, message(id=theirs.id))))
    assert store.message(fine.id) is None


def test_messages_that_were_said_leave_out_what_runs_report_and_their_private_ones(store: Store) -> None:
    unit = admitted(store, message(to="_runs"))
    spoken = [message(), message(to="ann"), message(to="user")]
    done(store, said(unit.run))
    post(store, *spoken)
    assert [each.id for each in store.messages(MessageFilter(only_said=True))] == [each.id for each in spoken]
    assert [each.id for each in store.messages(MessageFilter(only_said=True, limit=1))] == [spoken[-1].id]
    assert len(store.messages(MessageFilter())) == 5
