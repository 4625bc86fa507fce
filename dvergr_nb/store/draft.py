"""A transaction before it is written: what the units so far would make of the store, and the rows that are to do it."""

from __future__ import annotations

import datetime as dt
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import duckdb

from dvergr_nb.errors import DvergrError
from dvergr_nb.ids import MessageId, RunId
from dvergr_nb.records.attention import AttentionFact
from dvergr_nb.records.message import ACTIVITY, Message
from dvergr_nb.records.operation import Unit
from dvergr_nb.records.room import Member, Room
from dvergr_nb.records.run import Run
from dvergr_nb.store import attention, causes, messages, profiles, rooms, runs, slots, uses
from dvergr_nb.store.known import Caused, Known, caused, is_open, runs_of, told
from dvergr_nb.store.messages import Place
from dvergr_nb.store.profiles import Version
from dvergr_nb.store.rooms import Seat
from dvergr_nb.store.runs import Move
from dvergr_nb.store.slots import Key, Slot
from dvergr_nb.store.table import Row
from dvergr_nb.store.till import Till
from dvergr_nb.store.uses import Cited

if TYPE_CHECKING:
    from dvergr_nb.records.profile import Profile
    from dvergr_nb.records.tool_use import Citation, ToolUse


@dataclass(slots=True)
class Rows:
    """What is to be written, by table."""

    rooms: list[Row] = field(default_factory=list)
    members: list[Row] = field(default_factory=list)
    stays: dict[Seat, Member] = field(default_factory=dict)
    """Stays that were open before, as they are to be."""
    messages: list[Row] = field(default_factory=list)
    facts: list[Row] = field(default_factory=list)
    runs: list[Row] = field(default_factory=list)
    keys: list[Row] = field(default_factory=list)
    slots: dict[Slot, RunId | None] = field(default_factory=dict)
    moves: list[Move] = field(default_factory=list)
    envelopes: list[Row] = field(default_factory=list)
    taken: list[RunId] = field(default_factory=list)
    causes: list[Row] = field(default_factory=list)
    attention: list[Row] = field(default_factory=list)
    profiles: list[Row] = field(default_factory=list)
    tool_uses: list[Row] = field(default_factory=list)
    citations: list[Row] = field(default_factory=list)
    transfers: list[Row] = field(default_factory=list)
    spends: list[Row] = field(default_factory=list)

    def __bool__(self) -> bool:
        return any(getattr(self, name) for name in self.__slots__)


class Draft:
    """Answers what is so, in the light of the units before: from the draft, then from memory, then from the store.

    Ids of new records are taken for fresh unless `careful`, which looks them up; a primary key finds out where that was wrong.
    """

    def __init__(self, con: duckdb.DuckDBPyConnection, known: Known, *, careful: bool, resent: bool) -> None:
        self.con = con
        self.known = known
        self.careful = careful
        self.resent = resent
        """Whether the units may have been committed before, their answer lost with the database instance."""
        self.rows = Rows()
        self.till = Till(con, known, self.rows)
        self._places: dict[MessageId, Place | None] = {}
        self._new: set[MessageId] = set()
        self.refused: list[tuple[Unit, DvergrError]] = []
        """Units of open Runs that were kept out; memory hears of them when the rest is committed."""
        self._reports: set[MessageId] = set()
        """Messages that hardly anyone replies to, so that memory need not keep them."""
        self._runs: dict[RunId, Run | None] = {}
        self._by_cause: dict[Caused, RunId | None] = {}
        self._rooms: dict[tuple[str, str], Room] = {}
        self._keys: dict[Key, RunId | None] = {}
        self._stays: dict[Seat, Member | None] = {}
        self._begun: dict[Seat, int] = {}
        """Open stays that begin here, by their place among the rows."""
        self._attention: dict[str, AttentionFact] = {}
        self._applied: set[str] = set()
        self._profiles: dict[tuple[str, str], Version] = {}
        self._uses: set[str] = set()
        self._cited: set[Cited] = set()

    def room(self, tenant_id: str, name: str) -> Room | None:
        """The room of that name."""
        key = (tenant_id, name)
        return self.known.rooms.get(key) or self._rooms.get(key)

    def place(self, message_id: MessageId) -> Place | None:
        """Where a message is."""
        if (here := self.remembered(message_id)) is None and message_id not in self._places:
            here = self._places[message_id] = messages.place(self.con, message_id)
        return here

    def remembered(self, message_id: MessageId) -> Place | None:
        """Where a message is, as far as it needs no look into the store."""
        return self._places.get(message_id) or self.known.places.get(message_id)

    def run(self, run_id: RunId) -> Run | None:
        """The Run as it would be after the units so far."""
        if run_id in self._runs:
            return self._runs[run_id]
        found = self.known.open.get(run_id)
        if found is None:
            found = self._runs[run_id] = runs.by_id(self.con, run_id)
        return found

    def learn_places(self, wanted: Iterable[MessageId], found: Mapping[MessageId, Place]) -> None:
        """Takes over places that were looked up together."""
        self._places |= {message_id: found.get(message_id) for message_id in wanted}

    def learn_runs(self, wanted: Iterable[RunId], found: Sequence[Run]) -> None:
        """Takes over Runs that were looked up together."""
        self._runs |= dict.fromkeys(wanted) | {run.id: run for run in found}

    def same_place(self, message: Message) -> Place | None:
        """Where a message of this id is already; from memory only, unless careful."""
        return self.place(message.id) if self.careful else self.remembered(message.id)

    def same_run(self, run_id: RunId) -> Run | None:
        """The Run of this id that is there already; from memory only, unless careful."""
        if self.careful:
            return self.run(run_id)
        return self._runs.get(run_id) or self.known.open.get(run_id)

    def caused_by(self, trigger: MessageId, tenant_id: str, actor: str) -> Run | None:
        """The Run that this message caused this actor to do, open or ended."""
        key = (tenant_id, trigger, actor)
        if (here := self._by_cause.get(key) or self.known.by_cause.get(key)) is not None:
            return self.run(here)
        if trigger in self._new:
            return None
        if (caused := self.known.caused.get(trigger)) is not None:
            return self.run(caused[actor]) if actor in caused else None
        if key not in self._by_cause:
            self._by_cause[key] = None
            for found in runs.by_trigger(self.con, trigger, tenant_id, actor):
                self._runs.setdefault(found.id, found)
                self._by_cause[key] = found.id
        known = self._by_cause[key]
        return self.run(known) if known else None

    def open_by(self, trigger: MessageId, tenant_id: str, actor: str) -> Run | None:
        """The open Run that this message caused this actor to do; memory knows all that are open."""
        key = (tenant_id, trigger, actor)
        known = self._by_cause.get(key) or self.known.by_cause.get(key)
        found = self.run(known) if known else None
        return found if found is not None and is_open(found) else None

    def refuse(self, unit: Unit, refusal: DvergrError) -> None:
        """Notes that a unit is kept out, where it belongs to a Run that is there by now."""
        if any(self.run(run_id) is not None for run_id in runs_of(unit)):
            self.refused.append((unit, refusal))

    def lost(self, run_id: RunId) -> str | None:
        """Why some activity of the Run was kept out, None where none was."""
        here = [told(refusal) for unit, refusal in self.refused if run_id in runs_of(unit)]
        return self.known.lost.get(run_id) or next(iter(here), None)

    def holder(self, slot: Slot) -> RunId | None:
        """Who has the slot."""
        return self.rows.slots[slot] if slot in self.rows.slots else self.known.held.get(slot)

    def slot_of(self, run_id: RunId) -> Slot | None:
        """The slot that a stored Run has."""
        return self.known.slot_of.get(run_id)

    def holder_of_key(self, key: Key) -> RunId | None:
        """The Run that used the key first."""
        if key not in self._keys:
            self._keys[key] = slots.holder_of_key(self.con, key)
        return self._keys[key]

    def causes(self, run_id: RunId) -> Sequence[RunId]:
        """The causes that the Run would have."""
        noted = [row[1] for row in self.rows.causes if row[0] == run_id]
        return [*causes.of(self.con, run_id), *noted]

    def stay(self, seat: Seat) -> Member | None:
        """The open stay of an actor in a room."""
        return self._stays[seat] if seat in self._stays else self.known.stays.get(seat)

    def same_attention(self, fact_id: str) -> AttentionFact | None:
        """The attention fact of this id that is there already; from memory only, unless careful."""
        here = self._attention.get(fact_id) or self.known.attention.get(fact_id)
        return attention.by_id(self.con, fact_id) if here is None and self.careful else here

    def attention(self, fact_id: str) -> AttentionFact | None:
        """The attention fact of this id."""
        here = self._attention.get(fact_id) or self.known.attention.get(fact_id)
        return here or attention.by_id(self.con, fact_id)

    def applied(self, decision_id: str) -> bool:
        """Whether a decision that is there was carried out."""
        if decision_id in self._applied or decision_id in self.known.applied:
            return True
        is_remembered = decision_id in self._attention or decision_id in self.known.attention
        return not is_remembered and attention.applied(self.con, decision_id)

    def latest_profile(self, tenant_id: str, profile_id: str) -> Version | None:
        """The latest version of a profile."""
        key = (tenant_id, profile_id)
        return self._profiles.get(key) or self.known.profiles.get(key)

    def profile_version(self, tenant_id: str, profile_id: str, number: int) -> Version | None:
        """That version of a profile."""
        made = [row for row in self.rows.profiles if tuple(row[:3]) == (tenant_id, profile_id, number)]
        return Version(number, made[0][3], made[0][6]) if made else profiles.version_of(self.con, tenant_id, profile_id, number)

    def profile_made_then(self, tenant_id: str, profile: Profile, at: dt.datetime) -> Version | None:
        """The version with that content that was made at that time."""
        return profiles.made_then(self.con, tenant_id, profile, at)

    def same_uses(self, wanted: Sequence[str]) -> Collection[str]:
        """Which of these uses of tools are there already; from this transaction only, unless careful."""
        return self._uses | uses.uses_there(self.con, wanted) if self.careful else self._uses

    def add_room(self, room: Room) -> None:
        """Makes a room."""
        self._rooms[room.tenant_id, room.name] = room
        self.rows.rooms.append(rooms.row(room))

    def add_message(self, message: Message, root: MessageId) -> None:
        """Stores a message in its thread, and its room with it where that is new."""
        self.need_room(message.tenant_id, message.room, message.created_at)
        self._places[message.id] = Place(message.tenant_id, message.room, root)
        if message.to == ACTIVITY:
            self._reports.add(message.id)
        else:
            self._new.add(message.id)
        self.rows.messages.append(messages.row(message, root))
        if message.facts:
            self.rows.facts.extend(self._new_facts(message))

    def _new_facts(self, message: Message) -> list[Row]:
        facts = list(messages.fact_rows(message))
        if not self.careful:
            return facts
        there = messages.stored_facts(self.con, [fact.id for fact in message.facts])
        return list({row[0]: row for row in facts if row[0] not in there}.values())

    def need_room(self, tenant_id: str, name: str, at: dt.datetime) -> None:
        """Makes the room where it is new."""
        if self.room(tenant_id, name) is None:
            self.add_room(Room(tenant_id=tenant_id, name=name, title=name, created_at=at))

    def add_run(self, run: Run, key: Key | None) -> None:
        """Stores a Run."""
        self.need_room(run.tenant_id, run.room, run.created_at)
        self._runs[run.id] = run
        self._by_cause[caused(run)] = run.id
        self.rows.runs.append(runs.row(run))
        if key:
            self._keys[key] = run.id
            self.rows.keys.append((*key, run.id))

    def move(self, before: Run, after: Run) -> None:
        """Moves a Run."""
        self._runs[after.id] = after
        self.rows.moves.append(Move(before, after))

    def add_stay(self, member: Member) -> None:
        """Begins a stay, in a room that is made where it is new."""
        self.need_room(member.tenant_id, member.room, member.joined_at)
        seat = rooms.seat(member)
        self._stays[seat] = member
        self._begun[seat] = len(self.rows.members)
        self.rows.members.append(rooms.member_row(member))

    def change_stay(self, member: Member) -> None:
        """Changes the open stay, or ends it."""
        seat = rooms.seat(member)
        is_over = member.left_at is not None
        self._stays[seat] = None if is_over else member
        place = self._begun.pop(seat, None) if is_over else self._begun.get(seat)
        if place is None:
            self.rows.stays[seat] = member
        else:
            self.rows.members[place] = rooms.member_row(member)

    def add_attention(self, facts: Iterable[AttentionFact]) -> None:
        """Notes facts about messages and participants."""
        for fact in facts:
            self._attention[fact.id] = fact
            if fact.decision_id is not None:
                self._applied.add(fact.decision_id)
            self.rows.attention.append(attention.row(fact))

    def add_profile(self, profile: Profile, tenant_id: str, user_id: str, at: dt.datetime) -> None:
        """Stores a version of a profile."""
        self._profiles[tenant_id, profile.id] = Version(profile.version, profile.hash, at)
        self.rows.profiles.append(profiles.row(profile, tenant_id, user_id, at))

    def add_uses(self, new: Iterable[ToolUse]) -> None:
        """Notes uses of tools."""
        for use in new:
            self._uses.add(use.id)
            self.rows.tool_uses.append(uses.row(use))

    def add_citations(self, citations: Sequence[Citation]) -> int:
        """Notes the citations that are new; how many those are. The same chunk is often found twice, so all are looked up."""
        there = self._cited | uses.cited_by(self.con, {citation.run_id for citation in citations})
        new = {uses.cited(citation): citation for citation in reversed(citations) if uses.cited(citation) not in there}
        self._cited |= set(new)
        begins = len(self.rows.citations)
        self.rows.citations.extend(uses.citation_row(each, begins + at) for at, each in enumerate(reversed(new.values())))
        return len(new)

    def keep(self) -> None:
        """Tells the memory what is committed now."""
        self.known.rooms |= self._rooms
        for seat, member in self._stays.items():
            self.known.keep_stay(seat, member)
        self.known.keep_attention(self._attention)
        self.known.keep_places({at: place for at, place in self._places.items() if place and at not in self._reports})
        self.known.keep_new(self._new)
        self.till.keep()
        self.known.profiles |= self._profiles
        for run in self._runs.values():
            if run is not None:
                self.known.keep_run(run)
        for unit, refusal in self.refused:
            self.known.lose(unit, refusal)
        for slot, holder in self.rows.slots.items():
            self.known.keep_slot(slot, holder)
