"""The module functions: what a person calls as `d.job(…)`, `d.runs(…)`, each on the current session."""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Hashable, Mapping
from pathlib import Path
from typing import Any

from dvergr_nb.errors import BadInput, SessionClosed
from dvergr_nb.ids import RunId
from dvergr_nb.lookup import RoomRef, RunRef
from dvergr_nb.records.event import Event
from dvergr_nb.records.run import LiveRun, Run, checked_word
from dvergr_nb.records.text import shown
from dvergr_nb.runtime.body import Body
from dvergr_nb.runtime.cancel import Hook
from dvergr_nb.runtime.handle import RunHandle
from dvergr_nb.runtime.home import Home
from dvergr_nb.session import DEFAULT_PATH, Session


class Kernel:
    """Which session is current in this process. There is one: `KERNEL`."""

    def __init__(self) -> None:
        self.session: Session | None = None
        self.home: Home | None = None
        """The loop new sessions live on, where the extension has told us."""
        self.lives_apart = False
        """Whether sessions make a loop of their own: a terminal runs one only while a cell awaits."""
        self.config: dict[str, str] = {}
        """`path`, `tenant_id`, `user_id` and `room` of sessions that are opened without saying so."""
        self.on_open: Callable[[Session], object] | None = None
        self._closed_path: str | None = None
        self._wanted: str | None = None
        """The store that was asked for and could not be opened: nothing else is opened in its place."""

    def connect(self, path: str | Path | None, **who: str | None) -> Session:
        """Opens the store at `path` and makes it current; the one that is open already is given again."""
        wanted = str(path or self.config.get("path") or DEFAULT_PATH)
        before = self._before()
        if before is not None:
            is_same = wanted != ":memory:" and _same(wanted, before.path)
            if is_same and _is_of(before, who):
                before.room = checked_word(who.get("room") or before.room, "room")
                return before
            if is_same or before.handles():
                before.close()  # the same file cannot be opened twice; live Runs refuse
        settings = {**{k: v for k, v in self.config.items() if k != "path"}, **{k: v for k, v in who.items() if v is not None}}
        self._wanted = wanted
        self.session = Session(wanted, home=self._new_home(), **settings)
        self._closed_path = self._wanted = None
        if before is not None:
            before.close()
        if self.on_open is not None:
            self.on_open(self.session)
        return self.session

    def _before(self) -> Session | None:
        """The session that is open. One whose loop is gone can do nothing more, so it is closed."""
        session = self.session
        if session is None or not session.is_open:
            return None
        if session.home.is_gone:
            session.close(force=True)
            return None
        return session

    def _new_home(self) -> Home:
        if self.home is not None and not self.home.is_gone:
            return self.home
        return Home.apart() if self.lives_apart else Home.here()

    def current(self) -> Session:
        """The current session; the first call opens the default store. Raises `SessionClosed` after `close`."""
        session = self.session
        if session is None and self._closed_path is None:
            return self.connect(self._wanted)
        if session is not None and session.is_open and not session.home.is_gone:
            return session
        if session is not None and session.is_open:
            return self.connect(session.path, tenant_id=session.tenant_id, user_id=session.user_id, room=session.room)
        raise SessionClosed(session.path if session is not None else self._closed_path)

    def close(self, *, force: bool = False) -> None:
        """Closes the current session; with live Runs only by force."""
        if self.session is not None:
            self.session.close(force=force)
            self._closed_path = self.session.path


def _same(wanted: str, open_path: str) -> bool:
    try:
        return Path(wanted).expanduser().resolve() == Path(open_path).resolve()
    except (ValueError, RuntimeError, OSError):  # no path at all, so not this one; opening it says what is wrong
        return False


def _is_of(session: Session, who: Mapping[str, str | None]) -> bool:
    """Whether it is open for those asked for; where nobody was named, it is."""
    asked = {name: value for name in ("tenant_id", "user_id") if (value := who.get(name)) is not None}
    return all(getattr(session, name) == value for name, value in asked.items())


KERNEL = Kernel()


def connect(
    path: str | Path | None = None, *, tenant_id: str | None = None, user_id: str | None = None, room: str | None = None
) -> Session:
    """Opens a store and makes it the current one; `.dvergr/store.duckdb` unless told otherwise, `":memory:"` for a throw-away.

    The session is a context manager, with and without `async`; leaving it closes the store. Raises `StoreBusy`,
    `NotAStore`, `StoreDamaged`, `StoreTooNew` or `StoreFailed`, and changes nothing then.
    """
    if not isinstance(path, str | Path | None):
        raise BadInput(f"a store's path is text or a Path, not {shown(path)}")
    return KERNEL.connect(path, tenant_id=tenant_id, user_id=user_id, room=room)


def current_session() -> Session:
    """The current session; opens the default store where none was opened yet."""
    return KERNEL.current()


def job(work: Any, *args: Any, **options: Any) -> RunHandle:
    """Starts `work(*args, **kwargs)` as a Run and gives its handle at once; the body starts when its row is durable.

    Options: `label kind room actor parent key tags timeout idle_timeout`; other keywords go to the function.
    """
    return current_session().job(work, *args, **options)


def start(body: Body, *, actor: str, **options: Any) -> RunHandle:
    """Starts a body of your own as a Run of `actor`; `Session.start` has the options."""
    return current_session().start(body, actor=actor, **options)


def _as_method(function: Callable[..., Any], method: Callable[..., Any]) -> None:
    """Shows the options of the session's method where somebody asks for the function's."""
    _self, *options = inspect.signature(method).parameters.values()
    function.__signature__ = inspect.Signature(options)  # type: ignore[attr-defined]  # what inspect looks for


_as_method(job, Session.job)
_as_method(start, Session.start)


def active_runs(room: RoomRef | None = None) -> list[LiveRun]:
    """The Runs that live in this kernel, oldest first."""
    return current_session().active_runs(room)


def runs(room: RoomRef | None = None, **filters: Any) -> list[Run]:
    """Durable Runs, newest first. Filters: `actor status kind tag since tree limit` (100 unless told otherwise)."""
    return current_session().runs(room, **filters)


def run(run_id: RunRef) -> Run:
    """One Run, by handle, id or an unambiguous piece of an id."""
    return current_session().run(run_id)


def watch_runs(key: Hashable, tell: Callable[[Event], object]) -> Hashable:
    """Has `tell` called with a snapshot at once and then with every change, in order; replaces that key's subscriber."""
    return current_session().watch_runs(key, tell)


def unwatch_runs(key: Hashable) -> None:
    """Ends the subscription of that key."""
    current_session().unwatch_runs(key)


def events() -> AsyncIterator[Event]:
    """The same as an async iterator: `async for event in d.events()`."""
    return current_session().events()


def room_turn_running(room: RoomRef | None = None) -> bool:
    """Whether anything lives in that room, or in any."""
    return current_session().room_turn_running(room)


def cancel_run(run_id: RunRef, *, after_step: bool = False) -> bool:
    """Asks a Run to stop; false where it has ended or is unknown."""
    return current_session().cancel_run(run_id, after_step=after_step)


def cancel_room_turn(room: RoomRef | None = None, *, after_step: bool = False) -> int:
    """Asks everything that lives in a room to stop; how many were asked."""
    session = current_session()
    return session.cancel_room_turn(room or session.room, after_step=after_step)


def register_cancel_hook(run_id: RunRef, key: object, hook: Hook) -> bool:
    """Has `hook` run on every request to stop that Run, at once where one came before; false where it does not live."""
    return current_session().register_cancel_hook(run_id, key, hook)


def record_cause(consumer: RunRef, cause: RunRef) -> list[RunId]:
    """Notes that a live Run has observed the end of another; awaiting a Run inside of one does so by itself."""
    return current_session().record_cause(consumer, cause)


def causes(run_id: RunRef) -> list[RunId]:
    """The Runs whose end that one has observed."""
    return current_session().causes(run_id)


async def drain(timeout: float | None = None) -> list[RunHandle]:  # noqa: ASYNC109  # as asyncio.wait_for names it
    """Waits until no Run lives any more: the last cell of a notebook that is executed as a whole."""
    return await current_session().drain(timeout)


def reconcile_orphaned_runs() -> int:
    """Fails the `running` rows of kernel lives that are gone; done at every opening. How many there were."""
    return current_session().reconcile_orphaned_runs()


def sql(query: str, params: Any = None, *, limit_s: float = 30.0) -> Any:
    """One read-only SELECT over the views `runs`, `messages`, `activity`, `members` and `attention`, as a DataFrame.

    Raises `QueryRefused`, `QueryFailed` or `QueryTimedOut`.
    """
    return current_session().store.sql(query, params, limit_s=limit_s).df()


class Frames:
    """DataFrames of what is on record: `d.frames.runs()`, `d.frames.messages()`, `d.frames.activity()`."""

    def runs(self, room: RoomRef | None = None, **options: Any) -> Any:
        """One row per Run, newest first; `arrow=True` gives an Arrow table."""
        return current_session().frame("runs", room=room, **options)

    def messages(self, room: RoomRef | None = None, **options: Any) -> Any:
        """One row per message, oldest first; filters `thread` and `run` combine."""
        return current_session().frame("messages", room=room, **options)

    def activity(self, run: RunRef | None = None, **options: Any) -> Any:
        """One row per fact or report of a Run, joined to its Run, actor, thread and trigger."""
        return current_session().frame("activity", run=run, **options)


frames = Frames()
