"""Hired tasks: a Run of their own with private ends, limits that only narrow, children before parents, and their money."""

from __future__ import annotations

import asyncio

import pytest

import dvergr_nb as d
from dvergr_nb.errors import RunCancelled, RunFailed, RunWaiting
from dvergr_nb.records.query import MessageFilter
from tests.agents.stage import CALL, agent, end_of, lines, offered, outcomes, said, stage
from tests.rigs.model_server import Fail, Say, hang, use


def look(n: int) -> str:
    """Looks something up."""
    return f"looked {n}"


def private(run):
    """What was said privately about a Run: its task and its output."""
    every = d.current_session().store.messages(MessageFilter(room=run.row.room))
    return [each for each in every if each.to == "_runs" and (each.id == run.row.trigger or each.run_id == run.id)]


async def test_case_62_a_hired_task_is_a_run_of_its_own_with_private_input_and_output():
    """Worlds and their settlement are not built (design.md 12)."""
    async with stage(Say("The evidence.")) as server:
        run = d.hire("researcher", "Find evidence.", label="evidence", tags=["trial"])
        assert await run == "The evidence."
        row, profile = run.row, d.profile("researcher")
        assert (row.kind, row.status, row.label, row.tags, row.steps) == ("agent-task", "completed", "evidence", ("trial",), 1)
        kept = row.provenance
        assert (kept.profile_id, kept.profile_version, kept.profile_hash) == ("researcher", 1, profile.hash)
        assert (kept.template_version, kept.program_kind) == (profile.template_version, "llm")
        task, output = private(run)
        assert (task.sender, task.content, task.id) == ("user", "Find evidence.", row.trigger)
        assert (output.sender, output.content, output.reply_to, output.run_id) == (
            "researcher",
            "The evidence.",
            row.trigger,
            run.id,
        )
        assert (d.room().messages(), len(server.requests), row.cost) == ([], 1, CALL)


async def test_case_64_somebody_of_the_same_name_in_the_room_is_not_woken():
    async with stage(Say("Done.")) as server:
        await d.turn("researcher", "hello")
        await d.hire("researcher", "a task")
        assert len(d.runs(kind="agent-turn")) == 1
        assert len(server.requests) == 2


async def test_case_70_a_hired_task_sees_its_task_alone_and_each_has_a_context_of_its_own():
    async with stage(Say("Done."), instructions="Be brief.") as server:
        await d.turn("researcher", "a secret of the room")
        await asyncio.gather(d.hire("researcher", "first task"), d.hire("researcher", "second task"))
        for request in server.requests[1:]:
            assert lines(request)[0] == ("system", "Be brief.")
        assert [[line.text for line in lines(request)[1:]] for request in server.requests[1:]] == [
            ["first task"],
            ["second task"],
        ]


async def test_case_70_no_tools_are_offered_where_the_profile_has_none():
    async with stage(Say("Done.")) as server:
        await d.hire("researcher", "a task")
        assert offered(server.requests[0]) == []
        assert "tools" not in server.requests[0].body


async def test_case_68_limits_of_a_task_are_those_of_the_caller_where_they_are_less():
    """There are no metrics of a result (design.md): the Run fails with the limit that stood."""
    async with stage(use(("look", {"n": 1})), tools=[look], max_steps=4) as server:
        run = d.hire("researcher", "look", max_steps=1, budget=0.01)
        with pytest.raises(RunFailed):
            await run
        assert (end_of(run), len(server.requests)) == (("failed", "step-limit"), 1)
        assert "1" in (run.row.error or "")
        assert [each.content for each in private(run)] == ["look"]


async def test_limits_of_a_task_that_ask_for_more_are_those_of_the_profile():
    async with stage(use(("look", {"n": 1})), tools=[look], max_steps=2, budget=0.25) as server:
        run = d.hire("researcher", "look", max_steps=50, budget=100)
        await run.wait()
        assert (end_of(run), len(server.requests)) == (("failed", "step-limit"), 2)
        grants = d.sql("select amount_usd from ledger where kind = 'grant'")
        assert list(grants["amount_usd"]) == [0.25]


async def test_case_69_a_task_whose_budget_is_reached_waits_without_an_output():
    dear = {"local": {"input": 1.0, "output": 100_000.0}}
    async with stage(use(("look", {"n": 1}), text="Half."), tools=[look], prices=dear) as server:
        run = d.hire("researcher", "look", budget=0.1)
        with pytest.raises(RunWaiting):
            await run
        assert (end_of(run), len(server.requests)) == (("waiting", "budget-exhausted"), 1)
        assert [each.content for each in private(run)] == ["look"]


async def test_a_task_that_fails_or_comes_to_nothing_has_no_output():
    async with stage(Fail(400, "no"), Say("")):
        refused = await d.hire("researcher", "one").wait()
        assert (end_of(refused), [each.content for each in private(refused)]) == (("failed", "program-error"), ["one"])
        nothing = await d.hire("researcher", "two").wait()
        assert (end_of(nothing), [each.content for each in private(nothing)]) == (("failed", "program-error"), ["two"])
        assert "it has said nothing" in (nothing.row.error or "")


async def test_a_task_whose_checked_output_has_no_word_has_failed_and_says_so():
    def nothing_of(count: int) -> str:
        """Makes nothing of it."""
        return "" * count

    async with stage(use(("final_result", {"count": 3}))):
        run = await d.hire("researcher", "count", output_type=nothing_of).wait()
        assert (end_of(run), [each.content for each in private(run)]) == (("failed", "program-error"), ["count"])
        assert "without an answer" in (run.row.error or "")


async def test_case_71_a_tool_that_fails_its_task_leaves_the_tools_of_its_round_on_record_and_what_was_spent():
    """There are no cleanups of worlds (design.md 12); what fails a task is what its tool raises."""

    def burn() -> str:
        """Burns."""
        raise RuntimeError("the stove is hot")

    async with stage(use(("burn", {})), tools=[burn], on_tool_error="fail"):
        run = await d.hire("researcher", "touch").wait()
        assert (end_of(run), run.row.error) == (("failed", "program-error"), "RuntimeError: the stove is hot")
        assert (run.row.cost, outcomes(run)) == (CALL, ["completed"])


async def test_case_67_a_store_that_fails_the_end_of_a_task_keeps_it_live_and_its_result_comes_once(opened, monkeypatch):
    """In front of a store that refuses ends."""
    from dvergr_nb.api import KERNEL
    from dvergr_nb.records.operation import End

    async with opened() as session:
        monkeypatch.setattr(KERNEL, "session", session)
        d.agent("writer", model=d.scripted_model("The result."))
        session.store.refused = (End,)
        run = d.hire("writer", "write")
        await session.store.until_refused(2)
        assert (run.is_done, [each.id for each in d.active_runs()]) == (False, [run.id])
        session.store.refused = ()
        assert await run == "The result."
        assert [each.content for each in private(run)] == ["write", "The result."]


# Families ------------------------------------------------------------------------------------------------------------


async def test_a_task_that_a_run_has_spawned_is_its_child_and_ends_before_it():
    gate = asyncio.Event()
    async with stage(Say("Done.", when=gate)) as server:
        ended: list[str] = []
        d.watch_runs("test", lambda event: ended.append(event.run.kind) if event.type == "run/finished" else None)

        async def lead(ctx):
            d.hire("researcher", "a task", parent=ctx.run)
            return "led"

        parent = d.job(lead)
        await server.requested()
        assert not parent.is_done
        gate.set()
        assert await parent == "led"
        child = next(row for row in d.runs() if row.kind == "agent-task")
        assert (child.parent, ended) == (parent.id, ["agent-task", "workflow"])


async def test_cancelling_a_run_reaches_the_tasks_it_has_hired_at_the_server():
    async with stage(hang()) as server:

        async def lead(ctx):
            return await d.join(*(d.hire("researcher", text, parent=ctx.run) for text in ("one", "two")))

        parent = d.job(lead)
        await server.requested(2)
        d.cancel_run(parent)
        with pytest.raises(RunCancelled):
            await parent
        await server.disconnected(2)
        children = d.runs(kind="agent-task")
        assert [(row.status, row.reason) for row in children] == 2 * [("cancelled", "structured-cancellation")]


@pytest.mark.parametrize("_time", range(10))
async def test_case_66_the_hired_loser_of_a_race_is_cancelled_and_the_winner_is_the_value(_time):
    def act(request):
        return Say("fast") if lines(request)[-1].text == "be quick" else hang()

    async with stage(act) as server:

        async def lead(ctx):
            slow = d.hire("researcher", "take your time", parent=ctx.run)
            await server.requested()
            return await d.race(slow, d.hire("researcher", "be quick", parent=ctx.run))

        assert await d.job(lead) == "fast"
        await server.disconnected()
        ends = {(row.label, row.status.value, row.reason) for row in d.runs(kind="agent-task")}
        assert ends == {("be quick", "completed", None), ("take your time", "cancelled", "structured-cancellation")}


async def test_case_66_joined_tasks_give_their_values_in_order_and_a_passive_loser_goes_on():
    gate = asyncio.Event()

    def act(request):
        words = lines(request)[-1].text
        return Say(words.upper(), when=gate) if words == "b" else Say(words.upper())

    async with stage(act):
        b = d.hire("researcher", "b")
        assert await d.race(d.hire("researcher", "a"), b) == "A"
        assert not b.is_done
        gate.set()
        assert await d.join(d.hire("researcher", "c"), b, d.hire("researcher", "a")) == ["C", "B", "A"]


async def test_an_agent_hires_another_in_a_tool_which_is_its_child_and_is_paid_by_it():
    async def delegate(task: str, ctx) -> str:
        """Has the helper do a task."""
        return str(await d.hire("helper", task, parent=ctx.run))

    async with stage(
        use(("delegate", {"task": "sub"})), Say("sub done"), Say("All done."), tools=[delegate], budget=1
    ) as server:
        agent(server, "helper", budget=0.5)
        run = d.turn("researcher", "go")
        assert await run == "All done."
        child = next(row for row in d.runs() if row.kind == "agent-task")
        assert (child.parent, child.cost) == (run.id, CALL)
        moves = d.sql(
            "select kind, source, target, amount_usd from ledger where run_id = ? order by created_at", [child.id]
        ).to_dict("records")
        assert [move["kind"] for move in moves] == ["grant", "consume", "return"]
        assert (moves[0]["source"], moves[-1]["target"]) == (run.id, run.id)
        assert list(d.sql("select sum(amount_usd) as minted from ledger where kind = 'mint'")["minted"]) == [1.0]
        assert said() == ["All done."]


# Closing -------------------------------------------------------------------------------------------------------------


async def test_case_32_a_closed_room_hires_nobody_and_nothing_is_posted():
    async with stage(Say("Done.")) as server:
        room = d.room()
        await room.close()
        before = len(d.frames.messages())
        with pytest.raises(d.RoomClosed):
            await d.hire("researcher", "a task")
        assert (len(d.frames.messages()), d.runs(), server.requests) == (before, [], [])


async def test_case_34_a_task_whose_admission_is_in_flight_is_waited_for_when_its_room_closes():
    async with stage(hang()):
        run = d.hire("researcher", "a task")
        await d.room().close()
        assert end_of(run) == ("cancelled", "cancel-requested")
        assert [each.content for each in private(run)] == ["a task"]
