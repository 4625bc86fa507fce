"""What a body prints belongs to its Run: gathered, slowed, cut, and counted."""

from __future__ import annotations

import sys
import threading

from dvergr_nb.records.query import MessageFilter
from dvergr_nb.runtime import prints
from tests.rigs.session import Body, Gate, Told


def printed(session, run, kind="print"):
    return "\n".join(m.content for m in session.store.messages(MessageFilter(run=run.id)) if m.kind == kind)


async def test_what_a_body_prints_becomes_its_activity_and_nothing_lands_outside(opened, capsys):
    async with opened() as session:

        async def work(ctx):
            print("from the loop")
            print("an error", file=sys.stderr)

        run = await session.start(Body(work), actor="a").wait()
        assert printed(session, run) == "from the loop\nan error"
        assert "from the loop" not in capsys.readouterr().out


async def test_two_bodies_that_print_at_once_keep_their_text_apart(opened):
    async with opened() as session:

        def work(name):
            for i in range(200):
                print(name, i)

        runs = [session.job(work, name) for name in ("left", "right")]
        await session.drain(30)
        for run, name in zip(runs, ("left", "right"), strict=True):
            assert printed(session, run).splitlines() == [f"{name} {i}" for i in range(200)]


async def test_what_the_cell_prints_while_runs_live_stays_the_cells(opened, capsys):
    async with opened() as session:
        gate = Gate()
        run = session.start(gate, actor="a")
        await gate.began.wait()
        print("mine")
        gate.open.set()
        await run.wait()
        assert capsys.readouterr().out == "mine\n"
        assert printed(session, run) == ""


async def test_the_last_printed_line_is_shown_while_the_run_lives(opened):
    async with opened() as session:
        gate = Gate()

        async def work(ctx):
            print("reading\rreading 40 %\rreading 80 %")
            await gate.execute(ctx)

        session.watch_runs("ui", told := Told())
        run = session.start(Body(work), actor="a")
        await told.until(lambda events: any(event.type != "runs/snapshot" and event.run.said for event in events))
        assert session.active_runs()[0].said == "reading 80 %"
        gate.open.set()
        await run.wait()


async def test_a_body_that_prints_without_end_is_cut_and_what_was_dropped_is_on_record(opened):
    async with opened() as session:

        def flood(ctx):
            for _ in range(40):
                print("x" * 50_000)

        run = await session.job(flood).wait()
        kept = len(printed(session, run))
        assert kept <= prints.RUN_LIMIT + 100
        assert "characters of print output were dropped" in printed(session, run, "dropped")


async def test_a_body_that_floods_on_the_loop_is_cut_without_holding_the_loop(opened):
    async with opened() as session:

        async def flood(ctx):
            for _ in range(10):
                print("x" * 50_000)

        run = await session.start(Body(flood), actor="a").wait()
        assert len(printed(session, run)) <= prints.HELD_LIMIT
        assert printed(session, run, "dropped")


async def test_closing_the_last_session_puts_the_streams_back(opened):
    before = sys.stdout
    async with opened():
        assert isinstance(sys.stdout, prints.Router)
    assert sys.stdout is before


async def test_a_thread_that_prints_after_its_run_has_ended_harms_nobody(opened):
    async with opened() as session:
        sink = []

        def work():
            sink.append(prints.SINK.get())

        await session.job(work)
        thread = threading.Thread(target=sink[0].write, args=("late",), daemon=True)
        thread.start()
        thread.join(5)
        assert not thread.is_alive()
