"""SQL of an agent: over data frames, and over what happened in its room."""

from __future__ import annotations

import pandas as pd
import pytest

from dvergr_nb.actors.program import Round, ToolCall, Using
from dvergr_nb.actors.tools.querying import ROOM, query_frame, query_runs
from dvergr_nb.actors.tools.running import run_tool
from dvergr_nb.errors import BadInput
from dvergr_nb.runtime.body import Done
from tests.rigs.session import Body

SALES = pd.DataFrame({"shop": ["a", "b", "a"], "sum": [1.5, 2.0, None]})


async def asked(opened, tool, sql):
    """What a Run in a real session is told."""
    answers = []

    async def work(ctx):
        given = Round(message=ctx.trigger, number=0, folded=(), say=print, using=lambda call: NoFact(), spend=print, note=print)
        if sql is None:
            answers.append(await ctx.in_thread(lambda: ctx.query_room(tool).columns))
        else:
            answers.append(await run_tool(tool, ToolCall(id="1", name=tool.name), {"sql": sql}, ctx, given))
        return Done()

    async with opened() as session:
        await session.job(lambda: "before", label="first")
        await session.job(lambda: "of another room", label="second", room="elsewhere")
        await session.start(Body(work), actor="a")
    return answers[0]


class NoFact:
    def __enter__(self):
        return Using("00000000-0000-7000-8000-000000000000")

    def __exit__(self, *problem):
        pass


def test_the_description_names_the_tables_with_their_columns_and_rows():
    tool = query_frame(sales=SALES)
    assert "- sales (3 rows): shop str, sum float64" in tool.description
    assert list(tool.schema["properties"]) == ["sql"]


@pytest.mark.parametrize("frames", [{}, {"sales": 3}, {"sales": [1]}, {"sales": SALES["sum"]}])
def test_frames_are_data_frames_by_name(frames):
    with pytest.raises(BadInput, match="query_frame"):
        query_frame(**frames)


async def test_a_select_over_frames_is_told_as_rows(opened):
    tool = query_frame(sales=SALES)
    assert await asked(opened, tool, "SELECT shop, sum FROM sales ORDER BY ALL") == ("shop,sum\na,1.5\na,NULL\nb,2.0\n[3 rows]")
    assert await asked(opened, tool, "SELECT * FROM sales WHERE false") == "no rows; columns: shop, sum"


@pytest.mark.parametrize(
    ("sql", "outcome"),
    [
        ("DROP TABLE sales", "QueryRefused"),
        ("SELECT 1; SELECT 2", "QueryRefused"),
        ("SELECT * FROM '/etc/passwd'", "Query"),
        ("SELECT * FROM read_text('/etc/passwd')", "Query"),
        ("SELECT nothing FROM sales", "QueryFailed"),
        ("", "BadInput"),
    ],
)
async def test_what_is_no_select_over_the_frames_is_told_in_a_sentence(opened, sql, outcome):
    told = await asked(opened, query_frame(sales=SALES), sql)
    assert told.startswith(outcome)
    assert "root:" not in told


async def test_a_select_over_the_room_sees_its_runs_and_no_other_room(opened):
    assert "first,completed" in await asked(opened, query_runs(), "SELECT label, status FROM runs")
    assert "second" not in await asked(opened, query_runs(), "SELECT label FROM runs")


@pytest.mark.parametrize("table", ROOM)
async def test_the_columns_that_a_description_names_are_there(opened, table):
    found = await asked(opened, f"SELECT * FROM {table}", None)  # noqa: S608
    assert set(ROOM[table].split(", ")) <= set(found), found
