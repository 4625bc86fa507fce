"""Messages and switches that come when the answer to a call is there already, or while it is being checked."""

from __future__ import annotations

import asyncio

import pytest
from pydantic_ai.models.function import FunctionModel

import dvergr_nb as d
from tests.agents.stage import lines, outcomes, spends, stage, uses
from tests.rigs.model_server import use

PRICES = {name: {"input": 1.0, "output": 10.0} for name in ("first", "other")}


def soon(steps, act):
    """Has the loop do it after so many steps."""
    loop = asyncio.get_running_loop()
    loop.call_soon(lambda: soon(steps - 1, act)) if steps else act()


@pytest.mark.parametrize("steps", range(6, 15))
async def test_a_switch_of_the_model_just_when_the_answer_comes_takes_effect_or_comes_too_late(opened, steps):
    asked = []

    async def first(messages, _info):
        asked.append("first")
        yield "one"
        soon(steps, lambda: d.tune("writer", model=other))

    async def second(messages, _info):
        asked.append("other")
        yield "two"

    other = FunctionModel(stream_function=second, model_name="other")
    d.agent("writer", model=FunctionModel(stream_function=first, model_name="first"), prices=PRICES)
    run = d.turn("writer", "go")
    reply = await run
    assert (reply, asked, outcomes(run)) in [
        ("one", ["first"], ["completed"]),
        ("two", ["first", "other"], ["cut", "completed"]),
    ]


async def test_an_answer_that_is_there_when_its_call_is_cut_is_paid_as_what_it_was(opened):
    paid = []

    async def second(_messages, _info):
        yield "two"

    other = FunctionModel(stream_function=second, model_name="other")
    for steps in range(6, 15):

        async def first(_messages, _info, steps=steps):
            yield "one"
            soon(steps, lambda: d.tune("writer", model=other))

        d.agent("writer", model=FunctionModel(stream_function=first, model_name="first"), prices=PRICES)
        d.tune("writer")
        run = d.turn("writer", "go")
        await run
        paid += [(spend.usage.outcome, spend.usage.cost) for spend in spends(run)]
    costs = {cost for outcome, cost in paid if outcome == "completed"}
    assert {cost for outcome, cost in paid if outcome == "cut"} == {None} | costs


async def test_a_message_cuts_no_tool_that_is_wanted_beside_an_output():
    at_work = asyncio.Event()

    async def look_up(ctx) -> str:
        """Looks up, until the message has come and whatever it cuts would be cut."""
        at_work.set()
        await ctx.inbox.until_preempted()
        for _ in range(50):
            await asyncio.sleep(0)
        return "found"

    both = use(("look_up", {}), ("final_result", {"response": 3}))
    async with stage(both, use(("final_result", {"response": 4})), tools=[look_up]) as server:
        run = d.turn("researcher", "go", output_type=int)
        await at_work.wait()
        d.turn("researcher", "and this", thread=run, on_busy="steer")
        assert await run == 4
        assert [used.status for used in uses(run)] == ["completed"]
        said = [line.text for line in lines(server.requests[1])]
        assert ("found" in said, said[-1]) == (True, "and this")


async def test_what_a_function_makes_of_an_output_is_the_value_also_where_json_has_no_form_for_it():
    class Found:
        def __str__(self):
            return "three things"

    def find(count: int):
        return Found()

    async with stage(use(("final_result", {"count": 3}))):
        run = d.turn("researcher", "go", output_type=find)
        assert isinstance(await run, Found)
        assert run.row.status == "completed"
        assert [each.content for each in d.room().messages() if each.sender == "researcher"] == ['"three things"']
