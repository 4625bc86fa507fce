"""Money through the whole stack: who pays, what is left, what is said of it, and that nothing appears or is lost."""

from __future__ import annotations

import asyncio

import pytest

import dvergr_nb as d
from dvergr_nb import BadInput, RunCancelled, RunFailed, WalletShort
from tests.agents.stage import CALL, activity, agent, end_of, facts, stage
from tests.rigs.model_server import Say, hang, use

DEAR = {"local": {"input": 1_000.0, "output": 10_000.0}}
"""A call costs $0.081."""


def look(n: int) -> str:
    """Looks something up."""
    return f"looked {n}"


def minted() -> float:
    """Dollars that ever came into being."""
    return round(float(d.sql("select coalesce(sum(amount_usd), 0) as usd from ledger where kind = 'mint'")["usd"][0]), 6)


def consumed() -> float:
    """Dollars that calls have taken."""
    return round(float(d.sql("select coalesce(sum(amount_usd), 0) as usd from ledger where kind = 'consume'")["usd"][0]), 6)


async def gives_up(run):
    """Waits for a Run that could not be paid."""
    with pytest.raises(WalletShort):
        await run.admitted
    return await run.wait()


# Wallets -------------------------------------------------------------------------------------------------------------


async def test_a_turn_mints_what_its_room_lacks_and_gives_the_rest_back_for_the_next():
    async with stage(Say("Done."), budget=1) as server:
        await d.turn("researcher", "go")
        assert (d.room().balance, minted()) == (pytest.approx(1 - CALL / 1e6), 1.0)
        await d.turn("researcher", "go")
        assert (d.room().balance, minted()) == (pytest.approx(1 - CALL / 1e6), round(1 + CALL / 1e6, 6))
        assert len(server.requests) == 2


async def test_a_room_that_is_funded_pays_without_minting():
    async with stage(Say("Done."), budget=1):
        assert d.room().fund(2.5) == 2.5
        await d.turn("researcher", "go")
        assert (minted(), d.room().balance) == (2.5, pytest.approx(2.5 - CALL / 1e6))


@pytest.mark.parametrize("usd", [0, -1, float("nan"), "much", None, 10**9])
async def test_a_room_is_funded_with_a_number_of_dollars_above_nothing(usd):
    async with stage():
        with pytest.raises(BadInput):
            d.room().fund(usd)
        assert (d.room().balance, minted()) == (0, 0)


async def test_a_budget_of_the_caller_stands_before_that_of_the_profile():
    async with stage(Say("Done."), budget=1):
        await d.turn("researcher", "go", budget=0.25)
        assert minted() == 0.25


async def test_without_a_budget_a_turn_has_no_wallet_and_its_calls_are_on_record_all_the_same():
    async with stage(Say("Done."), budget=None):
        run = d.turn("researcher", "go")
        await run
        assert (minted(), consumed(), run.row.cost) == (0, 0, CALL)


async def test_case_74_of_ten_minted_four_are_the_tasks_while_it_works_and_are_back_when_it_is_over():
    gate = asyncio.Event()
    async with stage(Say("Done.", when=gate), prices={"local": {"input": 0.0, "output": 0.0}}, budget=10) as server:
        d.room().fund(10)
        run = d.hire("researcher", "a task", budget=4)
        await server.requested()
        assert (d.room().balance, run.row.budget, run.row.balance) == (6, 4_000_000, 4_000_000)
        gate.set()
        await run
        assert (d.room().balance, minted()) == (10, 10)


async def test_case_75_a_task_that_cannot_be_paid_fails_without_a_call_and_what_is_there_stays():
    """design.md 8.3: a person's budget is minted, so only a task that an agent's code hires lacks money."""

    async def delegate(ctx) -> str:
        """Hires."""
        run = d.hire("helper", "sub", budget=4, parent=ctx.run)
        try:
            return str(await run)
        except RunFailed as problem:
            return f"not hired: {problem.reason}"

    async with stage(use(("delegate", {})), Say("No helper."), tools=[delegate], budget=3) as server:
        agent(server, "helper", budget=10)
        run = d.turn("researcher", "go")
        assert await run == "No helper."
        child = next(row for row in d.runs() if row.kind == "agent-task")
        assert (child.status, child.reason, len(server.requests)) == ("failed", "resource-allocation-failed", 2)
        assert minted() == 3
        assert d.room().balance == pytest.approx(3 - 2 * CALL / 1e6)


async def test_case_76_a_child_is_paid_by_its_parent_which_ends_after_it_and_gives_all_back():
    gate = asyncio.Event()
    async with stage(Say("Done.", when=gate), prices={"local": {"input": 0.0, "output": 0.0}}, budget=10) as server:

        async def lead(ctx):
            d.hire("researcher", "sub", budget=4, parent=ctx.run)
            return "led"

        parent = d.job(lead, budget=10)
        await server.requested()
        child = next(run for run in d.active_runs() if run.kind == "agent-task")
        assert (parent.row.balance, child.balance, d.room().balance) == (6_000_000, 4_000_000, 0)
        assert not parent.is_done
        gate.set()
        await parent
        assert (d.room().balance, minted()) == (10, 10)


async def test_case_77_a_parent_cancelled_while_its_child_is_being_admitted_takes_it_along_and_all_is_back():
    async with stage(hang(), budget=10) as server:
        hired = []

        async def lead(ctx):
            hired.append(d.hire("researcher", "sub", budget=4, parent=ctx.run))
            d.cancel_run(ctx.run.id)
            await asyncio.Event().wait()

        parent = d.job(lead, budget=10)
        with pytest.raises(RunCancelled):
            await parent
        assert (end_of(parent), hired[0].row.status) == (("cancelled", "cancel-requested"), "cancelled")
        assert (d.room().balance, minted(), server.requests) == (10, 10, [])


async def test_a_waiting_run_keeps_its_wallet_and_gives_it_back_when_it_is_cancelled():
    async with stage(hang(), budget=1) as server:
        wait = d.Attention(control="suspend")
        d.room().join("researcher", d.current_session().cast["researcher"](), attention=lambda message, situation: wait)
        run = d.turn("researcher", "go")
        await server.requested()
        await d.post(d.room(), "hold on", to="researcher")
        await run.wait()
        assert (end_of(run), d.room().balance) == (("waiting", "attention-suspended"), 0)
        ended = asyncio.Event()
        d.watch_runs("test", lambda event: ended.set() if event.type == "run/finished" else None)
        assert d.cancel_run(run)
        await ended.wait()
        assert (run.row.status, d.room().balance) == ("cancelled", 1)


async def test_what_a_call_costs_above_its_wallet_is_on_record_as_overrun():
    async with stage(Say("Done."), prices=DEAR, budget=0.05):
        run = d.turn("researcher", "go")
        await run
        (row,) = d.sql("select amount_usd, cost_usd, overrun_usd from ledger where model is not null").to_dict("records")
        assert (row["amount_usd"], row["cost_usd"], row["overrun_usd"]) == pytest.approx((0.05, 0.081, 0.031))
        assert (d.room().balance, consumed(), run.row.cost) == (0, 0.05, 81_000)


async def test_notices_are_given_once_each_as_the_budget_goes():
    """20 calls of 5 % each: at 50, 75, 90 and 95 %, and at the end that nothing is left."""
    twentieth = {"local": {"input": 0.0, "output": 50_000 / 7}}
    async with stage(use(("look", {"n": 1})), tools=[look], prices=twentieth, budget=1) as server:
        run = await d.turn("researcher", "go").wait()
        assert (end_of(run), len(server.requests)) == (("waiting", "budget-exhausted"), 20)
        assert [fact[3] for fact in facts(run) if fact[0] == "budget"] == ["50", "75", "90", "95", "blocked"]
        said = [each.content for each in activity(run) if each.kind == "budget"]
        assert said[0].startswith("50 % of the budget is spent, $0.50 of $1.00")


# Whose money ---------------------------------------------------------------------------------------------------------


async def test_what_an_agent_does_mints_nothing_whichever_way_it_speaks():
    async def spend(ctx) -> str:
        """Tries to have others paid."""
        room = d.room()
        with pytest.raises(d.DvergrError, match="only a person adds money"):
            room.fund(100)
        for start in (
            lambda: d.turn("helper", "one"),
            lambda: d.turn("helper", "two", budget=50),
            lambda: d.hire("helper", "three", budget=50),
            lambda: d.hire("helper", "four", parent=ctx.run),
        ):
            await start().wait()
        posting = d.post(room, "five", to="helper")
        await posting
        for run in posting.runs:
            await run.wait()
        return "tried"

    async with stage(use(("spend", {})), Say("Done."), tools=[spend], budget=1) as server:
        agent(server, "helper", budget=100)
        d.room().join("helper", d.current_session().cast["helper"]())
        assert await d.turn("researcher", "go") == "Done."
        assert minted() == 1
        assert d.room().balance + consumed() == pytest.approx(1)


async def test_a_job_that_an_agents_code_starts_is_the_agents_too():
    async def work():
        with pytest.raises(d.DvergrError, match="only a person adds money"):
            d.room().fund(100)
        return (await d.hire("helper", "sub", budget=5).wait()).row.reason

    async def in_a_job() -> str:
        """Tries by way of a job."""
        return str(await d.job(work))

    async def in_a_job_with_a_budget() -> str:
        """Tries with a budget for a job."""
        return str((await d.job(work, budget=5).wait()).row.reason)

    tools = [in_a_job, in_a_job_with_a_budget]
    calls = use(("in_a_job", {}), ("in_a_job_with_a_budget", {}))
    async with stage(calls, Say("Done."), tools=tools, budget=1) as server:
        agent(server, "helper", budget=5)
        run = d.turn("researcher", "go")
        assert await run == "Done."
        assert [each.result for each in d.current_session().store.tool_uses(run.id)] == 2 * ["resource-allocation-failed"]
        assert minted() == 1


async def test_an_agent_that_answers_an_agent_is_paid_by_what_its_room_has():
    def talk(message):
        return d.Reply(content="helper, please", to="helper") if message.sender == "user" else None

    async with stage(Say("Done."), budget=1) as server:
        agent(server, "helper", budget=1)
        room = d.room()
        room.join("helper", d.current_session().cast["helper"]())
        room.join("talker", talk)
        await d.turn("talker", "go")
        await d.drain(20)
        (row,) = d.runs(actor="helper")
        assert (row.status, row.reason, minted(), server.requests) == ("failed", "resource-allocation-failed", 0, [])
        room.fund(0.5)
        await d.turn("talker", "go")
        await d.drain(20)
        assert (d.runs(actor="helper")[0].status, minted()) == ("completed", 0.5)


async def test_a_child_without_a_budget_of_its_own_spends_what_its_parent_has_and_not_more():
    async def delegate(ctx) -> str:
        """Hires one that has no limit of its own."""
        return str(await d.hire("spender", "sub", parent=ctx.run))

    async with stage(use(("delegate", {})), Say("sub"), Say("Done."), tools=[delegate], prices=DEAR, budget=0.1) as server:
        agent(server, "spender", budget=None, prices=DEAR)
        run = await d.turn("researcher", "go").wait()
        child = next(row for row in d.runs() if row.kind == "agent-task")
        assert (child.status, child.cost) == ("completed", 81_000)
        assert (end_of(run), len(server.requests)) == (("waiting", "budget-exhausted"), 2)
        assert (minted(), consumed()) == (0.1, 0.1)
