"""How Runs start and end: the rules of start, finish and watch, and the laws behind them."""

from __future__ import annotations

import asyncio
import dataclasses

import pytest

from dvergr_nb.errors import BadRun, MoveRefused, RunFailed, RunWaiting, StoreFailed
from dvergr_nb.ids import RunId
from dvergr_nb.records.event import RunsSnapshot
from dvergr_nb.records.operation import Admit, End
from dvergr_nb.records.pause import Envelope
from dvergr_nb.records.run import ROW_FIELDS, LiveRun, Reason, Run, RunStatus
from dvergr_nb.runtime.body import Done, Pause
from tests.rigs.session import Body, Gate, Told


async def test_case_1_a_watcher_is_told_snapshot_started_finished_in_that_order(opened):
    async with opened() as session:
        told = Told()
        session.watch_runs("ui", told)
        assert told.types == ["runs/snapshot"]
        await session.job(lambda: 1)
        await told.until_type("run/finished")
        assert told.types == ["runs/snapshot", "run/started", "run/finished"]
        seqs = [event.seq for event in told.events]
        assert seqs == list(range(seqs[0], seqs[0] + len(seqs)))


async def test_case_2_what_is_told_of_a_run_holds_plain_values_only(opened):
    async with opened() as session:
        told = Told()
        session.watch_runs("ui", told)
        await session.job(lambda: 1, tags=["a"])
        started = await told.until_type("run/started")
        plain = (str, int, float, bool, type(None), tuple)
        for field in dataclasses.fields(started.run):
            value = getattr(started.run, field.name)
            assert isinstance(value, plain) or type(value).__module__ in ("datetime", "dvergr_nb.records.run"), field.name


async def test_case_3_times_are_equal_at_start_and_the_stored_row_equals_the_told_one(opened):
    async with opened() as session:
        told = Told()
        session.watch_runs("ui", told)
        run = await session.job(lambda: 1).wait()
        finished = await told.until_type("run/finished")
        row = session.store.run(run.id)
        assert row.created_at == row.started_at < row.ended_at
        assert row == Run(**{name: getattr(finished.run, name) for name in ROW_FIELDS})


async def test_case_4_law_1_a_refused_row_starts_nothing_and_tells_nothing(opened):
    async with opened() as session:
        told, gate = Told(), Gate()
        session.watch_runs("ui", told)
        session.store.refused = (Admit,)
        run = session.start(gate, actor="a")
        with pytest.raises(StoreFailed):
            await run.admitted
        with pytest.raises(StoreFailed):
            await run
        assert session.active_runs() == []
        assert told.types == ["runs/snapshot"]
        assert not gate.began.is_set()


async def test_law_1_the_row_can_be_read_before_the_body_begins_and_before_it_is_told(opened):
    async with opened() as session:
        rows = []

        def tell(event):
            if event.type == "run/started":
                rows.append(session.store.run(event.run.id))

        session.watch_runs("ui", tell)
        value = await session.job(lambda ctx: session.store.run(ctx.run.id).status)
        assert value == "running"
        assert [row.status for row in rows] == ["running"]


async def test_case_5_a_refused_end_leaves_the_run_live_and_is_told_once_when_the_store_recovers(opened):
    async with opened() as session:
        told, gate = Told(), Gate()
        session.watch_runs("ui", told)
        run = session.start(gate, actor="a")
        await gate.began.wait()
        session.store.refused = (End,)
        gate.open.set()
        await session.store.until_refused(2)
        assert session.store.run(run.id).status is RunStatus.RUNNING
        assert [live.id for live in session.active_runs()] == [run.id]
        assert "run/finished" not in told.types
        session.store.refused = ()
        await run.wait()
        assert told.types.count("run/finished") == 1
        assert session.store.run(run.id).status is RunStatus.COMPLETED


async def test_case_6_ending_a_run_again_changes_nothing(opened):
    async with opened() as session:
        run = await session.job(lambda: 1).wait()
        row = session.store.run(run.id)
        again = End(run_id=run.id, tenant_id=row.tenant_id, status=RunStatus.FAILED, reason="error", at=session.clock.now())
        with pytest.raises(MoveRefused) as refused:
            await asyncio.wrap_future(session.store.submit(again))
        assert refused.value.found == "completed"
        assert session.store.run(run.id) == row


@pytest.mark.parametrize("status", [RunStatus.RUNNING, RunStatus.QUEUED, RunStatus.CANCELLING])
async def test_case_7_an_end_with_a_status_that_is_no_end_is_refused(opened, status):
    async with opened() as session:
        gate = Gate()
        run = session.start(gate, actor="a")
        await gate.began.wait()
        bad = End(run_id=run.id, tenant_id=session.tenant_id, status=status, at=session.clock.now())
        with pytest.raises(BadRun):
            await asyncio.wrap_future(session.store.submit(bad))
        assert session.store.run(run.id).status is RunStatus.RUNNING
        gate.open.set()
        await run.wait()


async def test_case_8_a_waiting_run_is_durable_has_not_ended_and_is_not_live(opened):
    async with opened() as session:
        gate = Gate(Pause(reason=Reason.BUDGET_EXHAUSTED))
        run = session.start(gate, actor="a")
        gate.open.set()
        with pytest.raises(RunWaiting):
            await run
        row = session.store.run(run.id)
        assert (row.status, row.reason, row.ended_at) == (RunStatus.WAITING, "budget-exhausted", None)
        assert session.active_runs() == []


async def test_case_10_provenance_may_not_override_causal_identity(opened):
    async with opened() as session:
        with pytest.raises(BadRun, match="may not override"):
            session.start(Gate(), actor="a", provenance={"room": "other"})
        assert session.active_runs() == []
        assert session.runs() == []


async def test_provenance_is_stored_with_the_row(opened):
    async with opened() as session:
        gate = Gate()
        run = session.start(gate, actor="a", provenance={"profile_id": "p", "profile_version": 3})
        gate.open.set()
        await run.wait()
        assert session.store.run(run.id).provenance.profile_version == 3


async def test_case_13_one_key_is_one_subscriber_and_gets_a_fresh_snapshot(opened):
    async with opened() as session:
        first, second = Told(), Told()
        session.watch_runs("ui", first)
        session.watch_runs("ui", second)
        await session.job(lambda: 1)
        await second.until_type("run/finished")
        assert first.types == ["runs/snapshot"]
        assert second.types[0] == "runs/snapshot"


async def test_case_14_law_10_a_subscriber_that_throws_changes_no_run_and_the_others_are_told(opened, caplog):
    async with opened() as session:
        told = Told()

        def broken(event):
            raise RuntimeError("view bug")

        session.watch_runs("broken", broken)
        session.watch_runs("ui", told)
        assert await session.job(lambda: 5) == 5
        await told.until_type("run/finished")
        assert "view bug" in caplog.text


async def test_law_9_a_subscriber_that_joins_late_gets_a_snapshot_and_every_later_change(opened):
    async with opened() as session:
        gate = Gate()
        run = session.start(gate, actor="a")
        await gate.began.wait()
        told = Told()
        session.watch_runs("late", told)
        snapshot = told.events[0]
        assert isinstance(snapshot, RunsSnapshot)
        assert [live.id for live in snapshot.runs] == [run.id]
        gate.open.set()
        await told.until_type("run/finished")
        assert told.types == ["runs/snapshot", "run/finished"]


async def test_law_9_a_subscriber_that_joins_while_others_are_told_hears_nothing_twice(opened):
    async with opened() as session:
        late = Told()

        def joins(event):
            if event.type == "run/started":
                session.watch_runs("late", late)

        session.watch_runs("first", joins)
        await session.job(lambda: 1)
        await late.until_type("run/finished")
        assert late.types == ["runs/snapshot", "run/finished"]
        assert len(late.events[0].runs) == 1


async def test_law_9_events_that_a_subscriber_causes_are_told_after_the_one_it_hears(opened):
    async with opened() as session:
        told = Told()

        def cancels(event):
            if event.type == "run/started":
                session.cancel_run(event.run)

        session.watch_runs("cancels", cancels)
        session.watch_runs("ui", told)
        gate = Gate()
        await session.start(gate, actor="a").wait()
        assert told.types == ["runs/snapshot", "run/started", "run/cancel-requested", "run/finished"]


async def test_law_2_what_a_run_said_and_gave_can_be_queried_when_its_end_is_told(opened):
    async with opened() as session:
        seen = []

        def tell(event):
            if event.type == "run/finished":
                frame = session.activity_of(event.run.id)
                output = [m for m in session.store.messages(_of(event.run.id)) if m.kind == "result"]
                seen.append((len(frame), output[0].content, session.store.run(event.run.id).status))

        session.watch_runs("ui", tell)

        async def work(ctx):
            ctx.activity("one")
            ctx.activity("two")
            return "the answer"

        await session.start(Body(work), actor="a").wait()
        await asyncio.sleep(0)
        assert seen == [(2, "the answer", RunStatus.COMPLETED)]


def _of(run_id: RunId):
    from dvergr_nb.records.query import MessageFilter

    return MessageFilter(run=run_id)


async def test_law_3_the_reply_is_stored_with_the_end_or_not_at_all(opened):
    async with opened() as session:

        async def work(ctx):
            ctx.reply("kept")

        run = await session.start(Body(work), actor="a").wait()
        reply = next(m for m in session.store.messages(_of(run.id)) if m.kind == "result")
        assert (reply.content, reply.run_id, reply.reply_to) == ("kept", run.id, run.row.trigger)


async def test_a_cancelled_run_keeps_no_reply(opened):
    async with opened() as session:
        gate = Gate()

        async def work(ctx):
            ctx.reply("not kept")
            try:
                await gate.execute(ctx)
            except asyncio.CancelledError:
                return "returned all the same"

        run = session.start(Body(work), actor="a")
        await gate.began.wait()
        run.cancel()
        await run.wait()
        assert run.row.status is RunStatus.CANCELLED
        assert [m for m in session.store.messages(_of(run.id)) if m.kind == "result"] == []


@pytest.mark.parametrize("escape", [KeyboardInterrupt, SystemExit, GeneratorExit, StopIteration, MemoryError])
async def test_law_12_whatever_escapes_a_body_ends_the_run_and_nothing_else(opened, escape):
    async with opened() as session:

        def thrower():
            raise escape("out")

        run = session.job(thrower)
        await run.wait()
        assert (run.row.status, run.row.reason) == (RunStatus.FAILED, "error")
        assert await session.job(lambda: "alive") == "alive"


@pytest.mark.parametrize("escape", [KeyboardInterrupt, SystemExit])
async def test_law_12_holds_for_a_coroutine_on_the_loop(opened, escape):
    async with opened() as session:

        async def thrower():
            raise escape("out")

        run = session.job(thrower)
        await run.wait()
        assert (run.row.status, run.row.error) == (RunStatus.FAILED, f"{escape.__name__}: out")


async def test_awaiting_a_failed_run_raises_with_the_bodys_exception_as_cause(opened):
    async with opened() as session:

        def work():
            raise ValueError("no such column")

        with pytest.raises(RunFailed, match="no such column") as failed:
            await session.job(work, label="load")
        assert isinstance(failed.value.__cause__, ValueError)


async def test_a_failed_run_has_its_traceback_on_record_without_frames_of_this_package(opened):
    async with opened() as session:

        def work():
            raise ValueError("no such column")

        run = await session.job(work).wait()
        told = next(m.content for m in session.store.messages(_of(run.id)) if m.kind == "error")
        assert "no such column" in told
        assert "test_lifecycle.py" in told
        assert "supervisor.py" not in told


async def test_case_16_a_trigger_that_belongs_to_another_run_gives_no_parent_and_a_named_one_is_kept(opened):
    async with opened() as session:
        first = await session.job(lambda: "out").wait()
        output = next(m for m in session.store.messages(_of(first.id)) if m.kind == "result")
        gate = Gate()
        gate.open.set()
        follower = await session.start(gate, actor="b", trigger=output.id).wait()
        assert follower.row.parent is None
        child = await session.job(lambda: 1, parent=first).wait()
        assert child.row.parent == first.id


async def test_a_paused_run_needs_an_envelope(opened):
    async with opened() as session:
        gate = Gate(Pause(reason=Reason.APPROVAL))
        gate.open.set()
        run = await session.start(gate, actor="a").wait()
        assert (run.row.status, run.row.reason) == (RunStatus.FAILED, "error")


async def test_a_paused_run_goes_on_as_the_same_run_and_only_once(opened):
    async with opened() as session:
        told = Told()
        session.watch_runs("ui", told)
        envelope = Envelope(id=session.ids.message(), kind="approval", body={"call": "refund"})
        gate = Gate(Pause(reason=Reason.APPROVAL, envelopes=(envelope,)))
        gate.open.set()
        run = await session.start(gate, actor="a").wait()
        assert [e.body for e in session.store.envelopes(run.id)] == [{"call": "refund"}]
        second, third = Gate(Done(value="approved")), Gate()
        went_on, refused = session.go_on(run.id, second), session.go_on(run.id, third)
        second.open.set()
        assert await went_on == "approved"
        with pytest.raises(MoveRefused):
            await refused.admitted
        assert not third.began.is_set()
        assert session.store.envelopes(run.id) == []
        assert went_on.id == run.id
        assert told.types == ["runs/snapshot", "run/started", "run/finished", "run/resumed", "run/finished"]


async def test_law_6_case_37_running_rows_of_a_dead_life_fail_at_the_next_opening_and_waiting_ones_stay(opened, tmp_store_path):
    async with opened(str(tmp_store_path)) as session:
        pause = Gate(Pause(reason=Reason.BUDGET_EXHAUSTED))
        pause.open.set()
        waiting = await session.start(pause, actor="a").wait()
        gate = Gate()
        lost = session.start(gate, actor="b")
        await gate.began.wait()
    async with opened(str(tmp_store_path)) as again:
        assert (again.run(lost.id).status, again.run(lost.id).reason) == (RunStatus.FAILED, "orphaned")
        assert again.run(waiting.id).status is RunStatus.WAITING


async def test_a_key_that_was_used_gives_the_first_run_whatever_its_status(opened):
    async with opened() as session:
        first = await session.job(lambda: 1, key="nightly").wait()
        again = session.job(lambda: 2, key="nightly")
        await again.admitted
        assert again.id == first.id
        await again.wait()
        assert len(session.runs()) == 1


async def test_a_key_of_a_live_run_gives_a_handle_that_ends_with_it(opened):
    async with opened() as session:
        gate = Gate(Done(value="once"))
        first = session.start(gate, actor="a", key="k")
        again = session.start(Gate(), actor="a", key="k")
        await again.admitted
        gate.open.set()
        assert (await first, await again) == ("once", "once")


async def test_a_live_run_is_a_row_with_live_facts(opened):
    async with opened() as session:

        async def work(ctx):
            ctx.progress(1, 4, "reading")
            return ctx.run

        run = session.job(work)
        shown = await run
        assert isinstance(shown, LiveRun)
        assert (shown.progress.fraction, shown.progress.label) == (0.25, "reading")


async def test_drain_waits_for_runs_that_start_meanwhile(opened):
    async with opened() as session:

        async def parent(ctx):
            session.job(lambda: "late", label="late")

        session.job(parent)
        await session.drain(30)
        assert sorted(run.label for run in session.runs()) == ["late", parent.__qualname__.split("<locals>.")[-1]]
        assert all(run.status is RunStatus.COMPLETED for run in session.runs())


async def test_drain_says_how_many_go_on_when_its_time_is_up(opened):
    async with opened() as session:
        session.start(Gate(), actor="a")
        with pytest.raises(TimeoutError, match="1 Runs have not ended"):
            await session.drain(0.01)


async def test_checkpoints_are_counted_as_steps_over_all_segments(opened):
    async with opened() as session:
        envelope = Envelope(id="e", kind="approval")

        async def asks(ctx):
            await ctx.checkpoint()
            await ctx.checkpoint()
            return Pause(reason=Reason.APPROVAL, envelopes=(envelope,))

        async def ends(ctx):
            await ctx.checkpoint()
            return ctx.run.steps

        run = await session.start(Body(asks), actor="a").wait()
        assert session.store.run(run.id).steps == 2
        told = Told()
        session.watch_runs("ui", told)

        async def wrapped(ctx):
            return Done(value=await ends(ctx))

        assert await session.go_on(run.id, Body(wrapped)) == 3
        assert session.store.run(run.id).steps == 3
        assert (await told.until_type("run/finished")).run.steps == 3


async def test_what_a_body_printed_stands_before_its_error(opened):
    async with opened() as session:

        def work():
            print("about to")
            raise ValueError("no")

        run = await session.job(work).wait()
        kinds = [m.kind for m in session.store.messages(_of(run.id)) if m.kind in ("print", "error")]
        assert kinds == ["print", "error"]
        entry = next(e for e in session.details(run).entries if e.who == "error")
        assert entry.text == "ValueError: no"


async def test_a_row_shows_itself_as_one_line(opened):
    async with opened() as session:
        run = await session.job(lambda: 1, label="one").wait()
        assert repr(run.row) == f"Run {run.id[-8:]}: one, completed"
