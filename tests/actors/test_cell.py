"""A cell as a job: its names, its result, its place."""

from __future__ import annotations

import asyncio
import threading

import pytest

from dvergr_nb.actors.cell import cell_job, compiled
from dvergr_nb.errors import BadInput


async def run(session, source, names=None, place=None):
    return await session.start(cell_job(compiled(source), names or {}, place), actor="dvergr", text=source)


async def test_the_last_expression_is_the_result_and_a_semicolon_silences_it(opened):
    async with opened() as session:
        assert await run(session, "a = 2\na * 3") == 6
        assert await run(session, "a = 2\na * 3;") is None
        assert await run(session, "a = 2") is None


async def test_a_cell_that_awaits_runs_on_the_loop_and_any_other_in_a_thread(opened):
    async with opened() as session:
        names = {"threading": threading, "asyncio": asyncio}
        assert await run(session, "await asyncio.sleep(0)\nthreading.current_thread()", names) is threading.current_thread()
        assert await run(session, "threading.current_thread()", names) is not threading.current_thread()
        assert await run(session, "threading.current_thread()", names, "loop") is threading.current_thread()


async def test_a_cell_sees_a_shallow_copy_of_the_names(opened):
    async with opened() as session:
        names = {"rows": [1]}
        await run(session, "rows.append(2)\nnew = 1", names)
        assert names == {"rows": [1, 2]}


async def test_a_function_of_the_cell_sees_the_cells_names_and_ctx(opened):
    async with opened() as session:
        assert await run(session, "base = 10\ndef f(x):\n    return base + x\n[f(1), ctx.run.actor]") == [11, "dvergr"]


async def test_input_is_refused_in_a_run(opened):
    async with opened() as session:
        with pytest.raises(Exception, match="input\\(\\) cannot be asked"):
            await run(session, "input('name? ')")


@pytest.mark.parametrize("source", ["for", "x = (1", "return 1", "a\0b"])
def test_a_cell_that_cannot_be_compiled_is_refused_in_one_line(source):
    with pytest.raises(BadInput) as refused:
        compiled(source)
    assert "\n" not in str(refused.value)


def test_a_cell_that_awaits_cannot_be_sent_to_a_thread():
    with pytest.raises(BadInput, match="--thread"):
        cell_job(compiled("await x"), {}, "thread")


async def test_a_traceback_of_a_cell_shows_its_lines(opened):
    from dvergr_nb.records.query import MessageFilter

    async with opened() as session:
        started = session.start(cell_job(compiled("a = 1\nnowhere + a"), {}), actor="dvergr")
        await started.wait()
        told = next(m.content for m in session.store.messages(MessageFilter(run=started.id)) if m.kind == "error")
        assert "nowhere + a" in told
