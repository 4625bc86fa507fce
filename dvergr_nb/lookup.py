"""Looking at Runs and rooms: what lives here first, then what is on record. Nothing here changes anything."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from dvergr_nb.clock import Clock
from dvergr_nb.errors import AmbiguousRun, BadInput, NoSuchRun, SessionClosed
from dvergr_nb.ids import RunId, is_id
from dvergr_nb.records.query import RunFilter
from dvergr_nb.records.room import Unanswered
from dvergr_nb.records.run import LiveRun, Run
from dvergr_nb.records.text import mended, shown
from dvergr_nb.records.timeline import HEAD_MESSAGES, TAIL_MESSAGES, Timeline, timeline
from dvergr_nb.runtime.handle import RunHandle
from dvergr_nb.runtime.room import Room
from dvergr_nb.runtime.rooms import Rooms, name_of
from dvergr_nb.runtime.supervisor import Supervisor
from dvergr_nb.store import frames
from dvergr_nb.store.store import Store

if TYPE_CHECKING:
    from dvergr_nb.records.tool_use import ToolUse

RunRef = RunHandle | Run | str
RoomRef = Room | str


class Lookup:
    """What a session can be asked."""

    store: Store
    clock: Clock
    rooms: Rooms
    path: str
    is_open: bool
    _supervisor: Supervisor

    def _check_open(self) -> None:
        if not self.is_open:
            raise SessionClosed(self.path)

    def active_runs(self, room: RoomRef | None = None) -> list[LiveRun]:
        """The Runs that live in this kernel, oldest first; at the end those that are queued, not durable yet."""
        room = None if room is None else name_of(room)
        return [*self._supervisor.active(room), *self._supervisor.queued(room)]

    def handles(self) -> tuple[RunHandle, ...]:
        """The handles of all Runs that live here or are on their way."""
        return self._supervisor.handles()

    def runs(self, room: RoomRef | None = None, **filters: Any) -> list[Run]:
        """Durable Runs, newest first. Filters: `actor status kind tag since tree limit` (100 unless told otherwise)."""
        self._check_open()
        if "tree" in filters and filters["tree"] is not None:
            filters["tree"] = self.resolve(filters["tree"])
        try:
            wanted = RunFilter(room=None if room is None else name_of(room), **filters)
        except TypeError:
            known = "actor, status, kind, tag, since, tree, limit"
            raise BadInput(
                f"runs() has no filter {', '.join(sorted(set(filters) - set(known.split(', '))))}; it has {known}"
            ) from None
        return list(self.store.runs(wanted))

    def run(self, run_id: RunRef) -> Run:
        """One Run: live where it lives, else its durable row. Raises `NoSuchRun` or `AmbiguousRun`."""
        found = self.row_of(self.resolve(run_id))
        if found is None:
            raise NoSuchRun(str(run_id), self.store.nearest_ids(str(run_id)))
        return found

    def row_of(self, run_id: RunId) -> Run | None:
        """The Run of exactly that id, live or durable, None where there is none."""
        return self._supervisor.live(run_id) or (self.store.run(run_id) if self.is_open else None)

    def resolve(self, ref: RunRef) -> RunId:
        """The id that a handle, a Run, an id or an unambiguous beginning or ending of one stands for."""
        self._check_open()
        if isinstance(ref, (RunHandle, Run)):
            return ref.id
        if not isinstance(ref, str):
            raise BadInput(f"a Run is a handle or an id, not {shown(ref)}")
        piece = mended(ref.strip().lower())
        if is_id(piece) and self.row_of(RunId(piece)) is not None:
            return RunId(piece)
        fits = self._ids_like(piece) if piece else []
        if len(fits) == 1:
            return fits[0]
        if fits:
            raise AmbiguousRun(ref, fits)
        raise NoSuchRun(mended(ref), self.store.nearest_ids(piece) if piece else ())

    def _ids_like(self, piece: str) -> list[RunId]:
        """Those that are queued have no row yet."""
        queued = [run.id for run in self._supervisor.queued() if run.id.startswith(piece) or run.id.endswith(piece)]
        return list(dict.fromkeys([*queued, *self.store.ids_like(piece)]))

    def details(self, run_id: RunRef) -> Timeline:
        """What a Run did and when, for its card. Reads the store."""
        run = self.run(run_id)
        said, unread = self.store.both_ends(run.id, HEAD_MESSAGES, TAIL_MESSAGES)
        trigger = self.store.message(run.trigger)
        everything = [*([trigger] if trigger is not None else []), *said, *self.store.joined(run.id)]
        spends, citations = self.store.spends(run.id), self.store.citations(run.id)
        return timeline(run, everything, self.clock.now(), unread=unread, spends=spends, citations=citations)

    def tool_uses(self, run_id: RunRef) -> list[ToolUse]:
        """What the tools of a Run were given and gave, in the order of their ends."""
        return list(self.store.tool_uses(self.resolve(run_id)))

    def activity_of(self, run_id: RunId) -> Any:
        """Everything a Run did, as a DataFrame."""
        return frames.activity(self.store, run=run_id)

    def frame(self, what: Literal["runs", "messages", "activity"], **options: Any) -> Any:
        """What is on record as a DataFrame, or with `arrow=True` as an Arrow table; `store/frames.py` says what is in it."""
        self._check_open()
        refs: dict[str, str] = {name: self.resolve(ref) for name in ("run", "tree") if (ref := options.get(name)) is not None}
        if (room := options.get("room")) is not None:
            refs["room"] = name_of(room)
        return getattr(frames, what)(self.store, **{**options, **refs})

    def room_turn_running(self, room: RoomRef | None = None) -> bool:
        """Whether anything lives in that room, or in any."""
        return bool(self.active_runs(room))

    def causes(self, run_id: RunRef) -> list[RunId]:
        """The Runs whose end this one has seen, in that order."""
        return list(self.store.causes(self.resolve(run_id)))

    def unanswered(self, room: RoomRef | None = None, limit: int = 100) -> list[Unanswered]:
        """Messages that were given to an actor and that no Run answers, oldest first. They are never started by themselves.

        Those that are queued here will be answered, so they are not among them.
        """
        self._check_open()
        return self.rooms.unanswered(None if room is None else name_of(room), limit)
