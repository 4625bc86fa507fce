"""Who watches is told: one snapshot, then every change in order, with no gap and no double.

All of it happens on the home loop, so that a snapshot and the subscription to what follows it are one step. Events that a
subscriber causes while it is being told are queued and told afterwards.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import AsyncIterator, Callable, Hashable
from dataclasses import dataclass
from typing import Final

from dvergr_nb.ids import RunId
from dvergr_nb.records.event import Event, RunsSnapshot
from dvergr_nb.records.run import LiveRun
from dvergr_nb.runtime.home import Home
from dvergr_nb.runtime.logs import logger

log = logger(__name__)

Subscriber = Callable[[Event], object]
Make = Callable[[int], Event]
"""Builds the event from its sequence number."""

COALESCE_S: Final = 0.05
"""Progress of one Run is told at most once in this time."""


@dataclass(frozen=True, slots=True)
class _Watch:
    tell: Subscriber
    since: int


class Bus:
    """Subscriptions of one session. Every method but `events` is called on the home loop's thread."""

    def __init__(self, home: Home, snapshot: Callable[[], tuple[LiveRun, ...]]) -> None:
        self._home = home
        self._snapshot = snapshot
        self._watches: dict[Hashable, _Watch] = {}
        self._ends: dict[Hashable, Callable[[], object]] = {}
        """How to tell who iterates over events that there will be no more."""
        self._queue: deque[Event] = deque()
        self._telling = False
        self._seq = 0
        self._soon: dict[RunId, Make] = {}
        self._timer: asyncio.TimerHandle | None = None

    def watch(self, key: Hashable, tell: Subscriber) -> None:
        """Subscribes, in place of an earlier subscriber of that key. `tell` hears a snapshot at once."""
        self._flush_soon()
        self._watches[key] = _Watch(tell, self._seq)
        self._tell(key, RunsSnapshot(seq=self._seq, runs=self._snapshot()))

    def unwatch(self, key: Hashable) -> None:
        """Ends the subscription of that key, where there is one."""
        self._watches.pop(key, None)

    def unwatch_all(self) -> None:
        """Ends every subscription, and every iteration over events."""
        self._watches.clear()
        ends, self._ends = self._ends, {}
        for end in ends.values():
            end()

    def publish(self, make: Make, run_id: RunId | None = None) -> None:
        """Tells everyone, in order. Progress of that Run still held back is part of what the event says, and dropped."""
        if run_id is not None:
            self._soon.pop(run_id, None)
        self._seq += 1
        if not self._watches:
            return
        self._queue.append(make(self._seq))
        if not self._telling:
            self._drain()

    def publish_soon(self, run_id: RunId, make: Make) -> None:
        """Tells everyone within 50 ms; a newer event of the same Run replaces this one."""
        self._soon[run_id] = make
        if self._timer is None:
            self._timer = self._home.later(COALESCE_S, self._flush_soon)

    def _flush_soon(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        held, self._soon = self._soon, {}
        for make in held.values():
            self.publish(make)

    def _drain(self) -> None:
        self._telling = True
        try:
            while self._queue:
                event = self._queue.popleft()
                for key, watch in list(self._watches.items()):
                    if event.seq > watch.since:
                        self._tell(key, event)
        finally:
            self._telling = False

    def _tell(self, key: Hashable, event: Event) -> None:
        watch = self._watches.get(key)
        if watch is None:
            return
        try:
            watch.tell(event)
        except BaseException:  # whatever it raises: let out, a SystemExit would end the loop
            log.exception("subscriber %r failed on %s; the others were told", key, event.type)

    async def events(self) -> AsyncIterator[Event]:
        """All events from now on, the snapshot first, on whichever loop iterates; it ends when the session does."""
        reader, key = Home.here(), object()
        queue: asyncio.Queue[Event | None] = asyncio.Queue()

        def hand_over(event: Event | None) -> None:
            if reader.loop is self._home.loop:
                queue.put_nowait(event)
            else:
                reader.post(lambda: queue.put_nowait(event))

        def join() -> None:
            self._ends[key] = lambda: hand_over(None)
            self.watch(key, hand_over)

        def leave() -> None:
            self._ends.pop(key, None)
            self.unwatch(key)

        self._home.call(join)
        try:
            while (event := await queue.get()) is not None:
                yield event
        finally:
            self._home.post(leave)
