"""What a participant asks of the session it is in: Runs for its messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Protocol

from dvergr_nb.ids import RunId
from dvergr_nb.records.message import Message
from dvergr_nb.runtime.answering import Answering
from dvergr_nb.runtime.entry import Entry
from dvergr_nb.runtime.line import Arrival
from dvergr_nb.runtime.reply import Handler

if TYPE_CHECKING:
    from dvergr_nb.runtime.participant import Participant


class Turns(Protocol):
    """What a participant asks of the session: Runs for its messages."""

    def prepare(self, arrival: Arrival, body: Answering, actor: str, handler: Handler) -> Entry: ...

    def acts(self, entry: Entry, arrival: Arrival, handler: Handler) -> None:
        """Its turn has come, and another handler answers than the one it was prepared for."""

    def send(self, entry: Entry, message: Message | None) -> None: ...

    def queue(self, entry: Entry) -> None: ...

    def withdraw(self, entry: Entry, why: BaseException) -> None: ...

    def stop(self, entry: Entry, reason: str) -> None: ...

    def post(self, message: Message, then: Callable[[BaseException | None], object]) -> None: ...

    def said(self, message: Message) -> None:
        """A message was stored together with its Run."""

    def forget(self, message: Message) -> None:
        """A message was refused together with its Run."""

    def hold(self, holder: RunId, waits: Participant) -> None:
        """Has `freed` called once that Run has ended."""

    def lives(self, run_id: RunId) -> bool:
        """Whether that Run lives here, so that it will end by itself."""

    @property
    def is_admitting(self) -> bool:
        """Whether new Runs may begin in the room."""
