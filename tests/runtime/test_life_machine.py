"""Any order of starting, ending, pausing, going on, cancelling and reopening keeps to the rules: against a plain model."""

from __future__ import annotations

import asyncio
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple, precondition, rule

from dvergr_nb.errors import MoveRefused
from dvergr_nb.ids import RunId
from dvergr_nb.records.event import RunFinished, RunResumed, RunsSnapshot, RunStarted
from dvergr_nb.records.pause import Envelope
from dvergr_nb.records.run import MOVES, RunStatus
from dvergr_nb.runtime.body import Done, Pause
from dvergr_nb.session import Session
from tests.rigs.session import Gate, Told

LIMIT_S = 30


class Life(RuleBasedStateMachine):
    """The model is a dict: the status and reason that each Run must have."""

    runs = Bundle("runs")

    @initialize()
    def open_store(self):
        self.folder = tempfile.TemporaryDirectory()
        self.loop = asyncio.new_event_loop()
        self.expected: dict[RunId, tuple[str, str | None]] = {}
        self.gates: dict[RunId, Gate] = {}
        self.handles = {}
        self._open()

    def _open(self):
        async def opened():
            self.session = Session(str(Path(self.folder.name) / "s.duckdb"))
            self.told = Told()
            self.session.watch_runs("model", self.told)

        self._do(opened())

    def _do(self, work):
        return self.loop.run_until_complete(asyncio.wait_for(work, LIMIT_S))

    def _is(self, run_id, status):
        return self.expected[run_id][0] == status

    @rule(target=runs)
    def start(self):
        async def begin():
            gate = Gate()
            run = self.session.start(gate, actor="a", label="x")
            await run.admitted
            await gate.began.wait()
            return gate, run

        gate, run = self._do(begin())
        self.gates[run.id], self.handles[run.id] = gate, run
        self.expected[run.id] = ("running", None)
        return run.id

    @rule(target=runs)
    def start_and_cancel_at_once(self):
        async def begin():
            run = self.session.start(Gate(), actor="a", label="x")
            assert run.cancel()
            return await run.wait()

        run = self._do(begin())
        self.expected[run.id] = ("cancelled", "cancel-requested")
        return run.id

    def _let_go(self, run_id, outcome):
        if not self._is(run_id, "running"):
            return False
        self.gates[run_id]._outcome = outcome
        self.gates[run_id].open.set()
        self._do(self.handles[run_id].wait())
        return True

    @rule(run_id=runs)
    def complete(self, run_id):
        if self._let_go(run_id, Done(value=1, reply="1")):
            self.expected[run_id] = ("completed", None)

    @rule(run_id=runs)
    def fail(self, run_id):
        if self._let_go(run_id, None):
            self.expected[run_id] = ("failed", "error")

    @rule(run_id=runs)
    def pause(self, run_id):
        envelope = Envelope(id="e", kind="approval", body={})
        if self._let_go(run_id, Pause(reason="approval", envelopes=(envelope,))):
            self.expected[run_id] = ("waiting", "approval")

    @rule(run_id=runs)
    def stop_for_budget(self, run_id):
        if self._let_go(run_id, Pause(reason="budget-exhausted")):
            self.expected[run_id] = ("waiting", "budget-exhausted")

    @rule(run_id=runs)
    def cancel(self, run_id):
        status = self.expected[run_id][0]

        async def ask():
            asked = self.session.cancel_run(run_id)
            if status == "running":
                await self.handles[run_id].wait()
            if status == "waiting":
                await self.told.until(lambda events: events[-1].type == "run/finished" and events[-1].run.status == "cancelled")
            return asked

        assert self._do(ask()) == (status in ("running", "waiting"))
        if status in ("running", "waiting"):
            self.expected[run_id] = ("cancelled", "cancel-requested")

    @rule(run_id=runs)
    def go_on(self, run_id):
        """Only a paused Run goes on, and of two claims only one; a stopped one holds nothing that could be decided."""
        if not self._is(run_id, "waiting"):
            return
        is_paused = self.expected[run_id][1] == "approval"

        async def claim():
            gates = Gate(), Gate()
            claims = [self.session.go_on(run_id, gate) for gate in gates]
            results = await asyncio.gather(*(_tried(claim) for claim in claims))
            if is_paused:
                await gates[0].began.wait()
            return gates[0], claims[0], results

        gate, handle, results = self._do(claim())
        assert results == [is_paused, False]
        if is_paused:
            self.gates[run_id], self.handles[run_id] = gate, handle
            self.expected[run_id] = ("running", None)

    @precondition(lambda self: self.expected)
    @rule()
    def reopen(self):
        async def close():
            self.session.close(force=True)

        self._check_events()
        self._do(close())
        self._open()
        for run_id, (status, _) in list(self.expected.items()):
            if status == "running":
                self.expected[run_id] = ("failed", "orphaned")

    @rule(target=runs, run_id=runs)
    def start_again_with_the_key(self, run_id):
        async def twice():
            first = self.session.start(Gate(), actor="k", key="the key")
            await first.admitted
            second = self.session.start(Gate(), actor="k", key="the key")
            await second.admitted
            assert first.id == second.id
            first.cancel()
            await second.wait()
            return first.id

        keyed = self._do(twice())
        self.expected.setdefault(keyed, ("cancelled", "cancel-requested"))
        return multiple(keyed)

    @invariant()
    def the_store_says_what_the_model_says(self):
        if not hasattr(self, "session"):
            return
        rows = {run.id: run for run in self.session.runs(limit=None)}
        assert {run_id: (row.status.value, row.reason) for run_id, row in rows.items()} == self.expected
        live = {run.id for run in self.session.active_runs()}
        assert live == {run_id for run_id, (status, _) in self.expected.items() if status == "running"}

    def _check_events(self):
        """Each Run's events make only legal moves, and no number is missing."""
        seqs = [event.seq for event in self.told.events]
        assert seqs == list(range(seqs[0], seqs[0] + len(seqs)))
        found = {run.id: run.status for event in self.told.events if isinstance(event, RunsSnapshot) for run in event.runs}
        for event in self.told.events:
            match event:
                case RunStarted(run=run):
                    assert run.id not in found
                    found[run.id] = RunStatus.RUNNING
                case RunFinished(run=run):
                    assert run.status in MOVES[found.get(run.id, RunStatus.WAITING)]
                    found[run.id] = run.status
                case RunResumed(run=run):
                    assert found.get(run.id, RunStatus.WAITING) is RunStatus.WAITING
                    found[run.id] = RunStatus.RUNNING

    def teardown(self):
        if hasattr(self, "session"):
            self._check_events()

            async def close():
                self.session.close(force=True)

            self._do(close())
            left = asyncio.all_tasks(self.loop)
            self._do(asyncio.wait(left)) if left else None
            self.loop.close()
            self.folder.cleanup()


async def _tried(run):
    try:
        await run.admitted
    except MoveRefused:
        return False
    return True


Life.TestCase.settings = settings(
    max_examples=10,
    stateful_step_count=15,
    deadline=None,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.too_slow],
)
TestLife = Life.TestCase
