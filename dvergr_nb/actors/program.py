"""What answers in a turn, seen from the turn's loop: rounds of a model, or of a script, and the tools they call.

A program is asked for an answer round by round. It keeps what it knows (history, arguments, results) to itself; the loop
decides when a round begins, when one is cut, what is put on record and when the turn ends.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from dvergr_nb.errors import BadInput
from dvergr_nb.records.message import Message
from dvergr_nb.records.pause import Envelope
from dvergr_nb.records.run import Reason
from dvergr_nb.records.text import shown
from dvergr_nb.runtime.context import Context

if TYPE_CHECKING:
    from dvergr_nb.records.money import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Complete:
    """The turn may end: its last text is the reply."""

    text: str | None = None
    """The reply, where it is not the answer's text."""
    value: Any = None
    """What awaiting the Run gives, where that is not the text."""
    missing: Exception | None = None
    """What the turn fails with if it ends without any text, where that is no silence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Continue:
    """Another round follows."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Suspend:
    """The turn stops where it can go on later; the text of that very answer, where it has one, is still the reply."""

    reason: str = Reason.ATTENTION_SUSPENDED.value
    envelopes: tuple[Envelope, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Broken:
    """The program cannot go on, and says so instead of raising: the turn ends, its last text is still the reply.

    A turn without any text has failed with it.
    """

    error: str


End = Complete | Continue | Suspend | Broken
"""How a round ends."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCall:
    """One call of a tool that an answer asks for. What goes into it and comes out is the program's own."""

    id: str
    """As the provider gives it; not always unique."""
    name: str

    def __post_init__(self) -> None:
        for word in (self.id, self.name):
            if not isinstance(word, str) or not word.strip():
                raise BadInput(f"id and name of a tool call are words, not {shown(word)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a model call has come to."""

    text: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    """Where there are any, they are used, and how the round ends is what `Rounds.use` gives."""
    end: End = Complete()


class Using:
    """One use of a tool, while it lasts."""

    def __init__(self, fact_id: str = "") -> None:
        self.fact_id = fact_id
        """That of its `invoke` fact."""
        self.failure: str | None = None

    def failed(self, outcome: str) -> None:
        """Notes that the tool failed, where its program has made a result of that. `outcome` is a word, never a result."""
        self.failure = outcome


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One round of a turn, as its program sees it."""

    message: Message
    """The message that the turn answers."""
    number: int
    """0, 1, …; a round that was cut counts."""
    folded: tuple[Message, ...]
    """What has joined since the last round began, oldest first; never given again, also where this round is cut."""
    say: Callable[[str], None]
    """Streams the text of this round, each time all of it so far."""
    using: Callable[[ToolCall], AbstractContextManager[Using]]
    """`with round.using(call) as use:` around the use of a tool puts its begin and its end on record."""
    spend: Callable[[Usage], None]
    """Notes a call of a model and what it cost, also one that failed or was cut. On record before the next round begins."""
    note: Callable[[str, str], None]
    """`note("retry", "ModelBusy")` puts something that happened within the round on record."""


class Rounds(Protocol):
    """A program at work on one message."""

    async def call(self, given: Round) -> Answer:
        """The model's answer. Cancelled where a message cuts it; the next round knows that message then.

        What it raises fails the turn.
        """

    async def use(self, calls: tuple[ToolCall, ...], given: Round) -> End:
        """Uses the tools of an answer, in whatever order. No message cuts this, only a request to stop the Run."""


class Program(Protocol):
    """What answers messages, a turn at a time."""

    @property
    def kind(self) -> str:
        """A word for what it is, kept as the Run's provenance."""

    @property
    def name(self) -> str:
        """What the record calls it, for instance a model's name."""

    def begin(self, message: Message, ctx: Context, /) -> AbstractAsyncContextManager[Rounds]:
        """The work on one message: entered before its first round, left after its last, whatever happens between."""
