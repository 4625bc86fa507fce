"""Attention in live rooms: what a policy decides about a message that comes while an actor works, and the facts about it."""

from __future__ import annotations

import logging
from typing import Any, cast

import pytest

from dvergr_nb.actors import script
from dvergr_nb.actors.scripted import scripted
from dvergr_nb.errors import StoreFailed
from dvergr_nb.records.attention import AXES, SUPPORTED, Attention
from dvergr_nb.records.operation import Admit
from tests.actors.turns import Gate
from tests.rigs.room import Held, activity_of, end_of, said_by


def joined(message, joining):
    """All that the turn knows."""
    return "+".join(each.content for each in (message, *joining))


def facts_of(session, message):
    """Status and decision of the facts about a message, in their order."""
    return [(fact.status, fact.decision) for fact in session.store.attention("lab", message.id)]


class Working:
    """A researcher that works on a message of ours, in a call that the gate holds."""

    def __init__(self, session, policy, *scripts) -> None:
        self.gate = Gate()
        self.room = session.rooms.open("lab")
        self.room.join("researcher", scripted([self.gate, joined], *(scripts or [joined])), attention=policy)
        self.run = self.room.turn("researcher", "first")

    async def hears(self, content, *, elsewhere=False):
        """Gives it a message while it works."""
        await self.gate.reached.wait()
        return await self.room.post(content, to="researcher", reply_to=None if elsewhere else self.run)


def always(decision):
    """A policy that decides the same about everything."""
    return lambda message, situation: decision


# Words and axes ------------------------------------------------------------------------------------------------------


async def test_who_observes_leaves_the_message_in_its_thread_and_does_no_more(opened):
    async with opened() as session:
        at = Working(session, always("observe"))
        posting = await at.hears("second")
        at.gate.open.set()
        assert await at.run == "first"
        assert (posting.runs, len(session.runs(room="lab")), at.room.unanswered()) == ((), 1, [])
        assert facts_of(session, posting.message) == [("ready", Attention()), ("applied", Attention())]
        assert "second" in [each.content for each in at.room.messages(thread=at.run)]


async def test_who_queues_answers_with_a_run_of_its_own_that_the_applied_fact_names(opened):
    async with opened() as session:
        at = Working(session, always("queue"))
        posting = await at.hears("second")
        (later,) = posting.runs
        assert [status for status, _ in facts_of(session, posting.message)] == ["ready"]
        at.gate.open.set()
        assert [await at.run, await later] == ["first", "second"]
        ready, applied = session.store.attention("lab", posting.message.id)
        assert (ready.status, ready.run_id, ready.decision.activation, ready.decision.at) == (
            "ready",
            at.run.id,
            "enqueue",
            "quiescent",
        )
        assert (applied.status, applied.decision_id, applied.result_run_id) == ("applied", ready.id, later.id)


async def test_who_steers_cuts_the_call_and_the_fact_is_applied_once_a_round_has_seen_the_message(opened):
    async with opened() as session:
        at = Working(session, always("steer"))
        posting = await at.hears("second", elsewhere=True)
        at.gate.open.set()
        assert await at.run == "first+second"
        ready, applied = session.store.attention("lab", posting.message.id)
        assert (ready.status, ready.decision.memory, ready.decision.control) == ("ready", "include", "restart")
        assert (applied.status, applied.result_run_id, applied.decision) == ("applied", None, ready.decision)


async def test_a_policy_may_give_its_axes_as_a_mapping(opened):
    async with opened() as session:
        at = Working(session, always({"activation": "enqueue", "at": "quiescent", "reason": "later", "metadata": {"why": [1]}}))
        posting = await at.hears("second")
        at.gate.open.set()
        await at.run
        await posting.runs[0]
        (fact, _) = session.store.attention("lab", posting.message.id)
        assert (fact.decision.reason, dict(fact.decision.metadata)) == ("later", {"why": [1]})


@pytest.mark.parametrize("memory", AXES["memory"])
async def test_memory_alone_causes_no_run_and_only_what_is_included_is_seen(opened, memory):
    async with opened() as session:
        gate = Gate()
        room = session.rooms.open("lab")
        handler = scripted([script.use("look", result=gate), joined])
        room.join("researcher", handler, attention=always(Attention(memory=memory)))
        run = room.turn("researcher", "first")
        await gate.reached.wait()
        posting = await room.post("second", to="researcher", reply_to=run)
        gate.open.set()
        assert await run == ("first+second" if memory == "include" else "first")
        assert [status for status, _ in facts_of(session, posting.message)] == ["ready", "applied"]
        assert (len(session.runs(room="lab")), room.unanswered()) == (1, [])


async def test_case_48_what_is_included_and_no_round_sees_is_seen_by_the_next_turn(opened):
    """Case 48."""
    async with opened() as session:
        at = Working(session, always(Attention(memory="include")))
        posting = await at.hears("by the way")
        at.gate.open.set()
        assert await at.run == "first"
        assert [status for status, _ in facts_of(session, posting.message)] == ["ready"]
        assert await at.room.turn("researcher", "next") == "next+by the way"
        assert [status for status, _ in facts_of(session, posting.message)] == ["ready", "applied"]


async def test_who_integrates_adds_a_round_and_cuts_no_call(opened):
    async with opened() as session:
        at = Working(session, always(Attention(memory="include", control="integrate")))
        posting = await at.hears("second")
        at.gate.open.set()
        assert await at.run == "first+second"
        assert at.run.row.steps == 2
        assert not any("cut" in each.content for each in activity_of(session, at.run))
        assert [status for status, _ in facts_of(session, posting.message)] == ["ready", "applied"]


@pytest.mark.parametrize("boundary", AXES["at"])
async def test_case_49_each_boundary_cuts_waits_or_is_deferred(opened, boundary):
    """Case 49."""
    async with opened() as session:
        at = Working(session, always(Attention(memory="include", control="restart", at=boundary)))
        posting = await at.hears("second")
        at.gate.open.set()
        is_supported = boundary in SUPPORTED
        assert await at.run == ("first+second" if is_supported else "first")
        was_cut = any("cut by a message" in each.content for each in activity_of(session, at.run))
        assert was_cut == (boundary in ("now", "next-safe-boundary"))
        statuses = [status for status, _ in facts_of(session, posting.message)]
        assert statuses == (["ready", "applied"] if is_supported else ["deferred"])
        assert (len(session.runs(room="lab")), at.room.unanswered()) == (1, [])


async def test_case_47_who_suspends_waits_and_what_it_included_is_seen_next_time(opened):
    """Case 47."""
    async with opened() as session:
        at = Working(session, always(Attention(memory="include", control="suspend")))
        posting = await at.hears("hold on")
        await at.run.wait()
        assert end_of(at.run) == ("waiting", "attention-suspended")
        assert (session.active_runs(), said_by(at.room, "researcher")) == ([], [])
        assert await at.room.turn("researcher", "go on", thread=at.run) == "go on+hold on"
        assert [status for status, _ in facts_of(session, posting.message)] == ["ready", "applied"]


async def test_who_suspends_and_enqueues_answers_the_message_with_a_run_of_its_own(opened):
    async with opened() as session:
        at = Working(session, always(Attention(control="suspend", activation="enqueue")))
        posting = await at.hears("hold on", elsewhere=True)
        await at.run.wait()
        assert end_of(at.run) == ("waiting", "attention-suspended")
        (later,) = posting.runs
        assert await later == "hold on"


async def test_case_46_who_cancels_and_enqueues_ends_the_turn_and_answers_the_message(opened):
    """Case 46."""
    async with opened() as session:
        at = Working(session, always(Attention(control="cancel", activation="enqueue")))
        posting = await at.hears("instead")
        await at.run.wait()
        assert end_of(at.run) == ("cancelled", "cancel-requested")
        (later,) = posting.runs
        assert await later == "instead"
        assert said_by(at.room, "researcher") == ["instead"]


@pytest.mark.parametrize("control", ["integrate", "restart"])
async def test_who_would_join_a_handler_that_takes_no_messages_has_a_run_of_its_own(opened, control):
    async with opened() as session:
        room, held = session.rooms.open("lab"), Held()
        room.join("plain", held, attention=always(Attention(memory="include", control=control)))
        run = room.turn("plain", "first")
        await held.until("first")
        posting = await room.post("second", to="plain", reply_to=run)
        held.let()
        (later,) = posting.runs
        assert [await run, await later] == ["done first", "done second"]
        assert [status for status, _ in facts_of(session, posting.message)] == ["ready", "applied"]


# The order of what waits ---------------------------------------------------------------------------------------------


def by_content(message, situation):
    """Decides by what the message says: `wake`, or a number as priority."""
    word = message.content.split()[0]
    if word == "wake":
        return Attention(activation="wake", at="quiescent")
    return Attention(activation="enqueue", at="quiescent", priority=float(word))


async def order_of(session, *contents, threads=None):
    """In which order a busy actor answers those messages, after the one it works on."""
    room, held = session.rooms.open("lab"), Held()
    room.join("ann", held, attention=by_content)
    first = room.turn("ann", "first")
    await held.until("first")
    roots: dict[str, str] = {}
    for content in contents:
        name = (threads or {}).get(content, content)
        posting = await room.post(content, to="ann", reply_to=roots.get(name))
        roots.setdefault(name, posting.message)
    held.let()
    await first
    await session.drain(30)
    return held.began[1:]


async def test_what_matters_as_much_is_answered_in_the_order_in_which_it_came(opened):
    async with opened() as session:
        assert await order_of(session, "0 a", "0 b", "0 c") == ["0 a", "0 b", "0 c"]


async def test_what_matters_more_is_answered_earlier_and_in_its_own_order(opened):
    async with opened() as session:
        wanted = ["5 d", "2.5 b", "2.5 e", "0 a", "0 f", "-1 c"]
        assert await order_of(session, "0 a", "2.5 b", "-1 c", "5 d", "2.5 e", "0 f") == wanted


async def test_what_wakes_is_answered_before_what_waits_already(opened):
    async with opened() as session:
        assert await order_of(session, "0 a", "0 b", "wake c", "wake d") == ["wake c", "wake d", "0 a", "0 b"]


async def test_no_priority_goes_past_an_older_message_of_the_same_thread(opened):
    async with opened() as session:
        threads = {"0 old": "one", "9 new": "one"}
        assert await order_of(session, "0 other", "0 old", "9 new", threads=threads) == ["0 other", "0 old", "9 new"]


# Decisions that are none ---------------------------------------------------------------------------------------------


def broken(message, situation):
    """A policy of somebody else's."""
    raise ValueError("my own mistake")


def ending(message, situation):
    """A policy that wants to end the kernel."""
    raise SystemExit(3)


NO_DECISIONS = {
    "an unknown word": always("ignore it"),
    "nothing": always(None),
    "a number": always(7),
    "an unknown axis": always({"colour": "red"}),
    "an unknown value": always({"control": "explode"}),
    "a priority that is no number": lambda message, situation: Attention(priority=cast("Any", "high")),
    "an infinite priority": lambda message, situation: Attention(priority=float("inf")),
    "metadata that is no data": lambda message, situation: Attention(metadata={"f": print}),
    "a raising policy": broken,
    "a policy that ends the process": ending,
}


@pytest.mark.parametrize("policy", NO_DECISIONS.values(), ids=NO_DECISIONS.keys())
async def test_what_is_no_decision_is_on_record_as_invalid_and_changes_nothing(opened, policy, caplog):
    async with opened() as session:
        at = Working(session, policy)
        with caplog.at_level(logging.WARNING):
            posting = await at.hears("second")
        at.gate.open.set()
        assert await at.run == "first"
        assert at.run.row.steps == 1
        assert facts_of(session, posting.message) == [("invalid", Attention())]
        assert (posting.runs, len(session.runs(room="lab")), at.room.unanswered()) == ((), 1, [])
        assert "attention policy of 'researcher'" in caplog.text
        assert await at.room.turn("researcher", "next") == "next"


# When it is asked ----------------------------------------------------------------------------------------------------


async def test_the_policy_is_asked_about_what_comes_while_the_actor_works_and_never_else(opened):
    async with opened() as session:
        asked = []

        def policy(message, situation):
            asked.append((message.content, situation.actor, situation.run.id, situation.same_thread, situation.queued))
            return "queue"

        at = Working(session, policy)
        await at.hears("same thread")
        await at.hears("elsewhere", elsewhere=True)
        at.gate.open.set()
        await session.drain(30)
        await at.room.post("idle", to="researcher")
        await session.drain(30)
        run = at.run.id
        assert asked == [("same thread", "researcher", run, True, 0), ("elsewhere", "researcher", run, False, 1)]


async def test_the_default_policy_steers_the_same_thread_and_queues_another(opened):
    async with opened() as session:
        at = Working(session, None)
        same, other = await at.hears("second"), await at.hears("elsewhere", elsewhere=True)
        at.gate.open.set()
        await session.drain(30)
        assert (same.runs[0].id, other.runs[0].id == at.run.id) == (at.run.id, False)
        assert said_by(at.room, "researcher") == ["first+second", "elsewhere"]


async def test_each_actor_of_a_broadcast_decides_for_itself_and_its_facts_are_its_own(opened):
    async with opened() as session:
        room = session.rooms.open("lab")
        held = {name: Held() for name in ("ann", "bob")}
        room.join("ann", held["ann"], attention=always("queue"))
        room.join("bob", held["bob"], attention=always("observe"))
        for name, handler in held.items():
            room.turn(name, "work")
            await handler.until("work")
        posting = await room.post("all of you", to="*")
        for handler in held.values():
            handler.let()
        await session.drain(30)
        assert [run.row.actor for run in posting.runs] == ["ann"]
        facts = session.store.attention("lab", posting.message.id)
        assert sorted((fact.actor, fact.status, fact.decision.activation) for fact in facts) == [
            ("ann", "applied", "enqueue"),
            ("ann", "ready", "enqueue"),
            ("bob", "applied", "none"),
            ("bob", "ready", "none"),
        ]


async def test_facts_of_attention_are_no_messages(opened):
    async with opened() as session:
        at = Working(session, always("queue"))
        await at.hears("second")
        at.gate.open.set()
        await session.drain(30)
        assert [each.content for each in at.room.messages(limit=None)] == ["first", "second", "first", "second"]


async def test_a_new_policy_counts_from_the_next_message_on(opened):
    async with opened() as session:
        gate = Gate()
        room = session.rooms.open("lab")
        handler = scripted([gate, joined], joined, joined)
        room.join("researcher", handler, attention=always("observe"))
        run = room.turn("researcher", "first")
        await gate.reached.wait()
        observed = await room.post("one", to="researcher", reply_to=run)
        room.join("researcher", handler, attention=always("queue"))
        queued = await room.post("two", to="researcher", reply_to=run)
        gate.open.set()
        await session.drain(30)
        assert (observed.runs, len(queued.runs)) == ((), 1)


@pytest.mark.parametrize("decision", [Attention(memory="include"), Attention(control="suspend")], ids=["include", "suspend"])
async def test_what_only_a_turn_of_rounds_can_do_is_deferred_where_a_plain_function_works(opened, decision):
    async with opened() as session:
        room, held = session.rooms.open("lab"), Held()
        room.join("ann", held, attention=always(decision))
        run = room.turn("ann", "first")
        await held.until("first")
        posting = await room.post("second", to="ann")
        held.let()
        assert await run == "done first"
        assert (posting.runs, facts_of(session, posting.message)) == ((), [("deferred", decision)])


async def test_a_message_that_was_refused_joins_where_it_is_said_again_under_its_key(opened):
    async with opened() as session:
        at = Working(session, always("observe"), joined, joined)
        await at.gate.reached.wait()
        at.gate.open.set()
        await at.run
        session.store.refused = (Admit,)
        with pytest.raises(StoreFailed):
            await at.room.turn("researcher", "again", thread=at.run, key="k")
        session.store.refused = ()
        gate = Gate()
        at.room.join("researcher", scripted([gate, joined]))
        working = at.room.turn("researcher", "more", thread=at.run)
        await gate.reached.wait()
        assert at.room.speak("researcher", "again", thread=at.run, key="k").how == "joined"
        gate.open.set()
        assert await working == "more+again"
