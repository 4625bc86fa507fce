"""A search of one's own as a tool, and skills that are loaded when they are needed."""

from __future__ import annotations

import pytest

from dvergr_nb.actors.tools.retrieving import Chunk, retriever
from dvergr_nb.actors.tools.skills import load_skill
from dvergr_nb.agent_errors import BadTool
from dvergr_nb.errors import BadInput
from dvergr_nb.records.profile import Skill
from tests.tools.uses import used

CHUNKS = [Chunk(id="a", text="Of ants.", title="Ants", score=0.91234), ("b", "Of bees."), Chunk(id="c", text="Of cats.")]


def search(query: str):
    return CHUNKS


async def search_later(query: str):
    return CHUNKS


@pytest.mark.parametrize("fn", [search, search_later])
async def test_chunks_are_told_with_their_ids_and_cited(fn):
    tool = retriever(fn, top=2)
    assert (tool.name, list(tool.schema["properties"])) == ("search", ["query"])
    turn = await used(tool, {"query": "animals"})
    assert turn.told == ["[a] Ants (0.912)\nOf ants.\n\n[b]\nOf bees."]
    assert [(each.chunk_id, each.title, each.round) for each in turn.cited] == [("a", "Ants", 0), ("b", "", 0)]


async def test_nothing_found_is_said_and_nothing_cited():
    turn = await used(retriever(lambda query: []), {"query": "animals"})
    assert (turn.told, turn.cited) == (["nothing was found"], [])


@pytest.mark.parametrize("given", ["text", 3, None, [3], [("a",)], [Chunk(id="", text="x")], [("a", 3)], {"a": "b"}])
async def test_what_are_no_chunks_is_an_error_of_the_search(given):
    turn = await used(retriever(lambda query: given), {"query": "animals"})
    assert turn.outcome == ("failed", "BadInput")


@pytest.mark.parametrize("top", [0, 101, True, "3"])
def test_how_many_is_a_number(top):
    with pytest.raises(BadInput, match="top is a whole number"):
        retriever(search, top=top)


def test_a_retriever_is_a_function():
    with pytest.raises(BadTool, match="a retriever is a function"):
        retriever(3)  # type: ignore[arg-type]


async def test_a_skill_is_loaded_by_its_id():
    skills = [
        Skill(id="plots", description="Draws plots.", instructions="Use few colours."),
        Skill(id="sql", description="Asks.", instructions="Ask once."),
    ]
    tool = load_skill(skills)
    assert (tool.name, list(tool.schema["properties"])) == ("load_skill", ["id"])
    assert "- plots: Draws plots.\n- sql: Asks." in tool.description
    assert "Use few colours." not in tool.description
    assert (await used(tool, {"id": "plots"})).told == ["Use few colours."]
    turn = await used(tool, {"id": "plot"})
    assert turn.told == ["there is no skill 'plot'; there are plots, sql"]
    assert turn.outcome == ("failed", "no-such-skill")
