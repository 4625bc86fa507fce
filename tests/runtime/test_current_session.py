"""Which session is current: over loops that end, under other names of the same file, and for whom."""

from __future__ import annotations

import asyncio
import getpass
from collections.abc import Iterator
from pathlib import Path

import pytest

from dvergr_nb.api import Kernel
from dvergr_nb.errors import Refused, SessionClosed
from dvergr_nb.records.run import RunStatus
from dvergr_nb.runtime.handle import RunHandle
from dvergr_nb.session import Session
from tests.rigs.session import Gate


@pytest.fixture
def kernel() -> Iterator[Kernel]:
    made = Kernel()
    yield made
    made.close(force=True)


def left_behind(kernel: Kernel, path: Path) -> RunHandle:
    """A Run that was live when its loop ended."""

    async def life() -> RunHandle:
        session = kernel.connect(path, tenant_id="lab", user_id="ann", room="north")
        gate = Gate()
        run = session.start(gate, actor="a")
        await gate.began.wait()
        return run

    return asyncio.run(life())


def test_a_session_whose_loop_has_ended_is_opened_again_for_the_same_person(kernel: Kernel, tmp_store_path: Path) -> None:
    run = left_behind(kernel, tmp_store_path)

    async def next_life() -> None:
        session = kernel.current()
        assert (session.tenant_id, session.user_id, session.room) == ("lab", "ann", "north")
        assert session.run(run.id).status is RunStatus.FAILED
        assert await session.job(lambda: 1) == 1

    asyncio.run(next_life())


def test_who_waits_for_a_run_of_a_loop_that_has_ended_is_told_that_its_session_is_closed(
    kernel: Kernel, tmp_store_path: Path
) -> None:
    run = left_behind(kernel, tmp_store_path)

    async def next_life() -> None:
        kernel.current()
        with pytest.raises(SessionClosed):
            await asyncio.wait_for(run, 30)

    asyncio.run(next_life())


def test_another_store_can_be_connected_after_a_loop_has_ended_with_live_runs(kernel: Kernel, tmp_path: Path) -> None:
    left_behind(kernel, tmp_path / "a.duckdb")

    async def next_life() -> None:
        assert await kernel.connect(tmp_path / "b.duckdb").job(lambda: 1) == 1

    asyncio.run(next_life())


async def test_the_same_store_for_the_same_person_is_given_again_also_with_live_runs(kernel: Kernel, tmp_path: Path) -> None:
    first = kernel.connect(tmp_path / "a.duckdb", user_id="ann")
    gate = Gate()
    run = first.start(gate, actor="a")
    await gate.began.wait()
    again = kernel.connect(tmp_path / "a.duckdb", user_id="ann", room="south")
    assert (again is first, again.room) == (True, "south")
    with pytest.raises(Refused, match="1 Runs live here"):
        kernel.connect(tmp_path / "a.duckdb", user_id="bob")
    gate.open.set()
    await run.wait()
    assert kernel.connect(tmp_path / "a.duckdb", user_id="bob").user_id == "bob"


async def test_a_store_under_the_home_folder_is_the_same_store(
    kernel: Kernel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    assert kernel.connect("~/a.duckdb") is kernel.connect("~/a.duckdb")


async def test_a_user_that_no_database_knows_has_a_name_all_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown() -> str:
        raise KeyError("getpwuid(): uid not found: 1000720000")

    monkeypatch.setattr(getpass, "getuser", unknown)
    monkeypatch.delenv("JUPYTERHUB_USER", raising=False)
    monkeypatch.delenv("DVERGR_NB_TEST", raising=False)
    with Session(":memory:") as session:
        assert session.user_id.startswith("user-")
