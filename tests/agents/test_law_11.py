"""Law 11 on the whole stack: over any trees of Runs, and over kills, money is neither made nor lost."""

from __future__ import annotations

import asyncio
import random
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, precondition, rule

import dvergr_nb as d
from tests.agents.families import Obeying, check_money

LIMIT_S = 60
KILLS = 10
budgets = st.sampled_from([None, 0.1, 0.5, 2.0])
costs = st.sampled_from([None, 0, 1, 50_000, 400_000, 3_000_000])


class Families(RuleBasedStateMachine):
    """Jobs within jobs that spend and end as they are told, agents hired by them, and rooms that are funded."""

    jobs = Bundle("jobs")

    @initialize()
    def open_store(self):
        self.folder = tempfile.TemporaryDirectory()
        self.loop = asyncio.new_event_loop()
        self.jobs_made: list[Obeying] = []
        self.do(self._open())

    async def _open(self):
        self.session = d.connect(Path(self.folder.name) / "s.duckdb")
        model = d.scripted_model("hello", price={"input": 10_000.0, "output": 10_000.0})
        d.agent("talker", model=model, budget=0.5)
        d.agent("spender", model=model, budget=None)

    def do(self, work):
        return self.loop.run_until_complete(asyncio.wait_for(work, LIMIT_S))

    @rule(target=jobs, parent=st.none() | jobs, budget=budgets, room=st.sampled_from(["main", "office"]))
    def start(self, parent, budget, room):
        async def begin():
            each = Obeying()
            d.room(room)
            container = parent.handle if parent is not None and parent.works else None
            each.handle = d.job(each, budget=budget, parent=container, room=room)
            try:
                await each.handle.admitted
            except d.WalletShort:
                await each.handle.wait()
            return each

        self.jobs_made.append(self.do(begin()))
        return self.jobs_made[-1]

    @rule(of=jobs, cost=costs)
    def charge(self, of, cost):
        if of.works:
            self.do(of.charge(cost))

    @rule(of=jobs, who=st.sampled_from(["talker", "spender"]), budget=st.sampled_from([None, 0.05, 5.0]))
    def hire(self, of, who, budget):
        async def hired():
            parent = of.handle if of.works else None
            await d.hire(who, "say hello", parent=parent, budget=budget).wait()

        self.do(hired())

    @rule(of=jobs, how=st.sampled_from(["end", "fail", "wait"]))
    def end(self, of, how):
        async def ended():
            if of.works and not any(each.handle.row.parent == of.handle.id and each.works for each in self.jobs_made):
                of.order(how)
                await of.handle.wait()

        self.do(ended())

    @rule(of=jobs)
    def cancel(self, of):
        async def cancelled():
            if d.cancel_run(of.handle):
                for each in self.jobs_made:
                    if each.handle.row.status.value == "cancelling":
                        await each.handle.wait()

        self.do(cancelled())

    @rule(room=st.sampled_from(["main", "office"]))
    def fund(self, room):
        async def funded():
            d.room(room).fund(0.25)

        self.do(funded())

    @precondition(lambda self: hasattr(self, "session"))
    @invariant()
    def money_is_conserved(self):
        check_money(self.session)

    def teardown(self):
        async def close():
            for each in self.jobs_made:
                if each.works or each.handle.row.status.value == "waiting":
                    d.cancel_run(each.handle)
            await d.drain(LIMIT_S)
            for run in d.runs(status="waiting", limit=None):  # hired ones, which the money above them did not reach
                d.cancel_run(run)
            self.session.store.flush(20)
            check_money(self.session)
            assert not [run for run in d.runs(limit=None) if not run.status.is_terminal]
            self.session.close()

        if hasattr(self, "session"):
            self.do(close())
            self.loop.close()
            self.folder.cleanup()


Families.TestCase.settings = settings(
    max_examples=15, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)
TestFamilies = Families.TestCase


@pytest.mark.crash
@pytest.mark.slow
def test_kills_at_any_moment_lose_no_money_and_what_the_dead_held_is_back_in_their_rooms(tmp_store_path):
    chance = random.Random(11)
    spent = 0
    for life in range(KILLS):
        with subprocess.Popen(
            [sys.executable, "-m", "tests.agents.families", str(tmp_store_path), str(life)],
            stdout=subprocess.PIPE,
            cwd=Path(__file__).parents[2],
        ) as child:
            assert child.stdout is not None
            assert child.stdout.readline() == b"busy\n"
            with pytest.raises(subprocess.TimeoutExpired):
                child.wait(chance.uniform(0.0, 1.0))
            child.send_signal(signal.SIGKILL)
        spent = asyncio.run(_reopened(tmp_store_path))
    assert spent > 0


async def _reopened(path: Path) -> int:
    """What calls have taken so far, in micro-dollars; what is left of every Run that is dead is checked."""
    async with d.connect(path) as session:
        check_money(session)
        assert d.runs(status="running") == []
        for run in d.runs(status="waiting", limit=None):
            d.cancel_run(run)
        check_money(session)
        query = "SELECT coalesce(sum(amount), 0) FROM dv.transfers WHERE kind = 'consume'"
        return int(session.store.read(lambda con: con.execute(query).fetchall())[0][0])
