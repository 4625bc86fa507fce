"""Processes that work on a store as fast as they can and say what they were told is durable, until they are killed.

One process that has imported everything forks a child for each line it reads: `path life`. A child writes a line per
acknowledgement to standard output, first its pid.
"""

from __future__ import annotations

import os
import sys
from concurrent.futures import Future
from pathlib import Path

from dvergr_nb.ids import BootId
from dvergr_nb.records.operation import Answer, Moved
from dvergr_nb.records.run import Reason, Run, RunStatus
from dvergr_nb.store import writer
from tests.store.making import admit, end, opened, pause, reply, said


def main() -> None:
    """Forks a child per line of input and waits for its death."""
    for line in sys.stdin:
        path, life = line.split()
        pid = os.fork()
        if pid == 0:
            work(Path(path), int(life))
        os.waitpid(pid, 0)
        os.write(1, b"dead\n")


def work(path: Path, life: int) -> None:
    """Admits, feeds and ends Runs without end."""
    if life % 2:
        writer.COMMITS_PER_CHECKPOINT = 5  # type: ignore[misc]
    os.write(1, f"pid {os.getpid()}\n".encode())
    store = opened(path, boot_id=BootId(f"boot-{life}"))

    def tell(word: str, an_id: str) -> object:
        def told(future: Future[Answer]) -> None:
            answer = future.result()
            status = answer.run.status.value if isinstance(answer, Moved) else "-"
            os.write(1, f"{word} {an_id} {status}\n".encode())

        return told

    def follow(future: Future[Answer], word: str, an_id: str) -> None:
        future.add_done_callback(tell(word, an_id))  # type: ignore[arg-type]

    open_runs: list[Run] = []
    for n in range(1_000_000):
        unit = admit(key=f"{life}-{n}" if n % 5 == 0 else None)
        future = store.submit(unit)
        follow(future, "admitted", unit.run.id)
        for _ in range(4):
            line = said(unit.run)
            follow(store.submit(line), "said", line.message.id)
        open_runs.append(unit.run)
        if n % 4 == 3:
            future.result()
            first = open_runs.pop(0)
            output = said(first, "output").message
            ended = pause(first) if n % 3 == 0 else end(first, messages=(output,))
            if n % 3 == 1:
                ended = end(first, RunStatus.WAITING, reason=Reason.BUDGET_EXHAUSTED.value, messages=(output,))
            follow(store.submit(ended), "ended", first.id)
        if n % 7 == 0 and unit.message is not None:
            other = admit(reply(unit.message), actor="second")
            follow(store.submit(other), "admitted", other.run.id)


if __name__ == "__main__":
    main()
