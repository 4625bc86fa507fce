"""This package, through its public calls: a session on a file, a job that reports ten activities, awaited to its end."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path

from dvergr_nb.runtime.context import Context
from dvergr_nb.session import Session
from tests.benchmarks.contenders.serving import serve
from tests.benchmarks.contenders.workload import TEXTS


async def body(ctx: Context) -> None:
    """Ten reports, with a turn for the loop after each."""
    for text in TEXTS:
        ctx.activity(text)
        await asyncio.sleep(0)


async def facts(ctx: Context) -> None:
    """Ten typed facts."""
    for step in range(len(TEXTS)):
        ctx.activity({"kind": "tool", "verb": "invoke", "tool_name": "probe", "outcome": str(step)})
        await asyncio.sleep(0)


async def nothing() -> None:
    """A body with nothing to say."""


async def main(folder: Path) -> None:
    """Serves with a new store in the folder."""
    async with Session(str(folder / "store.duckdb")) as session:

        async def run() -> None:
            await session.job(body)

        async def typed() -> None:
            await session.job(facts)

        async def admit() -> float:
            begun = time.perf_counter()
            asked = session.job(nothing)
            await asked.admitted
            took = time.perf_counter() - begun
            await asked
            return took

        await serve({"run": run, "typed": typed, "admit": admit})
        await session.drain()


if __name__ == "__main__":
    asyncio.run(main(Path(sys.argv[1])))
