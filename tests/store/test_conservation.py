"""Law 11 over any trees of Runs: all wallets together hold what was minted less what was spent, and none less than nothing."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, precondition, rule

from dvergr_nb.errors import DvergrError, StoreError
from dvergr_nb.ids import BootId
from dvergr_nb.records.money import Grant, room_wallet
from dvergr_nb.records.operation import Admitted, Answer, Charged, End, Resume, Unit
from dvergr_nb.records.run import RunStatus
from dvergr_nb.store.store import Store
from tests.store.making import admit, end, ids, message, now, opened, pause, together
from tests.store.paying import charge, check_conserved, fund

ROOMS = ("lab", "office")
amounts = st.integers(1, 1_000)
rooms = st.sampled_from(ROOMS)
ENDS = st.sampled_from(["completed", "failed", "cancelled", "waits", "pauses"])


class Money(RuleBasedStateMachine):
    """Units are gathered and written together now and then, in a store that is let go of without an end now and then."""

    runs = Bundle("runs")

    def __init__(self) -> None:
        super().__init__()
        self.folder = TemporaryDirectory()
        self.life = 0
        self.gathered: list[Unit] = []
        self.sent: list[Unit] = []
        self.minted = self.taken = 0
        self.store = self.opened()
        self.is_new = True

    def opened(self) -> Store:
        self.life += 1
        return opened(Path(self.folder.name) / "s.duckdb", boot_id=BootId(f"boot-{self.life}"))

    @rule(room=rooms, amount=amounts)
    def fund(self, room: str, amount: int) -> None:
        self.gathered.append(fund(amount, room))

    @rule(
        target=runs, parent=st.none() | runs, room=rooms, amount=amounts | st.none(), mints=st.booleans(), takes=st.booleans()
    )
    def admit(self, parent: Unit | None, room: str, amount: int | None, *, mints: bool, takes: bool) -> Unit:
        unit = admit(message(room=room), parent=parent and parent.run.id, boot_id=BootId(f"boot-{self.life}"))
        if amount is not None:
            unit = dataclasses.replace(unit, grant=Grant(amount=amount, mints=mints, takes_what_is_there=takes))
        self.gathered.append(unit)
        return unit

    @rule(of=runs, cost=st.none() | st.integers(0, 700))
    def charge(self, of: Unit, cost: int | None) -> None:
        self.gathered.append(charge(of.run, cost))

    @rule(of=runs, how=ENDS, found=st.sampled_from([RunStatus.RUNNING, RunStatus.RUNNING, RunStatus.WAITING]))
    def end(self, of: Unit, how: str, found: RunStatus) -> None:
        made: End
        match how:
            case "waits":
                made = end(of.run, RunStatus.WAITING, reason="budget-exhausted")
            case "pauses":
                made = pause(of.run)
            case _:
                made = end(of.run, RunStatus(how))
        self.gathered.append(dataclasses.replace(made, found=found))

    @rule(of=consumes(runs))
    def let_it_be(self, of: Unit) -> None:
        """No more of it is heard: it becomes an orphan."""

    @rule(of=runs)
    def resume(self, of: Unit) -> None:
        self.gathered.append(Resume(run_id=of.run.id, tenant_id="t", boot_id=BootId(f"boot-{self.life}"), at=now()))

    @precondition(lambda self: self.sent)
    @rule(data=st.data())
    def send_again(self, data: st.DataObject) -> None:
        self.gathered.append(data.draw(st.sampled_from(self.sent)))

    @precondition(lambda self: self.gathered)
    @rule()
    def write(self) -> None:
        units, self.gathered, self.is_new = self.gathered, [], True
        for answer in together(self.store, units):
            assert not isinstance(answer, StoreError), answer
            self.note(answer)
        self.sent.extend(units)

    def note(self, answer: Answer | DvergrError) -> None:
        match answer:
            case Charged(inserted=True, taken=taken):
                self.taken += taken
            case Admitted(balances=balances) if balances:
                assert min(balances.values()) >= 0

    @rule(is_killed=st.booleans())
    def open_again(self, *, is_killed: bool) -> None:
        if is_killed:
            self.store._ended = lambda pen: pen.drop()  # type: ignore[method-assign]
        self.store.close()
        self.store, self.is_new = self.opened(), True

    @rule()
    def read_anew(self) -> None:
        """The database dies and is opened again, and its memory with it."""
        self.store._reopen(self.store._instance.generation)
        self.is_new = True

    @invariant()
    def the_law_holds(self) -> None:
        if self.is_new:
            self.is_new = False
            self.check_conserved()
            self.check_ended()

    def check_conserved(self) -> None:
        check_conserved(self.store)
        query = "SELECT coalesce(sum(amount) FILTER (kind = 'consume'), 0) FROM dv.transfers"
        assert self.store.read(lambda con: con.execute(query).fetchall()) == [(self.taken,)]

    def check_ended(self) -> None:
        """Runs that have ended have no money, and say what they had spent by then."""
        left = """
            SELECT count(*) FROM dv.runs AS r JOIN (
                SELECT target AS wallet, amount FROM dv.transfers UNION ALL SELECT source, -amount FROM dv.transfers
            ) AS flow ON flow.wallet = r.id
            WHERE r.ended_at IS NOT NULL GROUP BY r.id HAVING sum(amount) <> 0
        """
        assert self.store.read(lambda con: con.execute(left).fetchall()) == []
        more = """
            SELECT count(*) FROM dv.runs AS r WHERE r.ended_at IS NOT NULL AND r.cost > (
                SELECT coalesce(sum(s.cost), 0) FROM dv.spends AS s WHERE s.run_id = r.id
            )
        """
        assert self.store.read(lambda con: con.execute(more).fetchall()) == [(0,)]

    def teardown(self) -> None:
        self.store.close()
        self.folder.cleanup()


Money.TestCase.settings = settings(
    max_examples=12, stateful_step_count=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
)


class TestMoneyIsConservedWhateverHappensToTreesOfRuns(Money.TestCase):  # type: ignore[misc, valid-type]
    """The rules above, in any order."""


def test_a_room_that_all_runs_have_left_holds_all_that_was_not_spent() -> None:
    store = opened()
    parent = dataclasses.replace(admit(message(room="lab")), grant=Grant(amount=1_000, mints=True))
    units: list[Unit] = [parent]
    for n in range(50):
        child = admit(message(room="lab"), parent=parent.run.id, id=ids.run())
        units += [dataclasses.replace(child, grant=Grant(amount=n + 1, takes_what_is_there=True)), charge(child.run, 3)]
        units += [end(child.run)] if n % 3 else []
    together(store, [*units, end(parent.run)])
    together(store, [end(run) for run in store._writer.known.open.values()])
    check_conserved(store)
    spent = sum(each.usage.cost or 0 for unit in units if hasattr(unit, "spend") for each in [unit.spend])
    assert store.balance(room_wallet("t", "lab")) >= 1_000 - spent
    assert set(store._writer.known.wallets) == {room_wallet("t", "lab")}
    store.close()
