"""DBOS on SQLite: an asynchronous workflow of ten steps."""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path
from typing import Any

from dbos import DBOS

from tests.benchmarks.contenders.serving import serve
from tests.benchmarks.contenders.workload import STEPS, fact


@DBOS.step()
async def say(place: int) -> dict[str, Any]:
    """Says one thing."""
    return fact(place)


@DBOS.workflow()
async def work() -> None:
    """The steps one after the other."""
    for place in range(STEPS):
        await say(place)


async def main() -> None:
    """Serves."""

    async def run() -> None:
        await work()

    await serve({"run": run})


if __name__ == "__main__":
    url = f"sqlite:///{Path(sys.argv[1]) / 'steps.sqlite'}"
    DBOS(config={"name": "bench", "system_database_url": url, "log_level": "ERROR", "run_admin_server": False})
    DBOS.launch()
    asyncio.run(main())
    DBOS.destroy()
