"""The contender's side: takes orders on standard input, one JSON line each, and answers each with a line of figures."""

from __future__ import annotations

import asyncio
import json
import sys
import time
from collections.abc import Awaitable, Callable
from typing import Any

from tests.benchmarks.contenders.lag import Lag

Act = Callable[[], Awaitable[float | None]]
"""Does it once, to the moment when it is durable. One that does more than is to be timed gives the seconds that count."""


async def serve(acts: dict[str, Act]) -> None:
    """Serves until the input ends. An order names an act, how often, and how many at once."""
    for act in acts.values():
        await act()
    print(json.dumps({"ready": True}), flush=True)
    while line := await asyncio.to_thread(sys.stdin.readline):
        order = json.loads(line)
        print(json.dumps(await _done(acts[order["act"]], order["times"], order["at_once"], order["lag"])), flush=True)


async def _done(act: Act, times: int, at_once: int, with_lag: bool) -> dict[str, Any]:
    took: list[float] = []
    left = iter(range(times))

    async def one_after_the_other() -> None:
        for _ in left:
            begun = time.perf_counter()
            counted = await act()
            took.append(time.perf_counter() - begun if counted is None else counted)

    lag = Lag() if with_lag else None
    cpu, wall = time.process_time(), time.perf_counter()
    await asyncio.gather(*(one_after_the_other() for _ in range(at_once)))
    figures = {"wall_s": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu, "took_s": took}
    return figures | {"lag_s": await lag.ended() if lag is not None else []}
