"""Calls, streams and tools that are cancelled or cut: the server sees it, the record says it, and the actor works on."""

from __future__ import annotations

import asyncio
import threading

import pytest

import dvergr_nb as d
from dvergr_nb.errors import RunCancelled
from tests.agents.stage import CALL, activity, end_of, facts, lines, outcomes, quickly, said, spends, stage, uses
from tests.rigs.model_server import Fail, Say, hang, use


async def streamed(run):
    """Returns once something of a Run was streamed."""
    async for event in d.events():
        if event.type == "run/partial" and event.run.id == run.id and event.text:
            return


async def charged(run):
    """Returns once a call of a Run is on record."""
    async for event in d.events():
        if event.type == "run/progress" and event.run.id == run.id and event.run.unpriced:
            return


async def cancelled(run):
    """Cancels a Run and waits for its end."""
    assert d.cancel_run(run)
    with pytest.raises(RunCancelled):
        await run


# Cancelling ----------------------------------------------------------------------------------------------------------


async def test_a_turn_cancelled_in_its_request_ends_the_connection_and_the_next_one_of_the_agent_works():
    async with stage(hang(), Say("Back.")) as server:
        run = d.turn("researcher", "go")
        await server.requested()
        await cancelled(run)
        await server.disconnected()
        assert (end_of(run), outcomes(run)) == (("cancelled", "cancel-requested"), ["cancelled"])
        assert ("round", "end", "cancelled", None) in facts(run)
        assert await d.turn("researcher", "again", thread=run) == "Back."
        assert said() == ["Back."]


async def test_a_turn_cancelled_in_its_stream_ends_the_connection_and_posts_nothing_of_it():
    async with stage(hang(4), Say("Back.")) as server:
        run = d.turn("researcher", "go")
        async with asyncio.timeout(20):
            await streamed(run)
        await cancelled(run)
        await server.disconnected()
        assert (end_of(run), said(), outcomes(run)) == (("cancelled", "cancel-requested"), [], ["cancelled"])
        assert await d.turn("researcher", "again") == "Back."


async def test_a_turn_cancelled_in_a_coroutine_of_a_tool_interrupts_it():
    at_work, was_interrupted = asyncio.Event(), asyncio.Event()

    async def wait() -> str:
        """Waits."""
        at_work.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            was_interrupted.set()
            raise
        return "never"

    async with stage(use(("wait", {})), Say("Back."), tools=[wait]) as server:
        run = d.turn("researcher", "go")
        await at_work.wait()
        await cancelled(run)
        assert was_interrupted.is_set()
        assert (end_of(run), len(server.requests)) == (("cancelled", "cancel-requested"), 1)
        assert [used.status for used in uses(run)] == ["cancelled"]
        assert ("tool", "fail", "cancelled", None) in facts(run)
        assert await d.turn("researcher", "again") == "Back."


async def test_a_turn_cancelled_in_a_function_of_a_tool_ends_and_what_the_function_gives_reaches_no_model():
    at_work, go_on, is_over = threading.Event(), threading.Event(), threading.Event()

    def wait() -> str:
        """Waits in a thread, which nothing can interrupt."""
        at_work.set()
        go_on.wait(20)
        is_over.set()
        return "too late"

    async with stage(use(("wait", {})), Say("Back."), tools=[wait]) as server:
        run = d.turn("researcher", "go")
        await asyncio.to_thread(at_work.wait, 20)
        try:
            await cancelled(run)
            assert (end_of(run), len(server.requests)) == (("cancelled", "cancel-requested"), 1)
            assert await d.turn("researcher", "again") == "Back."
        finally:
            go_on.set()
        await asyncio.to_thread(is_over.wait, 20)
        assert len(server.requests) == 2


async def test_a_turn_cancelled_between_two_tries_makes_no_further_one():
    async with stage(Fail(429, retry_after=30), Say("Back.")) as server:
        run = d.turn("researcher", "go")
        await server.requested()
        await charged(run)
        await cancelled(run)
        assert (len(server.requests), outcomes(run)) == (1, ["ModelBusy"])
        assert await d.turn("researcher", "again") == "Back."


async def test_case_29_a_cancelled_hired_run_is_cancelled_on_record_and_has_no_output():
    async with stage(hang()) as server:
        run = d.hire("researcher", "go")
        await server.requested()
        await cancelled(run)
        await server.disconnected()
        assert end_of(run) == ("cancelled", "cancel-requested")
        assert [each for each in d.frames.messages(run=run)["recipient"] if each == "_runs"] == []


def test_of_fifty_turns_of_one_agent_at_once_one_is_cancelled_and_the_others_answer():
    quickly(_one_of_fifty_is_cancelled())


async def _one_of_fifty_is_cancelled():
    gate = asyncio.Event()

    def act(request):
        words = lines(request)[-1].text
        return hang() if words == "question 7" else Say(f"answer to {words}", when=gate)

    async with stage(act, settings={"timeout": 250}) as server:
        rooms = [d.room(f"room {number}") for number in range(50)]
        runs = [d.turn("researcher", f"question {number}", room=room) for number, room in enumerate(rooms)]
        await server.requested(50)
        assert d.cancel_run(runs[7])
        with pytest.raises(RunCancelled):
            await runs[7]
        await server.disconnected()
        gate.set()
        answers = await asyncio.gather(*runs, return_exceptions=True)
        assert [answer for number, answer in enumerate(answers) if number != 7] == [
            f"answer to question {number}" for number in range(50) if number != 7
        ]
        assert isinstance(answers[7], RunCancelled)
        assert sum(run.row.cost for run in runs) == 49 * CALL


# Joining -------------------------------------------------------------------------------------------------------------


async def test_case_43_a_message_on_its_thread_cuts_the_call_at_the_server_and_the_next_one_has_both():
    async with stage(hang(), Say("Both.")) as server:
        run = d.turn("researcher", "first")
        await server.requested()
        same = d.turn("researcher", "second", thread=run)
        assert await run == "Both."
        await server.disconnected()
        assert (same.id, len(d.runs())) == (run.id, 1)
        assert [line.text for line in lines(server.requests[1])] == ["first", "second"]
        assert (outcomes(run), [spend.round for spend in spends(run)]) == (["cut", "completed"], [0, 1])
        assert (run.row.steps, said()) == (2, ["Both."])


async def test_a_message_that_comes_while_a_stream_is_shown_cuts_it_and_nothing_of_it_is_said():
    async with stage(hang(4), Say("Both.")) as server:
        run = d.turn("researcher", "first")
        async with asyncio.timeout(20):
            await streamed(run)
        d.turn("researcher", "second", thread=run)
        assert await run == "Both."
        await server.disconnected()
        assert [line.text for line in lines(server.requests[1])] == ["first", "second"]
        assert said() == ["Both."]


async def test_a_message_that_comes_while_tools_work_cuts_none_and_is_in_the_very_next_request():
    at_work, go_on = asyncio.Event(), asyncio.Event()

    async def wait() -> str:
        """Waits."""
        at_work.set()
        await go_on.wait()
        return "waited"

    async with stage(use(("wait", {})), Say("Both."), tools=[wait]) as server:
        run = d.turn("researcher", "first")
        await at_work.wait()
        joining = d.post(d.room(), "second", to="researcher", reply_to=run)
        await joining
        assert [each.id for each in joining.runs] == [run.id]
        go_on.set()
        assert await run == "Both."
        assert [line.text for line in lines(server.requests[1])] == ["first", "wait", "waited", "second"]
        assert (len(server.requests), server.disconnects, [used.status for used in uses(run)]) == (2, 0, ["completed"])


async def test_after_a_cut_the_results_of_tools_are_kept_and_no_tool_is_used_again():
    used: list[int] = []

    def count(n: int) -> str:
        """Counts."""
        used.append(n)
        return f"counted {n}"

    async with stage(use(("count", {"n": 1})), hang(), Say("Both."), tools=[count]) as server:
        run = d.turn("researcher", "first")
        await server.requested(2)
        d.turn("researcher", "second", thread=run)
        assert await run == "Both."
        assert used == [1]
        assert [line.text for line in lines(server.requests[2])] == ["first", "count", "counted 1", "second"]


async def test_case_44_messages_of_other_threads_are_answered_in_order_after_the_turn():
    gate = asyncio.Event()

    def act(request):
        return Say(f"answer to {lines(request)[-1].text}", when=gate)

    async with stage(act) as server:
        first = d.turn("researcher", "A")
        await server.requested()
        others = [d.turn("researcher", text) for text in ("B", "C", "D")]
        gate.set()
        assert await asyncio.gather(first, *others) == [f"answer to {text}" for text in "ABCD"]
        assert (said(), server.disconnects) == ([f"answer to {text}" for text in "ABCD"], 0)


async def test_case_45_what_a_policy_queues_leaves_the_call_alone_and_is_answered_later():
    gate = asyncio.Event()
    async with stage(lambda request: Say(f"answer to {lines(request)[-1].text}", when=gate)) as server:
        room = d.room()
        room.join("researcher", d.current_session().cast["researcher"](), attention=lambda message, situation: "queue")
        first = d.turn("researcher", "one")
        await server.requested()
        second = d.turn("researcher", "two", thread=first)
        gate.set()
        assert [await run for run in (first, second)] == ["answer to one", "answer to two"]
        assert (first.id != second.id, server.disconnects) == (True, 0)
        assert [line.text for line in lines(server.requests[1])] == ["one", "answer to one", "two"]


async def test_case_46_a_decision_to_cancel_ends_the_turn_at_the_server_and_the_next_message_is_answered():
    async with stage(hang(), Say("Back.")) as server:
        stop = d.Attention(control="cancel")
        d.room().join("researcher", d.current_session().cast["researcher"](), attention=lambda message, situation: stop)
        run = d.turn("researcher", "go")
        await server.requested()
        d.post(d.room(), "stop", to="researcher", reply_to=run)
        with pytest.raises(RunCancelled):
            await run
        await server.disconnected()
        assert said() == []
        assert await d.turn("researcher", "again") == "Back."


async def test_case_47_who_suspends_waits_and_what_was_included_is_seen_the_next_time():
    async with stage(hang(), Say("Now I see.")) as server:
        wait = d.Attention(control="suspend", memory="include")
        d.room().join("researcher", d.current_session().cast["researcher"](), attention=lambda message, situation: wait)
        run = d.turn("researcher", "go")
        await server.requested()
        await d.post(d.room(), "mind the gap", to="researcher")
        await run.wait()
        await server.disconnected()
        assert end_of(run) == ("waiting", "attention-suspended")
        assert await d.turn("researcher", "again") == "Now I see."
        assert [line.text for line in lines(server.requests[1])] == ["again", "mind the gap"]


async def test_case_48_what_is_included_without_a_cut_is_in_the_very_next_round():
    gate = asyncio.Event()

    def look() -> str:
        """Looks."""
        return "seen"

    async with stage(use(("look", {}), when=gate), Say("All."), tools=[look]) as server:
        include = d.Attention(memory="include")
        d.room().join("researcher", d.current_session().cast["researcher"](), attention=lambda message, situation: include)
        run = d.turn("researcher", "go")
        await server.requested()
        await d.post(d.room(), "by the way", to="researcher")
        gate.set()
        assert await run == "All."
        assert (server.disconnects, len(d.runs())) == (0, 1)
        assert [line.text for line in lines(server.requests[1])] == ["go", "look", "seen", "by the way"]


async def test_what_came_during_an_answer_without_a_word_has_a_round_of_its_own_and_the_turn_does_not_fail():
    gate = asyncio.Event()
    async with stage(Say("", when=gate), Say("Now I can.")) as server:
        join = d.Attention(memory="include", control="integrate")
        d.room().join("researcher", d.current_session().cast["researcher"](), attention=lambda message, situation: join)
        run = d.turn("researcher", "go")
        await server.requested()
        d.turn("researcher", "here is more", thread=run)
        gate.set()
        assert await run == "Now I can."
        assert (run.row.status, len(server.requests)) == ("completed", 2)


async def test_case_49_a_boundary_that_is_not_supported_is_deferred_and_there_is_one_call_and_one_run():
    gate = asyncio.Event()
    async with stage(Say("Done.", when=gate)) as server:
        odd = d.Attention(control="restart", memory="include", at="token")
        d.room().join("researcher", d.current_session().cast["researcher"](), attention=lambda message, situation: odd)
        run = d.turn("researcher", "go")
        await server.requested()
        await d.post(d.room(), "psst", to="researcher", reply_to=run)
        gate.set()
        assert await run == "Done."
        status = list(d.sql("select status from attention")["status"])
        assert (len(server.requests), len(d.runs()), "deferred" in status) == (1, 1, True)


async def test_case_50_a_turn_cancelled_in_its_call_makes_no_second_call_and_no_reply():
    async with stage(hang()) as server:
        run = d.turn("researcher", "go")
        await server.requested()
        await cancelled(run)
        await server.idle()
        assert (len(server.requests), said()) == (1, [])


async def test_case_51_money_added_to_the_room_in_a_call_leaves_the_call_alone():
    """design.md 8.3: a room is funded; the wallet of a Run that works is raised by a directive, which comes with processes."""
    gate = asyncio.Event()
    async with stage(Say("Done.", when=gate)) as server:
        run = d.turn("researcher", "go")
        await server.requested()
        d.room().fund(5)
        gate.set()
        assert await run == "Done."
        assert (len(server.requests), server.disconnects) == (1, 0)


# Tuning --------------------------------------------------------------------------------------------------------------


async def test_case_52_another_model_in_a_call_cuts_it_and_the_second_call_asks_the_other_model():
    async with stage(hang(), Say("Other.")) as server:
        run = d.turn("researcher", "go")
        await server.requested()
        d.tune("researcher", model="openai:other")
        assert await run == "Other."
        await server.disconnected()
        assert [request.body["model"] for request in server.requests] == ["local", "other"]
        assert [(spend.usage.model, spend.usage.outcome) for spend in spends(run)] == [("local", "cut"), ("other", "completed")]
        assert run.row.cost == 2 * CALL
        assert any("cut for another model" in each.content for each in activity(run))


async def test_another_temperature_holds_from_the_next_round_and_until_it_is_changed_again():
    gate = asyncio.Event()

    def look() -> str:
        """Looks."""
        return "seen"

    first = use(("look", {}), when=gate)
    async with stage(first, Say("Done."), tools=[look], settings={"temperature": 0.9}) as server:
        run = d.turn("researcher", "go")
        await server.requested()
        d.tune("researcher", temperature=0.1)
        gate.set()
        await run
        await d.turn("researcher", "more")
        d.tune("researcher")
        await d.turn("researcher", "more")
        assert server.disconnects == 0
        assert [request.body["temperature"] for request in server.requests] == [0.9, 0.1, 0.1, 0.9]


async def test_another_cap_of_tool_uses_holds_from_the_next_round():
    used: list[int] = []

    def count(n: int) -> str:
        """Counts."""
        used.append(n)
        if len(used) == 1:
            d.tune("researcher", tool_cap=1)
        return "counted"

    async with stage(use(("count", {"n": 1})), use(("count", {"n": 2})), Say("Done."), tools=[count]) as server:
        assert await d.turn("researcher", "go") == "Done."
        assert used == [1]
        assert "may use tools 1 times" in lines(server.requests[2])[-1].text


async def test_a_model_that_was_set_belongs_to_the_actor_of_one_room_only():
    async with stage(Say("Hi.")) as server:
        elsewhere = d.room("elsewhere")
        await d.turn("researcher", "go")
        d.tune("researcher", model="openai:other")
        await d.turn("researcher", "go")
        await d.turn("researcher", "go", room=elsewhere)
        assert [request.body["model"] for request in server.requests] == ["local", "other", "local"]


async def test_a_model_that_a_cell_has_given_can_take_over_for_one_turn_and_prices_go_by_its_name():
    model = d.scripted_model("From a script.")
    async with stage(Say("From the server.")) as server:
        run = d.turn("researcher", "go", model=model)
        assert await run == "From a script."
        assert [spend.usage.model for spend in spends(run)] == [model.model_name]
        assert await d.turn("researcher", "go") == "From the server."
        assert len(server.requests) == 1


async def test_what_was_included_on_the_same_thread_is_seen_once_by_the_next_turn():
    async with stage(hang(), Say("Now I see.")) as server:
        wait = d.Attention(control="suspend", memory="include")
        d.room().join("researcher", d.current_session().cast["researcher"](), attention=lambda message, situation: wait)
        run = d.turn("researcher", "go")
        await server.requested()
        await d.post(d.room(), "mind the gap", to="researcher", reply_to=run)
        await run.wait()
        assert await d.turn("researcher", "again", thread=run) == "Now I see."
        assert [line.text for line in lines(server.requests[1])] == ["go", "mind the gap", "again"]


async def test_of_messages_that_wait_on_a_thread_each_is_answered_by_itself_with_the_answers_before_it():
    gate = asyncio.Event()
    async with stage(lambda request: Say(f"answer to {lines(request)[-1].text}", when=gate)) as server:
        first = d.turn("researcher", "one")
        await server.requested()
        others = [d.turn("researcher", text, thread=first, on_busy="queue") for text in ("two", "three")]
        gate.set()
        assert await asyncio.gather(*others) == ["answer to two", "answer to three"]
        assert [line.text for line in lines(server.requests[1])] == ["one", "answer to one", "two"]
        assert [line.text for line in lines(server.requests[2])] == ["one", "answer to one", "two", "answer to two", "three"]


# At any moment -------------------------------------------------------------------------------------------------------


async def steps_of_the_loop(count):
    """Gives way to everything else so many times."""
    for _ in range(count):
        await asyncio.sleep(0)


async def test_a_turn_stopped_at_any_step_of_the_loop_leaves_no_task_and_the_next_one_works():
    with d.connect(":memory:"):
        d.agent("player", model=d.scripted_model("one two three", pace=0.001), budget=None)
        await d.turn("player", "warm up")
        before = len(asyncio.all_tasks())
        for count in range(60):
            run = d.turn("player", "go", on_busy="queue")
            await run.admitted
            await steps_of_the_loop(count)
            d.cancel_run(run)
            await run.wait()
            await steps_of_the_loop(3)
            assert len(asyncio.all_tasks()) == before, f"stopped after {count} steps"
        assert await d.turn("player", "go") == "one two three"
