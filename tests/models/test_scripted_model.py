"""A scripted model plays the same script each time, through a real agent."""

from __future__ import annotations

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, UserPromptPart

from dvergr_nb.actors.models.lines import Line, place_in
from dvergr_nb.actors.models.scripted_model import call, scripted_model
from dvergr_nb.errors import BadInput


def agent_of(model: object) -> Agent[None, str]:
    """An agent with two tools, one of which fails."""
    agent = Agent(model)  # type: ignore[call-overload]

    @agent.tool_plain
    async def shout(text: str) -> str:
        return text.upper()

    @agent.tool_plain
    async def count(text: str) -> int:
        return len(text)

    return agent  # type: ignore[no-any-return]


async def test_steps_are_answers_one_after_another_with_what_the_tools_gave() -> None:
    model = scripted_model(call("shout", text="duck"), call("count", text="duck"), lambda given: f"{given[0]} has {given[1]}")
    assert (await agent_of(model).run("go")).output == "DUCK has 4"


async def test_calls_in_one_list_are_one_answer_and_may_say_something() -> None:
    model = scripted_model(["Let me see.", call("shout", text="a"), call("shout", text="b")], " ".join)
    result = await agent_of(model).run("go")
    assert result.output == "A B"
    first = result.all_messages()[1]
    assert isinstance(first, ModelResponse)
    assert first.text == "Let me see."
    assert [part.tool_name for part in first.tool_calls] == ["shout", "shout"]
    assert len({part.tool_call_id for part in first.tool_calls}) == 2


async def test_a_function_knows_what_was_said() -> None:
    model = scripted_model(lambda given, said: f"{len(said)} lines, last {said[-1].text!r}, {given}")
    assert (await agent_of(model).run("go")).output == "1 lines, last 'go', []"


async def test_a_function_may_be_async_take_nothing_and_give_a_call() -> None:
    async def step() -> object:
        return call("shout", text="x")

    assert (await agent_of(scripted_model(step, lambda given: given[0])).run("go")).output == "X"


async def test_streamed_and_whole_are_the_same() -> None:
    model = scripted_model(["Well.", call("shout", text="duck")], "It says: two words", pace=0.0001)
    whole = await agent_of(model).run("go")
    async with agent_of(model).run_stream_events("go") as events:
        seen = [event async for event in events]
    streamed = seen[-1].result
    assert streamed.output == whole.output == "It says: two words"
    assert streamed.usage == whole.usage
    pieces = [event for event in seen if type(event).__name__ == "PartDeltaEvent"]
    assert len(pieces) >= 3


async def test_the_next_message_begins_the_script_anew() -> None:
    model = scripted_model(call("shout", text="a"), lambda given: f"gave {given}")
    agent = agent_of(model)
    first = await agent.run("one")
    second = await agent.run("two", message_history=first.all_messages())
    assert second.output == first.output == "gave ['A']"


async def test_each_turn_may_have_its_own_script_and_the_last_goes_on() -> None:
    agent = agent_of(scripted_model(turns=[["first"], [call("shout", text="b"), "second"]]))
    history: list[ModelMessage] = []
    said = []
    for _ in range(3):
        result = await agent.run("go", message_history=history)
        history = result.all_messages()
        said.append(result.output)
    assert said == ["first", "second", "second"]


async def test_a_turn_that_is_resumed_goes_on_where_it_was() -> None:
    agent = agent_of(scripted_model(call("shout", text="a"), call("count", text="abc"), lambda given: f"{given}"))
    whole = (await agent.run("go")).all_messages()
    assert (await agent.run(message_history=whole[:3])).output == "['A', 3]"


async def test_a_script_that_has_ended_says_so() -> None:
    result = await agent_of(scripted_model(call("shout", text="a"), name="short")).run("go")
    assert result.output == "(the script of short has ended)"


async def test_an_exception_is_raised_each_time_without_growing() -> None:
    problem = ValueError("on purpose")
    model = scripted_model(problem)
    depths = []
    for _ in range(3):
        with pytest.raises(ValueError, match="on purpose") as caught:
            await agent_of(model).run("go")
        depths.append(len(caught.traceback))
    assert len(set(depths)) == 1


async def test_its_name_usage_and_price_are_pretended_and_say_so() -> None:
    model = scripted_model("Twelve letter", name="script", price={"input": 3, "output": 4})
    response = (await agent_of(model).run("some words")).all_messages()[-1]
    assert isinstance(response, ModelResponse)
    assert (response.model_name, response.provider_name, model.system) == ("script", "scripted", "scripted")
    assert (response.usage.input_tokens, response.usage.output_tokens) == (3, 4)
    assert model.price == {"input": 3.0, "output": 4.0}


@pytest.mark.parametrize(
    ("steps", "more"),
    [
        ((), {}),
        (("",), {}),
        ((3,), {}),
        (([],), {}),
        (([call("a"), 3],), {}),
        (("a",), {"turns": [["b"]]}),
        ((), {"turns": [[]]}),
        ((), {"turns": ["ab"]}),
        (("a",), {"pace": -1}),
        (("a",), {"price": {"input": 1}}),
        (("a",), {"name": ""}),
    ],
)
def test_what_is_no_script_is_refused(steps, more) -> None:
    with pytest.raises(BadInput):
        scripted_model(*steps, **more)


@pytest.mark.parametrize("name", ["", 3, None])
def test_a_call_needs_the_name_of_a_tool(name) -> None:
    with pytest.raises(BadInput, match="by its name"):
        call(name)


def user(text: str) -> ModelRequest:
    """A message of somebody else."""
    return ModelRequest(parts=[UserPromptPart(text)])


def test_the_place_is_found_in_what_the_store_keeps_of_a_thread() -> None:
    kept: list[ModelMessage] = [user("a"), ModelResponse(parts=[TextPart("A")]), user("other"), user("b")]
    assert (place_in(kept).turn, place_in(kept).answer) == (1, 0)
    calls: list[ModelMessage] = [*kept, ModelResponse(parts=[ToolCallPart("shout", {})]), user("a steer")]
    assert (place_in(calls).turn, place_in(calls).answer) == (1, 1)


def test_an_answer_that_was_cut_is_given_again() -> None:
    cut: list[ModelMessage] = [user("a"), ModelResponse(parts=[TextPart("A")], state="interrupted"), user("b")]
    assert (place_in(cut).turn, place_in(cut).answer) == (0, 0)


def test_a_line_is_who_and_what() -> None:
    assert Line("user", "hi") == ("user", "hi")
