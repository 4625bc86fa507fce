"""A hired task: one agent at one task, apart from any conversation. Its input and output are private to the Run."""

from __future__ import annotations

from dvergr_nb.agent_errors import ModelConfused
from dvergr_nb.errors import DvergrError
from dvergr_nb.runtime.body import Done, Failed, Outcome, Pause
from dvergr_nb.runtime.context import Context
from dvergr_nb.runtime.reply import Handler, Reply

PROGRAM_ERROR = "program-error"
"""Reason of a hired Run whose agent raised."""


class Hiring:
    """The body of a hired task."""

    place = "loop"

    def __init__(self, handler: Handler, model: str) -> None:
        self._handler, self._model = handler, model

    async def execute(self, ctx: Context) -> Outcome:
        """Has the agent answer its task. One without an answer has failed."""
        if ctx.trigger is None:
            raise DvergrError("a hired task begins with its own message")
        try:
            given = await self._handler(ctx.trigger, ctx)
        except Exception as problem:  # noqa: BLE001  # the agent's end, told as what it is
            return Failed(reason=PROGRAM_ERROR, problem=problem)
        match given:
            case Pause(reason=reason, reply=reply):
                _tell(ctx, f"stopped: {reason}", reply)
                return Pause(reason=reason)
            case Reply(content=content, value=value):
                _tell(ctx, "answered", given)
                return Done(value=content if value is None else value, reply=content)
            case _:
                nothing = ModelConfused(
                    self._model, f"{ctx.run.actor!r} came to its end without an answer; ask for one in its task"
                )
                return Failed(reason=PROGRAM_ERROR, problem=nothing)


def _tell(ctx: Context, what: str, reply: object) -> None:
    """Puts the facts on record that a reply carries, which nobody in the room is told."""
    if isinstance(reply, Reply) and reply.facts:
        ctx.report(what, reply.facts)
