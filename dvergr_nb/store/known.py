"""What the writer remembers of the store, so that a steady stream of units needs no look into it.

One process writes one store, so memory that is brought up to date after each COMMIT is exact: for open Runs, held slots,
rooms, who is in them, wallets and the latest profiles it is complete, of messages and attention facts it holds the latest.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Final

import duckdb

from dvergr_nb.ids import MessageId, RunId
from dvergr_nb.records.attention import AttentionFact
from dvergr_nb.records.operation import Charge, Cite, Keep, Post, Record, Unit
from dvergr_nb.records.room import Member, Room
from dvergr_nb.records.run import PAUSES, Run, RunStatus
from dvergr_nb.store import profiles, rooms, runs, slots, wallets
from dvergr_nb.store.messages import Place
from dvergr_nb.store.profiles import Version
from dvergr_nb.store.rooms import Seat
from dvergr_nb.store.slots import Slot
from dvergr_nb.store.wallets import Spent

PLACES_KEPT: Final = 50_000
"""How many messages' places are remembered; an older one is looked up."""
ATTENTION_KEPT: Final = 10_000
"""How many attention facts are remembered; an older decision is looked up."""

Caused = tuple[str, MessageId, str]
"""Tenant, trigger and actor: by law at most one Run."""


def is_open(run: Run) -> bool:
    """Whether it holds its thread: it works, or waits for a person's decision."""
    return run.status is RunStatus.RUNNING or run.is_paused


def caused(run: Run) -> Caused:
    """What the Run is the only one for."""
    return (run.tenant_id, run.trigger, run.actor)


def runs_of(unit: Unit) -> Collection[RunId]:
    """The Runs of whose record the unit is a part."""
    match unit:
        case Post(message=message) | Record(message=message):
            return () if message.run_id is None else (message.run_id,)
        case Charge(spend=spend):
            return (spend.run_id,)
        case Keep(uses=uses):
            return {use.run_id for use in uses}
        case Cite(citations=citations):
            return {citation.run_id for citation in citations}
        case _:
            return ()


def told(problem: BaseException) -> str:
    """Why something was kept out, in one line."""
    return f"{type(problem).__name__}: {problem}"


class Known:
    """The memory. Only the writer's thread touches it."""

    def __init__(self) -> None:
        self.open: dict[RunId, Run] = {}
        self.by_cause: dict[Caused, RunId] = {}
        self.held: dict[Slot, RunId] = {}
        self.slot_of: dict[RunId, Slot] = {}
        self.rooms: dict[tuple[str, str], Room] = {}
        self.stays: dict[Seat, Member] = {}
        self.places: dict[MessageId, Place] = {}
        self.caused: dict[MessageId, dict[str, RunId]] = {}
        """By message and actor, the Runs caused so far, open or ended; for each message that it holds this is complete."""
        self.attention: dict[str, AttentionFact] = {}
        self.applied: set[str] = set()
        """Decisions among those that were carried out. A fact is forgotten after its decision, so for each this is exact."""
        self.wallets: dict[str, int] = {}
        """What every room's wallet holds, and that of every Run that was given one and has not ended."""
        self.spent: dict[RunId, Spent] = {}
        """What the calls of Runs that have not ended have come to."""
        self.profiles: dict[tuple[str, str], Version] = {}
        """The latest version of each profile, by tenant and id."""
        self.lost: dict[RunId, str] = {}
        """Runs some of whose activity could not be stored, and why."""

    def load(self, con: duckdb.DuckDBPyConnection) -> None:
        """Learns anew what must be complete."""
        self.open = {run.id: run for run in runs.open_ones(con, sorted(PAUSES))}
        self.by_cause = {caused(run): run.id for run in self.open.values()}
        self.held = dict(slots.held(con))
        self.slot_of = {run_id: slot for slot, run_id in self.held.items()}
        self.rooms = {(room.tenant_id, room.name): room for room in rooms.stored(con)}
        self.stays = dict(rooms.open_stays(con))
        self.places, self.caused = {}, {}
        self.attention, self.applied = {}, set()
        self.wallets = dict(wallets.held(con))
        self.spent = dict(wallets.spent(con))
        self.profiles = dict(profiles.latest(con))

    def lose(self, unit: Unit, problem: BaseException) -> None:
        """Notes that a unit was kept out: its Run, where it has one, will not end as if all were on record."""
        for run_id in runs_of(unit):
            if run_id in self.open:
                self.lost.setdefault(run_id, told(problem))

    def keep_run(self, run: Run) -> None:
        """Takes over a Run as it was committed."""
        if is_open(run):
            self.open[run.id] = run
            self.by_cause[caused(run)] = run.id
        else:
            self.open.pop(run.id, None)
            self.by_cause.pop(caused(run), None)
        if run.trigger in self.caused:
            self.caused[run.trigger][run.actor] = run.id
        if run.status.is_terminal:
            self.lost.pop(run.id, None)
            self.wallets.pop(run.id, None)
            self.spent.pop(run.id, None)

    def keep_slot(self, slot: Slot, holder: RunId | None) -> None:
        """Takes over a slot as it was committed."""
        if before := self.held.pop(slot, None):
            self.slot_of.pop(before, None)
        if holder:
            self.held[slot] = holder
            self.slot_of[holder] = slot

    def keep_places(self, places: dict[MessageId, Place]) -> None:
        """Takes over where messages are, and forgets the oldest where they are too many."""
        self.places |= places
        if len(self.places) > 2 * PLACES_KEPT:
            for old in list(self.places)[:-PLACES_KEPT]:
                del self.places[old]

    def keep_new(self, messages: Iterable[MessageId]) -> None:
        """Notes messages that are new, so that nothing was caused by them yet; forgets the oldest where they are too many."""
        for message_id in messages:
            self.caused.setdefault(message_id, {})
        if len(self.caused) > 2 * PLACES_KEPT:
            for old in list(self.caused)[:-PLACES_KEPT]:
                del self.caused[old]

    def keep_stay(self, seat: Seat, member: Member | None) -> None:
        """Takes over who is in a room, None where the actor has left."""
        if member is None:
            self.stays.pop(seat, None)
        else:
            self.stays[seat] = member

    def keep_attention(self, facts: Mapping[str, AttentionFact]) -> None:
        """Takes over attention facts, and forgets the oldest where they are too many."""
        self.attention |= facts
        self.applied |= {fact.decision_id for fact in facts.values() if fact.decision_id}
        if len(self.attention) > 2 * ATTENTION_KEPT:
            for old in list(self.attention)[:-ATTENTION_KEPT]:
                self.applied.discard(self.attention.pop(old).decision_id or "")
