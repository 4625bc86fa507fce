"""The echo: it answers with what it was told."""

from __future__ import annotations

import itertools

from dvergr_nb.actors.script import Ask, Content, say, seconds_of, wait
from dvergr_nb.actors.scripted import Scripted
from dvergr_nb.actors.turn import turn_of
from dvergr_nb.records.message import Message
from dvergr_nb.runtime.reply import Handler


def echo(delay_ms: float = 0) -> Handler:
    """An actor that answers "echo: " and what it was told, a line per message where others have joined meanwhile.

    `delay_ms` is how long it thinks, in milliseconds; a steer cuts that and it begins again.
    """
    delay = seconds_of(delay_ms, "delay_ms") / 1000

    def answer(message: Message, joined: tuple[Message, ...]) -> Content:
        return [wait(delay), say("\n".join(f"echo: {each.content}" for each in (message, *joined)))]

    return turn_of(Scripted(itertools.repeat((Ask(call=answer, takes=2),)), kind="echo", name="echo"))
