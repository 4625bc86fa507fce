"""A Run before it is admitted: what a caller asks for, checked, and made into its row and its trigger."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from dvergr_nb.clock import Clock
from dvergr_nb.errors import BadInput
from dvergr_nb.ids import BootId, Ids, MessageId, RunId
from dvergr_nb.records import message as messages
from dvergr_nb.records import run as runs
from dvergr_nb.records.message import PERSON, RUNS, Message
from dvergr_nb.records.run import WORD_LIMIT, Provenance, Run
from dvergr_nb.records.text import shown
from dvergr_nb.runtime.limits import Limits
from dvergr_nb.runtime.said import own_text, own_words

if TYPE_CHECKING:
    from dvergr_nb.records.money import Grant


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """Who asks, and where ids and times come from: the same for all Runs of a session."""

    tenant_id: str
    user_id: str
    boot_id: BootId
    clock: Clock
    ids: Ids


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a caller asks for. Nothing of it is checked yet."""

    actor: str
    room: str
    kind: str
    text: str = ""
    """Content of the trigger message, where that is made for this Run."""
    trigger: str | None = None
    """A message that is there already, instead."""
    reply_to: str | None = None
    label: str = ""
    parent: RunId | None = None
    key: str | None = None
    tags: Sequence[str] = ()
    provenance: Mapping[str, Any] = field(default_factory=dict)
    timeout: float | None = None
    """Seconds from the start of the body; None for no limit."""
    idle_timeout: float | None = None
    """Seconds since it last said something."""
    grant: Grant | None = None
    """What it may spend."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A Run as it is to be admitted."""

    run: Run
    message: Message | None
    """Its trigger, where that is new."""
    key: str | None
    limits: Limits
    grant: Grant | None = None


def drafted(request: Request, asker: Asker) -> Draft:
    """The Run asked for. Raises `BadInput` where a value breaks its rule; nothing has happened then."""
    limits = Limits(wall_s=request.timeout, idle_s=request.idle_timeout)
    key = checked_key(request.key)
    room = runs.checked_word(request.room, "room")
    message = _trigger(request, asker, room) if request.trigger is None else None
    trigger = request.trigger if message is None else message.id
    row = _row(request, asker, room, cast("MessageId", trigger))
    return Draft(run=row, message=message, key=key, limits=limits, grant=request.grant)


def checked_key(key: object) -> str | None:
    """The text that makes a start idempotent. Raises `BadInput`."""
    if key is not None and (not isinstance(key, str) or not 0 < len(key) <= WORD_LIMIT):
        raise BadInput(f"a key is text of 1 to {WORD_LIMIT} characters, not {shown(key)}")
    return key


def _row(request: Request, asker: Asker, room: str, trigger: MessageId) -> Run:
    now = asker.clock.now()
    return runs.checked(
        Run(
            id=asker.ids.run(),
            tenant_id=asker.tenant_id,
            user_id=asker.user_id,
            kind=request.kind,
            room=room,
            actor=request.actor,
            label=own_text(request.label),
            tags=cast("tuple[str, ...]", request.tags),
            trigger=trigger,
            parent=request.parent,
            created_at=now,
            started_at=now,
            updated_at=now,
            boot_id=asker.boot_id,
            provenance=Provenance.of(request.provenance),
        )
    )


def _trigger(request: Request, asker: Asker, room: str) -> Message:
    """A message of the person to `_runs`; a reply where `reply_to` is given."""
    message_id, parent = asker.ids.message(), cast("MessageId | None", request.reply_to)
    message = messages.checked(
        Message(
            id=message_id,
            tenant_id=asker.tenant_id,
            user_id=asker.user_id,
            room=room,
            sender=PERSON,
            to=RUNS,
            content=request.text,
            reply_to=parent,
            thread_root_id=parent or message_id,
            created_at=asker.clock.now(),
        )
    )
    return own_words(message)
