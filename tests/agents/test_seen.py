"""What a model is shown: the thread, who said what, its instructions, its skills and its tools."""

from __future__ import annotations

import re

import dvergr_nb as d
from tests.agents.stage import agent, let_go, lines, offered, stage
from tests.rigs.model_server import Say, use

COOKING = d.Skill(id="cooking", description="How to cook eggs.", instructions="Boil them for six minutes.")


def look(n: int) -> str:
    """Looks something up."""
    return f"looked {n}"


async def test_the_second_turn_of_a_thread_is_shown_the_first_exchange_and_its_instructions_again():
    async with stage(Say("Birds."), Say("Yes, they do."), instructions="Know your ducks.") as server:
        first = d.turn("researcher", "What are ducks?")
        await first
        await d.turn("researcher", "Do they fly?", thread=first)
        assert [tuple(line) for line in lines(server.requests[1])] == [
            ("system", "Know your ducks."),
            ("user", "What are ducks?"),
            ("assistant", "Birds."),
            ("user", "Do they fly?"),
        ]


async def test_another_thread_is_not_shown_and_neither_are_tools_of_earlier_turns():
    async with stage(use(("look", {"n": 1})), Say("Seen."), Say("More."), Say("New."), tools=[look]) as server:
        first = d.turn("researcher", "look")
        await first
        await d.turn("researcher", "more", thread=first)
        await d.turn("researcher", "elsewhere")
        assert [line.text for line in lines(server.requests[2])] == ["look", "Seen.", "more"]
        assert [line.text for line in lines(server.requests[3])] == ["elsewhere"]


async def test_after_the_store_is_opened_again_the_thread_is_rebuilt_from_it(tmp_store_path):
    async with stage(Say("Birds."), path=tmp_store_path) as server:
        first = d.turn("researcher", "What are ducks?")
        await first
        d.current_session().close()
        async with d.connect(tmp_store_path):
            assert await d.turn("researcher", "Do they fly?", thread=first.trigger) == "Birds."
            assert [line.text for line in lines(server.requests[1])] == ["What are ducks?", "Birds.", "Do they fly?"]
            await let_go()


async def test_what_other_actors_say_is_shown_with_their_name_and_the_time():
    async with stage(Say("Noted.")) as server:
        room = d.room()
        room.join("helper", lambda message: "I have looked.")
        asked = d.turn("helper", "Look, please.")
        await asked
        await d.turn("researcher", "And you?", thread=asked)
        shown = [line.text for line in lines(server.requests[0])]
        assert (shown[0], shown[2]) == ("Look, please.", "And you?")
        assert re.fullmatch(r"\[helper · \d\d:\d\d\] I have looked\.", shown[1])


async def test_a_decoration_that_a_model_copies_is_taken_off_its_reply():
    async with stage(Say("[researcher · 09:15] Hello.")):
        assert await d.turn("researcher", "hi") == "Hello."


async def test_skills_are_listed_by_what_they_are_for_and_loaded_by_a_tool():
    calls = use(("load_skill", {"id": "cooking"})), use(("load_skill", {"id": "sailing"})), Say("Six minutes.")
    async with stage(*calls, skills=[COOKING], instructions="Be brief.") as server:
        assert await d.turn("researcher", "eggs?") == "Six minutes."
        system = lines(server.requests[0])[0].text
        assert system.startswith("Be brief.")
        assert "- cooking: How to cook eggs." in system
        assert "six minutes" not in system
        assert offered(server.requests[0]) == ["load_skill"]
        assert "Boil them for six minutes." in lines(server.requests[1])[-1].text
        assert "cooking" in lines(server.requests[2])[-1].text


async def test_a_skill_of_one_turn_is_there_in_that_turn_only():
    async with stage(Say("Done.")) as server:
        await d.turn("researcher", "eggs?", skills=[COOKING])
        await d.turn("researcher", "eggs?")
        assert [offered(request) for request in server.requests] == [["load_skill"], []]


async def test_the_tools_offered_are_those_of_the_profile_with_their_types():
    @d.tool
    def add(a: int, b: float = 1.5, *, note: str = "") -> float:
        """Adds two numbers.

        Args:
            a: The first of them.
            b: The second.
            note: Why.
        """
        return a + b

    async with stage(Say("Done."), tools=[look, add]) as server:
        agent(server, "helper", tools=[add])
        await d.turn("researcher", "go")
        await d.turn("helper", "go")
        assert [offered(request) for request in server.requests] == [["add", "look"], ["add"]]
        (tool,) = server.requests[1].body["tools"]
        schema = tool["function"]["parameters"]
        assert (schema["required"], schema["properties"]["a"]["type"]) == (["a"], "integer")
        assert schema["properties"]["a"]["description"] == "The first of them."


async def test_what_is_injected_is_no_argument_of_the_tool():
    def whoami(ctx) -> str:
        """Says who asks."""
        return f"{ctx.run.actor} in {ctx.run.room}"

    async with stage(use(("whoami", {})), Say("I am."), tools=[whoami]) as server:
        await d.turn("researcher", "who?")
        assert server.requests[0].body["tools"][0]["function"]["parameters"]["properties"] == {}
        assert lines(server.requests[1])[-1].text == "researcher in main"


async def test_a_tool_that_its_cell_defines_again_is_the_new_one_at_the_next_turn():
    def make(answer: str):
        def ask() -> str:
            """Answers."""
            return answer

        return d.tool(ask)

    async with stage(use(("ask", {})), Say("1"), use(("ask", {})), Say("2"), tools=[make("old")]) as server:
        await d.turn("researcher", "go")
        agent(server, tools=[make("new")])
        assert d.profile("researcher").version == 1
        await d.turn("researcher", "go")
        assert [lines(server.requests[place])[-1].text for place in (1, 3)] == ["old", "new"]


async def test_settings_of_the_profile_are_sent_with_every_call():
    async with stage(
        use(("look", {"n": 1})), Say("Done."), tools=[look], settings={"temperature": 0.3, "max_tokens": 99}
    ) as server:
        await d.turn("researcher", "go")
        assert [request.body["temperature"] for request in server.requests] == [0.3, 0.3]
        assert {request.body.get("max_tokens") or request.body.get("max_completion_tokens") for request in server.requests} == {
            99
        }


async def test_two_hundred_messages_of_a_thread_are_shown_and_not_more():
    async with stage(Say("ok")) as server:
        room = d.room()
        first = await d.post(room, "message 0")
        for number in range(1, 210):
            d.post(room, f"message {number}", reply_to=first.message)
        await d.post(room, "the last", reply_to=first.message)
        await d.turn("researcher", "and now?", thread=first.message)
        shown = [line.text for line in lines(server.requests[-1])]
        assert (len(shown), shown[-2:]) == (201, ["the last", "and now?"])


async def test_a_turn_on_the_thread_of_a_hired_task_is_shown_the_task():
    async with stage(Say("Twelve."), Say("Still twelve.")) as server:
        hired = d.hire("researcher", "Count the ducks.")
        await hired
        await d.turn("researcher", "Go on.", thread=hired)
        assert [tuple(line) for line in lines(server.requests[1])] == [("user", "Count the ducks."), ("user", "Go on.")]
