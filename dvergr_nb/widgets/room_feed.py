"""The feed of a room view: its turns as those of a board, and beside them who is there and what was said."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, cast

from dvergr_nb.ids import RunId
from dvergr_nb.records.message import PERSON, Message
from dvergr_nb.records.query import MessageFilter
from dvergr_nb.records.room import Present, Unanswered
from dvergr_nb.records.run import Run, RunKind
from dvergr_nb.records.wire import RunRow
from dvergr_nb.records.wire_room import (
    RoomPatch,
    RoomSnapshot,
    RoomWire,
    SaidWire,
    is_said,
    present_wire,
    said_wire,
    unanswered_wire,
)
from dvergr_nb.widgets.feed import SAVE_END_S, SAVE_S, Feed, Scope
from dvergr_nb.widgets.hub import Hub
from dvergr_nb.widgets.lookout import Lookout

Then = Callable[[BaseException | None], object]
"""Called once what was asked is there, or with why it is not."""

RUNS_LIMIT: Final = 1_000
"""How many turns a room view holds at first; as many again each time older messages are asked for."""
SAID_SLICE: Final = 200
"""Most messages in one patch."""
SAVED: Final = 100
"""How many messages a saved notebook holds, the last ones."""


class RoomFeed(Feed):
    """The turns and messages of one room and what its views were told of them."""

    def __init__(self, hub: Hub, *, room: str, limit: int, **ends: Callable[..., object]) -> None:
        scope = Scope(room=room, kind=RunKind.AGENT_TURN, limit=RUNS_LIMIT)
        super().__init__(hub, scope=scope, send=ends["send"], save=ends["save"])
        self.room = room
        self.said: dict[str, SaidWire] = {}
        self.lookout = Lookout(hub, room, self._found_unanswered)
        self._unanswered: Sequence[Unanswered] = ()
        self._present: Sequence[Present] = ()
        self._step = self._keep = limit
        self._untold: dict[str, SaidWire] = {}
        self._older = False
        self._facts: RoomWire = {}
        self._told: RoomWire = {}
        self._is_stale = True

    # On the home loop ------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Shows who is there and what lives, then what the store remembers."""
        self.hub.add_room(self)
        super().start()
        self._read_said(lambda _: None)
        self.lookout.start()

    def stop(self) -> None:
        """Hears no more."""
        self.lookout.stop()
        self.hub.remove_room(self)
        super().stop()

    def take(self, run: Run, *, has_ended: bool) -> None:
        """A turn is new or has changed, and with it who works."""
        if self.scope.holds(run):
            self._is_stale = True
            self._unanswered = [each for each in self._unanswered if (each.message.id, each.actor) != (run.trigger, run.actor)]
            if has_ended:
                self.lookout.soon()
        super().take(run, has_ended=has_ended)

    def withdraw(self, run_id: RunId) -> None:
        """A turn that was queued will never begin."""
        self._is_stale = True
        self.lookout.soon()
        super().withdraw(run_id)

    def hear(self, message: Message) -> None:
        """Somebody said it in the room."""
        if is_said(message) and message.id not in self.said:
            self._note([message])
            self._save_soon(SAVE_S)
            if message.to != PERSON:
                self.lookout.soon()

    def look_again(self) -> None:
        """Who takes part has changed, or whether the room admits anything."""
        self._is_stale = True
        self.lookout.soon()
        self._flush_soon()
        self._save_soon(SAVE_END_S)

    def read_older(self, then: Then) -> None:
        """Shows as many more messages, with their turns, and calls `then`."""
        self._keep += self._step
        self.scope = dataclasses.replace(self.scope, limit=self.scope.limit + RUNS_LIMIT)
        self._read_runs()
        self._read_said(then)

    # Inside ----------------------------------------------------------------------------------------------------------

    def _read_said(self, then: Then) -> None:
        store, wanted = self.hub.session.store, MessageFilter(room=self.room, limit=self._keep + 1, only_said=True)

        def take(found: Sequence[Message]) -> None:
            self._older = len(found) > self._keep
            self._note([message for message in found[-self._keep :] if message.id not in self.said])
            self._save_soon(SAVE_END_S)
            then(None)

        self.hub.read(lambda: store.messages(wanted), take, then)

    def _found_unanswered(self, found: Sequence[Unanswered]) -> None:
        """What was begun since it was read is answered."""
        begun = {(run.trigger, run.actor) for run in self.hub.live.values()}
        self._unanswered = [each for each in found if (each.message.id, each.actor) not in begun]
        self._flush_soon()
        self._save_soon(SAVE_S)

    def _note(self, messages: Sequence[Message]) -> None:
        wires: dict[str, SaidWire] = {message.id: said_wire(message) for message in messages}
        self.said |= wires
        self._untold |= wires
        if len(self.said) > self._keep:
            self._forget()
        self._flush_soon()

    def _forget(self) -> None:
        """Lets the oldest messages go; the views do the same by themselves."""
        kept = sorted(self.said.values(), key=_age)[-self._keep :]
        self.said = {wire["id"]: wire for wire in kept}
        self._older = True

    def _flush(self) -> None:
        self._look()
        super()._flush()

    def _look(self) -> None:
        """Who is there, where that may have changed."""
        if self._is_stale and self.hub.session.is_open:
            self._is_stale = False
            rooms = self.hub.session.rooms
            self._present = rooms.present(self.room)
            present, others = present_wire(self._present)
            title, closed = rooms.title(self.room), rooms.is_closed(self.room)
            self._facts = RoomWire(title=title, closed=closed, present=present, others=others)
        shown = [each for each in self._unanswered if each.message.id in self.said]
        self._facts |= RoomWire(older=self._older, keep=self._keep, unanswered=unanswered_wire(shown, self._present))

    @property
    def _has_news(self) -> bool:
        return bool(self._untold) or self._facts != self._told

    def _patch(self, rows: list[RunRow], gone: list[str]) -> RoomPatch:
        news = {name: value for name, value in self._facts.items() if self._told.get(name) != value}
        self._told = self._facts.copy()
        if ids := list(self._untold)[:SAID_SLICE]:
            news["said"] = [self._untold.pop(each) for each in ids]
        patch = RoomPatch(type="patch", rev=self._rev, at=self._now(), rows=rows, gone=gone, cut=self._cut)
        if news:
            patch["room"] = cast("RoomWire", news)
        return patch

    def _snapshot(self, rows: Sequence[RunRow]) -> RoomSnapshot:
        self._look()
        self._untold.clear()
        self._told = self._facts.copy()
        return self._whole(rows, len(self.said))

    def _to_save(self) -> RoomSnapshot:
        return self._whole((), SAVED)

    def _whole(self, rows: Sequence[RunRow], most: int) -> RoomSnapshot:
        said = sorted(self.said.values(), key=_age)
        facts = RoomWire(**self._facts, said=said[-most:] if most else [])
        facts["older"] = self._older or len(said) > most
        return RoomSnapshot(**super()._snapshot(rows), room=facts)


def _age(wire: Mapping[str, Any]) -> tuple[float, str]:
    return wire["at"], wire["id"]
