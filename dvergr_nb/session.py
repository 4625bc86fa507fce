"""One kernel's store, bus and runtime wired together; the only place that knows all parts."""

from __future__ import annotations

import asyncio
import atexit
import dataclasses
import getpass
import os
import sys
from collections.abc import AsyncIterator, Callable, Hashable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Self

from dvergr_nb.actors.agents.cast import Cast
from dvergr_nb.actors.job import job_of, label_of, source_of
from dvergr_nb.actors.wrappers import DEFAULT
from dvergr_nb.clock import Clock, SeededClock, SystemClock
from dvergr_nb.errors import BadRun, Refused, SessionClosed
from dvergr_nb.forks import left_by_children
from dvergr_nb.ids import BootId, Ids, RunId, SystemIds, is_id, short
from dvergr_nb.lookup import Lookup, RoomRef, RunRef
from dvergr_nb.records.event import Event
from dvergr_nb.records.operation import Cause, Noted
from dvergr_nb.records.room import DEFAULT_ROOM
from dvergr_nb.records.run import LiveRun, Reason, Run, RunKind, RunStatus, checked_word
from dvergr_nb.runtime import prints
from dvergr_nb.runtime.body import Body
from dvergr_nb.runtime.bus import Bus
from dvergr_nb.runtime.cancel import Hook
from dvergr_nb.runtime.entry import Tools
from dvergr_nb.runtime.handle import Display, RunHandle
from dvergr_nb.runtime.home import Home
from dvergr_nb.runtime.limits import Limits
from dvergr_nb.runtime.paying import grant_of
from dvergr_nb.runtime.reply import Handler
from dvergr_nb.runtime.request import Asker, Request, drafted
from dvergr_nb.runtime.rooms import Rooms, name_of
from dvergr_nb.runtime.supervisor import Supervisor
from dvergr_nb.runtime.wallet import Bank
from dvergr_nb.runtime.wanted import NOTHING, Wanted
from dvergr_nb.runtime.workers import Workers
from dvergr_nb.store.store import Store, open_store

if TYPE_CHECKING:
    from dvergr_nb.records.money import Grant

DEFAULT_PATH: Final = Path(".dvergr") / "store.duckdb"
"""Where the store lies unless told otherwise, beside the notebook."""
JOB_ACTOR: Final = "dvergr"
"""The actor of jobs."""


def is_tested() -> bool:
    """Whether `DVERGR_NB_TEST=1` asks for seeded ids and times, so that a notebook's outputs repeat."""
    return os.environ.get("DVERGR_NB_TEST") == "1"


def _who() -> str:
    """The JupyterHub user, else the user of the operating system."""
    return "tester" if is_tested() else os.environ.get("JUPYTERHUB_USER") or _system_user()


def _system_user() -> str:
    """Containers run as numbers that no user database knows."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"user-{os.getuid()}"


def _echo() -> Handler:
    """The actor that is in every room; most sessions never name it, so its modules are loaded when one does."""
    from dvergr_nb.actors.echo import echo

    return echo()


class Session(Lookup):
    """What `connect` gives: one open store and the Runs that live on it. Made on the loop its Runs shall live on."""

    def __init__(
        self,
        path: str,
        *,
        tenant_id: str | None = None,
        user_id: str | None = None,
        room: str = DEFAULT_ROOM,
        home: Home | None = None,
    ) -> None:
        self.room = checked_word(room, "room")
        self.tenant_id = checked_word(tenant_id or _who(), "tenant_id")
        self.user_id = checked_word(user_id or _who(), "user_id")
        self.boot_id = BootId(SystemIds(SystemClock()).message())
        self.home = home or Home.here()
        self.display: Display | None = None
        """How Runs show themselves; the extension sets one."""
        self.store = self._opened(path)
        self.path = str(self.store.path)
        self.clock: Clock = SeededClock(self.store.life) if is_tested() else SystemClock()
        self.ids: Ids = SystemIds(self.clock, self.store.life if is_tested() else None)
        self.bus = Bus(self.home, self._alive)
        tools = self._tools()
        self._supervisor = Supervisor(tools, self)
        self.cast = Cast(self.store, self._asker, {"echo": _echo})
        self.rooms = Rooms(
            tools,
            self._supervisor,
            self._asker,
            wrappers=DEFAULT,
            built_in=self.cast,
            display=lambda: self.display,
        )
        self.is_open = True
        prints.install()
        atexit.register(self.close, force=True)
        left_by_children(self)

    def _opened(self, path: str) -> Store:
        holder = os.environ.get("JPY_SESSION_NAME") or Path(sys.argv[0] or "python").name
        return open_store(
            path,
            tenant_id=self.tenant_id,
            user_id=self.user_id,
            boot_id=self.boot_id,
            clock=SystemClock(),
            holder=holder,
            deliver=self.home.post,
        )

    def _alive(self) -> tuple[LiveRun, ...]:
        return (*self._supervisor.active(), *self._supervisor.waiting_turns())

    def _tools(self) -> Tools:
        workers = Workers(self.home)
        return Tools(
            store=self.store,
            home=self.home,
            bus=self.bus,
            clock=self.clock,
            ids=self.ids,
            workers=workers,
            bank=Bank(),
            spawn=self.job,
        )

    # Starting --------------------------------------------------------------------------------------------------------

    def job(
        self,
        work: Any,
        *args: Any,
        label: str | None = None,
        kind: str = RunKind.WORKFLOW,
        room: RoomRef | None = None,
        actor: str = JOB_ACTOR,
        parent: RunRef | None = None,
        key: str | None = None,
        tags: Sequence[str] = (),
        timeout: float | None = None,
        idle_timeout: float | None = None,
        budget: float | None = None,
        **kwargs: Any,
    ) -> RunHandle:
        """Starts `work(*args, **kwargs)` as a Run and gives its handle at once.

        A coroutine runs on the kernel's loop, a plain function in a worker thread. Where it names a parameter `ctx` it gets
        its context. `key` makes the start idempotent: a second start with it gives the first Run. `timeout` and
        `idle_timeout` are seconds; past them the Run fails. `budget` is what it and its children may spend, in dollars.
        Raises `BadInput` before a Run exists.
        """
        body = job_of(work, args, kwargs)
        return self.start(
            body,
            actor=actor,
            text=source_of(work),
            label=label_of(work) if label is None else label,
            kind=kind,
            room=room,
            parent=parent,
            key=key,
            tags=tags,
            timeout=timeout,
            idle_timeout=idle_timeout,
            grant=grant_of(budget),
        )

    def start(
        self,
        body: Body,
        *,
        actor: str,
        text: str = "",
        trigger: str | None = None,
        reply_to: str | None = None,
        label: str = "",
        kind: str = RunKind.AGENT_TURN,
        room: RoomRef | None = None,
        parent: RunRef | None = None,
        key: str | None = None,
        tags: Sequence[str] = (),
        provenance: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        idle_timeout: float | None = None,
        grant: Grant | None = None,
        wanted: Wanted = NOTHING,
    ) -> RunHandle:
        """Starts a body as a Run, caused by the message `trigger`, or by a new one with `text` (a reply to `reply_to`).

        Returns at once; `await run.admitted` raises `ThreadBusy` where the actor has an open Run on that thread.
        """
        self._check_open()
        request = Request(
            actor=actor,
            room=self.room if room is None else name_of(room),
            kind=kind,
            text=text,
            trigger=trigger,
            reply_to=reply_to,
            label=label,
            parent=None if parent is None else self.resolve(parent),
            key=key,
            tags=tags,
            provenance=provenance or {},
            timeout=timeout,
            idle_timeout=idle_timeout,
            grant=grant,
        )
        return self._supervisor.admit(drafted(request, self._asker()), body, wanted)

    def _asker(self) -> Asker:
        """Raises `SessionClosed`, also where the loop is gone: nothing that begins would ever end."""
        self._check_open()
        if self.home.is_gone:
            raise SessionClosed(self.path)
        return Asker(tenant_id=self.tenant_id, user_id=self.user_id, boot_id=self.boot_id, clock=self.clock, ids=self.ids)

    def go_on(
        self, run_id: RunRef, body: Body, *, timeout: float | None = None, idle_timeout: float | None = None
    ) -> RunHandle:
        """Continues a waiting Run with `body` as its next segment, claimed by compare-and-set; a second claim is refused."""
        self._check_open()
        mine = dataclasses.replace(self.run(run_id), boot_id=self.boot_id)
        return self._supervisor.go_on(mine, body, Limits(wall_s=timeout, idle_s=idle_timeout))

    # Watching --------------------------------------------------------------------------------------------------------

    def watch_runs(self, key: Hashable, tell: Callable[[Event], object]) -> Hashable:
        """Has `tell` called with a snapshot at once and then with every change, in order; replaces that key's subscriber."""
        self._check_open()
        self.home.call(lambda: self.bus.watch(key, tell))
        return key

    def unwatch_runs(self, key: Hashable) -> None:
        """Ends the subscription of that key."""
        self.home.call(lambda: self.bus.unwatch(key))

    def events(self) -> AsyncIterator[Event]:
        """The same as an async iterator."""
        self._check_open()
        return self.bus.events()

    # Acting ----------------------------------------------------------------------------------------------------------

    def cancel_run(self, run_id: RunRef, *, after_step: bool = False) -> bool:
        """Asks a Run to stop; false where it has ended or is unknown. A waiting Run is cancelled by the move itself."""
        self._check_open()
        ref = run_id.id if isinstance(run_id, (RunHandle, Run)) else run_id
        known = RunId(ref) if is_id(ref) else self.resolve(ref)
        if self._supervisor.cancel(known, Reason.CANCEL_REQUESTED, after_step=after_step):
            return True
        found = self.store.run(known)
        if found is None or found.status is not RunStatus.WAITING:
            return False
        self._supervisor.cancel_waiting(found, Reason.CANCEL_REQUESTED)
        return True

    def cancel_room_run(self, room: str, run_id: RunRef) -> bool:
        """Like `cancel_run`, but only where the Run is in that room."""
        found = self.row_of(self.resolve(run_id))
        return found is not None and found.room == room and self.cancel_run(found)

    def cancel_room_turn(self, room: RoomRef, *, after_step: bool = False) -> int:
        """Asks everything that lives in a room, or is on its way there, to stop; how many were asked."""
        self._check_open()
        return self._supervisor.cancel_room(name_of(room), Reason.CANCEL_REQUESTED, after_step=after_step)

    def abort_run(self, run_id: RunRef, reason: str) -> bool:
        """Has the Run's current segment end as cancelled, `aborted`; false where it does not live here."""
        return self._supervisor.cancel(self.resolve(run_id), Reason.ABORTED, detail=reason)

    def stop_run(self, run_id: RunId, reason: str) -> bool:
        """Asks a live Run to stop, for a reason of the runtime's own."""
        return self._supervisor.cancel(run_id, reason)

    def observed(self, consumer: RunId, cause: Run) -> None:
        """Notes that a live Run has seen the end of another: its cause, on record."""
        if cause.status.is_terminal and cause.id != consumer:
            self.store.note(self._cause(consumer, cause.id))

    def record_cause(self, consumer: RunRef, cause: RunRef) -> list[RunId]:
        """Notes that a live Run has observed the end of another; the causes it has then.

        Raises `BadRun`: `run-not-active` where the consumer does not live here, `cause-not-resolved` where the cause has not
        ended, `invalid-cause` where both are the same.
        """
        run_id = self.resolve(consumer)
        if self._supervisor.live(run_id) is None:
            raise BadRun("run-not-active", f"Run {short(run_id)} does not live here, so it observes nothing any more")
        answer = self.store.submit(self._cause(run_id, self.resolve(cause))).result()
        return list(answer.causes) if isinstance(answer, Noted) else []

    def _cause(self, consumer: RunId, cause: RunId) -> Cause:
        return Cause(run_id=consumer, cause_id=cause, tenant_id=self.tenant_id, at=self.clock.now())

    def register_cancel_hook(self, run_id: RunRef, key: object, hook: Hook) -> bool:
        """Has `hook` run on every request to stop that Run, at once where one came before; false where it does not live."""
        return self._supervisor.add_cancel_hook(self.resolve(run_id), key, hook)

    async def drain(self, timeout: float | None = None) -> list[RunHandle]:  # noqa: ASYNC109  # as asyncio.wait_for names it
        """Waits until no Run lives any more, also those that start meanwhile. Raises `TimeoutError` after `timeout` seconds."""
        ended: list[RunHandle] = []
        try:
            async with asyncio.timeout(timeout):
                while handles := self._supervisor.handles():
                    await asyncio.gather(*(handle.settled() for handle in handles))
                    ended.extend(handles)
        except TimeoutError:
            left = len(self._supervisor.handles())
            raise TimeoutError(f"{left} Runs have not ended within {timeout:g} s; they go on") from None
        return list(dict.fromkeys(ended))

    def reconcile_orphaned_runs(self) -> int:
        """Fails the `running` rows of kernel lives that are gone; done at every opening. How many there were."""
        self._check_open()
        return self.store.reconcile()

    def __repr__(self) -> str:
        return f"Session of {self.user_id} on {self.path}" + ("" if self.is_open else ", closed")

    # Life ------------------------------------------------------------------------------------------------------------

    def close(self, *, force: bool = False) -> None:
        """Closes the store. With live Runs it is refused, unless `force`d: then they end failed, `orphaned`."""
        if not self.is_open:
            return
        live = self._supervisor.handles()
        if live and not force:
            raise Refused(f"{len(live)} Runs live here; await d.drain(), cancel them, or close with --now to orphan them")
        self.home.call(self._end_all) if not self.home.is_gone else None
        self.is_open = False
        atexit.unregister(self.close)
        self.store.close()
        self._let_go()
        self.home.close()
        prints.uninstall()

    def _end_all(self) -> None:
        self._supervisor.orphan_all()
        self.bus.unwatch_all()
        self.cast.close()

    def _let_go(self) -> None:
        """After the last answers of the store, which wait on the loop; a loop that is gone hears none of them."""
        closed = SessionClosed(self.path)
        if self.home.is_gone:
            self._supervisor.let_go(closed)
        else:
            self.home.post(lambda: self._supervisor.let_go(closed))

    def leave(self) -> None:
        """In the child of a fork: the Runs and the store are its parent's alone, and so is their end."""
        if self.is_open:
            self.is_open = False
            atexit.unregister(self.close)
            prints.uninstall()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *problem: object) -> None:
        await self.cast.aclose()
        self.close(force=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *problem: object) -> None:
        self.close(force=True)
