"""The turn: one Run over all rounds of a program, with the messages that join it on the way.

Before each round the inbox is taken. A message that preempts cuts the model call, never a tool; a completion that is there
already wins. The turn ends only where nothing is on its way any more and nothing that came needs a round.
"""

from __future__ import annotations

import asyncio
from typing import Any

from dvergr_nb.actors.journal import Journal
from dvergr_nb.actors.program import Answer, Broken, Complete, Continue, End, Program, Round, Rounds, Suspend
from dvergr_nb.errors import BadInput
from dvergr_nb.records.message import Message
from dvergr_nb.records.run import Reason
from dvergr_nb.records.text import shown
from dvergr_nb.runtime.body import Pause
from dvergr_nb.runtime.context import Context
from dvergr_nb.runtime.handler import PROGRAM, STEERABLE
from dvergr_nb.runtime.inbox import Inbox
from dvergr_nb.runtime.reply import Given, Handler, Reply
from dvergr_nb.runtime.secrets import ended


def turn_of(program: Program) -> Handler:
    """The handler that lets the program answer, one turn per message; messages can join its turns."""

    async def handle(message: Message, ctx: Context) -> Given:
        async with program.begin(message, ctx) as rounds:
            return await _Turn(program.name, rounds, message, ctx).answer()

    setattr(handle, PROGRAM, program.kind)
    setattr(handle, STEERABLE, True)
    return handle


class _Turn:
    def __init__(self, name: str, rounds: Rounds, message: Message, ctx: Context) -> None:
        self._rounds, self._message, self._ctx = rounds, message, ctx
        self._inbox = ctx.inbox or Inbox()
        self._journal = Journal(name, message, ctx)
        self._begun = 0
        """How many rounds have begun."""
        self._said = ""
        """What the running round has streamed."""
        self._text = ""
        """The last text of the turn that is on no record yet: its reply, if it ends now."""
        self._value: Any = None

    async def answer(self) -> Given:
        """All rounds, and what they come to."""
        try:
            return await self._all_rounds()
        except asyncio.CancelledError:
            self._journal.round_ended("cancelled")
            self._broke_off("stopped", self._said)
            raise
        except BaseException as problem:
            self._journal.round_ended("failed", type(problem).__name__)
            self._broke_off("failed", self._said)
            raise

    async def _all_rounds(self) -> Given:
        while True:
            self._ctx.raise_if_cancelled()
            if self._inbox.is_suspended:
                return self._stopped(Suspend())
            if await self._ctx.is_broke():
                return self._stopped(Suspend(reason=Reason.BUDGET_EXHAUSTED), self._text)
            match await self._round():
                case Complete(text=text, value=value, missing=missing):
                    self._text, self._value = self._text if text is None else text, value
                    await self._inbox.settled()
                    if self._inbox.is_suspended or not self._inbox.needs_round:
                        return self._ended(missing)
                    self._overtaken()
                case Broken(error=error):
                    self._journal.tell(f"round {self._begun} ended in an error: {error}")
                    return self._reply(RuntimeError(error))
                case Suspend() as end:
                    return self._stopped(end, self._text)

    # One round -------------------------------------------------------------------------------------------------------

    async def _round(self) -> End:
        given = self._next()
        self._journal.round_began(given.number)
        answer = await self._called(given)
        self._ctx.stepped()
        if answer is None:
            self._journal.tell(f"round {self._begun} cut {self._why_cut()}")
            self._ctx.stream("")
            return Continue()
        return await self._answered(answer, given)

    def _why_cut(self) -> str:
        if self._inbox.is_suspended:
            return "to suspend"
        return "by a message" if self._inbox.needs_round else "for another model"

    def _next(self) -> Round:
        number, self._begun = self._begun, self._begun + 1
        self._said = ""

        def say(text: str) -> None:
            if number == self._begun - 1:  # a call that was cut may leave something behind that still speaks
                self._said = text
                self._ctx.stream(text)

        return Round(
            message=self._message,
            number=number,
            folded=self._inbox.take(),
            say=say,
            using=self._journal.using,
            spend=lambda usage: self._ctx.wallet.charge(usage, number),
            note=self._journal.noted,
        )

    async def _called(self, given: Round) -> Answer | None:
        """The answer, None where a message has cut the call. Either way the call has settled."""
        call = asyncio.create_task(self._rounds.call(given))
        preempted = asyncio.create_task(self._inbox.until_preempted())
        try:
            await asyncio.wait({call, preempted}, return_when=asyncio.FIRST_COMPLETED)
            is_there = call.done()
        finally:
            await _settle(call, preempted)
        if is_there:
            return _checked(call.result())
        self._journal.round_ended("cut", _problem(call))
        return None

    async def _answered(self, answer: Answer, given: Round) -> End:
        has_text = bool(answer.text.strip())
        if has_text:
            self._text = answer.text
        end = await self._rounds.use(answer.tool_calls, given) if answer.tool_calls else answer.end
        if isinstance(end, Suspend) and not has_text:
            self._text = ""
        self._journal.round_ended("failed" if isinstance(end, Broken) else "completed")
        if answer.tool_calls:
            self._journal.tell_tools(answer.tool_calls)
        return end

    def _overtaken(self) -> None:
        """An answer is there, and so is a message that it does not know: another round answers both."""
        if self._text:
            self._journal.tell(f"answered before the next message came: {self._text}")
            self._ctx.stream("")
        self._text = ""

    # The end ---------------------------------------------------------------------------------------------------------

    def _ended(self, missing: Exception | None) -> Given:
        """No await lies between the look at the inbox and its closing, so that nothing can slip in unseen."""
        if self._inbox.is_suspended:
            return self._stopped(Suspend(), self._text)
        self._inbox.close()
        return self._reply(missing)

    def _reply(self, missing: Exception | None) -> Reply | None:
        """The last text. Where there is none, raises what the turn has failed with; silence gives None."""
        if self._text:
            return Reply(content=self._text, facts=self._journal.take(), value=self._value)
        if self._journal.has_facts:
            self._journal.tell(f"round {self._begun} ended without a text")
        if missing is not None:
            raise missing
        return None

    def _stopped(self, end: Suspend, text: str = "") -> Pause:
        reply = Reply(content=text, facts=self._journal.take()) if text else None
        if self._journal.has_facts:
            self._journal.tell(f"stopped after round {self._begun}: {end.reason}")
        return Pause(reason=end.reason, envelopes=end.envelopes, reply=reply)

    def _broke_off(self, how: str, said: str = "") -> None:
        if self._journal.has_facts:
            self._journal.tell(f"{how} in round {self._begun}" + (f"; until then: {ended(said)}" if said else ""))


async def _settle(*tasks: asyncio.Task[Any]) -> None:
    """Cancels what is not done and returns once all is. A request to stop that comes meanwhile is passed on and raised then."""
    interruption: asyncio.CancelledError | None = None
    while pending := [task for task in tasks if not task.done()]:
        for task in pending:
            task.cancel()
        try:
            await asyncio.wait(pending)
        except asyncio.CancelledError as request:
            interruption = request
    for task in tasks:
        _problem(task)
    if interruption is not None:
        raise interruption


def _problem(task: asyncio.Task[Any]) -> str | None:
    """The type of what a task that is done has raised; asking keeps asyncio from warning that nobody did."""
    problem = None if task.cancelled() else task.exception()
    return None if problem is None else type(problem).__name__


def _checked(answer: object) -> Answer:
    if not isinstance(answer, Answer):
        raise BadInput(f"a round comes to an Answer, not {shown(answer)}")
    return answer
