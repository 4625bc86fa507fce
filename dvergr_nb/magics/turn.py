"""`%%turn`: the cell said to an actor. It waits, bounded, until that is on record, and for nothing that would need the loop."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from dvergr_nb.api import KERNEL
from dvergr_nb.errors import BadInput, ThreadBusy
from dvergr_nb.ids import short
from dvergr_nb.magics import refs
from dvergr_nb.magics._interrupt import held
from dvergr_nb.magics._parse import Line, Parser, usd, variable
from dvergr_nb.magics._waiting import DURABLE_S, is_settled
from dvergr_nb.magics.tables import plain
from dvergr_nb.records.run import RunKind
from dvergr_nb.runtime.handle import RunHandle
from dvergr_nb.runtime.paying import grant_of
from dvergr_nb.runtime.room import Room
from dvergr_nb.runtime.speaking import ON_BUSY, Spoken, ThreadRef
from dvergr_nb.runtime.wanted import Wanted
from dvergr_nb.session import Session


def parser() -> Parser:
    """What stands on the first line."""
    described = Parser(
        "%%turn",
        "Says the cell to an actor of a room and gives the prompt back, in the thread that this notebook has with that actor. "
        "Where the actor works on that thread the message joins its Run; where it works on another one, it waits its turn.",
        "The answer is the Run: await it for the reply, %cancel it, say more with another %%turn.",
    )
    described.add_argument("actor", metavar="ACTOR", help="who is spoken to; %%room says who is there, echo always is")
    described.add_argument("--room", metavar="NAME", help="the room to say it in; the session's unless given")
    where = described.add_mutually_exclusive_group()
    where.add_argument("--new-thread", action="store_true", help="begin a thread; later turns go on there")
    where.add_argument("--thread", metavar="ID", help="go on in the thread of this message or Run; an ending of its id will do")
    described.add_argument(
        "--on-busy", choices=ON_BUSY, metavar="HOW", help=f"{', '.join(ON_BUSY)}; the actor's attention decides unless given"
    )
    described.add_argument(
        "--budget", type=usd, metavar="USD", help="what its Run may spend, in dollars; $1 unless its agent says"
    )
    described.add_argument("--model", metavar="NAME", help="another model than its agent's, such as openai:gpt-6.1-terra")
    described.add_argument("--tag", action="append", default=[], metavar="T", help="a word to find its Run by; may be repeated")
    described.add_argument("--key", metavar="K", help="says it once: used again, the key gives the first Run")
    described.add_argument("-o", type=variable, dest="output", metavar="NAME", help="store the Run under this name")
    return described


def turn(shell: Any, given: Line, cell: str) -> RunHandle:
    """Says it. Raises `BadInput`, `NoSuchActor` or `RoomClosed` before it is said; else what the store or the actor refuses."""
    text = cell.lstrip("\n").rstrip()
    if not text.strip():
        raise BadInput("%%turn has nothing to say: write the message below its line")
    session = KERNEL.current()
    room = refs.meant(session, given.room)
    thread = _thread(session, shell, room, given)
    spoken = said(
        lambda: room.speak(
            given.actor,
            text,
            thread=thread,
            on_busy=given.on_busy,
            tags=given.tag,
            key=given.key,
            grant=grant_of(given.budget),
            wanted=Wanted(model=given.model),
        )
    )
    if given.output:
        shell.push({given.output: spoken.handle})
    if not given.is_silent and (line := became(session, spoken)):
        kept = spoken.how == "joined" and (given.budget or given.model)
        sys.stdout.write(f"{line}{'; its budget and model stay as they are' if kept else ''}\n")
    return spoken.handle


def _thread(session: Session, shell: Any, room: Room, given: Line) -> ThreadRef | None:
    if given.thread is not None:
        return refs.thread(session, shell.user_ns, room, given.thread)
    return None if given.new_thread else room.latest(given.actor)


def said(speak: Callable[[], Spoken], limit_s: float = DURABLE_S) -> Spoken:
    """Says something and waits until it is on record. An interrupt meanwhile cancels a Run that this began, and no other."""
    begun: list[Spoken] = []
    try:
        with held():
            begun.append(spoken := speak())
            spoken.handle.is_heard = spoken.handle.is_heard or spoken.how != "joined"
        if not is_settled(spoken.durable, limit_s):
            _say_late(spoken, limit_s)
        elif spoken.how == "started" and spoken.handle.admission.exception() is None:
            spoken.handle.absorb(spoken.handle.admission.result())
    except KeyboardInterrupt:
        with held():
            for each in begun:
                if each.how != "joined":
                    each.handle.cancel()
        raise
    return begun[0]


def became(session: Session, spoken: Spoken) -> str:
    """What there is to say of a message that has not begun a Run at once; empty where it has."""
    if spoken.how == "joined":
        return f"joined Run {short(spoken.handle.id)} ({plain(spoken.handle.label)})"
    if spoken.how == "queued":
        before = _before(session, spoken)
        return f"queued behind {before}" if before else "queued"
    holder = spoken.handle.admission.exception() if spoken.handle.admission.done() else None
    return f"queued until Run {short(holder.run_id)} leaves the thread" if isinstance(holder, ThreadBusy) else ""


def _before(session: Session, spoken: Spoken) -> int:
    own = spoken.handle.row
    turns = (run for run in session.active_runs(own.room) if run.kind == RunKind.AGENT_TURN and run.actor == own.actor)
    return sum(run.id != own.id for run in turns)


def _say_late(spoken: Spoken, limit_s: float) -> None:
    run = short(spoken.handle.id)
    then = f"it joins Run {run}" if spoken.how == "joined" else f"Run {run} answers it"
    withdrawn = "" if spoken.how == "joined" else f"; %cancel {run} withdraws that"
    sys.stderr.write(f"the message is not on record after {limit_s:g} s, the disk is behind; {then} once it is{withdrawn}\n")
