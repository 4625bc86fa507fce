"""The body of a turn: calls the handler with the message and makes what it gives back the Run's end."""

from __future__ import annotations

from dvergr_nb.records.message import Message
from dvergr_nb.records.run import Run
from dvergr_nb.runtime import obligation
from dvergr_nb.runtime.body import Done, Outcome
from dvergr_nb.runtime.context import Context
from dvergr_nb.runtime.handler import is_steerable
from dvergr_nb.runtime.obligation import Obligations
from dvergr_nb.runtime.reply import Handler

NO_REPLY = "the turn ended without a reply"


class Answering:
    """One turn of one handler."""

    place = "loop"

    def __init__(self, handler: Handler, message: Message) -> None:
        self.handler = handler
        """Set again when its turn has come: a cell that is run anew gives the actor another handler."""
        self._message = message
        self._obligations = Obligations()

    async def execute(self, ctx: Context) -> Outcome:
        """Calls the handler. A turn without any text says so in its activity; one of rounds has done that itself."""
        before = obligation.CURRENT.set(self._obligations)
        try:
            outcome = self._obligations.outcome(await self.handler(self._message, ctx))
        finally:
            obligation.CURRENT.reset(before)
        is_mute = isinstance(outcome, Done) and outcome.reply is None and outcome.reason is None
        if is_mute and not is_steerable(self.handler):
            ctx.activity(NO_REPLY)
        return outcome

    def settle(self, run: Run | None) -> None:
        """Tells who made the reply what became of it; the Run's end is durable, or will never be known here."""
        self._obligations.settle(run)
