"""Facts about what participants decided: appended, never changed, and true of what they refer to."""

from __future__ import annotations

import dataclasses
import threading
from concurrent.futures import Future
from pathlib import Path
from typing import Any

import pytest

from dvergr_nb.errors import BadAttention
from dvergr_nb.records.attention import RESTART, AttentionFact
from dvergr_nb.records.operation import Admit, Admitted, Answer, Attend, Attended, Post
from dvergr_nb.store import known
from dvergr_nb.store.connect import Instance
from dvergr_nb.store.store import Store
from tests.store.faults import alone, constraint, fatal
from tests.store.making import admit, done, end, ids, message, opened, outcome, post, run, run_id, together
from tests.store.taking_part import answered, applied, attend, axes, ready


def refused(store: Store, *facts: AttentionFact) -> str:
    """The short name of the rule that keeps the facts out."""
    with pytest.raises(BadAttention) as problem:
        done(store, attend(*facts))
    return problem.value.code


def test_a_decision_and_what_carries_it_out_come_back_as_they_were_in_order(tmp_store_path: Path) -> None:
    store = opened(tmp_store_path)
    about, other = message(), message()
    post(store, about, other)
    decision = axes(memory="include", control="restart", priority=2.5, reason="urgent", metadata={"n": [1, {"x": None}]})
    made = ready(about, decision=decision, run_id=run_id())
    elsewhere = ready(other)
    then = applied(made)
    assert done(store, attend(made, elsewhere)) == Attended(inserted=2)
    assert done(store, attend(then)) == Attended(inserted=1)
    store.close()
    again = opened(tmp_store_path)
    assert again.attention("main", None) == [made, elsewhere, then]
    assert again.attention("main", about.id) == [made, then]
    assert again.attention("other", None) == again.attention("main", ids.message()) == []
    query = 'SELECT actor, status, memory, "at", priority, reason, message_id FROM attention ORDER BY created_at LIMIT 1'
    assert again.sql(query).rows == (("ann", "ready", "include", "next-safe-boundary", 2.5, "urgent", about.id),)
    again.close()


def test_the_same_facts_sent_again_change_nothing(tmp_store_path: Path) -> None:
    store = opened(tmp_store_path)
    about = message()
    post(store, about)
    made = ready(about, decision=axes(reason="a\0b\ud800", priority=1))
    unit = attend(made, applied(made))
    assert [done(store, unit), done(store, unit)] == [Attended(inserted=2), Attended(inserted=0)]
    store.close()
    again = opened(tmp_store_path)
    assert done(again, unit) == Attended(inserted=0)
    assert done(again, attend(made)) == Attended(inserted=0)
    assert [each.decision.reason for each in again.attention("main", None)] == ["a\ufffdb\ufffd"] * 2
    again.close()


# Case 61 ------------------------------------------------------------------------------------------------------------------


def test_case_61_of_concurrent_writers_of_one_attention_id_one_wins(store: Store) -> None:
    about = message()
    post(store, about)
    made = ready(about)
    rivals = [dataclasses.replace(made, decision=axes(priority=n)) for n in range(16)]
    gate = threading.Barrier(len(rivals))
    futures: list[Future[Answer]] = []

    def write(rival: AttentionFact) -> None:
        gate.wait(30)
        futures.append(store.submit(attend(rival)))

    threads = [threading.Thread(target=write, args=(rival,)) for rival in rivals]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    answers = [outcome(future) for future in futures]
    assert [answer for answer in answers if isinstance(answer, Attended)] == [Attended(inserted=1)]
    assert {answer.code for answer in answers if isinstance(answer, BadAttention)} == {"immutable"}
    assert len(answers) == len(rivals)
    assert len(store.attention("main", None)) == 1


def test_case_61_an_attention_id_cannot_be_used_again_with_other_content(tmp_store_path: Path) -> None:
    store = opened(tmp_store_path)
    about, elsewhere = message(), message(room="elsewhere")
    post(store, about, elsewhere)
    made = ready(about, decision=axes(metadata={"a": 1}))
    done(store, attend(made))
    others: list[dict[str, Any]] = [
        {"room": "elsewhere", "message_id": elsewhere.id},
        {"actor": "bob"},
        {"status": "deferred"},
        {"decision": axes(metadata={"a": 2})},
        {"decision": axes(control="cancel", metadata={"a": 1})},
    ]
    for _ in range(2):
        assert {refused(store, dataclasses.replace(made, **other)) for other in others} == {"immutable"}
        assert refused(store, ready(about), dataclasses.replace(made, actor="bob")) == "immutable"
        assert store.attention("main", None) == [made]
        store.close()
        store = opened(tmp_store_path)
    store.close()


def test_case_61_the_id_of_a_fact_of_another_room_or_tenant_is_immutable(store: Store) -> None:
    theirs = message(tenant_id="other")
    about = message()
    post(store, theirs, about)
    made = ready(theirs)
    done(store, attend(made))
    assert refused(store, ready(about, id=made.id)) == "immutable"
    assert store.attention("main", None) == []


@pytest.mark.parametrize(
    "metadata",
    [{"f": len}, {"f": {1, 2}}, {1: 2}, {"f": (1, 2)}, {"f": float("nan")}, [1]],
    ids=["a function", "a set", "a key that is no text", "a tuple", "NaN", "no mapping"],
)
def test_case_61_metadata_that_is_no_plain_data_is_refused(store: Store, metadata: Any) -> None:
    about = message()
    post(store, about)
    assert refused(store, ready(about, decision=axes(metadata=metadata))) == "invalid-attention"
    assert store.attention("main", None) == []


# What facts refer to ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrong",
    [
        {"id": "x"},
        {"status": "done"},
        {"decision_id": ids.message()},
        {"status": "applied"},
        {"result_run_id": run_id()},
        {"decision": axes(memory="forget")},
        {"decision": axes(priority=float("nan"))},
        {"decision": axes(priority=10**400)},
        {"decision": axes(priority=True)},
    ],
    ids=lambda wrong: next(iter(wrong)),
)
def test_a_fact_that_breaks_its_shape_is_refused(store: Store, wrong: dict[str, Any]) -> None:
    about = message()
    post(store, about)
    assert refused(store, ready(about, **wrong)) == "invalid-attention"
    assert store.attention("main", None) == []


def test_a_fact_is_about_a_message_that_is_in_its_room(store: Store) -> None:
    about = message(room="elsewhere")
    post(store, about)
    for wrong in (ready(message()), ready(about, room="main"), ready(about, tenant_id="other")):
        assert refused(store, wrong) == "no-such-message"
    answers = together(store, [Post(message=message()), attend(ready(about))])
    assert answers[1] == Attended(inserted=1)


def test_a_fact_may_come_in_one_batch_with_its_message(store: Store) -> None:
    about = message()
    made = ready(about)
    answers = together(store, [Post(message=about), attend(made), attend(applied(made))])
    assert answers[1:] == [Attended(inserted=1), Attended(inserted=1)]


@pytest.fixture(params=["remembered", "looked up"])
def store_of(request: pytest.FixtureRequest, store: Store) -> Any:
    """The store, which has the facts in its memory, or has forgotten them."""

    def forget() -> Store:
        if request.param == "looked up":
            store._writer.errand(lambda pen: store._writer.known.load(pen.con)).result(30)
        return store

    return forget


def test_only_a_ready_decision_of_the_same_actor_message_and_axes_is_applied(store: Store, store_of: Any) -> None:
    about, other = message(), message()
    post(store, about, other)
    made = ready(about, decision=RESTART)
    late = ready(about, status="deferred", decision=RESTART)
    done(store, attend(made, late))
    wrongs = [
        applied(made, decision_id=ids.message()),
        applied(late),
        applied(made, actor="bob"),
        applied(made, message_id=other.id),
        *(
            applied(made, decision=dataclasses.replace(RESTART, **axis))
            for axis in (
                {"memory": "remember"},
                {"control": "cancel"},
                {"at": "now"},
                {"priority": 1},
            )
        ),
    ]
    for wrong in wrongs:
        assert refused(store_of(), wrong) == "invalid-decision"
    assert done(store_of(), attend(applied(made, decision=dataclasses.replace(RESTART, reason="done")))) == Attended(inserted=1)


def test_a_decision_is_applied_at_most_once(store: Store, store_of: Any) -> None:
    about = message()
    post(store, about)
    made = ready(about)
    assert refused(store, made, applied(made), applied(made)) == "invalid-decision"
    assert store.attention("main", None) == []
    done(store, attend(made))
    answers = together(store_of(), [attend(applied(made)), attend(applied(made))])
    assert answers[0] == Attended(inserted=1)
    assert isinstance(answers[1], BadAttention)
    assert refused(store_of(), applied(made)) == "invalid-decision"
    assert len(store.attention("main", None)) == 2


def test_an_applied_fact_is_not_a_decision(store: Store) -> None:
    about = message()
    post(store, about)
    made = ready(about)
    then = applied(made)
    done(store, attend(made, then))
    assert refused(store, applied(then)) == "invalid-decision"


def test_an_applied_enqueue_names_a_run_of_the_actor_that_the_message_caused(store: Store, store_of: Any) -> None:
    about, other = message(), message()
    post(store, about, other)
    made = ready(about, decision=axes(activation="enqueue", at="quiescent"))
    theirs, elsewhere = Admit(run=run(about, actor="bob")), Admit(run=run(other, actor="ann"))
    together(store, [attend(made), theirs, elsewhere])
    assert refused(store_of(), applied(made)) == "invalid-attention"
    for wrong in (theirs.run.id, elsewhere.run.id, run_id()):
        assert refused(store_of(), answered(made, wrong)) == "invalid-result-run"
    mine = Admit(run=run(about, actor="ann"))
    answers = together(store_of(), [mine, attend(answered(made, mine.run.id))])
    assert [type(answer) for answer in answers] == [Admitted, Attended]


def test_the_result_may_be_a_run_that_has_ended_since(store: Store, store_of: Any) -> None:
    unit = admit(actor="ann")
    assert unit.message is not None
    made = ready(unit.message, decision=axes(activation="wake", at="now"))
    together(store, [unit, attend(made)])
    done(store, end(unit.run))
    assert done(store_of(), attend(answered(made, unit.run.id))) == Attended(inserted=1)


def test_the_facts_of_a_unit_are_noted_all_or_none(store: Store) -> None:
    about = message()
    post(store, about)
    made = ready(about)
    assert refused(store, made, applied(made, actor="bob")) == "invalid-decision"
    assert refused(store, applied(made), made) == "invalid-decision"
    assert store.attention("main", None) == []
    assert done(store, attend(made, made, applied(made))) == Attended(inserted=2)
    assert done(store, Attend(facts=())) == Attended(inserted=0)


def test_a_decision_that_memory_has_forgotten_is_looked_up(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(known, "ATTENTION_KEPT", 2)
    about = message()
    post(store, about)
    made = [ready(about) for _ in range(8)]
    for each in made:
        done(store, attend(each))
    done(store, attend(applied(made[0])))
    assert len(store._writer.known.attention) <= 4
    assert refused(store, applied(made[0])) == "invalid-decision"
    done(store, attend(*(applied(each) for each in made[1:])))
    assert {refused(store, applied(each)) for each in made} == {"invalid-decision"}
    assert len(store.attention("main", None)) == 16


def test_attention_that_fails_once_in_its_batch_is_noted_once() -> None:
    with alone() as one:
        about = message()
        one.together([Post(message=about)])
        made = ready(about)
        one.faulty.seen.clear()
        one.faulty.refuse = lambda at, *_: constraint() if at == 1 else None
        assert one.together([attend(made), attend(applied(made))]) == [Attended(inserted=1)] * 2
        assert one.rows("SELECT status FROM dv.attention ORDER BY id") == [("ready",), ("applied",)]


def test_attention_whose_commit_came_through_before_a_fatal_error_is_there_once(tmp_path: Path) -> None:
    with alone(Instance(tmp_path / "a.duckdb", "t")) as one:
        about = message()
        one.together([Post(message=about)])
        real = one.faulty.con

        def commits_and_dies(_: int, text: str, __: object) -> Exception | None:
            if text != "COMMIT":
                return None
            real.execute("COMMIT")
            return fatal()

        one.faulty.refuse = commits_and_dies
        made = ready(about)
        assert one.together([attend(made), attend(applied(made))]) == [Attended(inserted=0)] * 2
        assert one.rows("SELECT count(*) FROM dv.attention") == [(2,)]
