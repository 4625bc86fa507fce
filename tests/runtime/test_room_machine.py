"""Any schedule in a room keeps to the rules, against a plain model, also where the kernel is killed in the middle of it."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, precondition, rule, run_state_machine_as_test

from tests.runtime.room_kernels import Apart, Here
from tests.runtime.room_laws import broken, found
from tests.runtime.room_model import Model

ACTORS = ("eager", "patient", "plain")

actors = st.sampled_from(ACTORS)
back = st.integers(0, 4)
"""How far back the message lies that is replied to; 0 begins a thread."""
verbs = st.one_of(
    st.tuples(st.just("turn"), actors, back, st.sampled_from(["steer", "steer", "queue", "refuse"])),
    st.tuples(st.just("turn"), actors, back, st.just("steer")),
    st.tuples(st.just("post"), st.sampled_from([*ACTORS, "*", "*"]), back),
    st.tuples(st.just("finish"), actors, st.just("reply"), st.sampled_from(["user", "*", *ACTORS])),
    st.tuples(st.just("finish"), actors, st.sampled_from(["reply", "silent", "withhold", "fail"]), st.just("user")),
    st.tuples(st.just("cancel"), actors),
    st.tuples(st.just("cancel_queued"), actors, st.integers(0, 2)),
    st.tuples(st.just("join"), actors),
    st.tuples(st.sampled_from(["leave", "join"]), actors),
    st.sampled_from([("fence_off",), ("reopen",), ("close",), ("reopen",)]),
)
bursts = st.lists(verbs | st.tuples(st.just("breathe"), st.integers(1, 12)), min_size=2, max_size=12)


class Rooms(RuleBasedStateMachine):
    """One command at a time is predicted; of many at once only the laws are known, and the model takes over what came of it."""

    def _kernel(self, path, *, exclusive):
        return Here(path, exclusive=exclusive)

    @initialize(exclusive=st.booleans())
    def open(self, exclusive):
        self.folder = tempfile.TemporaryDirectory()
        self.model = Model()
        self.names = []
        self.exclusive = exclusive
        self.here = self._kernel(Path(self.folder.name) / "s.duckdb", exclusive=exclusive)
        for actor in ACTORS:
            self._exactly(["join", actor])

    # Commands --------------------------------------------------------------------------------------------------------

    def _command(self, verb):
        """The command with its names; each message has a name of its own."""
        match verb:
            case ("turn", actor, back, on_busy):
                thread = self._thread(back)
                return ["turn", self._name(), actor, thread, on_busy]
            case ("post", to, back):
                thread = self._thread(back)
                return ["post", self._name(), to, thread]
            case ("finish", actor, "reply", to):
                return ["finish", actor, "reply", self._name(), to]
            case ("finish", actor, how, _):
                return ["finish", actor, how]
        return list(verb)

    def _name(self):
        self.names.append(f"m{len(self.names)}")
        return self.names[-1]

    def _thread(self, back):
        return self.names[-back] if 0 < back <= len(self.names) else None

    def _report(self):
        self.is_sound = False  # until everything was looked at
        (self.report,) = self.here.obey([["settle"]])
        problems = broken(self.report, self.here.trace)
        assert not problems, "; ".join(problems)
        self.is_sound = True
        return found(self.report, self.here.trace)

    def _compare(self, stands):
        """What the model says, or in a room with exclusive threads, which it does not know, what is."""
        self.is_sound = False
        expected = stands if self.exclusive else self.model.looks()
        assert {what: stands[what] for what in expected} == expected
        self.model.adopt(stands)
        self.is_sound = True

    def _exactly(self, command):
        (answer,) = self.here.obey([command])
        stands = self._report()
        assert self.exclusive or answer == self.model.obey(command)
        self._compare(stands)

    @rule(verb=verbs)
    def one(self, verb):
        self._exactly(self._command(verb))

    @rule(verbs=bursts)
    def many_at_once(self, verbs):
        self.here.obey([self._command(verb) for verb in verbs])
        self.model.adopt(self._report())

    @precondition(lambda self: self.report["listed"])
    @rule(place=st.integers(0, 5))
    def answer_what_nobody_has_answered(self, place):
        (chosen,) = self.here.obey([["answer", place]])
        if isinstance(chosen, list):
            self.here.trace.out_of_order.add(tuple(chosen))
            self.model.answered(*chosen)
        else:
            assert chosen == ("NoSuchActor" if self.model.door == "open" else "RoomClosed")
        self._compare(self._report())

    @rule(verbs=bursts, after=st.integers(0, 25))
    def die(self, verbs, after):
        """What was not over is failed; nobody begins by itself with what is left."""
        self.here.end([self._command(verb) for verb in verbs], after)
        stands = self._report()
        assert not stands["present"]
        assert not self.here.trace.of("began", this_life=True)
        assert {came_to[0] for came_to in stands["runs"].values()} <= {"completed", "failed", "cancelled"}
        assert {came_to[1] for came_to in stands["runs"].values() if came_to[0] == "failed"} <= {"error", "orphaned"}
        self.model.adopt(stands)
        for actor in ACTORS:
            self._exactly(["join", actor])

    # The end ---------------------------------------------------------------------------------------------------------

    def teardown(self):
        if not hasattr(self, "here"):
            return
        try:
            if self.is_sound:
                self.here.obey([["reopen"]])
                self._wind_down()
        finally:
            self.here.close()
            self.folder.cleanup()

    def _wind_down(self):
        """Everybody is let through until nobody works."""
        for _ in range(4 * len(self.names) + 4):
            self.model.adopt(self._report())
            if not any(each.current or each.line for each in self.model.present.values()):
                return
            self.here.obey([["finish", actor, "silent"] for actor in ACTORS])
        pytest.fail("the room does not come to rest")


def scheduled(examples, steps):
    """The same schedules each time; one that fails is printed as it was run."""
    return settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        derandomize=True,
        phases=[Phase.explicit, Phase.generate],
        suppress_health_check=list(HealthCheck),
    )


Rooms.TestCase.settings = scheduled(15, 20)
TestRooms = Rooms.TestCase


@pytest.mark.crash
@pytest.mark.slow
def test_no_schedule_with_real_kills_loses_doubles_or_reorders_anything():
    command = [sys.executable, "-m", "tests.runtime.rooms_child"]
    root = Path(__file__).parents[2]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=root, bufsize=0) as forks:

        class KilledRooms(Rooms):
            def _kernel(self, path, *, exclusive):
                return Apart(forks, path, exclusive=exclusive)

        run_state_machine_as_test(KilledRooms, settings=scheduled(10, 15))
        forks.stdin.close()
