"""The child process of the agents' benchmarks: turns of a scripted model, by us and by pydantic-ai alone."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, UserPromptPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from pydantic_graph import End

import dvergr_nb as d
from tests.benchmarks.contenders.lag import Lag

ROUNDS = 10
"""Of a turn as agents have them: nine that use a tool, and the answer."""
LONG = 40
"""Of a turn long enough to tell what a further round takes from what a turn takes to begin and to end on record."""
AT_ONCE = 64
SHORT = 3
"""Rounds of each of those at once."""
REPEATED = 5


async def look(n: int) -> str:
    """Looks something up."""
    return f"found {n}"


def model(rounds: int) -> FunctionModel:
    """Uses a tool in every round but the last of a turn, whose answer comes in ten words."""

    async def stream(messages: list[ModelMessage], _info: AgentInfo) -> AsyncIterator[Any]:
        begun = max(
            at for at, message in enumerate(messages) if any(isinstance(part, UserPromptPart) for part in message.parts)
        )
        done = sum(isinstance(message, ModelResponse) for message in messages[begun:])
        if done < rounds - 1:
            yield {0: DeltaToolCall(name="look", json_args=json.dumps({"n": done}), tool_call_id=f"c{done}")}
            return
        for word in range(10):
            yield f"word{word} "

    return FunctionModel(stream_function=stream, model_name="bench-1")


def bare(rounds: int) -> Callable[[], Awaitable[str]]:
    """The same turn by pydantic-ai alone: streamed, node by node, nothing on record."""
    agent = Agent(model(rounds), tools=[look])

    async def turn() -> str:
        async with agent.iter("go") as run:
            node = run.next_node
            while not isinstance(node, End):
                if Agent.is_model_request_node(node):
                    async with node.stream(run.ctx) as events:
                        async for _ in events:
                            pass
                node = await run.next(node)
        return str(node.data.output)

    return turn


async def timed(turn: Callable[[], Awaitable[Any]]) -> float:
    """Seconds of one turn."""
    before = time.perf_counter()
    await turn()
    return time.perf_counter() - before


async def rounds(path: str, count: int) -> dict[str, Any]:
    """Turns of both lengths, ours and the bare ones, one after the other; the shortest of some, `count` times."""
    found: dict[str, Any] = {}
    async with d.connect(path):
        for _ in range(count):
            for length in (ROUNDS, LONG):
                for who, turn in (("ours", ours(length)), ("bare", bare(length))):
                    await turn()
                    found.setdefault(f"{who}_{length}_s", []).append(min([await timed(turn) for _ in range(REPEATED)]))
    return found


def ours(length: int) -> Callable[[], Awaitable[Any]]:
    """A turn of an agent of ours, until its end is on record."""
    name = f"bench-{length}"
    d.agent(name, model=model(length), tools=[d.tool(look)], prices={"bench-1": {"input": 1, "output": 2}})
    return lambda: d.turn(name, "go").wait()


async def at_once(path: str, kind: str) -> dict[str, Any]:
    """Many turns at once: of scripted actors, of agents, or of pydantic-ai alone."""
    async with d.connect(path):
        names = [f"actor-{number}" for number in range(AT_ONCE)]
        theirs = bare(SHORT)
        begin = _beginner(kind, names, theirs)
        await asyncio.gather(*(begin(name) for name in names[:2]))
        lag, before = Lag(), time.perf_counter()
        replies = await asyncio.gather(*(begin(name) for name in names))
        took = time.perf_counter() - before
        held = await lag.ended()
    return {"took_s": took, "answers": sum(bool(reply) for reply in replies), "lag_s": held}


def _beginner(kind: str, names: list[str], theirs: Callable[[], Awaitable[str]]) -> Callable[[str], Awaitable[Any]]:
    if kind == "bare":
        return lambda _name: theirs()
    if kind == "scripted":
        steps = [d.script.use("look", 1), d.script.say("on"), d.script.use("look", 2), d.script.say("an answer of some words")]
        for name in names:
            d.room().join(name, d.scripted(*([steps] * 3), name="bench-1"))
    else:
        for name in names:
            d.agent(name, model=model(SHORT), tools=[d.tool(look)], prices={"bench-1": {"input": 1, "output": 2}})

    async def begin(name: str) -> Any:
        return await d.turn(name, "go")

    return begin


if __name__ == "__main__":
    way, where, what = sys.argv[1:4]
    print(json.dumps(asyncio.run(rounds(where, int(what)) if way == "rounds" else at_once(where, what))))
