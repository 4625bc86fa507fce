"""A program of its own: many actors in a room, many messages, many members; prints its figures as JSON.

python -m tests.benchmarks.crowd PATH broadcast|messages|members
"""

from __future__ import annotations

import asyncio
import json
import resource
import sys
import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Final

from dvergr_nb.actors.scripted import scripted
from dvergr_nb.records.query import RunFilter
from dvergr_nb.session import Session
from tests.benchmarks.contenders.lag import Lag

ACTORS: Final = 200
BROADCASTS: Final = 5
MESSAGES: Final = 10_000
TALKERS: Final = 50
MEMBERS: Final = 10_000


def rss_mb() -> float:
    """The most memory that this process has used so far."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


async def broadcast(session: Session) -> Mapping[str, Any]:
    """A message to 200 scripted actors, five times: from posting it to the last durable end."""
    room = session.rooms.open("big")
    for number in range(ACTORS):
        room.join(f"actor-{number}", scripted(*["here"] * BROADCASTS))
    took, lag = [], Lag()
    for _ in range(BROADCASTS):
        begun = time.perf_counter()
        posting = await room.post("who is there?", to="*")
        await asyncio.gather(*posting.runs)
        took.append(time.perf_counter() - begun)
    held = await lag.ended()
    runs = session.store.runs(RunFilter(room="big", status="completed", limit=None))
    return {"took_s": took, "lag_s": held, "runs": len(runs), "answers": len(room.messages(limit=None))}


async def messages(session: Session) -> Mapping[str, Any]:
    """Ten thousand messages in one room: each of fifty actors is sent two hundred at once, and answers them in order."""
    room = session.rooms.open("busy")
    heard: dict[str, list[str]] = {}

    def listener(actor: str) -> Callable[[Any], Awaitable[str]]:
        said = heard[actor] = []

        async def answer(message: Any) -> str:
            said.append(message.content)
            return "yes"

        return answer

    for number in range(TALKERS):
        room.join(f"actor-{number}", listener(f"actor-{number}"))
    begun, lag = time.perf_counter(), Lag()
    for number in range(MESSAGES):
        room.turn(f"actor-{number % TALKERS}", str(number))
        if number % 10 == 0:
            await asyncio.sleep(0)
    asked = time.perf_counter() - begun
    await session.drain()
    took, held = time.perf_counter() - begun, await lag.ended()
    in_order = all(said == sorted(said, key=int) for said in heard.values())
    runs = session.store.runs(RunFilter(room="busy", status="completed", limit=None))
    return {"asked_s": asked, "took_s": took, "lag_s": held, "runs": len(runs), "in_order": in_order}


async def members(session: Session) -> Mapping[str, Any]:
    """Ten thousand actors join a room, one is asked something, and what nobody answers is looked for."""
    room, answer = session.rooms.open("town"), scripted("hello")
    before, lag, begun = rss_mb(), Lag(), time.perf_counter()
    for number in range(MEMBERS):
        room.join(f"actor-{number}", answer)
        if number % 20 == 0:
            await asyncio.sleep(0)
    session.store.flush(60)
    joined, grown = time.perf_counter() - begun, rss_mb() - before
    begun = time.perf_counter()
    reply = await room.turn("actor-5000", "hello?")
    turned = time.perf_counter() - begun
    held = await lag.ended()
    begun = time.perf_counter()
    left = room.unanswered()
    looked = time.perf_counter() - begun
    known = len(room.members())
    return {
        "joined_s": joined,
        "grown_mb": grown,
        "turn_s": turned,
        "reply": reply,
        "unanswered": len(left),
        "looked_s": looked,
        "known": known,
        "lag_s": held,
    }


WAYS: Final[Mapping[str, Callable[[Session], Awaitable[Mapping[str, Any]]]]] = {
    "broadcast": broadcast,
    "messages": messages,
    "members": members,
}


async def main(path: str, way: str) -> None:
    """Opens a store, works, and says what came of it."""
    with Session(path) as session:
        before = rss_mb()
        found = await WAYS[way](session)
        print(json.dumps({**found, "rss_mb": rss_mb(), "before_mb": before}))


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
