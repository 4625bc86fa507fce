"""What the runtime needs of others, as Protocols. It knows no database, no widget and no kernel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from typing import TYPE_CHECKING, Any, Protocol

from dvergr_nb.ids import MessageId, RunId
from dvergr_nb.records.attention import AttentionFact
from dvergr_nb.records.message import Message
from dvergr_nb.records.operation import Answer, Unit
from dvergr_nb.records.pause import Envelope
from dvergr_nb.records.query import MessageFilter, RunFilter
from dvergr_nb.records.room import Member, Room, Unanswered
from dvergr_nb.records.run import Run

if TYPE_CHECKING:
    from dvergr_nb.records.money import Spend
    from dvergr_nb.records.profile import Profile
    from dvergr_nb.records.tool_use import Blob, Citation, ToolUse


class Settled(Protocol):
    """What became of a unit."""

    def exception(self) -> BaseException | None:
        """The error that kept it out, None where it was stored."""

    def result(self) -> Answer:
        """Its answer. Raises the error that kept it out."""


class Noted(Protocol):
    """A unit on its way."""

    @property
    def future(self) -> Future[Answer]:
        """Set when the unit is settled."""


class Outside(Protocol):
    """Who hears what leaves a Run: the rooms. On the home loop."""

    def saying(self, message: Message) -> None:
        """A Run is about to say something to its room; `heard` or `unheard` follows."""

    def heard(self, message: Message) -> None:
        """It is durable."""

    def unheard(self, message: Message) -> None:
        """It was refused."""

    def ended(self, run: Run) -> None:
        """A Run has ended or waits."""

    def admits(self, room: str) -> bool:
        """Whether new Runs may begin there. From any thread."""


class Found(Protocol):
    """What a query gave."""

    @property
    def columns(self) -> Sequence[str]: ...

    @property
    def rows(self) -> Sequence[Sequence[Any]]:
        """Numbers, texts and truth values as themselves, all else as text."""


class Nobody:
    """Nobody outside."""

    def saying(self, message: Message) -> None:
        """Is not passed on."""

    heard = unheard = saying

    def ended(self, run: Run) -> None:
        """Is of no consequence."""

    def admits(self, room: str) -> bool:  # noqa: ARG002  # named as the protocol names it
        """Everything may begin."""
        return True


Then = Callable[[Settled], None]
"""Called with what became of the unit, on the home loop."""


class Store(Protocol):
    """Durable rows. `submit` may be called in any thread and never waits; reads wait up to 2 s for what was said before."""

    def submit(self, unit: Unit, then: Then | None = None) -> Future[Answer]:
        """Queues the unit. The future is set when COMMIT has returned, or with the error that kept the unit out.

        `then`, where given, is called afterwards through the home loop, in the order of submission: one wake-up of the loop
        per batch.
        """

    def note(self, unit: Unit, then: Then | None = None) -> Noted:
        """As `submit`, for what is rarely waited for: its future is made when it is asked for."""

    def backlog(self) -> int:
        """How many units wait to be written; one with a long text counts as several."""

    def run(self, run_id: RunId) -> Run | None: ...

    def runs(self, wanted: RunFilter) -> Sequence[Run]: ...

    def message(self, message_id: MessageId) -> Message | None: ...

    def messages(self, wanted: MessageFilter) -> Sequence[Message]: ...

    def both_ends(self, run_id: RunId, first: int, last: int) -> tuple[Sequence[Message], int]:
        """The first and the last messages of a Run, oldest first, and how many lie between them."""

    def rooms(self) -> Sequence[Room]:
        """All rooms, by name."""

    def members(self, room: str) -> Sequence[Member]:
        """Who is or was in the room, by the time of joining; at most one stay of an actor has no `left_at`."""

    def unanswered(self, room: str | None, limit: int) -> Sequence[Unanswered]:
        """Messages given to a member that no Run of its answers and no attention fact has settled, oldest first."""

    def attention(self, room: str, message_id: MessageId | None) -> Sequence[AttentionFact]:
        """The facts about the messages of a room, or about one message, in the order they were noted."""

    def envelopes(self, run_id: RunId) -> Sequence[Envelope]: ...

    def causes(self, run_id: RunId) -> Sequence[RunId]: ...

    def profile(self, profile_id: str, version: int | None = None) -> Profile | None:
        """That version of a profile, the latest unless told otherwise."""

    def profiles(self) -> Sequence[Profile]:
        """The latest version of each, by id."""

    def balance(self, wallet: str) -> int:
        """What a wallet holds, in micro-dollars; 0 for one that never held anything."""

    def spent(self, room: str, actor: str) -> int:
        """What an actor's calls of models have cost in a room so far, in micro-dollars, as far as prices are known."""

    def spends(self, run_id: RunId) -> Sequence[Spend]:
        """The calls of models of a Run, in order."""

    def tool_uses(self, run_id: RunId) -> Sequence[ToolUse]:
        """What its tools were given and gave, in the order of their ends."""

    def citations(self, run_id: RunId) -> Sequence[Citation]:
        """The chunks it has used, in order."""

    def keep_blob(self, data: bytes, media_type: str) -> Blob:
        """Keeps bytes, in any thread; returns once they are on the disk."""

    def blob(self, sha256: str) -> bytes:
        """The bytes of that name. Raises `BlobMissing`."""

    def room_frames(self, room: str) -> Mapping[str, Any]:
        """What happened in a room, as data frames by the names of the views."""

    def query(self, frames: Mapping[str, Any], sql: str, *, limit_s: float, rows: int) -> Found:
        """Runs one SELECT over copies of data frames, apart from the store. Raises `BadInput` or a `QueryError`."""

    def ids_like(self, piece: str) -> Sequence[RunId]:
        """Ids of Runs that begin or end with the piece, newest first, at most 20."""

    def nearest_ids(self, piece: str) -> Sequence[RunId]:
        """The 3 ids that look most like the piece."""

    def flush(self, timeout_s: float) -> bool:
        """Waits until all that was submitted before is settled; false when it took longer."""
