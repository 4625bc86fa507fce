"""What a room asks of the session it is in."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol

from dvergr_nb.ids import RunId
from dvergr_nb.records.message import Message
from dvergr_nb.records.room import Unanswered
from dvergr_nb.runtime.attending import Policy
from dvergr_nb.runtime.entry import Tools
from dvergr_nb.runtime.handle import RunHandle
from dvergr_nb.runtime.participant import Participant
from dvergr_nb.runtime.reply import Handler, Wrapper
from dvergr_nb.runtime.request import Asker

if TYPE_CHECKING:
    from dvergr_nb.runtime.room import Room


class House(Protocol):
    """What a room asks of the session it is in."""

    @property
    def tools(self) -> Tools: ...

    @property
    def wrappers(self) -> Sequence[Wrapper]:
        """Those of a handler that names none."""

    @property
    def built_in(self) -> Mapping[str, Callable[[], Handler]]:
        """Actors that take part as soon as somebody names them."""

    def participant(self, room: Room, actor: str, handler: Handler, policy: Policy) -> Participant: ...

    def asker(self) -> Asker: ...

    def told(self, message: Message) -> None: ...

    def lineage(self, run_id: RunId) -> frozenset[RunId]:
        """A live Run and all that contain it."""

    def rooms_with(self, actor: str) -> Sequence[str]:
        """The rooms in which somebody of that name takes part."""

    def handles(self, room: str) -> Sequence[RunHandle]: ...

    def stop(self, run_id: RunId, reason: str) -> bool: ...

    def cancel_room(self, room: str) -> int: ...

    def changed(self, room: str) -> None: ...

    def unanswered(self, room: str | None, limit: int) -> list[Unanswered]: ...

    def bundle(self, room: str) -> Any: ...
