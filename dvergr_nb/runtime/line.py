"""The messages that wait for one participant, in the order in which they will be begun with."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from dvergr_nb.ids import MessageId, RunId
from dvergr_nb.records.attention import AttentionFact
from dvergr_nb.records.message import Message
from dvergr_nb.records.run import checked_id
from dvergr_nb.runtime.answering import Answering
from dvergr_nb.runtime.entry import Entry
from dvergr_nb.runtime.wanted import NOTHING, Wanted

if TYPE_CHECKING:
    from dvergr_nb.records.money import Grant


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """What a caller may say about the Run of a message. Raises `BadInput` where the parent is no id."""

    label: str = ""
    tags: Sequence[str] = ()
    key: str | None = None
    parent: RunId | None = None
    grant: Grant | None = None
    """What its Run may spend; as its actor's profile says unless given."""
    wanted: Wanted = NOTHING

    def __post_init__(self) -> None:
        if self.parent is not None:
            checked_id(self.parent, "parent")


PLAIN: Final = Options()


@dataclass(frozen=True, slots=True)
class Arrival:
    """A message as it comes to a participant."""

    message: Message
    root: MessageId
    """Its thread."""
    options: Options = PLAIN


@dataclass(eq=False, slots=True)
class Turn:
    """A message and the Run that answers it, from the queue to its end."""

    arrival: Arrival
    entry: Entry
    body: Answering
    is_durable: bool
    """Whether the message is stored."""
    fact: AttentionFact | None = None
    """The decision that it carries out."""
    priority: float = 0
    held_by: RunId | None = None
    """The Run of somebody else that has its thread."""
    refuses_to_wait: bool = False

    @property
    def root(self) -> MessageId:
        """Its thread."""
        return self.arrival.root


class Line:
    """First come, first served, but for priority; messages of one thread never change places."""

    def __init__(self) -> None:
        self._turns: list[Turn] = []

    def __iter__(self) -> Iterator[Turn]:
        return iter(tuple(self._turns))

    def __len__(self) -> int:
        return len(self._turns)

    def __contains__(self, turn: object) -> bool:
        return turn in self._turns

    def add(self, turn: Turn) -> None:
        """Puts a turn behind all that matter as much, and never before an older message of its thread."""
        place = len(self._turns)
        while place and self._turns[place - 1].priority < turn.priority and self._turns[place - 1].root != turn.root:
            place -= 1
        self._turns.insert(place, turn)

    def put_first(self, turns: Sequence[Turn]) -> None:
        """Puts turns before all others, in their order: they are older."""
        self._turns[:0] = turns

    def remove(self, turn: Turn) -> bool:
        """Takes a turn out; false where it does not wait."""
        if turn not in self._turns:
            return False
        self._turns.remove(turn)
        return True

    def holds(self, root: MessageId) -> bool:
        """Whether a message of that thread waits."""
        return any(turn.root == root for turn in self._turns)

    def first(self) -> Turn | None:
        """The first that can be begun with: stored, its thread had by nobody, and no older message of it waits."""
        held = set[MessageId]()
        for turn in self._turns:
            if turn.held_by is None and turn.is_durable and turn.root not in held:
                return turn
            held.add(turn.root)
        return None

    def free(self, run_id: RunId) -> None:
        """That Run has let its thread go."""
        for turn in self._turns:
            if turn.held_by == run_id:
                turn.held_by = None
