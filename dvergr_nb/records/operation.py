"""The typed operations that cross the border to a store, and what it answers.

A unit is applied whole or not at all. Ids are made by the caller, so a unit that is sent again after a lost answer is
harmless. This border, not SQL, is what another backend or another process implements.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dvergr_nb.ids import BootId, MessageId, RunId
from dvergr_nb.records.attention import AttentionFact
from dvergr_nb.records.message import Message
from dvergr_nb.records.pause import Envelope
from dvergr_nb.records.room import Member, Room
from dvergr_nb.records.run import Run, RunStatus

if TYPE_CHECKING:  # what most kernels never use is loaded by whoever uses it
    from dvergr_nb.records.money import Grant, Spend
    from dvergr_nb.records.profile import Profile
    from dvergr_nb.records.tool_use import Citation, ToolUse


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenRoom:
    """Makes a room, or finds it. Answer: `Opened`; `Refused` where it was made for other threads than asked for."""

    room: Room
    is_asked: bool = False
    """Whether the caller has said what kind of threads it wants, rather than taking what there is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Join:
    """Notes that an actor is in a room from now on; one that has not left is there already. Answer: `Joined`."""

    member: Member


@dataclass(frozen=True, slots=True, kw_only=True)
class Leave:
    """Notes that an actor has left a room. Answer: `Left`."""

    tenant_id: str
    room: str
    actor: str
    at: dt.datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Attend:
    """Appends facts about a message and a participant, all or none. Answer: `Attended`.

    A fact that is there already is left; with other content it is refused as immutable. An `applied` fact needs its `ready`
    decision, of the same message, actor, room and axes; its `result_run_id` a Run of that actor caused by that message.
    """

    facts: tuple[AttentionFact, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Post:
    """Stores a message; the room decides its thread root. First write wins. Answer: `Posted`."""

    message: Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """Stores an activity message and its facts. Its Run must be in that room. Answer: `Posted`."""

    message: Message


@dataclass(frozen=True, slots=True, kw_only=True)
class Admit:
    """Stores a Run as running, with the trigger message where it is new. Answer: `Admitted` or `KeyTaken`.

    Without `message` the trigger must be in the Run's room already. A trigger that is not the root of a thread made by this
    very unit takes the open slot of room, thread and actor; where another Run has it, `ThreadBusy` is raised. In a room with
    exclusive threads the slot is that of room and thread, and every Run takes it.

    With a `grant` the Run is given a wallet in the same transaction. Where that cannot be afforded, the Run is admitted all
    the same, without a wallet, and the answer says what there was: its executor ends it, `resource-allocation-failed`.
    """

    run: Run
    message: Message | None = None
    key: str | None = None
    """Where the key was used before, nothing is stored and the first Run is the answer, whatever its status."""
    grant: Grant | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """Moves a Run to a terminal or waiting status, with its output and last activity, and frees what it held.

    Compare-and-set from `found`. Answer: `Moved`; where it hits no row, `MoveRefused` is raised and nothing is stored.
    A completed Run some of whose activity could not be stored ends failed, `record-lost`: the row in the answer decides.
    What is left in the wallet of a Run that ends for good goes back where it came from: to its parent's wallet where that is
    still open, else to the room's. A waiting Run keeps it. `Run.cost` and `Run.unpriced` are what its spends come to.
    """

    run_id: RunId
    tenant_id: str
    found: RunStatus = RunStatus.RUNNING
    status: RunStatus
    reason: str | None = None
    error: str | None = None
    steps: int = 0
    at: dt.datetime
    messages: tuple[Message, ...] = ()
    envelopes: tuple[Envelope, ...] = ()
    """Exactly when it pauses: what a person must decide."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Resume:
    """Moves a waiting Run to running in another kernel life and takes its envelopes away. Answer: `Moved`."""

    run_id: RunId
    tenant_id: str
    boot_id: BootId
    at: dt.datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Cause:
    """Notes that a Run has observed the end of another. Both in this store, the cause terminal. Answer: `Noted`."""

    run_id: RunId
    cause_id: RunId
    tenant_id: str
    at: dt.datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Define:
    """Stores a version of a profile. Answer: `Defined`.

    With version 0 it is a revision: content that the latest version has already is that version, other content is the next
    one. With a version of its own, the same content again is a repetition, and other content raises `ProfileConflict`.
    """

    tenant_id: str
    user_id: str
    profile: Profile
    at: dt.datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Fund:
    """Mints money into the wallet of a room, in somebody's name. The same id again changes nothing. Answer: `Funded`."""

    id: str
    tenant_id: str
    user_id: str
    room: str
    amount: int
    """Micro-dollars, above 0."""
    at: dt.datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Charge:
    """Notes a call of a model and takes what it cost from the wallet of its Run, as far as that reaches. Answer: `Charged`.

    Its Run must be in that room. Where the Run was given no wallet nothing is taken. The same id again changes nothing.
    """

    spend: Spend


@dataclass(frozen=True, slots=True, kw_only=True)
class Keep:
    """Notes what tools were given and gave. Their Runs must be in that room; an id that is there is left. Answer: `Kept`."""

    uses: tuple[ToolUse, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Cite:
    """Notes which chunks a request has used; each once per Run and round. Answer: `Kept`."""

    citations: tuple[Citation, ...]


Unit = OpenRoom | Join | Leave | Attend | Post | Record | Admit | End | Resume | Cause | Define | Fund | Charge | Keep | Cite


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """The room, and whether it was new."""

    room: Room
    inserted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """Whether the stay is new."""

    inserted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Left:
    """Whether it was there."""

    was_there: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Attended:
    """How many of the facts were new."""

    inserted: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Posted:
    """Whether the message was new, and the thread root that the room decided on."""

    inserted: bool
    thread_root_id: MessageId


@dataclass(frozen=True, slots=True, kw_only=True)
class Admitted:
    """The row, and the root of its thread."""

    run: Run
    thread_root_id: MessageId
    balances: Mapping[str, int] = field(default_factory=dict)
    """Of the wallets that the unit has changed, by id, in micro-dollars."""
    lacking: int | None = None
    """What its grant could not be paid from: the balance there was. None where it was paid, or not asked for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyTaken:
    """The Run that used the key first."""

    run: Run


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """The row after the move, and the wallets that it has changed."""

    run: Run
    balances: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Noted:
    """The causes the Run has now."""

    causes: tuple[RunId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Defined:
    """The profile with its version, and whether that was new."""

    profile: Profile
    inserted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Funded:
    """What the room's wallet holds now, by its id."""

    balances: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Charged:
    """What was taken, and what the Run's wallet holds now, by its id; nothing of either where it has none."""

    inserted: bool
    taken: int
    """Micro-dollars; what the call cost above it is on record as overrun."""
    balances: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """How many were new."""

    inserted: int


Answer = Opened | Joined | Left | Attended | Posted | Admitted | KeyTaken | Moved | Noted | Defined | Funded | Charged | Kept


def row_in(answer: Answer) -> Run:
    """The row in an answer that has one."""
    match answer:
        case Admitted(run=run) | KeyTaken(run=run) | Moved(run=run):
            return run
        case _:
            raise TypeError(f"{type(answer).__name__} carries no row")
