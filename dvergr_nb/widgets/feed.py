"""From events to messages: rows that changed, coalesced, as patches with a revision, so that a lost one is noticed.

A feed lives on the home loop. It does little at a time: at most `SLICE` rows per message and one message per `FLUSH_S`.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from dvergr_nb.ids import RunId
from dvergr_nb.records.run import Run, RunStatus
from dvergr_nb.records.wire import Ack, Beat, FromPython, Patch, Rest, RunRow, Snapshot, row
from dvergr_nb.records.wire_room import Whole
from dvergr_nb.records.wire_timeline import milliseconds
from dvergr_nb.widgets.hub import Hub

FLUSH_S: Final = 0.055
"""Shortest time between two patches: with the beat, at most 20 messages a second."""
SLICE: Final = 200
"""Most rows in one patch: about 3 ms of the loop."""
WHOLE: Final = 1_000
"""Most rows in one snapshot, where the rows are ready: about 10 ms. A larger board follows in patches."""
SAVE_S: Final = 5.0
"""Shortest time between two saved states while things change."""
SAVE_END_S: Final = 0.5
"""How soon after an end the state is saved."""
LIVE: Final = frozenset({RunStatus.QUEUED, RunStatus.RUNNING, RunStatus.CANCELLING})
LIVE_WORDS: Final = frozenset(status.value for status in LIVE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """Which Runs a view shows: those of a room, of all rooms (None), of one kind, or one only."""

    room: str | None = None
    kind: str | None = None
    only: RunId | None = None
    limit: int = 1_000

    def holds(self, run: Run) -> bool:
        """Whether the Run is one of them."""
        fits = self.room in (None, run.room) and self.kind in (None, run.kind)
        return fits and self.only in (None, run.id)


class Feed:
    """The rows of one board or card and what its views were told of them."""

    def __init__(
        self,
        hub: Hub,
        *,
        send: Callable[[Mapping[str, Any]], object],
        save: Callable[[str], object],
        scope: Scope,
        ended: Callable[[Run], object] | None = None,
    ) -> None:
        self.hub = hub
        self.scope = scope
        self.rows: dict[str, RunRow] = {}
        self._send = send
        self._save = save
        self._ended = ended
        self._changed: dict[str, Run | RunRow] = {}
        self._gone: list[str] = []
        self._live: set[str] = set()
        self._rev = 0
        self._cut = False
        self._flush_timer: Any = None
        self._save_timer: Any = None
        self._flushed_at = float("-inf")
        self._has_rested = False
        self._is_saving = False

    # On the home loop ------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Shows what lives, then what the store remembers."""
        self.hub.add(self)
        for run in self.hub.live.values():
            self.take(run, has_ended=False)
        self._flush()
        if self.scope.only is None:
            self._read_runs()

    def _read_runs(self) -> None:
        session, scope = self.hub.session, self.scope
        self.hub.read(lambda: session.runs(room=scope.room, kind=scope.kind, limit=scope.limit + 1), self._remember)

    def stop(self) -> None:
        """Hears no more. What it has can still be asked for."""
        self.hub.remove(self)

    def turn_to(self, scope: Scope) -> None:
        """Shows other Runs from now on."""
        self.stop()
        self._gone += list(self.rows)
        self.rows.clear()
        self._changed.clear()
        self._live.clear()
        self.scope = scope
        self.start()

    @property
    def only(self) -> RunId | None:
        """The one Run it shows, None for several."""
        return self.scope.only

    @property
    def is_live(self) -> bool:
        """Whether anything it shows lives."""
        return bool(self._live)

    def take(self, run: Run, *, has_ended: bool) -> None:
        """A Run is new or has changed."""
        if not self.scope.holds(run):
            return
        self._changed[run.id] = run
        if run.status in LIVE:
            self._live.add(run.id)
            self.hub.keep_beating()
        else:
            self._live.discard(run.id)
        self._flush_soon()
        self._save_soon(SAVE_END_S if has_ended else SAVE_S)
        if has_ended and self._ended is not None:
            self._ended(run)

    def withdraw(self, run_id: RunId) -> None:
        """A Run that was queued will never begin: it leaves a board; its own card says so."""
        known = self._changed.get(run_id) or self.rows.get(run_id)
        if known is None:
            return
        if self.only is not None:
            self.put(_withdrawn(self._wire(known)))
            return
        self._changed.pop(run_id, None)
        self._live.discard(run_id)
        if self.rows.pop(run_id, None) is not None:
            self._gone.append(run_id)
        self._flush_soon()

    def knows(self, run_id: str) -> bool:
        """Whether it has heard of that Run."""
        return run_id in self.rows or run_id in self._changed

    def shows(self, run_id: str) -> bool:
        """Whether its views may ask for that Run."""
        return run_id == self.only or self.knows(run_id)

    def put(self, wire: RunRow) -> None:
        """A row is known better than by its events."""
        self._changed[wire["id"]] = wire
        if wire["status"] not in LIVE_WORDS:
            self._live.discard(wire["id"])
        self._flush_soon()
        self._save_soon(SAVE_END_S)

    def beat(self, every_s: float) -> None:
        """Tells the views that the loop comes round."""
        self._send(Beat(type="beat", rev=self._rev, at=self._now(), every_s=every_s))

    def answer_ping(self) -> None:
        """A view wonders whether the loop comes round: it does."""
        if self.is_live:
            self.beat(1.0)
        else:
            self._rest()

    def acknowledge(self, act: str, outcome: Any, error: str | None = None) -> None:
        """Says what became of an act."""
        ack = Ack(type="ack", id=act, at=self._now(), outcome=outcome)
        if error is not None:
            ack["error"] = error
        self._send(ack)

    def tell(self, message: FromPython | Whole) -> None:
        """Sends an answer as it is."""
        self._send(message)

    def resync(self) -> None:
        """Sends the whole state: the newest rows at once, the others in patches that follow."""
        self._take_changes(len(self._changed))
        ordered = self._newest_first()
        self._rev += 1
        self._send(self._snapshot(ordered[:WHOLE]))
        if not self.is_live:
            self._rest()
        for wire in ordered[WHOLE:]:
            self._changed[wire["id"]] = wire
        if self._changed:
            self._flush_soon()

    # Inside ----------------------------------------------------------------------------------------------------------

    def _now(self) -> float:
        return milliseconds(self.hub.session.clock.now())

    def _snapshot(self, rows: Sequence[RunRow]) -> Snapshot:
        return Snapshot(type="snapshot", rev=self._rev, at=self._now(), rows=list(rows), cut=self._cut)

    def _to_save(self) -> Snapshot:
        """The whole state but for its rows, as a saved notebook holds it."""
        return self._snapshot(())

    def _patch(self, rows: list[RunRow], gone: list[str]) -> Patch:
        return Patch(type="patch", rev=self._rev, at=self._now(), rows=rows, gone=gone, cut=self._cut)

    @property
    def _has_news(self) -> bool:
        """Whether there is anything to tell besides Runs."""
        return False

    def _newest_first(self) -> list[RunRow]:
        return sorted(self.rows.values(), key=_age, reverse=True)

    def _remember(self, known: Sequence[Run]) -> None:
        """Adds what the store holds; what was heard of meanwhile is newer."""
        self._cut = len(known) > self.scope.limit
        for run in known[: self.scope.limit]:
            if not self.knows(run.id):
                self.take(run, has_ended=True)
        self._flush_soon()
        self._save_soon(SAVE_END_S)

    def _flush_soon(self) -> None:
        if self._flush_timer is None:
            home = self.hub.session.home
            wait = max(0.0, self._flushed_at + FLUSH_S - home.loop.time())
            self._flush_timer = home.later(wait, self._flush)

    def _flush(self) -> None:
        if self._flush_timer is not None:
            self._flush_timer.cancel()
            self._flush_timer = None
        self._flushed_at = self.hub.session.home.loop.time()
        changed = self._take_changes(SLICE)
        gone, self._gone = self._gone, []
        if changed or gone or self._has_news:
            self._rev += 1
            self._send(self._patch(changed, gone))
            self._has_rested = False
        if self._changed or self._gone or self._has_news:
            self._flush_soon()
        elif not self.is_live and not self._has_rested:
            self._rest()

    def _rest(self) -> None:
        self._has_rested = True
        self._send(Rest(type="rest", rev=self._rev, at=self._now()))

    def _take_changes(self, most: int) -> list[RunRow]:
        ids = list(self._changed)[:most]
        changed = [self._wire(self._changed.pop(run_id)) for run_id in ids]
        self.rows.update((wire["id"], wire) for wire in changed)
        left = set(self._trim())
        return [wire for wire in changed if wire["id"] not in left]

    @staticmethod
    def _wire(known: Run | RunRow) -> RunRow:
        return row(known) if isinstance(known, Run) else known

    def _trim(self) -> Iterable[str]:
        """Forgets the oldest rows that have ended, where there are more than the limit."""
        excess = len(self.rows) - self.scope.limit
        if excess <= 0:
            return []
        ended = (wire for wire in self.rows.values() if wire["status"] not in LIVE_WORDS)
        left = [wire["id"] for wire in heapq.nsmallest(excess, ended, key=_age)]
        for run_id in left:
            del self.rows[run_id]
        self._gone += left
        self._cut = self._cut or bool(left)
        return left

    def _save_soon(self, delay_s: float) -> None:
        home = self.hub.session.home
        due = home.loop.time() + delay_s
        if self._save_timer is not None:
            if self._save_timer.when() <= due:
                return
            self._save_timer.cancel()
        self._save_timer = home.later(delay_s, self._save_now)

    def _save_now(self) -> None:
        self._save_timer = None
        if self._is_saving:
            self._save_soon(SAVE_END_S)
            return
        self._is_saving = True
        self._save_on(self._newest_first(), [])

    def _save_on(self, rows: Sequence[RunRow], texts: list[str]) -> None:
        """Writes a slice of the rows, leaves the loop to others, goes on; the last slice saves."""
        texts += [_text(wire) for wire in rows[len(texts) : len(texts) + SLICE]]
        if len(texts) < len(rows):
            self.hub.session.home.later(0, lambda: self._save_on(rows, texts))
            return
        self._is_saving = False
        empty = _text(self._to_save())
        self._save(empty.replace('"rows":[]', f'"rows":[{",".join(texts)}]'))


def _withdrawn(wire: RunRow) -> RunRow:
    return {**wire, "status": RunStatus.CANCELLED.value, "reason": "withdrawn", "ended": wire["started"]}


def _text(wire: RunRow | Snapshot) -> str:
    return json.dumps(wire, separators=(",", ":"), ensure_ascii=False)


def _age(wire: RunRow) -> tuple[float, str]:
    return wire["created"], wire["id"]
