"""A session that is closed while things are under way: nobody waits for ever, and the store says what happened."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import pytest

from dvergr_nb.errors import RunFailed, SessionClosed
from dvergr_nb.records.operation import End
from dvergr_nb.records.run import Reason, RunStatus
from dvergr_nb.runtime.body import Done
from tests.rigs.session import Gate, RefusingSession, Told

Opened = Callable[..., AbstractAsyncContextManager[RefusingSession]]
WAIT_S = 30


async def test_a_run_whose_admission_is_on_its_way_ends_orphaned_and_its_body_never_begins(
    opened: Opened, tmp_store_path: Path
) -> None:
    async with opened(str(tmp_store_path)) as session:
        gate = Gate()
        run = session.start(gate, actor="a")
        session.close(force=True)
        with pytest.raises(RunFailed, match="orphaned"):
            await asyncio.wait_for(run, WAIT_S)
        assert not gate.began.is_set()
    async with opened(str(tmp_store_path)) as again:
        assert (again.run(run.id).status, again.run(run.id).reason) == (RunStatus.FAILED, "orphaned")
        assert again.store.orphaned == ()


async def test_a_start_with_a_used_key_on_its_way_ends_with_the_first_run(opened: Opened) -> None:
    async with opened() as session:
        gate = Gate()
        first = session.start(gate, actor="a", key="k")
        await gate.began.wait()
        again = session.start(Gate(), actor="a", key="k")
        session.close(force=True)
        for run in (first, again):
            with pytest.raises(RunFailed, match="orphaned"):
                await asyncio.wait_for(run, WAIT_S)


async def test_an_end_that_could_not_be_written_before_the_close_says_that_the_store_is_closed(opened: Opened) -> None:
    async with opened() as session:
        gate = Gate()
        run = session.start(gate, actor="a")
        await gate.began.wait()
        refusing: Any = session.store
        refusing.refused = (End,)
        gate.open.set()
        await refusing.until_refused(1)
        session.close(force=True)
        with pytest.raises(SessionClosed):
            await asyncio.wait_for(run.wait(), WAIT_S)
        assert session.active_runs() == []


async def test_a_run_that_somebody_else_has_ended_ends_as_they_said_and_is_told_once(
    opened: Opened, caplog: pytest.LogCaptureFixture
) -> None:
    async with opened() as session:
        told, gate = Told(), Gate(Done(value=1))
        session.watch_runs("ui", told)
        run = session.start(gate, actor="a")
        await gate.began.wait()
        theirs = End(
            run_id=run.id, tenant_id=session.tenant_id, status=RunStatus.FAILED, reason=Reason.ORPHANED, at=session.clock.now()
        )
        await asyncio.wrap_future(session.store.submit(theirs))
        gate.open.set()
        await asyncio.wait_for(run.wait(), WAIT_S)
        assert (run.row.status, run.row.reason, run.result) == (RunStatus.FAILED, "orphaned", None)
        assert told.types == ["runs/snapshot", "run/started", "run/finished"]
        assert "was refused" in caplog.text


async def test_an_iteration_over_events_ends_when_the_session_does(opened: Opened) -> None:
    async with opened() as session:
        seen = asyncio.Event()

        async def listen() -> list[str]:
            types = []
            async for event in session.events():
                types.append(event.type)
                seen.set()
            return types

        listening = asyncio.create_task(listen())
        await seen.wait()
        session.close()
        assert await asyncio.wait_for(listening, WAIT_S) == ["runs/snapshot"]
