"""What OpenTelemetry is told of a turn."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.trace import SpanKind, StatusCode

import dvergr_nb as d
from dvergr_nb.agent_errors import ModelRefused
from dvergr_nb.errors import RunCancelled, RunFailed
from dvergr_nb.runtime.context import current
from tests.agents.stage import CALL, agent, stage
from tests.rigs.model_server import Fail, Say, Tokens, hang, use
from tests.telemetry.seen import Seen, id_of, of, parent_of


def look(n: int) -> str:
    """Looks."""
    return f"seen {n}"


def turn_span(seen: Seen, name: str = "researcher") -> Any:
    return seen.one(f"invoke_agent {name}")


async def test_a_turn_is_a_tree_of_its_calls_and_its_uses_of_tools(seen: Seen) -> None:
    async with stage(use(("look", {"n": 1}), ("look", {"n": 2})), Say("Both seen."), tools=[look]):
        await d.turn("researcher", "go")
    assert seen.tree() == [
        "invoke_agent researcher",
        "  chat local",
        "  execute_tool look",
        "  execute_tool look",
        "  chat local",
    ]
    assert [span.kind for span in seen.spans] == [SpanKind.INTERNAL, SpanKind.CLIENT, *[SpanKind.INTERNAL] * 2, SpanKind.CLIENT]


async def test_a_turn_says_which_run_profile_and_thread_it_is_and_what_it_has_cost(seen: Seen) -> None:
    async with stage(use(("look", {"n": 1})), Say("Seen."), tools=[look], instructions="Be brief."):
        run = d.turn("researcher", "go")
        await run
        row = run.row
    assert of(turn_span(seen)) == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "researcher",
        "gen_ai.agent.id": "researcher",
        "gen_ai.agent.version": "1",
        "gen_ai.conversation.id": run.trigger,
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "openai:local",
        "gen_ai.aggregated_usage.input_tokens": 22,
        "gen_ai.aggregated_usage.output_tokens": 14,
        "dvergr.run.id": run.id,
        "dvergr.room": "main",
        "dvergr.run.trigger": run.trigger,
        "dvergr.run.kind": "agent-turn",
        "dvergr.run.status": "completed",
        "dvergr.template_version": 1,
        "dvergr.profile.version": 1,
        "dvergr.cost.usd": row.cost / 1e6,
        "dvergr.cost.unpriced": 0,
    }
    assert row.cost == 2 * CALL


async def test_a_call_says_what_was_asked_who_answered_and_what_was_used(seen: Seen) -> None:
    settings = {"temperature": 0.2, "max_tokens": 100, "user": "somebody"}
    said = Say("Hello.", model="local-2", tokens=Tokens(input=9, output=3, cache_read=4))
    async with stage(said, settings=settings):
        run = d.turn("researcher", "go")
        await run
    known = of(seen.one("chat local"))
    assert known.pop("gen_ai.response.id")
    assert known.pop("dvergr.cost.usd") == pytest.approx(39e-6)
    assert known == {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "openai",
        "gen_ai.request.model": "local",
        "gen_ai.request.temperature": 0.2,
        "gen_ai.request.max_tokens": 100,
        "gen_ai.response.model": "local-2",
        "gen_ai.response.finish_reasons": ("stop",),
        "gen_ai.usage.input_tokens": 9,
        "gen_ai.usage.output_tokens": 3,
        "gen_ai.usage.cache_read.input_tokens": 4,
        "gen_ai.usage.cache_creation.input_tokens": 0,
        "gen_ai.conversation.id": run.trigger,
        "dvergr.run.id": run.id,
        "dvergr.room": "main",
        "dvergr.round": 0,
        "dvergr.outcome": "completed",
    }


async def test_no_span_repeats_what_was_said_given_or_found(seen: Seen) -> None:
    def find(word: str) -> str:
        """Finds."""
        return f"the result of {word}"

    async with stage(use(("find", {"word": "argument"})), Say("the answer"), tools=[find], instructions="the instructions"):
        await d.turn("researcher", "the question")
    told = " ".join(span.to_json() for span in seen.spans)
    assert not [text for text in ("argument", "the result", "the answer", "the question", "the instruc") if text in told]


async def test_each_try_of_a_call_is_a_span_of_its_own(seen: Seen) -> None:
    async with stage(Fail(503, "come back"), Say("Here.")):
        await d.turn("researcher", "go")
    failed, answered = seen.named("chat local")
    assert of(failed)["error.type"] == "ModelBusy"
    assert failed.status.status_code is StatusCode.ERROR
    assert "503" in str(failed.status.description)
    assert "error.type" not in of(answered)
    assert turn_span(seen).status.status_code is StatusCode.UNSET


async def test_a_failed_turn_says_why_in_its_status(seen: Seen) -> None:
    async with stage(Fail(400, "no such thing")):
        with pytest.raises(RunFailed) as caught:
            await d.turn("researcher", "go")
    span = turn_span(seen)
    assert isinstance(caught.value.__cause__, ModelRefused)
    assert of(span)["error.type"] == "ModelRefused"
    assert (of(span)["dvergr.run.status"], of(span)["dvergr.run.reason"]) == ("failed", "error")
    assert span.status.status_code is StatusCode.ERROR
    assert "no such thing" in str(span.status.description)


async def test_a_cancelled_turn_ends_its_spans_and_none_of_them_is_an_error(seen: Seen) -> None:
    async with stage(hang(2)) as server:
        run = d.turn("researcher", "go")
        await server.requested()
        run.cancel()
        with pytest.raises(RunCancelled):
            await run
    span, chat = turn_span(seen), seen.one("chat local")
    assert (of(span)["dvergr.run.status"], of(span)["dvergr.run.reason"]) == ("cancelled", "cancel-requested")
    assert of(chat)["dvergr.outcome"] == "cancelled"
    assert {each.status.status_code for each in (span, chat)} == {StatusCode.UNSET}


async def test_a_call_that_a_message_cuts_is_a_span_that_says_so(seen: Seen) -> None:
    async with stage(hang(2), Say("To both.")) as server:
        run = d.turn("researcher", "go")
        await server.requested()
        d.turn("researcher", "and this", thread=run)
        await run
    assert [of(span)["dvergr.outcome"] for span in seen.named("chat local")] == ["cut", "completed"]
    assert [parent_of(span) for span in seen.named("chat local")] == [id_of(turn_span(seen))] * 2


async def test_a_tool_that_fails_is_an_error_without_its_text(seen: Seen) -> None:
    def fragile(word: str) -> str:
        """Breaks."""
        raise LookupError(f"nothing under {word}")

    async with stage(use(("fragile", {"word": "moss"})), Say("Pity."), tools=[fragile]):
        await d.turn("researcher", "go")
    span = seen.one("execute_tool fragile")
    assert of(span)["error.type"] == "LookupError"
    assert span.status.status_code is StatusCode.ERROR
    assert "moss" not in span.to_json()
    assert of(span)["gen_ai.tool.call.id"]


async def test_a_turn_is_a_child_of_the_span_that_was_current_where_it_was_started(seen: Seen) -> None:
    tracer = trace.get_tracer("cell")
    async with stage(Say("One."), Say("Two."), Say("Three.")):
        with tracer.start_as_current_span("cell"):
            first, queued = d.turn("researcher", "go"), d.turn("researcher", "and go", on_busy="queue")
            hired = d.hire("researcher", "a task")
        for run in (first, queued, hired):
            await run
    turns = seen.named("invoke_agent researcher")
    assert [parent_of(span) for span in turns] == [id_of(seen.one("cell"))] * 3


async def test_a_posted_message_carries_the_span_into_the_turn_it_causes(seen: Seen) -> None:
    tracer = trace.get_tracer("cell")
    async with stage(Say("One.")):
        await d.turn("researcher", "hello")
        with tracer.start_as_current_span("cell"):
            posting = await d.room().post("and this", to="researcher")
        for run in posting.runs:
            await run
    assert parent_of(seen.named("invoke_agent researcher")[1]) == id_of(seen.one("cell"))


async def test_who_is_hired_by_a_tool_works_below_the_use_of_that_tool(seen: Seen) -> None:
    async def delegate(task: str) -> str:
        """Delegates."""
        context = current()
        assert context is not None
        return str(await d.hire("helper", task, parent=context.run.id))

    async with stage(use(("delegate", {"task": "look"})), Say("Found."), Say("Told."), tools=[delegate]) as server:
        agent(server, "helper")
        await d.turn("researcher", "go")
    assert seen.tree() == [
        "invoke_agent researcher",
        "  chat local",
        "  execute_tool delegate",
        "    invoke_agent helper",
        "      chat local",
        "  chat local",
    ]
    assert of(turn_span(seen, "helper"))["dvergr.run.parent"] == of(turn_span(seen))["dvergr.run.id"]


async def test_spans_of_a_tools_own_are_below_its_use(seen: Seen) -> None:
    def measured() -> str:
        """Measures, in a thread."""
        with trace.get_tracer("mine").start_as_current_span("mine"):
            return "done"

    async with stage(use(("measured", {})), Say("Good."), tools=[measured]):
        await d.turn("researcher", "go")
    assert parent_of(seen.one("mine")) == id_of(seen.one("execute_tool measured"))


async def test_two_turns_at_once_keep_their_spans_apart(seen: Seen) -> None:
    both = asyncio.Barrier(2)

    async def meet() -> str:
        """Waits for the other one."""
        async with both:
            return "met"

    acts = [use(("meet", {})), use(("meet", {})), Say("One."), Say("Two.")]
    async with stage(*acts, tools=[meet]) as server:
        agent(server, "writer", tools=[meet])
        runs = [d.turn("researcher", "go"), d.turn("writer", "go")]
        for run in runs:
            await run
    for name, run in zip(("researcher", "writer"), runs, strict=True):
        below = [span for span in seen.spans if parent_of(span) == id_of(turn_span(seen, name))]
        assert [span.name for span in below] == ["chat local", "execute_tool meet", "chat local"]
        assert {of(span)["dvergr.run.id"] for span in below} == {run.id}


async def test_a_call_names_the_chunks_that_it_is_shown_first_and_its_turn_all_of_them(seen: Seen) -> None:
    def search(query: str, ctx: Any) -> str:
        """Searches."""
        ctx.cite([f"{query}-1", f"{query}-2"])
        return "found"

    acts = (use(("search", {"query": "a"})), use(("search", {"query": "b"})), Fail(503), Say("Read."))
    async with stage(*acts, tools=[search]):
        await d.turn("researcher", "go")
    chunks = [of(span).get("dvergr.chunk_ids") for span in seen.named("chat local")]
    assert chunks == [None, ("a-1", "a-2"), ("b-1", "b-2"), ("b-1", "b-2")]
    assert of(turn_span(seen))["dvergr.chunk_ids"] == ("a-1", "a-2", "b-1", "b-2")


async def test_a_turn_that_runs_out_of_money_says_that_it_waits_for_more(seen: Seen) -> None:
    async with stage(use(("look", {"n": 1})), tools=[look], budget=0.00001):
        run = d.turn("researcher", "go")
        await run.wait()
    assert (of(turn_span(seen))["dvergr.run.status"], of(turn_span(seen))["dvergr.run.reason"]) == (
        "waiting",
        "budget-exhausted",
    )


async def test_jobs_have_no_spans(seen: Seen) -> None:
    async with stage():
        await d.job(lambda: 1)
    assert seen.spans == []


async def test_a_turn_works_where_nothing_records_and_leaves_the_current_span_alone() -> None:
    async with stage(use(("look", {"n": 1})), Say("Seen."), tools=[look]):
        assert await d.turn("researcher", "go") == "Seen."
        assert trace.get_current_span() is trace.INVALID_SPAN


async def test_a_processor_that_raises_does_not_keep_a_run_from_ending(
    seen: Seen, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    from opentelemetry.sdk.trace import Span

    async with stage(Say("Done.")):
        end = Span.end
        monkeypatch.setattr(Span, "end", lambda span: 1 / 0 if span.name.startswith("invoke") else end(span))
        assert await d.turn("researcher", "go") == "Done."
    assert "could not be ended" in caplog.text
