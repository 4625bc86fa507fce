"""A key that is in the environment is nowhere else, wherever it comes up."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.function import AgentInfo, FunctionModel

import dvergr_nb as d
from dvergr_nb.errors import RunFailed
from dvergr_nb.records.event import RunPartial
from tests.agents.stage import agent
from tests.rigs.model_server import Fail, Say, cut, use
from tests.rigs.openai_server import OpenAIServer
from tests.secrets.everywhere import KEY, Everywhere


async def failed(everywhere: Everywhere, run: Any) -> RunFailed:
    """The error of a Run that fails, as a person is shown it."""
    with pytest.raises(RunFailed) as caught:
        await run
    everywhere.raises(caught.value)
    return caught.value


def speaker(*pieces: str) -> FunctionModel:
    """A model that streams these pieces."""

    async def stream(_messages: list[ModelMessage], _info: AgentInfo) -> AsyncIterator[str]:
        for piece in pieces:
            yield piece
            await asyncio.sleep(0.07)

    return FunctionModel(stream_function=stream, model_name="speaker")


async def test_a_provider_that_repeats_the_key_when_it_refuses_it(everywhere: Everywhere) -> None:
    async with OpenAIServer(Fail(401, "Incorrect API key provided: {key}. Yes, {key}!")) as server, everywhere.watched():
        agent(server, key_env="MY_API_KEY")
        problem = await failed(everywhere, d.turn("researcher", "go"))
        assert server.requests[0].key == KEY
    assert "refuses the key" in str(problem)
    assert "***" in str(problem)
    assert everywhere.leaks() == []


async def test_a_tool_that_gives_the_whole_environment(everywhere: Everywhere) -> None:
    def environment(ctx: Any) -> dict[str, str]:
        """Tells the environment."""
        print(os.environ["MY_API_KEY"])
        ctx.activity(f"it is {KEY}")
        ctx.cite({f"chunk-{KEY}": f"about {KEY}"})
        ctx.progress(label=f"at {KEY}")
        return dict(os.environ)

    acts = (use(("environment", {}), text=f"I look for {KEY}."), Say(f"It is {KEY}, I think."))
    async with OpenAIServer(*acts) as server, everywhere.watched():
        agent(server, key_env="MY_API_KEY", tools=[environment])
        assert await d.turn("researcher", "go") == "It is ***, I think."
        assert KEY not in str(server.requests[1].body["messages"][-1])
    assert everywhere.leaks() == []


async def test_a_tool_whose_long_result_holds_the_key_is_kept_without_it(everywhere: Everywhere) -> None:
    async def much(ctx: Any) -> str:
        """Tells much."""
        await ctx.blob(f"{KEY} as bytes".encode(), "text/plain")
        return f"{KEY} and {'more ' * 10_000}" * 2

    async with OpenAIServer(use(("much", {"word": KEY})), use(("much", {})), Say("Much.")) as server, everywhere.watched():
        agent(server, key_env="MY_API_KEY", tools=[much])
        await d.turn("researcher", "go")
    assert everywhere.leaks() == []


async def test_a_tool_that_raises_with_the_key_is_told_without_it(everywhere: Everywhere) -> None:
    def fragile() -> str:
        """Breaks."""
        raise LookupError(f"nothing at https://example.org/?key={os.environ['MY_API_KEY']}")

    async with OpenAIServer(use(("fragile", {})), Say("Pity.")) as server, everywhere.watched():
        agent(server, key_env="MY_API_KEY", tools=[fragile])
        await d.turn("researcher", "go")
        assert "key=***" in str(server.requests[1].body)
    assert everywhere.leaks() == []


async def test_a_tool_that_fails_its_run_with_the_key_is_no_cause_that_is_shown(everywhere: Everywhere) -> None:
    def fragile() -> str:
        """Breaks."""
        raise LookupError(f"nothing under {os.environ['MY_API_KEY']}")

    def harmless() -> str:
        """Breaks, too."""
        raise LookupError("nothing there")

    async with OpenAIServer(use(("fragile", {})), use(("harmless", {}))) as server, everywhere.watched():
        agent(server, key_env="MY_API_KEY", tools=[fragile, harmless], on_tool_error="fail")
        problem = await failed(everywhere, d.turn("researcher", "go"))
        assert problem.__cause__ is None
        assert str(problem.error) == "LookupError: nothing under ***"
        problem = await failed(everywhere, d.turn("researcher", "and go"))
        assert isinstance(problem.__cause__, LookupError)
    assert everywhere.leaks() == []


@pytest.mark.parametrize("size", [1, 5, 9, 31])
async def test_a_model_that_spells_the_key_out_piece_by_piece(everywhere: Everywhere, size: int) -> None:
    text = f"The key is {KEY}, and that is it."
    pieces = [text[start : start + size] for start in range(0, len(text), size)]
    async with everywhere.watched():
        d.agent("speaker", model=speaker(*pieces))
        run = d.turn("speaker", "go")
        assert await run == "The key is ***, and that is it."
    partials = [event.text for event in everywhere.events if isinstance(event, RunPartial)]
    assert any(partials)
    assert everywhere.leaks() == []


async def test_a_stream_that_breaks_within_the_key(everywhere: Everywhere) -> None:
    async with everywhere.watched():

        async def stream(_messages: list[ModelMessage], _info: AgentInfo) -> AsyncIterator[str]:
            yield f"The key is {KEY[:20]}"
            raise ConnectionError("the line is dead")

        d.agent("speaker", model=FunctionModel(stream_function=stream, model_name="speaker"), retries=0)
        await failed(everywhere, d.turn("speaker", "go"))
    assert everywhere.leaks() == []


async def test_a_job_that_fails_with_the_key_anywhere_in_its_traceback(everywhere: Everywhere) -> None:
    def first() -> None:
        raise ValueError(f"first {KEY}")

    def second() -> None:
        try:
            first()
        except ValueError as problem:
            raise RuntimeError("then this") from problem

    def noted() -> None:
        problem = OSError("plain")
        problem.add_note(f"with {KEY}")
        raise problem

    def grouped() -> None:
        raise ExceptionGroup("all", [KeyError(KEY)])

    async with everywhere.watched():
        for work in (first, second, noted, grouped):
            problem = await failed(everywhere, d.job(work))
            assert problem.__cause__ is None
        harmless = await failed(everywhere, d.job(lambda: 1 // 0))
        assert isinstance(harmless.__cause__, ZeroDivisionError)
    assert everywhere.leaks() == []


async def test_what_a_job_prints_reports_and_gives(everywhere: Everywhere) -> None:
    async def work(ctx: Any) -> dict[str, Any]:
        print("the key:", KEY)
        print(KEY[:15], end="")
        await asyncio.sleep(0.3)
        print(KEY[15:])
        print(f"in the middle {KEY} of a line", end="")
        ctx.stream(f"see {KEY[:25]}")
        ctx.doing(f"asking with {KEY}")
        ctx.progress(1, 2, label=f"used {KEY}")
        ctx.checkpoint({"key": KEY}, f"after {KEY}")
        await ctx.activity({"kind": "observation", "verb": "inspect", "outcome": KEY, "tool_name": f"t-{KEY}"})
        ctx.reply(f"first {KEY}")
        print(KEY[:30], end="")
        return {"key": KEY, "pad": "x" * 3_970, "again": KEY}

    async with everywhere.watched():
        value = await d.job(work)
        assert value["key"] == KEY
    assert everywhere.leaks() == []


async def test_what_a_job_prints_too_much_of_is_not_cut_within_the_key(everywhere: Everywhere) -> None:
    async def work() -> None:
        print("." * 63_985 + KEY)

    async with everywhere.watched():
        await d.job(work)
    assert everywhere.leaks() == []


async def test_what_the_code_of_an_agent_says_to_others_and_has_others_do(everywhere: Everywhere) -> None:
    async def tell(ctx: Any) -> str:
        """Tells others."""
        await d.room().post(f"the key is {KEY}", to="helper", sender="researcher")
        await d.room().post(f"and again {KEY}", to="helper")
        return str(await d.hire("helper", f"use {KEY}", parent=ctx.run.id, label="a task"))

    acts = (use(("tell", {})), *[Say("Done.")] * 6)
    async with OpenAIServer(*acts) as server, everywhere.watched():
        agent(server, "helper", key_env="MY_API_KEY")
        agent(server, key_env="MY_API_KEY", tools=[tell])
        await d.turn("researcher", "go")
        await d.current_session().drain()
    assert everywhere.leaks() == []


async def test_what_a_person_types_is_theirs(everywhere: Everywhere) -> None:
    async with everywhere.watched():
        await d.room().post(f"my note: {KEY}")
        assert [each.content for each in d.room().messages(limit=None)] == [f"my note: {KEY}"]


async def test_code_of_others_that_raises_with_the_key_is_logged_without_it(everywhere: Everywhere) -> None:
    def breaks(*_given: object) -> None:
        raise ValueError(f"a subscriber knows {KEY}")

    async with everywhere.watched():
        session = d.current_session()
        session.watch_runs("broken", breaks)
        run = d.job(asyncio.sleep, 60)
        await run.admitted
        session.register_cancel_hook(run.id, "broken", breaks)
        run.cancel()
        await run.wait()
    assert "a subscriber knows ***" in dict(everywhere.places())["logs"]
    assert everywhere.leaks() == []


async def test_a_provider_that_answers_under_the_name_of_the_key(everywhere: Everywhere) -> None:
    async with OpenAIServer(Say("Hello.", model=f"model-{KEY}"), cut(3)) as server, everywhere.watched():
        agent(server, key_env="MY_API_KEY", retries=0)
        await d.turn("researcher", "go")
        await failed(everywhere, d.turn("researcher", "again"))
    assert everywhere.leaks() == []
