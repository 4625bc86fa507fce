"""LangGraph with its asynchronous SQLite saver, each step durable before the next begins."""

from __future__ import annotations

import asyncio
import itertools
import operator
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph

from tests.benchmarks.contenders.serving import serve
from tests.benchmarks.contenders.workload import STEPS, fact


class State(TypedDict):
    """What the graph carries: what its steps have said."""

    said: Annotated[list[dict[str, Any]], operator.add]


def step(place: int) -> Callable[[State], Awaitable[dict[str, Any]]]:
    """A node that says one thing."""

    async def say(_state: State) -> dict[str, Any]:
        return {"said": [fact(place)]}

    return say


def chain(saver: AsyncSqliteSaver) -> Any:
    """The steps one after the other."""
    graph = StateGraph(State)
    for place in range(STEPS):
        graph.add_node(f"step{place}", step(place))
    for before, after in itertools.pairwise([START, *(f"step{place}" for place in range(STEPS)), END]):
        graph.add_edge(before, after)
    return graph.compile(checkpointer=saver)


async def main(folder: Path) -> None:
    """Serves with a new file in the folder."""
    async with AsyncSqliteSaver.from_conn_string(str(folder / "graph.sqlite")) as saver:
        await saver.setup()
        app, names = chain(saver), itertools.count()

        async def run() -> None:
            config = {"configurable": {"thread_id": f"thread{next(names)}"}, "recursion_limit": 50}
            await app.ainvoke({"said": []}, config, durability="sync")

        await serve({"run": run})


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
