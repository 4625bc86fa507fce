"""Every way in which a turn of a model ends, over HTTP, and what is on record then."""

from __future__ import annotations

import asyncio
import json
import threading
import time

import pydantic
import pytest

import dvergr_nb as d
from dvergr_nb.agent_errors import ModelBusy, ModelConfused, ModelRefused, ModelTimedOut, ModelUnreachable, StepLimit
from dvergr_nb.errors import RunFailed, RunWaiting
from tests.agents.stage import CALL, activity, end_of, facts, lines, offered, outcomes, said, spends, stage, uses
from tests.rigs.model_server import Fail, Raw, Say, Tokens, cut, hang, use


def look(n: int) -> str:
    """Looks something up."""
    return f"looked {n}"


# Answers -------------------------------------------------------------------------------------------------------------


async def test_an_answer_is_the_reply_of_one_run_of_one_step_with_its_cost():
    async with stage(Say("Ducks are birds.")) as server:
        run = d.turn("researcher", "What are ducks?")
        assert await run == "Ducks are birds."
        assert (end_of(run), run.row.steps, run.row.cost) == (("completed", None), 1, CALL)
        assert (len(server.requests), outcomes(run)) == (1, ["completed"])
        assert said() == ["Ducks are birds."]
        assert facts(run) == [("round", "begin", None, None), ("round", "end", "completed", None)]


async def test_what_is_streamed_is_seen_as_it_comes():
    seen: asyncio.Queue[str] = asyncio.Queue()
    async with stage(Say("one two three", hang_after=3)):
        d.watch_runs("test", lambda event: seen.put_nowait(event.text) if event.type == "run/partial" else None)
        run = d.turn("researcher", "count")
        text = await seen.get()
        assert text
        assert "one two three".startswith(text)
        run.cancel()
        await run.wait()


async def test_an_answer_without_end_is_cut_off_and_fails_typed(monkeypatch):
    monkeypatch.setattr("dvergr_nb.actors.agents.listening.LONGEST", 1_000)
    async with stage(Say("word " * 1_000)) as server:
        run = await d.turn("researcher", "speak").wait()
        assert end_of(run) == ("failed", "error")
        assert "longer than 1,000 characters" in run.row.error
        assert outcomes(run) == ["ModelConfused"] * len(server.requests)


def streamed(finish: str, **delta: object) -> Raw:
    """An answer of one piece, in a stream of OpenAI's."""
    choice = {"index": 0, "delta": {"role": "assistant", **delta}, "finish_reason": finish}
    said = {"id": "c", "created": 1, "model": "local", "object": "chat.completion.chunk", "choices": [choice]}
    return Raw(f"data: {json.dumps(said)}\n\ndata: [DONE]\n\n", content_type="text/event-stream")


@pytest.mark.parametrize(
    ("finish", "sentence"), [("length", "stopped at its limit of output tokens"), ("content_filter", "withheld")]
)
async def test_an_answer_that_was_cut_before_its_first_word_has_failed_and_says_why(finish, sentence):
    async with stage(streamed(finish, content="")):
        run = await d.turn("researcher", "speak").wait()
        assert end_of(run) == ("failed", "error")
        assert sentence in run.row.error


async def test_a_refusal_fails_the_turn_with_the_words_of_the_model():
    async with stage(streamed("stop", refusal="I must not say that.")):
        run = await d.turn("researcher", "speak").wait()
        assert end_of(run) == ("failed", "error")
        assert "I must not say that" in run.row.error
        assert "ask differently" in run.row.error


@pytest.mark.parametrize(
    ("finish", "sentence"), [("length", "stopped at its limit of output tokens"), ("content_filter", "withheld")]
)
async def test_case_40_a_text_that_was_cut_short_is_the_reply_and_why_it_ends_there_is_on_record(finish, sentence):
    async with stage(use(("look", {"n": 1})), streamed(finish, content="Ducks are"), tools=[look]):
        run = d.turn("researcher", "speak")
        assert await run == "Ducks are"
        assert (end_of(run), said()) == (("completed", None), ["Ducks are"])
        (told,) = [each.content for each in activity(run) if "ended in an error" in each.content]
        assert told.startswith("round 2 ended in an error")
        assert sentence in told
        assert ("round", "end", "failed", None) in facts(run)


@pytest.mark.parametrize(
    ("name", "call_id"), [("  ", "c"), ("look", "  "), ("look\ud800", "c"), ("look\x00\x1b[31m", "c\ud800")]
)
async def test_names_and_ids_of_tools_may_be_anything_and_the_model_goes_on(name, call_id):
    call = {"index": 0, "id": call_id, "type": "function", "function": {"name": name, "arguments": '{"n": 1}'}}
    async with stage(streamed("tool_calls", tool_calls=[call]), Say("Went on."), tools=[look]) as server:
        assert await d.turn("researcher", "look") == "Went on."
        assert len(server.requests) == 2


async def test_a_tool_round_and_an_answer_are_one_run_of_two_steps():
    async with stage(use(("look", {"n": 3})), Say("It says three."), tools=[look]) as server:
        run = d.turn("researcher", "look")
        assert await run == "It says three."
        assert (end_of(run), run.row.steps, run.row.cost) == (("completed", None), 2, 2 * CALL)
        assert lines(server.requests[1])[-1] == ("tool", "looked 3")
        (used,) = uses(run)
        assert (used.name, used.arguments, used.result, used.status) == ("look", '{"n": 3}', "looked 3", "completed")
        assert [spend.round for spend in spends(run)] == [0, 1]


async def test_a_text_beside_the_tools_is_no_reply_where_another_follows():
    async with stage(use(("look", {"n": 1}), text="Let me see."), Say("Seen."), tools=[look]):
        assert await d.turn("researcher", "look") == "Seen."
        assert said() == ["Seen."]


async def test_several_tools_of_an_answer_are_used_at_once_and_told_in_the_order_in_which_they_were_asked_for():
    together = threading.Barrier(3, timeout=20)

    def meet(n: int) -> str:
        """Meets the others."""
        together.wait()
        return f"met {n}"

    calls = use(("meet", {"n": 1}), ("meet", {"n": 2}), ("meet", {"n": 3}))
    async with stage(calls, Say("All met."), tools=[meet]) as server:
        run = d.turn("researcher", "meet")
        assert await run == "All met."
        assert [line.text for line in lines(server.requests[1])[-3:]] == ["met 1", "met 2", "met 3"]
        (row,) = [each for each in activity(run) if each.metadata.get("tool-uses")]
        assert row.content == "meet, meet, meet"


async def test_arguments_that_are_no_json_are_told_to_the_model_and_the_tool_is_not_used():
    used: list[int] = []

    def count(n: int) -> str:
        """Counts."""
        used.append(n)
        return "counted"

    async with stage(use(("count", '{"n": 1')), Say("Sorry."), tools=[count]) as server:
        run = d.turn("researcher", "count")
        assert await run == "Sorry."
        assert used == []
        assert "no JSON" in lines(server.requests[1])[-1].text
        assert ("tool", "fail", "failed", "invalid-arguments") in facts(run)


async def test_a_tool_that_does_not_exist_is_told_to_the_model_with_those_that_do():
    async with stage(use(("lok", {"n": 1})), Say("I see."), tools=[look]) as server:
        run = d.turn("researcher", "look")
        assert await run == "I see."
        assert "there is no tool 'lok'; there are: look" in lines(server.requests[1])[-1].text
        assert ("tool", "fail", "failed", "unknown-tool") in facts(run)


async def test_what_a_tool_raises_is_told_to_the_model():
    def burn() -> str:
        """Burns."""
        raise RuntimeError("the stove is hot")

    async with stage(use(("burn", {})), Say("Ouch."), tools=[burn]) as server:
        run = d.turn("researcher", "touch")
        assert await run == "Ouch."
        assert "the stove is hot" in lines(server.requests[1])[-1].text
        assert ("tool", "fail", "failed", "RuntimeError") in facts(run)


async def test_what_a_tool_raises_fails_the_run_where_the_profile_says_so():
    def burn() -> str:
        """Burns."""
        raise RuntimeError("the stove is hot")

    async with stage(use(("burn", {})), tools=[burn], on_tool_error="fail") as server:
        run = await d.turn("researcher", "touch").wait()
        assert end_of(run) == ("failed", "error")
        assert run.row.error == "RuntimeError: the stove is hot"
        assert (len(server.requests), said()) == (1, [])


@pytest.mark.parametrize("is_async", [True, False])
async def test_a_tool_that_takes_too_long_is_given_up_and_the_model_is_told(is_async):
    over = threading.Event()

    async def slow() -> str:
        """Takes its time."""
        await asyncio.Event().wait()
        return "never"

    def slow_in_a_thread() -> str:
        """Takes its time."""
        over.wait(20)
        return "never"

    made = d.tool(slow if is_async else slow_in_a_thread, timeout=0.05)
    async with stage(use((made.name, {})), Say("Too slow."), tools=[made]) as server:
        run = d.turn("researcher", "wait")
        try:
            assert await run == "Too slow."
        finally:
            over.set()
        assert "took longer than 0.05 s" in lines(server.requests[1])[-1].text
        assert ("tool", "fail", "failed", "timeout") in facts(run)


async def test_silence_is_a_completed_run_without_a_message():
    async with stage(Say("[SKIP] nothing to add")):
        run = await d.turn("researcher", "anything?").wait()
        assert (end_of(run), said()) == (("completed", "silent"), [])
        assert run.row.cost == CALL


@pytest.mark.parametrize("blank", ["", " \n\t"])
async def test_an_answer_without_a_word_fails_says_why_and_is_paid(blank):
    async with stage(Say(blank)) as server:
        run = d.turn("researcher", "anything?")
        with pytest.raises(RunFailed, match="it has said nothing"):
            await run
        assert (end_of(run), said(), len(server.requests)) == (("failed", "error"), [], 1)
        assert "round 1 ended without a text" in [each.content for each in activity(run)]
        assert run.row.cost == CALL


async def test_what_was_said_beside_tools_is_the_reply_where_the_last_answer_is_empty():
    async with stage(use(("look", {"n": 1}), text="I look."), Say(""), tools=[look]):
        run = d.turn("researcher", "anything?")
        assert await run == "I look."


# Limits --------------------------------------------------------------------------------------------------------------


async def test_at_its_step_limit_a_turn_fails_without_another_call():
    async with stage(use(("look", {"n": 1})), tools=[look], max_steps=3) as server:
        run = d.turn("researcher", "look")
        with pytest.raises(RunFailed) as caught:
            await run
        assert isinstance(caught.value.__cause__, StepLimit)
        assert (end_of(run), run.row.steps, len(server.requests)) == (("failed", "step-limit"), 3, 3)
        assert said() == []


async def test_past_its_cap_of_tool_uses_tools_are_not_used_and_the_model_is_told():
    used: list[int] = []

    def count(n: int) -> str:
        """Counts."""
        used.append(n)
        return "counted"

    both = use(("count", {"n": 1}), ("count", {"n": 2}))
    async with stage(both, use(("count", {"n": 3})), Say("Enough."), tools=[count], tool_calls=1) as server:
        run = d.turn("researcher", "count")
        assert await run == "Enough."
        assert used == [1]
        assert "may use tools 1 times" in lines(server.requests[1])[-1].text
        assert [fact for fact in facts(run) if fact[3] == "tool-cap"] == 2 * [("tool", "fail", "failed", "tool-cap")]


async def test_case_53_a_budget_that_one_round_spends_ends_the_turn_after_that_call_and_a_message_begins_a_new_run():
    """Semantics 2.12 and design.md 12: waiting wins over the text, and the text is posted."""
    dear = {"local": {"input": 10_000.0, "output": 100_000.0}}
    acts = use(("look", {"n": 1}), text="Half an answer."), use(("look", {"n": 1})), Say("Done.")
    async with stage(*acts, tools=[look], prices=dear, budget=0.5) as server:
        began = time.monotonic()
        run = d.turn("researcher", "look")
        with pytest.raises(RunWaiting):
            await run
        assert time.monotonic() - began < 5
        assert (end_of(run), len(server.requests)) == (("waiting", "budget-exhausted"), 1)
        assert said() == ["Half an answer."]
        assert [each for each in facts(run) if each[0] == "budget"][-1] == ("budget", "exhaust", None, "blocked")
        (spend,) = d.sql("select * from ledger where overrun_usd > 0").to_dict("records")
        assert spend["amount_usd"] == pytest.approx(0.5)
        assert spend["overrun_usd"] == pytest.approx((110_000 + 700_000) / 1e6 - 0.5)
        again = d.turn("researcher", "go on", thread=run, budget=10)
        assert await again == "Done."
        assert (again.id != run.id, len(server.requests)) == (True, 3)
        assert (end_of(run), end_of(again)) == (("waiting", "budget-exhausted"), ("completed", None))


async def test_an_answer_that_needs_no_further_round_is_the_reply_also_where_it_was_the_last_that_could_be_paid():
    dear = {"local": {"input": 10_000.0, "output": 100_000.0}}
    async with stage(Say("Done."), prices=dear, budget=0.01) as server:
        run = d.turn("researcher", "go")
        assert await run == "Done."
        assert (end_of(run), len(server.requests)) == (("completed", None), 1)


# What a provider does ------------------------------------------------------------------------------------------------

REFUSALS = [(401, "refuses the key"), (404, "is not known there"), (400, "refuses the request"), (403, "refuses the key")]


@pytest.mark.parametrize(("status", "sentence"), REFUSALS)
async def test_what_a_provider_refuses_fails_the_turn_at_the_first_try(status, sentence):
    async with stage(Fail(status, "no way")) as server:
        run = d.turn("researcher", "go")
        with pytest.raises(RunFailed) as caught:
            await run
        assert isinstance(caught.value.__cause__, ModelRefused)
        assert (end_of(run), len(server.requests), outcomes(run)) == (("failed", "error"), 1, ["ModelRefused"])
        assert sentence in (run.row.error or "")
        assert said() == []


async def test_a_conversation_that_is_too_long_says_what_to_do():
    problem = Fail(400, "This model's maximum context length is 8192 tokens.", code="context_length_exceeded")
    async with stage(problem) as server:
        run = await d.turn("researcher", "go").wait()
        assert (end_of(run), len(server.requests)) == (("failed", "error"), 1)
        assert "finds the conversation too long" in (run.row.error or "")
        assert "go on in a new thread" in (run.row.error or "")


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_provider_that_is_busy_is_asked_again_on_record_and_paid(status):
    async with stage(Fail(status, retry_after=0), Say("Here I am.")) as server:
        run = d.turn("researcher", "go")
        assert await run == "Here I am."
        assert (len(server.requests), outcomes(run)) == (2, ["ModelBusy", "completed"])
        assert ("round", "retry", "noted", "ModelBusy") in facts(run)
        assert (run.row.steps, run.row.cost, run.row.unpriced) == (1, CALL, 1)


async def test_a_provider_that_stays_busy_fails_the_turn_after_its_retries():
    async with stage(Fail(429, retry_after=0), retries=3) as server:
        run = d.turn("researcher", "go")
        with pytest.raises(RunFailed) as caught:
            await run
        assert isinstance(caught.value.__cause__, ModelBusy)
        assert (end_of(run), len(server.requests)) == (("failed", "error"), 4)
        assert outcomes(run) == 4 * ["ModelBusy"]
        assert [fact[1] for fact in facts(run)].count("retry") == 3
        assert run.row.unpriced == 4


async def test_a_provider_that_hangs_is_given_up_at_the_timeout_of_the_settings():
    async with stage(hang(), settings={"timeout": 0.2}, retries=1) as server:
        run = d.turn("researcher", "go")
        with pytest.raises(RunFailed) as caught:
            await run
        assert isinstance(caught.value.__cause__, ModelTimedOut)
        assert (len(server.requests), outcomes(run)) == (2, 2 * ["ModelTimedOut"])
        await server.disconnected(2)


async def test_a_stream_that_hangs_is_given_up_at_the_timeout_of_the_settings():
    async with stage(hang(2), Say("Now."), settings={"timeout": 0.2}) as server:
        run = d.turn("researcher", "go")
        assert await run == "Now."
        assert outcomes(run) == ["ModelTimedOut", "completed"]
        await server.disconnected()


@pytest.mark.parametrize("after", [0, 2])
async def test_a_stream_that_breaks_off_is_asked_for_again(after):
    async with stage(cut(after), Say("Whole.")) as server:
        run = d.turn("researcher", "go")
        assert await run == "Whole."
        assert (len(server.requests), outcomes(run)) == (2, ["ModelUnreachable", "completed"])
        assert said() == ["Whole."]


async def test_a_stream_that_always_breaks_off_fails_the_turn_and_what_was_said_is_on_record_as_said_until_then():
    async with stage(cut(3)):
        run = d.turn("researcher", "go")
        with pytest.raises(RunFailed) as caught:
            await run
        assert isinstance(caught.value.__cause__, ModelUnreachable)
        assert said() == []
        assert any("until then: Hello" in each.content for each in activity(run))


async def test_an_error_within_a_stream_is_an_error_of_the_call():
    async with stage(Fail(500, "overloaded", in_stream=True), Say("Now.")) as server:
        run = d.turn("researcher", "go")
        assert await run == "Now."
        assert (len(server.requests), outcomes(run)) == (2, ["ModelBusy", "completed"])


@pytest.mark.parametrize("content_type", ["application/json", "text/event-stream"])
async def test_a_body_that_is_no_answer_fails_the_turn(content_type):
    body = "data: {this is no JSON\n\n" if "event" in content_type else "{this is no JSON"
    async with stage(Raw(body, content_type=content_type)) as server:
        run = d.turn("researcher", "go")
        with pytest.raises(RunFailed) as caught:
            await run
        assert isinstance(caught.value.__cause__, ModelConfused)
        assert (end_of(run), len(server.requests), len(spends(run))) == (("failed", "error"), 1, 1)


async def test_a_provider_that_cannot_be_reached_is_a_typed_error_in_one_line():
    async with stage(Say("gone")) as server:
        d.agent("lost", model="openai:local", endpoint="http://127.0.0.1:9/v1", retries=0)
        run = d.turn("lost", "go")
        with pytest.raises(RunFailed) as caught:
            await run
        assert isinstance(caught.value.__cause__, ModelUnreachable)
        assert "\n" not in (run.row.error or "\n")
        assert server.requests == []


async def test_an_answer_without_usage_is_flagged_in_the_ledger_and_costs_nothing_that_is_known():
    async with stage(Say("Free?", tokens=None)):
        run = d.turn("researcher", "go")
        await run
        (row,) = d.sql("select cost_usd, is_priced, is_measured, amount_usd from ledger where model is not null").to_dict(
            "records"
        )
        assert (row["is_priced"], row["is_measured"], row["amount_usd"]) == (False, False, 0)
        assert (run.row.cost, run.row.unpriced) == (0, 1)


async def test_a_model_without_a_known_price_is_flagged_and_counted():
    async with stage(Say("What do I owe?"), prices={}):
        run = d.turn("researcher", "go")
        await run
        (spend,) = spends(run)
        assert (spend.usage.cost, spend.usage.is_measured, run.row.unpriced) == (None, True, 1)


async def test_an_answer_under_another_models_name_is_paid_as_the_model_that_was_asked():
    async with stage(Say("Trust me.", model="gpt-4o-mini")):
        run = d.turn("researcher", "go")
        await run
        (spend,) = spends(run)
        assert (spend.usage.model, spend.usage.answered_as, spend.usage.cost) == ("local", "gpt-4o-mini", CALL)


async def test_tokens_of_a_cache_have_a_price_of_their_own():
    prices = {"local": {"input": 10.0, "output": 100.0, "cache_read": 1.0}}
    async with stage(Say("Cached.", tokens=Tokens(input=50, output=2, cache_read=40)), prices=prices):
        run = d.turn("researcher", "go")
        await run
        (spend,) = spends(run)
        assert (spend.usage.input_tokens, spend.usage.cache_read_tokens) == (50, 40)
        assert spend.usage.cost == 10 * 10 + 40 * 1 + 2 * 100


# Output types --------------------------------------------------------------------------------------------------------


class City(pydantic.BaseModel):
    """A city."""

    name: str
    people: int


BERN = {"name": "Bern", "people": 134_000}


async def test_an_output_type_is_what_the_run_gives_and_its_json_is_the_reply():
    async with stage(use(("final_result", BERN))) as server:
        run = d.turn("researcher", "a city", output_type=City)
        assert await run == City(name="Bern", people=134_000)
        assert offered(server.requests[0]) == ["final_result"]
        assert '"people": 134000' in said()[0]


async def test_an_output_of_the_wrong_type_is_asked_for_again():
    wrong = {"name": "Bern", "people": "many"}
    async with stage(use(("final_result", wrong)), use(("final_result", BERN))) as server:
        run = d.turn("researcher", "a city", output_type=City)
        assert await run == City(name="Bern", people=134_000)
        assert (len(server.requests), run.row.cost, run.row.steps) == (2, 2 * CALL, 2)
        assert "people" in lines(server.requests[1])[-1].text


async def test_an_output_that_stays_wrong_is_given_up():
    async with stage(use(("final_result", {"name": "Bern"})), retries=1) as server:
        run = d.turn("researcher", "a city", output_type=City)
        with pytest.raises(RunFailed) as caught:
            await run
        assert isinstance(caught.value.__cause__, ModelConfused)
        assert (end_of(run), len(server.requests)) == (("failed", "error"), 2)


async def test_tools_can_be_used_on_the_way_to_an_output():
    both = use(("look", {"n": 1}), ("final_result", BERN))
    async with stage(use(("look", {"n": 1})), both, tools=[look]) as server:
        run = d.turn("researcher", "a city", output_type=City)
        assert await run == City(name="Bern", people=134_000)
        assert len(server.requests) == 2
        assert offered(server.requests[0]) == ["final_result", "look"]


async def test_a_plain_output_type_is_taken_from_the_text_of_the_next_agent_that_has_none():
    async with stage(use(("final_result", {"response": [1, 2]})), Say("Plain again.")):
        assert await d.turn("researcher", "numbers", output_type=list[int]) == [1, 2]
        assert await d.turn("researcher", "and now") == "Plain again."
