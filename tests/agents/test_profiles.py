"""Versions of an agent: what makes one, which one acts, and what is left of it in a later kernel."""

from __future__ import annotations

import asyncio

import pytest

import dvergr_nb as d
from dvergr_nb import BadTool, NoSuchProfile, ProfileConflict
from tests.agents.stage import agent, let_go, lines, stage
from tests.rigs.model_server import Say


def look(n: int) -> str:
    """Looks something up."""
    return f"looked {n}"


def acted(run) -> tuple[str | None, int | None]:
    """Which definition a Run's row names."""
    return run.row.provenance.profile_id, run.row.provenance.profile_version


async def test_the_same_content_is_the_same_version_and_other_content_the_next():
    async with stage(instructions="a") as server:
        assert agent(server, instructions="a").version == 1
        assert agent(server, instructions="b").version == 2
        assert agent(server, instructions="b", budget=2).version == 3
        assert agent(server, instructions="b", budget=2, tools=[look]).version == 4
        assert agent(server, instructions="a").version == 5
        assert [profile.version for profile in d.profiles()] == [5]
        assert d.profile("researcher", 2).instructions == "b"
        assert d.profile("researcher", 1).hash == d.profile("researcher").hash


async def test_a_version_that_was_used_with_other_content_is_a_conflict_and_changes_nothing():
    async with stage(Say("Done."), instructions="a") as server:
        assert agent(server, instructions="a", version=1).version == 1
        with pytest.raises(ProfileConflict):
            agent(server, instructions="b", version=1)
        assert (d.profile("researcher").instructions, len(d.profiles())) == ("a", 1)
        await d.turn("researcher", "go")
        assert lines(server.requests[0])[0].text == "a"


async def test_the_definition_that_ran_last_acts_also_where_it_is_an_older_version_again():
    async with stage(Say("Done."), instructions="a") as server:
        agent(server, instructions="b")
        assert agent(server, instructions="a", version=1).version == 1
        run = d.turn("researcher", "go")
        await run
        assert (acted(run), lines(server.requests[0])[0].text) == (("researcher", 1), "a")
        assert d.profile("researcher", 2).instructions == "b"


async def test_the_row_of_a_run_says_which_version_acted_also_of_a_message_that_waited_for_it():
    gate = asyncio.Event()
    async with stage(Say("old", when=gate), Say("new"), instructions="old") as server:
        first = d.turn("researcher", "one")
        await server.requested()
        waiting = d.turn("researcher", "two")
        agent(server, instructions="new", budget=0.5)
        gate.set()
        assert (await first, await waiting) == ("old", "new")
        assert (acted(first), acted(waiting)) == (("researcher", 1), ("researcher", 2))
        assert [lines(request)[0].text for request in server.requests] == ["old", "new"]
        grants = d.sql("select amount_usd from ledger where kind = 'grant' order by created_at")
        assert list(grants["amount_usd"]) == [1.0, 0.5]
        (row,) = d.sql("select * from runs where profile_version = 2").to_dict("records")
        assert row["profile_hash"] == d.profile("researcher").hash


async def test_an_older_version_can_be_hired_by_its_profile():
    async with stage(Say("Done."), instructions="a") as server:
        agent(server, instructions="b")
        run = d.hire(d.profile("researcher", 1), "go")
        await run
        assert (acted(run), lines(server.requests[0])[0].text) == (("researcher", 1), "a")


async def test_after_the_store_is_opened_again_an_agent_without_tools_answers(tmp_store_path):
    async with stage(Say("Done."), path=tmp_store_path, instructions="Be brief.") as server:
        assert await d.turn("researcher", "go") == "Done."
        d.current_session().close()
        async with d.connect(tmp_store_path):
            run = d.turn("researcher", "go")
            assert await run == "Done."
            assert (acted(run), lines(server.requests[1])[0].text) == (("researcher", 1), "Be brief.")
            assert await d.hire("researcher", "a task") == "Done."
            await let_go()


async def test_after_the_store_is_opened_again_tools_must_be_defined_again_and_a_sentence_says_so(tmp_store_path):
    def find(n: int) -> str:
        """Is defined by a cell only, for this agent."""
        return str(n)

    async with stage(Say("Done."), path=tmp_store_path, tools=[find]) as server:
        assert await d.turn("researcher", "go") == "Done."
        d.current_session().close()
        async with d.connect(tmp_store_path):
            before = len(d.runs())
            with pytest.raises(BadTool, match="find"):
                d.turn("researcher", "go")
            with pytest.raises(BadTool, match="find"):
                d.hire("researcher", "go")
            assert (len(d.runs()), len(server.requests)) == (before, 1)
            agent(server, tools=[find])
            assert d.profile("researcher").version == 1
            assert await d.turn("researcher", "go") == "Done."
            await let_go()


async def test_a_model_that_a_cell_has_given_must_be_given_again_and_a_sentence_says_so(tmp_store_path):
    async with d.connect(tmp_store_path):
        d.agent("player", model=d.scripted_model("Hi.", name="my-script"))
        assert await d.turn("player", "go") == "Hi."
    async with d.connect(tmp_store_path):
        with pytest.raises(d.BadModel, match="my-script"):
            d.turn("player", "go")
        assert len(d.runs()) == 1
        d.agent("player", model=d.scripted_model("Hi again.", name="my-script"))
        assert await d.turn("player", "go") == "Hi again."


async def test_a_name_that_nobody_has_defined_is_told_with_those_that_are():
    async with stage():
        with pytest.raises(NoSuchProfile, match="researcher"):
            d.profile("resaercher")
        with pytest.raises(NoSuchProfile):
            d.profile("researcher", 7)
