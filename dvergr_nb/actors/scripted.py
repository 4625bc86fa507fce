"""The scripted actor: deterministic, needs no key, and does what a model may do.

It streams, uses tools, fails, suspends and stays silent on request. Each content answers the next message; when all are
used up it stays silent. A round that is cut begins again, with the messages that joined known to the script's functions.
"""

from __future__ import annotations

import asyncio
import inspect
import itertools
import re
from collections.abc import Iterable, Iterator
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any, Final

from dvergr_nb.actors.program import Answer, Broken, Continue, End, Round, Rounds, Suspend, ToolCall
from dvergr_nb.actors.script import (
    PRETENDED,
    SILENT,
    Ask,
    Content,
    Cost,
    Raise,
    Say,
    Silent,
    Step,
    Together,
    Use,
    Wait,
    seconds_of,
    steps_of,
)
from dvergr_nb.actors.turn import turn_of
from dvergr_nb.records.message import Message
from dvergr_nb.records.run import checked_word
from dvergr_nb.runtime.context import Context
from dvergr_nb.runtime.reply import Handler

_WORDS: Final = re.compile(r"\s*\S+\s*")


def scripted(*contents: Content, name: str = "scripted", pace: float = 0.0) -> Handler:
    """An actor that answers each message with the next content: a text, or steps of `script`; then it stays silent.

    `pace` is in seconds per streamed word; 0 never waits. Raises `BadInput` for what cannot be a script.
    """
    scripts = [steps_of(content) for content in contents]
    return turn_of(Scripted(scripts, kind="scripted", name=name, pace=pace))


class Scripted:
    """A program that plays a script per message."""

    def __init__(self, scripts: Iterable[tuple[Step, ...]], *, kind: str, name: str, pace: float = 0.0) -> None:
        self.kind = kind
        self.name = checked_word(name, "name")
        self._pace = seconds_of(pace, "pace")
        self._scripts: Iterator[tuple[Step, ...]] = iter(scripts)

    def begin(self, _message: Message, _ctx: Context) -> AbstractAsyncContextManager[Rounds]:
        """Takes the next script; it is used up however the turn ends."""
        return nullcontext(_Playing(next(self._scripts, ()), self._pace))


class _Playing:
    """One script at work."""

    def __init__(self, steps: tuple[Step, ...], pace: float) -> None:
        self._pace = pace
        self._to_come = steps
        self._round_from = steps
        """The steps to come when the last round began, which plays them again where that was cut."""
        self._was_cut = False
        self._joined: tuple[Message, ...] = ()
        self._uses: tuple[Use, ...] = ()
        self._at_once = False
        self._results: list[Any] = []
        self._numbers = itertools.count(1)

    async def call(self, given: Round) -> Answer:
        """Plays the steps of one round: until a tool is used, or to the end."""
        self._joined += given.folded
        if self._was_cut or (given.folded and not self._to_come):
            self._to_come = self._round_from
        self._round_from, self._was_cut = self._to_come, True
        answer = await self._play(given)
        self._was_cut = False
        return answer

    async def _play(self, given: Round) -> Answer:
        text = ""
        while self._to_come:
            step, *rest = self._to_come
            match step:
                case Use() | Together():
                    return Answer(text=text, tool_calls=self._calls())
                case Silent():
                    self._to_come = ()
                    return Answer(text=SILENT)
                case Suspend() | Broken():
                    return Answer(text=text, end=step)
                case Raise(error=error):
                    raise error if isinstance(error, BaseException) else RuntimeError(error)
                case Ask():
                    rest = [*await self._asked(step, given.message), *rest]
                case Wait(seconds=seconds):
                    await _pass(seconds)
                case Cost():
                    _spend(step, given)
                case Say():
                    text = await self._say(step, text, given)
            self._to_come = tuple(rest)
        return Answer(text=text)

    async def _say(self, step: Say, before: str, given: Round) -> str:
        whole = before + step.text
        pace = self._pace if step.pace is None else step.pace
        if pace:
            for word in _WORDS.finditer(step.text):
                given.say(before + step.text[: word.end()])
                await asyncio.sleep(pace)
        given.say(whole)
        return whole

    async def _asked(self, step: Ask, message: Message) -> tuple[Step, ...]:
        known = (message, self._joined, tuple(self._results))
        return steps_of(await _called(step.call, *known[: step.takes]))

    # Tools -----------------------------------------------------------------------------------------------------------

    def _calls(self) -> tuple[ToolCall, ...]:
        """Takes the uses that come next off the script."""
        first = self._to_come[0]
        if isinstance(first, Together):
            uses, count = first.uses, 1
        else:
            row = itertools.takewhile(lambda step: isinstance(step, Use), self._to_come)
            uses = tuple(step for step in row if isinstance(step, Use))
            count = len(uses)
        self._uses, self._at_once = uses, isinstance(first, Together)
        self._to_come = self._to_come[count:]
        return tuple(ToolCall(id=f"call {next(self._numbers)}", name=each.tool) for each in uses)

    async def use(self, calls: tuple[ToolCall, ...], given: Round) -> End:
        """Pretends to use the tools; what they give is known to the functions that follow."""
        works = [(use, call, given) for use, call in zip(self._uses, calls, strict=True)]
        if self._at_once:
            outcomes = await asyncio.gather(*(_used(*work) for work in works), return_exceptions=True)
            self._results += [_given(outcome) for outcome in outcomes]
        else:
            self._results += [_given(await _used(*work)) for work in works]
        return Continue()


def _spend(step: Cost, given: Round) -> None:
    from dvergr_nb.records.money import Usage

    usage = Usage(
        model=step.model,
        provider=PRETENDED,
        input_tokens=step.input_tokens,
        output_tokens=step.output_tokens,
        cost=step.amount,
    )
    given.spend(usage)


async def _used(use: Use, call: ToolCall, given: Round) -> tuple[Any]:
    with given.using(call) as using:
        await _pass(use.takes)
        if use.fails is not None:
            using.failed(use.fails)
            return (None,)
        try:
            return (await _called(use.result) if callable(use.result) else use.result,)
        except Exception as problem:  # noqa: BLE001  # the tool's own, which a model is told as its result
            using.failed(type(problem).__name__)
            return (problem,)


def _given(outcome: tuple[Any] | BaseException) -> Any:
    """What a tool gave. Raises what went past it; all the others have ended by then."""
    if isinstance(outcome, BaseException):
        raise outcome
    return outcome[0]


async def _called(call: Any, *arguments: Any) -> Any:
    given = call(*arguments)
    return await given if inspect.isawaitable(given) else given


async def _pass(seconds: float) -> None:
    if seconds:
        await asyncio.sleep(seconds)
