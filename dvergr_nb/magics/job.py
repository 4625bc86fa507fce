"""`%%job`: the cell as a Run. It waits, bounded, until the Run is durable, and for nothing that would need the loop."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final

from dvergr_nb.actors.cell import cell_job, compiled
from dvergr_nb.api import KERNEL
from dvergr_nb.errors import BadInput
from dvergr_nb.ids import short
from dvergr_nb.magics._interrupt import held
from dvergr_nb.magics._parse import Line, Parser, seconds, variable
from dvergr_nb.magics._waiting import DURABLE_S, is_settled
from dvergr_nb.records.run import RunKind
from dvergr_nb.records.text import first_line
from dvergr_nb.runtime.handle import RunHandle
from dvergr_nb.session import JOB_ACTOR

LABEL_CHARS: Final = 60


def parser() -> Parser:
    """What stands on the first line."""
    described = Parser(
        "%%job",
        "Runs the cell as a Run and gives the prompt back. With await in it, it runs on the kernel's loop, else in a worker "
        "thread. It sees a copy of the notebook's names and ctx; its last expression is the result.",
        "The answer is the Run: await it for its value, %cancel it, %activity shows what it did.",
    )
    described.add_argument("label", nargs="*", metavar="LABEL", help="what to call it; the cell's first line unless given")
    described.add_argument("--kind", default=str(RunKind.WORKFLOW), help="a word for its kind; workflow unless given")
    described.add_argument("--room", metavar="NAME", help="the room it belongs to; the session's unless given")
    described.add_argument("--timeout", type=seconds, metavar="S", help="fails it after so many seconds; none unless given")
    described.add_argument("--idle-timeout", type=seconds, metavar="S", help="fails it after so many seconds without a word")
    described.add_argument("--key", metavar="K", help="starts it once: used again, the key gives the first Run")
    described.add_argument("--tag", action="append", default=[], metavar="T", help="a word to find it by; may be repeated")
    where = described.add_mutually_exclusive_group()
    where.add_argument("--thread", action="store_true", help="run it in a worker thread; it cannot await then")
    where.add_argument("--loop", action="store_true", help="run it on the loop; while it computes, other Runs stand still")
    described.add_argument("-o", type=variable, dest="output", metavar="NAME", help="store the Run under this name")
    return described


def job(shell: Any, given: Line, cell: str) -> RunHandle:
    """Starts the cell. Raises `BadInput` before there is a Run, `ThreadBusy` and store errors where it was refused."""
    if not cell.strip():
        raise BadInput("%%job has nothing to run: write the work below its line")
    place = "thread" if given.thread else "loop" if given.loop else None
    body = cell_job(compiled(_python(shell, cell)), dict(shell.user_ns), place)
    session = KERNEL.current()
    handle = admitted(
        lambda: session.start(
            body,
            actor=JOB_ACTOR,
            text=cell,
            label=" ".join(given.label) or first_line(cell, LABEL_CHARS),
            kind=given.kind,
            room=given.room,
            key=given.key,
            tags=given.tag,
            timeout=given.timeout,
            idle_timeout=given.idle_timeout,
        )
    )
    if given.output:
        shell.push({given.output: handle})
    return handle


def _python(shell: Any, cell: str) -> str:
    try:
        return str(shell.transform_cell(cell))
    except SyntaxError as problem:
        raise BadInput(f"line {problem.lineno} of the cell: {problem.msg}") from None


def admitted(begin: Callable[[], RunHandle], limit_s: float = DURABLE_S) -> RunHandle:
    """Begins a Run and waits until the writer thread has answered; an interrupt meanwhile cancels the Run."""
    begun: list[RunHandle] = []
    try:
        with held():
            begun.append(handle := begin())
            handle.is_heard = True
        if is_settled(handle.admission, limit_s):
            handle.absorb(handle.admission.result())
        else:
            _say_late(handle, limit_s)
    except KeyboardInterrupt:
        with held():
            for each in begun:
                each.cancel()
        raise
    return begun[0]


def _say_late(handle: RunHandle, limit_s: float) -> None:
    sys.stderr.write(
        f"Run {short(handle.id)} is not on record after {limit_s:g} s, the disk is behind; it is queued and begins once it is; "
        f"%cancel {short(handle.id)} withdraws it\n"
    )
