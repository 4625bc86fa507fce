"""Jobs: what may be one, where it runs, and what the record keeps of its result."""

from __future__ import annotations

import asyncio
import functools
import threading

import pytest

from dvergr_nb.actors.job import REPLY_LIMIT, brief
from dvergr_nb.errors import BadInput
from dvergr_nb.records.message import RUNS
from dvergr_nb.records.query import MessageFilter


async def test_a_plain_function_runs_in_a_daemon_thread_and_a_coroutine_on_the_loop(opened):
    async with opened() as session:

        async def where():
            return threading.current_thread()

        on_loop = await session.job(where)
        in_thread = await session.job(threading.current_thread)
        assert on_loop is threading.current_thread()
        assert in_thread is not threading.current_thread()
        assert in_thread.daemon


async def test_arguments_go_to_the_function_and_ctx_to_who_names_it(opened):
    async with opened() as session:

        def work(a, b, *, scale, ctx):
            return (a + b) * scale, ctx.run.label

        assert await session.job(work, 1, 2, scale=10, label="sum") == (30, "sum")


async def test_a_coroutine_object_is_a_job_too(opened):
    async with opened() as session:

        async def work(x):
            return x + 1

        assert await session.job(work(1)) == 2


async def test_a_partial_and_a_lambda_that_returns_a_coroutine_are_awaited(opened):
    async with opened() as session:

        async def work(x):
            await asyncio.sleep(0)
            return x

        assert await session.job(functools.partial(work, 3)) == 3
        assert await session.job(lambda: work(4)) == 4


@pytest.mark.parametrize(
    ("work", "args", "options", "says"),
    [
        (42, (), {}, "a job is a function"),
        (lambda x: x, (), {}, "cannot be called like that: missing a required argument: 'x'"),
        (lambda: 1, (), {"lable": "typo"}, "got an unexpected keyword argument 'lable'"),
        (lambda: 1, (), {"tags": "one"}, "tags must be a list of words"),
        (lambda: 1, (), {"key": ""}, "a key is text"),
        (lambda: 1, (), {"room": "two\nlines"}, "room must be a line"),
    ],
    ids=["a number", "an argument too few", "a misspelt option", "tags as text", "an empty key", "a room of two lines"],
)
async def test_what_cannot_be_a_job_is_refused_before_a_run_exists(opened, work, args, options, says):
    async with opened() as session:
        with pytest.raises(BadInput, match=says):
            session.job(work, *args, **options)
        assert session.runs() == []


async def test_a_generator_is_refused_because_a_job_returns_once(opened):
    async with opened() as session:

        def generator():
            yield 1

        with pytest.raises(BadInput, match="returns once"):
            session.job(generator)


async def test_the_trigger_is_the_source_from_the_person_and_the_result_a_private_reply_to_it(opened):
    async with opened() as session:

        def work():
            return {"accuracy": 0.97}

        run = await session.job(work).wait()
        trigger = session.store.message(run.row.trigger)
        output = next(m for m in session.store.messages(MessageFilter(run=run.id)) if m.to == RUNS)
        assert (trigger.sender, trigger.to, "accuracy" in trigger.content) == ("user", RUNS, True)
        assert (output.content, output.reply_to, output.thread_root_id) == ("{'accuracy': 0.97}", trigger.id, trigger.id)
        assert run.result == {"accuracy": 0.97}


async def test_more_functions_than_threads_wait_for_one_and_can_be_cancelled_there(opened):
    async with opened() as session:
        go = threading.Event()
        runs = [session.job(go.wait, 30) for _ in range(33)]
        await asyncio.gather(*(run.admitted for run in runs))
        assert runs[-1].cancel()
        await runs[-1].wait()
        assert runs[-1].row.status == "cancelled"
        go.set()
        await session.drain(30)
        assert sum(run.row.status == "completed" for run in runs) == 32


def test_the_durable_text_of_a_result_stays_short_however_large_the_value_is():
    assert len(brief(list(range(10_000_000))) or "") <= REPLY_LIMIT
    assert len(brief("x" * 10_000_000) or "") == REPLY_LIMIT
    assert brief(None) is None


def test_a_value_whose_repr_raises_is_still_on_record():
    class Hostile:
        def __repr__(self):
            raise RuntimeError

    assert "Hostile" in (brief(Hostile()) or "")
