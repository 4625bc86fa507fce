"""What the benchmarks of the widgets run inside a real kernel: a thousand Runs that change, and one that a click cancels."""

from __future__ import annotations

import asyncio
import time
from typing import Final

from dvergr_nb.records.event import Event, RunFinished
from dvergr_nb.runtime.context import Context
from dvergr_nb.session import Session
from tests.benchmarks.contenders.lag import Lag

RUNS: Final = 1_000
CHANGES: Final = 8
"""How often each Run says how far it is, once a second."""


class Crowd:
    """Runs that live together and say in turn how far they are: a thousand changes a second."""

    def __init__(self, session: Session) -> None:
        self.changed_at: dict[str, list[float]] = {}
        """By Run, when it said `done=0`, `done=1`, …, by the machine's clock."""
        self.lag_s: list[float] = []
        self.begun_at = self.ended_at = 0.0
        self._session = session
        self._start: asyncio.Future[float] | None = None
        self._living = 0

    async def work(self) -> None:
        """Starts them, waits until all live, lets them change, and waits for their end."""
        loop = asyncio.get_running_loop()
        self._start = loop.create_future()
        runs = [self._session.job(self._body, number) for number in range(RUNS)]
        for run in runs:
            await run.admitted
        await asyncio.sleep(1)
        lag, self.begun_at = Lag(), time.time()
        self._start.set_result(loop.time())
        await asyncio.sleep(CHANGES)
        self.lag_s, self.ended_at = await lag.ended(), time.time()
        await self._session.drain()

    async def _body(self, number: int, ctx: Context) -> None:
        assert self._start is not None
        loop = asyncio.get_running_loop()
        due = await self._start + number / RUNS
        said = self.changed_at[ctx.run.id] = []
        for done in range(CHANGES):
            await asyncio.sleep(max(0.0, due + done - loop.time()))
            said.append(time.time())
            ctx.progress(done, CHANGES)


class Ends:
    """When the end of each Run was told, by the machine's clock: its row is durable then."""

    def __init__(self, session: Session) -> None:
        self.told_at: dict[str, float] = {}
        session.watch_runs(self, self._hear)

    def _hear(self, event: Event) -> None:
        if isinstance(event, RunFinished):
            self.told_at[event.run.id] = time.time()


async def cooperative(ctx: Context) -> None:
    """Looks every millisecond whether it was asked to stop."""
    while True:
        await asyncio.sleep(0.001)
        await ctx.checkpoint()
