"""The same loop over the messages of Anthropic: streams, tools, trouble, cutting, and tokens of the cache."""

from __future__ import annotations

import asyncio

import pytest

import dvergr_nb as d
from dvergr_nb import RunCancelled, RunFailed
from tests.agents.stage import CALL, end_of, facts, lines, offered, outcomes, quickly, said, spends, uses
from tests.agents.stage import stage as any_stage
from tests.rigs.anthropic_server import AnthropicServer
from tests.rigs.model_server import Fail, Say, Tokens, cut, hang, use


def stage(*acts, **more):
    """A current session whose agent is asked over Anthropic's format."""
    return any_stage(*acts, speaks=AnthropicServer, **more)


def look(n: int) -> str:
    """Looks something up."""
    return f"looked {n}"


async def test_an_answer_is_streamed_and_paid():
    async with stage(Say("one two three"), instructions="Count.") as server:
        run = d.turn("researcher", "go")
        assert await run == "one two three"
        assert (run.row.cost, outcomes(run)) == (CALL, ["completed"])
        assert (server.requests[0].body["stream"], lines(server.requests[0])[0]) == (True, ("system", "Count."))


async def test_several_tools_are_used_and_their_results_are_in_the_next_request():
    calls = use(("look", {"n": 1}), ("look", {"n": 2}), text="Let me see.")
    async with stage(calls, Say("Seen."), tools=[look]) as server:
        run = d.turn("researcher", "look")
        assert await run == "Seen."
        assert (offered(server.requests[0]), run.row.steps) == (["look"], 2)
        results = server.requests[1].body["messages"][-1]["content"]
        assert [part["type"] for part in results] == ["tool_result", "tool_result"]
        assert ("looked 1" in str(results[0]), "looked 2" in str(results[1])) == (True, True)
        assert [used.result for used in uses(run)] == ["looked 1", "looked 2"]


async def test_arguments_that_are_no_json_are_told_to_the_model_and_the_conversation_goes_on():
    async with stage(use(("look", '{"n": ')), Say("Sorry."), tools=[look]) as server:
        run = d.turn("researcher", "look")
        assert await run == "Sorry."
        assert "no JSON" in str(server.requests[1].body["messages"][-1])
        assert ("tool", "fail", "failed", "invalid-arguments") in facts(run)


@pytest.mark.parametrize("status", [429, 529, 500])
async def test_a_provider_that_is_busy_is_asked_again_and_each_try_is_on_record(status):
    async with stage(Fail(status, retry_after=0), Say("Now.")) as server:
        run = d.turn("researcher", "go")
        assert await run == "Now."
        assert (len(server.requests), outcomes(run)) == (2, ["ModelBusy", "completed"])
        assert ("round", "retry", "noted", "ModelBusy") in facts(run)


@pytest.mark.parametrize("status", [429, 529])
async def test_a_provider_that_stays_busy_fails_the_turn_after_its_retries(status):
    async with stage(Fail(status, retry_after=0)) as server:
        run = await d.turn("researcher", "go").wait()
        assert (end_of(run), len(server.requests), outcomes(run)) == (("failed", "error"), 3, 3 * ["ModelBusy"])


@pytest.mark.parametrize("status", [401, 404, 400])
async def test_what_it_refuses_fails_the_turn_at_the_first_try(status):
    async with stage(Fail(status)) as server:
        run = d.turn("researcher", "go")
        with pytest.raises(RunFailed):
            await run
        assert (end_of(run), len(server.requests), outcomes(run)) == (("failed", "error"), 1, ["ModelRefused"])


async def test_an_error_within_a_stream_is_an_error_of_the_call():
    async with stage(Fail(529, "overloaded", in_stream=True), Say("Now.")) as server:
        run = d.turn("researcher", "go")
        assert await run == "Now."
        assert (len(server.requests), outcomes(run)) == (2, ["ModelBusy", "completed"])


@pytest.mark.parametrize("after", [0, 3])
async def test_a_stream_that_breaks_off_is_asked_for_again(after):
    async with stage(cut(after), Say("Whole.")) as server:
        run = d.turn("researcher", "go")
        assert await run == "Whole."
        assert (len(server.requests), outcomes(run), said()) == (2, ["ModelUnreachable", "completed"], ["Whole."])


@pytest.mark.parametrize("after", [0, 4])
async def test_cancelling_ends_the_connection_and_the_next_turn_works(after):
    async with stage(hang(after), Say("Back.")) as server:
        run = d.turn("researcher", "go")
        await server.requested()
        if after:
            async for event in d.events():
                if event.type == "run/partial" and event.text:
                    break
        d.cancel_run(run)
        with pytest.raises(RunCancelled):
            await run
        await server.disconnected()
        assert (outcomes(run), said()) == (["cancelled"], [])
        assert await d.turn("researcher", "again") == "Back."


async def test_a_message_on_its_thread_cuts_the_call_and_the_next_one_has_both():
    async with stage(hang(), Say("Both.")) as server:
        run = d.turn("researcher", "first")
        await server.requested()
        d.turn("researcher", "second", thread=run)
        assert await run == "Both."
        await server.disconnected()
        shown = "\n".join(line.text for line in lines(server.requests[1]))
        assert ("first" in shown, "second" in shown, outcomes(run)) == (True, True, ["cut", "completed"])


async def test_tokens_of_the_cache_are_counted_within_the_input_and_have_prices_of_their_own():
    prices = {"local": {"input": 10.0, "output": 100.0, "cache_read": 1.0, "cache_write": 12.5}}
    async with stage(Say("Cached.", tokens=Tokens(input=60, output=2, cache_read=40, cache_write=8)), prices=prices):
        run = d.turn("researcher", "go")
        await run
        (spend,) = spends(run)
        usage = spend.usage
        assert (usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens, usage.output_tokens) == (60, 40, 8, 2)
        assert usage.cost == 12 * 10 + 40 * 1 + 8 * 12.5 + 2 * 100


@pytest.mark.filterwarnings("ignore:Failed to extract usage")
async def test_an_answer_without_usage_is_unpriced_and_unmeasured():
    async with stage(Say("Free?", tokens=None)):
        run = d.turn("researcher", "go")
        await run
        (spend,) = spends(run)
        assert (spend.usage.is_measured, spend.usage.cost, run.row.unpriced) == (False, None, 1)


def test_fifty_turns_at_once_answer_each_their_own():
    quickly(_fifty_answer())


async def _fifty_answer():
    gate = asyncio.Event()
    async with stage(lambda request: Say(f"answer to {lines(request)[-1].text}", when=gate)) as server:
        runs = [d.turn("researcher", f"question {number}", room=d.room(f"room {number}")) for number in range(50)]
        await server.requested(50)
        gate.set()
        assert await asyncio.gather(*runs) == [f"answer to question {number}" for number in range(50)]
