"""What leads back to a participant: a message that is being stored and will join its turn, and a Run of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from dvergr_nb.records.attention import Attention
from dvergr_nb.records.run import Run
from dvergr_nb.runtime.entry import Entry
from dvergr_nb.runtime.inbox import Inbox
from dvergr_nb.runtime.line import Arrival, Turn

if TYPE_CHECKING:
    from dvergr_nb.runtime.participant import Participant


class Coming:
    """A message that is being stored and will join a running turn, which does not end meanwhile."""

    def __init__(self, participant: Participant, turn: Turn, inbox: Inbox, decision: Attention) -> None:
        self._participant, self._turn, self._inbox, self._decision = participant, turn, inbox, decision
        self.handle = turn.entry.handle
        inbox.expect()
        participant.coming += 1

    def stored(self, arrival: Arrival) -> None:
        """It is stored."""
        try:
            self._participant.join(self._turn, arrival, self._decision)
        finally:
            self.over()

    def over(self) -> None:
        """It is on its way no more: refused, or stored and handed over."""
        self._participant.coming -= 1
        self._inbox.arrived()


class Owned:
    """Tells the participant of one of its turns."""

    def __init__(self, participant: Participant, turn: Turn) -> None:
        self._participant, self._turn = participant, turn

    def admitted(self, _entry: Entry) -> None:
        self._participant.admitted(self._turn)

    def refused(self, _entry: Entry, problem: BaseException) -> bool:
        return self._participant.refused(self._turn, problem)

    def over(self, _entry: Entry, row: Run | None) -> None:
        self._participant.over(self._turn, row)

    def asked_to_stop(self, _entry: Entry) -> None:
        self._participant.asked_to_stop(self._turn)
