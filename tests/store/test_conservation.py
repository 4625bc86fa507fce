"""Law 11 over any trees of Runs: all wallets together hold what was minted less what was spent, and none less than nothing."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from random import Random

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, precondition, rule

from dvergr_nb.errors import DvergrError, StoreError
from dvergr_nb.ids import BootId, RunId
from dvergr_nb.records.money import Grant, room_wallet
from dvergr_nb.records.operation import Admit, Admitted, Answer, Charged, End, Resume, Unit
from dvergr_nb.records.query import RunFilter
from dvergr_nb.records.run import RunStatus
from dvergr_nb.store.store import Store
from tests.store.making import BOOT, LIMIT_S, admit, end, ids, message, now, opened, pause, together
from tests.store.paying import charge, check_conserved, fund

ROOMS = ("lab", "office")
boots = st.sampled_from([BOOT, BOOT, BOOT, BootId("gone")])
amounts = st.integers(1, 1_000)
grants = st.sampled_from([None, 50, 100, 200, 300, 1_000])
mints = st.sampled_from([True, True, False])
rooms = st.sampled_from(ROOMS)
ENDS = st.sampled_from(["completed", "failed", "cancelled", "waits", "pauses"])


class Money(RuleBasedStateMachine):
    """Units are gathered and written together now and then, and Runs of a life that is gone are failed now and then."""

    runs = Bundle("runs")

    def __init__(self) -> None:
        super().__init__()
        self.gathered: list[Unit] = []
        self.sent: list[Unit] = []
        self.children: dict[RunId, list[Admit]] = {}
        self.taken = 0
        self.store = opened()
        self.is_new = True

    @rule(room=rooms, amount=amounts)
    def fund(self, room: str, amount: int) -> None:
        self.gathered.append(fund(amount, room))

    @rule(target=runs, parent=st.none() | runs, room=rooms, amount=grants, mints=mints, takes=st.booleans(), boot=boots)
    def admit(self, parent: Admit | None, room: str, amount: int | None, *, mints: bool, takes: bool, boot: BootId) -> Admit:
        unit = admit(message(room=room), parent=parent and parent.run.id, boot_id=boot)
        if amount is not None:
            unit = dataclasses.replace(unit, grant=Grant(amount=amount, mints=mints, takes_what_is_there=takes))
        return self.asked(unit, parent)

    def asked(self, unit: Admit, parent: Admit | None) -> Admit:
        self.gathered.append(unit)
        if parent is not None:
            self.children.setdefault(parent.run.id, []).append(unit)
        return unit

    @rule(of=runs, cost=st.none() | st.integers(0, 700))
    def charge(self, of: Admit, cost: int | None) -> None:
        self.gathered.append(charge(of.run, cost))

    @rule(of=runs, how=ENDS, found=st.sampled_from([RunStatus.RUNNING, RunStatus.RUNNING, RunStatus.WAITING]))
    def end(self, of: Admit, how: str, found: RunStatus) -> None:
        made: End
        match how:
            case "waits":
                made = end(of.run, RunStatus.WAITING, reason="budget-exhausted")
            case "pauses":
                made = pause(of.run)
            case _:
                made = end(of.run, RunStatus(how))
        self.gathered.append(dataclasses.replace(made, found=found))

    @rule(target=runs, of=runs, amounts=st.lists(amounts, min_size=1, max_size=4), cost=st.integers(0, 300))
    def hire(self, of: Admit, amounts: list[int], cost: int) -> Admit:
        """It has children, of whom the last is given on."""
        for amount in amounts:
            unit = admit(message(room=of.run.room), parent=of.run.id, boot_id=of.run.boot_id)
            child = self.asked(dataclasses.replace(unit, grant=Grant(amount=amount, takes_what_is_there=True)), of)
            self.gathered.append(charge(child.run, cost))
        return child

    @precondition(lambda self: self.children)
    @rule(data=st.data(), is_parent_first=st.booleans())
    def end_a_family(self, data: st.DataObject, *, is_parent_first: bool) -> None:
        parent = data.draw(st.sampled_from(list(self.children)))
        ends = [end(child.run) for child in self.children.pop(parent)]
        own = End(run_id=parent, tenant_id="t", status=RunStatus.FAILED, at=now())
        self.write()
        self.gathered = [own, *ends] if is_parent_first else [*ends, own]
        self.write()

    @rule(of=runs)
    def resume(self, of: Admit) -> None:
        self.gathered.append(Resume(run_id=of.run.id, tenant_id="t", boot_id=BOOT, at=now()))

    @precondition(lambda self: self.sent)
    @rule(data=st.data())
    def send_again(self, data: st.DataObject) -> None:
        self.gathered.append(data.draw(st.sampled_from(self.sent)))

    @rule(how=st.sampled_from(["write", "write", "reconcile", "forget"]))
    def settle(self, how: str) -> None:
        self.write()
        if how == "reconcile":
            assert self.store.reconcile() >= 0
        if how == "forget":
            self.store._writer.errand(lambda pen: self.store._writer.known.load(pen.con)).result(LIMIT_S)
        self.is_new = True

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


Money.TestCase.settings = settings(
    max_examples=30, stateful_step_count=40, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck)
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


def test_money_outlives_kernels_that_are_killed(tmp_store_path: Path) -> None:
    chance = Random(4)
    for life in range(8):
        store = opened(tmp_store_path, boot_id=BootId(f"boot-{life}"))
        check_conserved(store)
        assert set(store._writer.known.wallets) <= {room_wallet("t", name) for name in ROOMS} | set(waiting(store))
        there: list[Admit] = []
        for _ in range(3):
            units: list[Unit] = []
            for _ in range(20):
                parent = chance.choice([*there, None])
                made = admit(
                    message(room=chance.choice(ROOMS)), parent=parent and parent.run.id, boot_id=BootId(f"boot-{life}")
                )
                grant = Grant(amount=chance.randint(1, 900), mints=chance.random() < 0.5, takes_what_is_there=True)
                there.append(dataclasses.replace(made, grant=grant))
                units.append(there[-1])
                of = chance.choice(there).run
                units.append(charge(of, chance.choice([None, 0, 50, 500])))
                status = chance.choice([RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.WAITING])
                units.append(end(chance.choice(there).run, status, reason="budget-exhausted"))
            together(store, units)
            check_conserved(store)
        store._ended = lambda pen: pen.drop()  # type: ignore[method-assign]  # as a kill leaves it
        store.close()


def waiting(store: Store) -> list[str]:
    return [run.id for run in store.runs(RunFilter(status="waiting", limit=None))]
