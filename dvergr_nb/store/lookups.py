"""What may be asked of a store, one read each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

import duckdb

from dvergr_nb.ids import MessageId, RunId
from dvergr_nb.records.attention import AttentionFact
from dvergr_nb.records.message import Message
from dvergr_nb.records.pause import Envelope
from dvergr_nb.records.query import MessageFilter, RunFilter
from dvergr_nb.records.room import Member, Room, Unanswered
from dvergr_nb.records.run import Run
from dvergr_nb.store import accounts, agents, people, presence, reads

if TYPE_CHECKING:
    import pandas as pd

    from dvergr_nb.records.money import Spend
    from dvergr_nb.records.profile import Profile
    from dvergr_nb.records.tool_use import Citation, ToolUse

Value = TypeVar("Value")


class Lookups(ABC):
    """The reads of a store. Each sees what was said before it, and one tenant's rows."""

    @abstractmethod
    def read(self, ask: Callable[[duckdb.DuckDBPyConnection], Value]) -> Value:
        """Asks with a cursor of this thread."""

    def run(self, run_id: RunId) -> Run | None:
        """The durable row."""
        return self.read(lambda con: reads.run(con, run_id))

    def runs(self, wanted: RunFilter) -> Sequence[Run]:
        """Runs newest first, or a tree breadth first."""
        return self.read(lambda con: reads.listed(con, wanted))

    def message(self, message_id: MessageId) -> Message | None:
        """The message of that id."""
        return self.read(lambda con: reads.message(con, message_id))

    def messages(self, wanted: MessageFilter) -> Sequence[Message]:
        """Messages oldest first."""
        return self.read(lambda con: reads.said(con, wanted))

    def both_ends(self, run_id: RunId, first: int, last: int) -> tuple[Sequence[Message], int]:
        """The first and the last messages of a Run, oldest first, and how many lie between them."""
        return self.read(lambda con: reads.both_ends(con, run_id, first, last))

    def rooms(self) -> Sequence[Room]:
        """All rooms, by name."""
        return self.read(presence.rooms)

    def members(self, room: str) -> Sequence[Member]:
        """Who is or was in the room, by the time of joining."""
        return self.read(lambda con: presence.members(con, room))

    def unanswered(self, room: str | None, limit: int) -> Sequence[Unanswered]:
        """Messages given to a member that no Run of its answers and no attention fact has settled, oldest first."""
        return self.read(lambda con: presence.unanswered(con, room, limit))

    def attention(self, room: str, message_id: MessageId | None) -> Sequence[AttentionFact]:
        """The facts about the messages of a room, or about one message, in the order they were noted."""
        return self.read(lambda con: presence.attended(con, room, message_id))

    def joined(self, run_id: RunId) -> Sequence[Message]:
        """The messages that joined a Run while it worked, oldest first."""
        return self.read(lambda con: presence.joined(con, run_id))

    def envelopes(self, run_id: RunId) -> Sequence[Envelope]:
        """What a paused Run waits for."""
        return self.read(lambda con: reads.envelopes(con, run_id))

    def causes(self, run_id: RunId) -> Sequence[RunId]:
        """Whose end a Run has observed."""
        return self.read(lambda con: reads.causes(con, run_id))

    def ids_like(self, piece: str) -> Sequence[RunId]:
        """Ids of Runs that begin or end with the piece, newest first, at most 20."""
        return self.read(lambda con: reads.ids_like(con, piece))

    def nearest_ids(self, piece: str) -> Sequence[RunId]:
        """The 3 ids that look most like the piece."""
        return self.read(lambda con: reads.nearest_ids(con, piece))

    def profile(self, profile_id: str, version: int | None = None) -> Profile | None:
        """That version of a profile, the latest unless told otherwise."""
        return self.read(lambda con: accounts.profile(con, profile_id, version))

    def profiles(self) -> Sequence[Profile]:
        """The latest version of each, by id."""
        return self.read(accounts.all_profiles)

    def balance(self, wallet: str) -> int:
        """What a wallet holds, in micro-dollars; 0 for one that never held anything."""
        return self.read(lambda con: accounts.balance(con, wallet))

    def spent(self, room: str, actor: str) -> int:
        """What an actor's calls of models have cost in a room so far, in micro-dollars, as far as prices are known."""
        return self.read(lambda con: accounts.spent(con, room, actor))

    def spends(self, run_id: RunId) -> Sequence[Spend]:
        """The calls of models of a Run, in order."""
        return self.read(lambda con: accounts.spends(con, run_id))

    def tool_uses(self, run_id: RunId) -> Sequence[ToolUse]:
        """What its tools were given and gave, in the order of their ends."""
        return self.read(lambda con: accounts.tool_uses(con, run_id))

    def citations(self, run_id: RunId) -> Sequence[Citation]:
        """The chunks it has used, in order."""
        return self.read(lambda con: accounts.citations(con, run_id))

    def sql(self, query: str, parameters: people.Parameters = None, limit_s: float = people.LIMIT_S) -> people.Result:
        """Runs a person's SELECT over the views. Raises `QueryRefused`, `QueryFailed` or `QueryTimedOut`."""
        return self.read(lambda con: people.asked(con, query, parameters, limit_s))

    def query(self, frames: Mapping[str, pd.DataFrame], sql: str, *, limit_s: float, rows: int) -> agents.Found:
        """Runs a SELECT of an agent over frames, apart from this store. Raises `BadInput` or a `QueryError`."""
        return agents.query(frames, sql, limit_s=limit_s, rows=rows)

    def room_frames(self, room: str) -> Mapping[str, pd.DataFrame]:
        """What happened in a room, by the names of the views, for `agents.query`."""
        from dvergr_nb.store import frames

        return {
            "runs": frames.runs(self, room=room),
            "messages": frames.messages(self, room=room),
            "activity": frames.activity(self, room=room),
        }
