"""Bad values in what a caller asks for are refused in one line, before there is a Run; good ones of other makers are taken."""

from __future__ import annotations

import collections
import datetime as dt
import tracemalloc
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import Any

import numpy as np
import pytest

from dvergr_nb.actors.job import REPLY_LIMIT, brief
from dvergr_nb.errors import BadFilter, BadInput, RunFailed
from dvergr_nb.records.query import MessageFilter
from dvergr_nb.records.run import RunStatus
from dvergr_nb.runtime.context import Context
from tests.rigs.session import RefusingSession

Opened = Callable[..., AbstractAsyncContextManager[RefusingSession]]


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"tags": 5}, "tags must be a list of words, not 5"),
        ({"tags": None}, "tags must be a list of words, not None"),
        ({"tags": "nightly"}, "tags must be a list of words, not 'nightly'"),
        ({"label": 5}, "a label must be text, not 5"),
        ({"key": ""}, "a key is text of 1 to 200 characters, not ''"),
        ({"room": 5}, "room must be a line of 1 to 200 characters, not 5"),
        ({"timeout": -1}, "timeout must be a number of seconds above 0, not -1"),
        ({"parent": 5}, "a Run is a handle or an id, not 5"),
    ],
)
async def test_a_bad_value_starts_nothing(opened: Opened, asked: dict[str, Any], said: str) -> None:
    async with opened() as session:
        with pytest.raises(BadInput, match=said):
            session.job(lambda: 1, **asked)
        assert session.handles() == ()


@pytest.mark.parametrize(
    ("provenance", "said"),
    [
        ({"profile_version": "three"}, "profile_version must be int, not 'three'"),
        ({"profile_id": object}, "profile_id must be str"),
        (["profile_id"], "provenance is a mapping"),
    ],
)
async def test_provenance_of_another_type_starts_nothing(opened: Opened, provenance: Any, said: str) -> None:
    async with opened() as session:
        with pytest.raises(BadInput, match=said):
            session.start(None, actor="a", provenance=provenance)  # type: ignore[arg-type]  # refused before it is looked at
        assert session.handles() == ()


@pytest.mark.parametrize(
    ("filters", "said"),
    [
        ({"status": "runing"}, "status must be one of running, waiting, completed, failed, cancelled, not 'runing'"),
        ({"status": "queued"}, "status must be one of"),
        ({"since": "yesterday"}, "since must be an aware time"),
        ({"since": dt.datetime(2026, 1, 1)}, "since must be an aware time"),  # noqa: DTZ001
        ({"limit": 0}, "limit must be a whole number from 1"),
        ({"limit": True}, "limit must be a whole number from 1"),
    ],
)
async def test_a_filter_that_cannot_be_meant_is_refused(opened: Opened, filters: dict[str, Any], said: str) -> None:
    async with opened() as session:
        with pytest.raises(BadFilter, match=said):
            session.runs(**filters)
        with pytest.raises(BadFilter, match=said):
            session.frame("runs", **filters)


async def test_numbers_of_numpy_are_numbers(opened: Opened) -> None:
    async with opened() as session:

        async def work(ctx: Context) -> Any:
            done: Any = np.int64(1)
            total: Any = np.float32(4)
            ctx.progress(done, total)
            return ctx.run

        run = await session.job(work)
        assert (run.progress.done, run.progress.total, run.progress.fraction) == (1, 4.0, 0.25)
        assert {type(run.progress.done), type(run.progress.total)} == {int, float}


@pytest.mark.parametrize("what", [5, None, {1: "kind"}])
async def test_an_activity_that_is_neither_text_nor_fact_fails_the_body_and_says_why(opened: Opened, what: Any) -> None:
    async with opened() as session:

        async def work(ctx: Context) -> None:
            ctx.activity(what)

        with pytest.raises(RunFailed, match="an activity is a text or a fact"):
            await session.job(work)
        assert session.runs()[0].status is RunStatus.FAILED


@pytest.mark.parametrize(
    "value",
    [
        bytes(10_000_000),
        bytearray(10_000_000),
        dict.fromkeys(range(1_000_000)),
        collections.defaultdict(list, dict.fromkeys(range(1_000_000))),
        collections.Counter(range(1_000_000)),
        set(range(1_000_000)),
        type("Rows", (list,), {})(range(1_000_000)),
        "ß" * 10_000_000,
    ],
    ids=lambda value: type(value).__name__,
)
def test_the_durable_text_of_a_huge_result_is_made_of_its_beginning(value: Any) -> None:
    tracemalloc.start()
    try:
        text = brief(value)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert text is not None
    assert len(text) <= REPLY_LIMIT
    assert peak < 500_000


async def test_a_number_beyond_all_floats_fails_the_body_and_says_why(opened: Opened) -> None:
    async with opened() as session:

        async def work(ctx: Context) -> None:
            ctx.progress(10**400)

        with pytest.raises(RunFailed, match="that is not that large"):
            await session.job(work)


@pytest.mark.parametrize("kind", [5, b"x"])
async def test_a_kind_of_activity_that_is_no_word_fails_the_body_and_says_why(opened: Opened, kind: Any) -> None:
    async with opened() as session:

        async def work(ctx: Context) -> None:
            ctx.activity("text", kind=kind)

        with pytest.raises(RunFailed, match="kind must be a word"):
            await session.job(work)


async def test_words_of_facts_that_are_no_unicode_are_mended_and_lose_no_record(opened: Opened) -> None:
    async with opened() as session:

        async def work(ctx: Context) -> None:
            ctx.activity({"kind": "a\0", "verb": "b\ud800"})
            await ctx.activity("text", kind="c\ud800")

        run = session.job(work)
        await run
        said = session.store.messages(MessageFilter(run=run.id))
        assert [(fact.kind, fact.verb) for message in said for fact in message.facts] == [("a\ufffd", "b\ufffd")]
        assert [message.kind for message in said if not message.facts] == ["c\ufffd"]


@pytest.mark.parametrize("body", ["", None, lambda: 1, type("NoPlace", (), {"execute": print, "place": "moon"})()])
async def test_what_is_no_body_starts_nothing(opened: Opened, body: Any) -> None:
    async with opened() as session:
        with pytest.raises(BadInput, match="a body has a place"):
            session.start(body, actor="a")
        assert (session.active_runs(), session.handles(), session.runs()) == ([], (), [])
