"""Coroutine tests run on a loop of their own, and what they leave behind fails them."""

from __future__ import annotations

import asyncio

import pytest

from tests.conftest import LIMIT_S, alone


async def test_a_coroutine_test_runs_on_a_loop_in_debug_mode() -> None:
    assert asyncio.get_running_loop().get_debug()


async def test_a_call_from_a_foreign_thread_that_would_be_lost_is_refused() -> None:
    loop = asyncio.get_running_loop()
    with pytest.raises(RuntimeError, match="Non-thread-safe"):
        await asyncio.to_thread(loop.call_soon, print)


def test_a_task_left_running_fails_its_test() -> None:
    kept = []

    async def leaves_one() -> None:
        kept.append(asyncio.create_task(asyncio.Event().wait()))

    with pytest.raises(pytest.fail.Exception, match="left running"):
        asyncio.run(alone(leaves_one()))


def test_a_task_that_ends_with_its_test_is_none_left_running() -> None:
    async def cancels_one() -> None:
        asyncio.create_task(asyncio.Event().wait()).cancel()

    asyncio.run(alone(cancels_one()))


def test_a_stuck_test_ends_at_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    assert LIMIT_S == 60
    monkeypatch.setattr("tests.conftest.LIMIT_S", 0.01)
    with pytest.raises(TimeoutError):
        asyncio.run(alone(asyncio.Event().wait()))
