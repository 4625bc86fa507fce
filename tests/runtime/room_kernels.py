"""The kernel whose room a test commands: in this process, or a process of its own that can be killed."""

from __future__ import annotations

import asyncio
import json
import os
import selectors
import signal
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from tests.runtime.commanded import LIMIT_S, Command, Commanded
from tests.runtime.room_laws import Trace


class Kernel(Protocol):
    """One kernel life after another, on one store."""

    trace: Trace

    def obey(self, commands: Sequence[Command]) -> list[Any]:
        """Carries them out one after the other, without waiting in between; the answers."""

    def end(self, commands: Sequence[Command], after: int) -> None:
        """Begins with them and ends in the middle of it, once so many things were told; then a new life begins."""

    def close(self) -> None:
        """Ends for good."""


class Here:
    """A session in this process. Its end is that of a session which is closed by force."""

    def __init__(self, path: Path, *, exclusive: bool) -> None:
        self.trace = Trace()
        self._path, self._exclusive = path, exclusive
        self._loop = asyncio.new_event_loop()
        self._begin()

    def _begin(self) -> None:
        self.trace.begin_life()

        async def opened() -> Commanded:
            return Commanded(str(self._path), self.trace.events.append, exclusive=self._exclusive)

        self._room = self._loop.run_until_complete(opened())

    def obey(self, commands: Sequence[Command]) -> list[Any]:
        async def all_of_them() -> list[Any]:
            return [await self._room.obey(command) for command in commands]

        return self._loop.run_until_complete(asyncio.wait_for(all_of_them(), LIMIT_S))

    def end(self, commands: Sequence[Command], after: int) -> None:
        self.obey(commands[:after])
        self._end()
        self._begin()

    def _end(self) -> None:
        async def closed() -> None:
            self._room.session.close(force=True)

        self._loop.run_until_complete(closed())
        if left := asyncio.all_tasks(self._loop):
            self._loop.run_until_complete(asyncio.wait(left, timeout=LIMIT_S))

    def close(self) -> None:
        self._end()
        self._loop.close()


class Apart:
    """A process of its own, killed for real."""

    def __init__(self, forks: subprocess.Popen[bytes], path: Path, *, exclusive: bool) -> None:
        self.trace = Trace()
        self._forks, self._path, self._exclusive = forks, path, exclusive
        self._lives = 0
        self._begin()

    def _begin(self) -> None:
        self.trace.begin_life()
        self._lives += 1
        pipes = [self._path.with_name(f"{what}-{self._lives}") for what in ("commands", "told")]
        for pipe in pipes:
            os.mkfifo(pipe)
        self._told = os.open(pipes[1], os.O_RDONLY | os.O_NONBLOCK)
        self._rest = b""
        assert self._forks.stdin is not None
        line = json.dumps([str(self._path), self._exclusive, *map(str, pipes)])
        self._forks.stdin.write(line.encode() + b"\n")
        self._pid = self._until("pid")[1]
        self._commands = os.open(pipes[0], os.O_WRONLY)

    def _lines(self, limit_s: float = LIMIT_S) -> Iterator[list[Any]]:
        """What is told, until the process is dead."""
        with selectors.DefaultSelector() as selector:
            selector.register(self._told, selectors.EVENT_READ)
            while True:
                while b"\n" in self._rest:
                    line, _, self._rest = self._rest.partition(b"\n")
                    yield json.loads(line)
                assert selector.select(limit_s), "the process says nothing any more"
                if not (more := os.read(self._told, 1 << 16)):
                    return
                self._rest += more

    def _until(self, kind: str) -> list[Any]:
        for event in self._lines():
            if event[0] == kind:
                return event
            self.trace.events.append(event)
        raise AssertionError("the process has ended by itself")

    def obey(self, commands: Sequence[Command]) -> list[Any]:
        self._send(commands)
        return [self._until("did")[1] for _ in commands]

    def _send(self, commands: Sequence[Command]) -> None:
        os.write(self._commands, b"".join(json.dumps(command).encode() + b"\n" for command in commands))

    def end(self, commands: Sequence[Command], after: int) -> None:
        self._send(commands)
        told = done = 0
        lines = self._lines()
        while told < after and done < len(commands):
            event = next(lines)
            told += 1
            done += event[0] == "did"
            self._keep(event)
        self._kill()
        self._begin()

    def _keep(self, event: list[Any]) -> None:
        if event[0] != "did":
            self.trace.events.append(event)

    def _kill(self) -> None:
        """What it had said before it died counts."""
        os.kill(self._pid, signal.SIGKILL)
        for event in self._lines():
            self._keep(event)
        assert self._forks.stdout is not None
        assert self._forks.stdout.readline() == b"dead\n"
        os.close(self._commands)
        os.close(self._told)

    def close(self) -> None:
        self._kill()
