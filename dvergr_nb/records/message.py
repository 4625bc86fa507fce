"""The message: immutable, in one thread, from one sender to one actor or to everyone.

A message to `_activity` reports what a Run did; its facts are typed. Vocabularies are closed: an unknown key is an error,
so that a misspelt one cannot hide.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from dvergr_nb.errors import BadMessage
from dvergr_nb.ids import MessageId, RunId, is_id, short
from dvergr_nb.records.text import first_line, mended, printable, shown

ACTIVITY: Final = "_activity"
"""Reserved address of what Runs report; nobody listens on it, so it never wakes an actor."""
RUNS: Final = "_runs"
"""Reserved address of the private inputs and outputs of Runs."""

EVERYONE: Final = "*"
"""How a caller says that a message goes to all who take part; in the record `to` is None then."""
PERSON: Final = "user"
"""The actor that a person at the keyboard is."""

METADATA_KEYS: Final = frozenset(
    """role source-user source-username source-user-id audience mentions attachment provenance object tool-uses activities
    reasoning kind from source schedule-id notification/type notification/agent notification/task notification/elapsed
    run-id""".split()
)
"""The closed vocabulary of message metadata. `run-id` and `activities` have fields of their own and are refused here too."""
SUB_KEYS: Final[Mapping[str, frozenset[str]]] = {
    "attachment": frozenset({"blob-id", "node-id", "mime", "name", "size"}),
    "provenance": frozenset({"mode", "source"}),
    "object": frozenset({"kind", "id"}),
}
FACT_WORDS: Final = ("kind", "verb", "status", "tool_name", "tool_use_id", "outcome")
ADDRESS_LIMIT: Final = 200
"""Longest name of a sender or of who is addressed, in characters."""
SHOWN: Final = 60
"""How much of its text a message shows as a line, in characters."""
CONTENT_LIMIT: Final = 4_000_000
"""Longest content, in characters; what is longer belongs into a file."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """One thing a Run did. Never arguments or results: those are not for everyone who may read a thread."""

    id: str
    run_id: RunId | None = None
    kind: str
    """`tool`, `run`, `budget`, `observation`, `progress`, …"""
    verb: str
    """`invoke`, `fail`, `exhaust`, `inspect`, `report`, …"""
    status: str | None = None
    tool_name: str | None = None
    tool_use_id: str | None = None
    outcome: str | None = None
    critical: bool | None = None
    at: dt.datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """One message. `thread_root_id` of a top-level message is its own id."""

    id: MessageId
    tenant_id: str
    user_id: str
    room: str
    sender: str
    to: str | None = None
    """An actor, a reserved address, or None for everyone."""
    content: str = ""
    reply_to: MessageId | None = None
    thread_root_id: MessageId
    """For a reply, what the sender believes; the room decides when it is stored."""
    run_id: RunId | None = None
    """The Run whose output or activity this is."""
    type: str = "user/message"
    kind: str | None = None
    """For activity without facts: `print`, `progress`, `note`, `error`, `dropped`; for a Run's output: `result`."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    facts: tuple[Fact, ...] = ()
    created_at: dt.datetime

    def __repr__(self) -> str:
        """One line: which message, from whom to whom, and how it begins. Its fields are all there, by name."""
        to = "everyone" if self.to is None else printable(self.to)
        return f"Message {short(self.id)}: {printable(self.sender)} to {to}: {printable(first_line(self.content, SHOWN))}"


def checked(message: Message) -> Message:
    """The message, its text mended. Raises `BadMessage` where its shape breaks a rule."""
    _check_ids(message)
    _check_addresses(message)
    if message.metadata:
        _check_metadata(message.metadata)
    check_facts(message)
    checked_content(message.content)
    return _mended(message)


def checked_content(content: str) -> str:
    """The text, mended. Raises `BadMessage` where it is no text or too long."""
    if not isinstance(content, str) or len(content) > CONTENT_LIMIT:
        raise BadMessage("invalid-content", f"content must be text of at most {CONTENT_LIMIT:,} characters")
    return mended(content)


def check_facts(message: Message) -> None:
    """Raises `BadMessage` where a fact, or the kind that stands in for one, breaks a rule."""
    if not isinstance(message.kind, str | None):
        raise BadMessage("invalid-activity", f"kind must be a word, not {shown(message.kind)}")
    for fact in message.facts:
        _check_fact(fact, message.run_id)


def _mended(message: Message) -> Message:
    """The message with all text that somebody else may have chosen mended; itself where there is nothing to mend."""
    changed: dict[str, Any] = _mended_texts(message, "sender", "to", "content", "kind")
    facts = [_mended_texts(fact, *FACT_WORDS) for fact in message.facts]
    if any(facts):
        pairs = zip(message.facts, facts, strict=True)
        changed["facts"] = tuple(dataclasses.replace(fact, **texts) for fact, texts in pairs)
    if message.metadata:
        changed["metadata"] = json.loads(mended(json.dumps(message.metadata, ensure_ascii=False)))
    return dataclasses.replace(message, **changed) if changed else message


def _mended_texts(record: object, *names: str) -> dict[str, Any]:
    """Those of the texts that had to be mended."""
    texts = {name: text for name in names if (text := getattr(record, name)) is not None}
    return {name: whole for name, text in texts.items() if (whole := mended(text)) is not text}


def _check_ids(message: Message) -> None:
    for name in ("id", "reply_to", "run_id"):
        value = getattr(message, name)
        if value is not None and not is_id(value):
            raise BadMessage(f"invalid-{name.replace('_', '-')}", f"{name} must be a UUID, not {shown(value)}")
    root = message.thread_root_id
    if not is_id(root) or (message.reply_to is None and root != message.id):
        raise BadMessage("invalid-thread-root", f"a top-level message is the root of its own thread, not {shown(root)}")


def is_address(address: object) -> bool:
    """Whether it is a line that can name who sends or is addressed."""
    return isinstance(address, str) and 0 < len(address.strip()) <= len(address) <= ADDRESS_LIMIT and "\n" not in address


def _check_addresses(message: Message) -> None:
    for name, address in (("sender", message.sender), ("to", message.to)):
        if not is_address(address) and not (address is None and name == "to"):
            rule = f"must be a line of 1 to {ADDRESS_LIMIT} characters"
            raise BadMessage("invalid-address", f"{name} {rule}, not {shown(address)}")
    if message.sender == EVERYONE:
        raise BadMessage("invalid-address", f"{EVERYONE!r} stands for everyone, so nobody sends as it; name one sender")


def _check_metadata(metadata: Mapping[str, Any]) -> None:
    if not isinstance(metadata, Mapping):
        raise BadMessage("invalid-message-metadata", f"metadata is a mapping, not {shown(metadata)}")
    own_field = {"run-id": "run_id", "activities": "facts"}
    for key, value in metadata.items():
        if key in own_field:
            raise BadMessage("unknown-message-metadata", f"metadata {key!r} has a field of its own: {own_field[key]}")
        if key not in METADATA_KEYS:
            raise BadMessage("unknown-message-metadata", f"unknown message metadata {shown(key)}")
        known = SUB_KEYS.get(key)
        if known and (not isinstance(value, Mapping) or set(value) - known):
            raise BadMessage("unknown-message-metadata", f"metadata {key!r} may hold only {', '.join(sorted(known))}")
    try:
        json.dumps(metadata, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as problem:
        raise BadMessage("invalid-message-metadata", f"metadata must be plain data: {problem}") from None


def _check_fact(fact: Fact, run_id: RunId | None) -> None:
    if not is_id(fact.id):
        raise BadMessage("invalid-activity", f"an activity fact needs a UUID as id, not {shown(fact.id)}")
    for name in FACT_WORDS:
        value = getattr(fact, name)
        needed = name in ("kind", "verb")
        if (value is None and needed) or not isinstance(value, str | None) or value == "":
            raise BadMessage("invalid-activity", f"{name} of an activity fact must be a word, not {shown(value)}")
    if not isinstance(fact.critical, bool | None):
        raise BadMessage("invalid-activity", f"critical of an activity fact is true or false, not {shown(fact.critical)}")
    if fact.at is not None and (not isinstance(fact.at, dt.datetime) or fact.at.tzinfo is None):
        raise BadMessage("invalid-activity", "at of an activity fact must be an aware time")
    if run_id is not None and fact.run_id != run_id:
        raise BadMessage("invalid-activity", f"an activity fact of Run {fact.run_id} in a message of Run {run_id}")
