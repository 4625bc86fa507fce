"""Which messages somebody was given and has not answered."""

from __future__ import annotations

import datetime as dt
import time
from typing import Any

import pytest

from dvergr_nb.records.operation import Admit
from dvergr_nb.records.room import Unanswered
from dvergr_nb.store.store import Store
from tests.store.making import done, end, message, now, post, run, together
from tests.store.taking_part import answered, applied, attend, axes, join, leave, ready


def listed(store: Store, room: str | None = None, limit: int = 100) -> list[tuple[str, str]]:
    return [(each.message.id, each.actor) for each in store.unanswered(room, limit)]


def test_a_message_to_a_member_is_unanswered_until_a_run_of_its_has_it_as_trigger(store: Store) -> None:
    done(store, join())
    about = message(to="ann", sender="user")
    post(store, about)
    assert store.unanswered("main", 10) == [Unanswered(message=about, actor="ann")]
    done(store, Admit(run=run(about, actor="bob")))
    assert listed(store) == [(about.id, "ann")]
    unit = Admit(run=run(about, actor="ann"))
    done(store, unit)
    assert listed(store) == []
    done(store, end(unit.run))
    assert listed(store) == []


def test_a_message_to_everyone_is_unanswered_by_each_member_but_its_sender(store: Store) -> None:
    together(store, [join("ann"), join("bob"), join("cat"), join("dan", room="other")])
    about = message(sender="bob", type="agent/reply")
    post(store, about)
    assert listed(store) == [(about.id, "ann"), (about.id, "cat")]
    done(store, Admit(run=run(about, actor="cat")))
    assert listed(store) == [(about.id, "ann")]


def test_neither_the_person_nor_a_reserved_address_is_to_answer(store: Store) -> None:
    together(store, [join("user"), join("ann")])
    post(store, message(to="user", sender="ann"), message(to="_runs"), message(to="_activity"), message(sender="ann"))
    post(store, message(to="ann", type="run/note"), message(to="nobody"))
    assert listed(store) == []


def test_messages_from_before_or_after_its_stays_are_not_an_actors_to_answer(store: Store) -> None:
    at = now()

    def when(second: float) -> dt.datetime:
        return at + dt.timedelta(seconds=second)

    about = [message(created_at=when(n), sender="user", to="ann" if n % 2 else None) for n in range(7)]
    post(store, *about)
    done(store, join(joined_at=when(1)))
    done(store, leave(at=when(2)))
    done(store, join(joined_at=when(4)))
    done(store, leave(at=when(4.5)))
    done(store, join(joined_at=when(5.5)))
    assert listed(store) == [(about[n].id, "ann") for n in (1, 2, 4, 6)]


def test_a_message_at_the_very_moment_between_two_stays_is_listed_once(store: Store) -> None:
    at = now()
    about = message(created_at=at, sender="user")
    post(store, about)
    for _ in range(2):
        together(store, [join(joined_at=at), leave(at=at)])
    done(store, join(joined_at=at))
    assert listed(store) == [(about.id, "ann")]


@pytest.mark.parametrize("status", ["deferred", "invalid", "baseline-complete"])
def test_a_fact_that_says_nothing_more_will_come_settles_a_message(store: Store, status: str) -> None:
    together(store, [join("ann"), join("bob")])
    about = message(sender="user")
    post(store, about)
    done(store, attend(ready(about, status=status)))
    assert listed(store) == [(about.id, "bob")]


def test_a_decision_settles_a_message_only_when_it_was_carried_out(store: Store) -> None:
    done(store, join())
    about = message(to="ann", sender="user")
    post(store, about)
    made = ready(about)
    done(store, attend(made))
    assert listed(store) == [(about.id, "ann")]
    done(store, attend(applied(made)))
    assert listed(store) == []


def test_a_queued_message_is_unanswered_until_its_run_is_admitted(store: Store) -> None:
    done(store, join())
    about = message(to="ann", sender="user")
    made = ready(about, decision=axes(activation="enqueue", at="quiescent"))
    post(store, about)
    done(store, attend(made))
    assert listed(store) == [(about.id, "ann")]
    unit = Admit(run=run(about, actor="ann"))
    together(store, [unit, attend(answered(made, unit.run.id))])
    assert listed(store) == []


def test_unanswered_messages_come_oldest_first_up_to_the_limit_and_by_room(store: Store) -> None:
    together(store, [join("ann"), join("bob"), join("ann", room="other")])
    first, second, third = message(to="bob"), message(room="other", to="ann", sender="user"), message(sender="user")
    post(store, third, second, first)
    everything = [(first.id, "bob"), (second.id, "ann"), (third.id, "ann"), (third.id, "bob")]
    assert listed(store) == everything
    assert listed(store, limit=3) == everything[:3]
    assert listed(store, "other") == [(second.id, "ann")]
    assert listed(store, "nowhere") == listed(store, "\ud800") == []


def test_another_tenants_messages_members_and_runs_do_not_count(store: Store) -> None:
    together(store, [join(), join(tenant_id="other")])
    theirs, about = message(tenant_id="other", to="ann", sender="user"), message(to="ann", sender="user")
    post(store, theirs, about)
    assert listed(store) == [(about.id, "ann")]
    assert [each.tenant_id for each in store.members("main")] == ["t"]


def bulk(store: Store, recipient: str) -> None:
    """A hundred thousand messages in a room with three hundred members."""
    together(store, [join(f"actor {n}") for n in range(300)])

    def fill(pen: Any) -> None:
        pen.con.execute(
            """
            INSERT INTO dv.messages
            SELECT uuidv7(), 't', 'u', 'main', 'user', if(? = '', 'actor ' || (i % 300), NULL), 'x', NULL, uuidv7(), NULL,
                'user/message', NULL, NULL, now() + INTERVAL 1 HOUR + to_microseconds(i)
            FROM range(100000) AS r(i)
            """,
            [recipient],
        )

    store._writer.errand(fill).result(60)


@pytest.mark.parametrize(("recipient", "limit_s"), [("", 1.0), ("*", 6.0)], ids=["to one each", "to everyone"])
def test_what_is_unanswered_among_a_hundred_thousand_messages_is_found_soon(
    store: Store, recipient: str, limit_s: float
) -> None:
    bulk(store, recipient)
    for room in (None, "main"):
        began = time.perf_counter()
        found = store.unanswered(room, 100)
        took = time.perf_counter() - began
        assert len(found) == 100
        assert took < limit_s


def test_nobody_is_to_answer_what_it_has_said_to_itself(store: Store) -> None:
    done(store, join("ann"))
    post(store, message(to="ann", sender="ann", type="agent/reply"))
    assert listed(store) == []
