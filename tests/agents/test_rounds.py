"""The rounds of a turn with a model behind HTTP, as they are on record."""

from __future__ import annotations

import dvergr_nb as d
from tests.agents.stage import activity, end_of, lines, said, stage
from tests.rigs.model_server import Say, use


def look(n: int) -> str:
    """Looks something up."""
    return f"looked {n}"


async def test_case_38_a_tool_round_and_an_answer_are_one_run_with_one_activity_and_a_second_message_repeats_none():
    async with stage(use(("look", {"n": 3})), Say("Three."), Say("Once more: three."), tools=[look]):
        first = d.turn("researcher", "look")
        assert await first == "Three."
        (told,) = activity(first)
        trigger, reply = (each for each in d.room().messages(limit=None) if each.content in ("look", "Three."))
        assert (told.run_id, told.thread_root_id, reply.run_id) == (first.id, trigger.thread_root_id, first.id)
        second = d.turn("researcher", "and again?", thread=first)
        assert await second == "Once more: three."
        assert second.id != first.id
        assert not [each for each in activity(second) if each.metadata.get("tool-uses")]
        assert len(activity(first)) == 1


async def test_case_39_rounds_go_on_while_the_model_wants_tools_used_and_the_last_text_is_the_reply():
    texts = use(("look", {"n": 1}), text="First."), use(("look", {"n": 2}), text="Second."), Say("Third.")
    async with stage(*texts, tools=[look]) as server:
        run = d.turn("researcher", "look")
        assert await run == "Third."
        assert (run.row.steps, len(server.requests), said()) == (3, 3, ["Third."])


async def test_case_41_a_turn_that_adds_nothing_does_not_say_again_what_was_said_before():
    async with stage(Say("An answer."), Say("")) as server:
        first = d.turn("researcher", "ask")
        await first
        second = await d.turn("researcher", "go on", thread=first).wait()
        assert "An answer." in [line.text for line in lines(server.requests[1])]
        assert (end_of(second), said()) == (("failed", "error"), ["An answer."])


async def test_case_60_facts_of_a_tool_name_it_and_hold_no_argument_and_no_result():
    async with stage(use(("look", {"n": 31337})), Say("Done."), tools=[look]):
        run = d.turn("researcher", "look")
        await run
        (told,) = activity(run)
        used = [fact for fact in told.facts if fact.kind == "tool"]
        assert [(fact.verb, fact.tool_name, fact.run_id) for fact in used] == [
            ("invoke", "look", run.id),
            ("complete", "look", run.id),
        ]
        assert all(fact.tool_use_id for fact in used)
        assert "31337" not in repr(told)
