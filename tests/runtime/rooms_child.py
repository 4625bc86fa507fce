"""Kernels with a room that obeys commands, until they are killed.

One process that has imported everything forks a child for each line it reads: the path of a store, whether its room has
exclusive threads, and two pipes. The child obeys the lines of the first pipe and says on the second what happens, at once
and from whatever thread, in JSON, first its pid.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

from tests.runtime.commanded import Commanded


def main() -> None:
    """Forks a child per line of input and waits for its death."""
    for line in sys.stdin:
        pid = os.fork()
        if pid == 0:
            asyncio.run(live(*json.loads(line)))
            os._exit(0)
        os.waitpid(pid, 0)
        os.write(1, b"dead\n")


async def live(path: str, exclusive: bool, commands: str, told: str) -> None:
    """Obeys until there is nothing more to obey."""
    said = os.open(told, os.O_WRONLY)

    def tell(event: list[Any]) -> None:
        line = json.dumps(event).encode() + b"\n"
        while line:
            line = line[os.write(said, line) :]

    tell(["pid", os.getpid()])
    room = Commanded(path, tell, exclusive=exclusive)
    reader = asyncio.StreamReader(limit=1 << 20)
    with Path(commands).open("rb") as pipe:  # noqa: ASYNC230  # the other side opens it at once
        await asyncio.get_running_loop().connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), pipe)
        while line := await reader.readline():
            tell(["did", await room.obey(json.loads(line))])
    room.session.close(force=True)


if __name__ == "__main__":
    main()
