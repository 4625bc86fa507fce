"""Wrappers: plain functions that make a handler of a handler, stacked around whoever answers.

Each keeps the handler's attributes, looks at texts and replies alike, and lets everything else pass.
"""

from __future__ import annotations

import asyncio
import dataclasses
import functools
import itertools
import random
import re
from typing import Final

from dvergr_nb.actors.script import seconds_of
from dvergr_nb.errors import BadInput
from dvergr_nb.records.message import Message
from dvergr_nb.records.run import Reason
from dvergr_nb.records.text import shown
from dvergr_nb.runtime.body import Pause
from dvergr_nb.runtime.context import Context
from dvergr_nb.runtime.reply import Given, Handler, Reply, Withheld, Wrapper, as_reply

OWN_MESSAGE: Final = "own-message"
"""Reason of a Run whose trigger its own actor has sent."""
_SILENT_BEGINS: Final = ("[skip]", "[no_reply]")
_SILENT_WORDS: Final = ("skip", "no_reply", "noop", "no-op")
_DECORATION: Final = re.compile(r"\s*\[[^\[\]\n]*·\s*\d{1,2}:\d{2}\s*\]\s*")


def is_silent(text: str) -> bool:
    """Whether a reply says that it does not want to be one: blank, `[skip]…`, `[no_reply]…`, or one of the words alone."""
    bare = text.strip().lower()
    return not bare or bare.startswith(_SILENT_BEGINS) or bare in _SILENT_WORDS


def undecorated(text: str) -> str:
    """The text without one `[name · HH:mm]` at its start, which models copy from what they are shown."""
    found = _DECORATION.match(text)
    return text if found is None else text[found.end() :]


def own_messages(handler: Handler) -> Handler:
    """Leaves messages that the actor has sent itself without an answer."""

    @functools.wraps(handler)
    async def handle(message: Message, ctx: Context) -> Given:
        return Withheld(reason=OWN_MESSAGE) if message.sender == ctx.run.actor else await handler(message, ctx)

    return handle


def silence(handler: Handler) -> Handler:
    """Withholds a reply that does not want to be one, as `silent`; the facts it carries stay on record."""

    @functools.wraps(handler)
    async def handle(message: Message, ctx: Context) -> Given:
        given = as_reply(await handler(message, ctx))
        if not isinstance(given, Reply) or not is_silent(undecorated(given.content)):
            return given
        if given.facts:
            ctx.report("stayed silent", given.facts)
        return Withheld(reason=Reason.SILENT)

    return handle


def plain_reply(handler: Handler) -> Handler:
    """Takes one `[name · HH:mm]` off the start of a reply; other brackets stay."""

    @functools.wraps(handler)
    async def handle(message: Message, ctx: Context) -> Given:
        given = as_reply(await handler(message, ctx))
        return dataclasses.replace(given, content=undecorated(given.content)) if isinstance(given, Reply) else given

    return handle


def latency(seconds: float) -> Wrapper:
    """Has every message wait so long before it is answered."""
    delay = seconds_of(seconds, "latency")

    def wrap(handler: Handler) -> Handler:
        @functools.wraps(handler)
        async def handle(message: Message, ctx: Context) -> Given:
            await asyncio.sleep(delay)
            return await handler(message, ctx)

        return handle

    return wrap


def flaky(rate: float, seed: int = 0) -> Wrapper:
    """Has that share of the messages, 0 to 1, fail: which ones, by their count, depends on the seed alone."""
    if isinstance(rate, bool) or not isinstance(rate, int | float) or not 0 <= rate <= 1:
        raise BadInput(f"the rate of failures is a number from 0 to 1, not {shown(rate)}")
    if isinstance(seed, bool) or not isinstance(seed, int):
        raise BadInput(f"a seed is a whole number, not {shown(seed)}")

    def wrap(handler: Handler) -> Handler:
        chance, counts = random.Random(seed), itertools.count(1)

        @functools.wraps(handler)
        async def handle(message: Message, ctx: Context) -> Given:
            count = next(counts)
            if chance.random() < rate:
                raise ConnectionError(f"flaky: message {count} was chosen to fail")
            return await handler(message, ctx)

        return handle

    return wrap


def budget_guard(usd: float) -> Wrapper:
    """Lets an actor spend so many dollars in its room, over all its Runs there: what comes after that is left waiting,
    `budget-exhausted`, before its work begins.
    """
    from dvergr_nb.records.money import dollars, micro

    limit = micro(usd, "what a budget guard lets pass")

    def wrap(handler: Handler) -> Handler:
        @functools.wraps(handler)
        async def handle(message: Message, ctx: Context) -> Given:
            spent = await ctx.spent_here()
            if spent < limit:
                return await handler(message, ctx)
            ctx.activity(f"{ctx.run.actor} has spent {dollars(spent)} of the {dollars(limit)} it may spend here", kind="budget")
            return Pause(reason=Reason.BUDGET_EXHAUSTED)

        return handle

    return wrap


DEFAULT: Final[tuple[Wrapper, ...]] = (own_messages, silence, plain_reply)
"""What stands around an actor unless its maker says otherwise, the last one outermost."""
