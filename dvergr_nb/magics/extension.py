"""What `%load_ext` and `%unload_ext` do. Nothing is opened here: the store is, at first use."""

from __future__ import annotations

import asyncio
import threading
from typing import Any, Final

from dvergr_nb.api import KERNEL
from dvergr_nb.magics.completion import Completion
from dvergr_nb.magics.magics import DvergrMagics
from dvergr_nb.records.event import Event
from dvergr_nb.runtime.home import Home
from dvergr_nb.session import Session

RELOAD_S: Final = 0.5
"""How soon after an unload a load counts as a reload, which leaves live Runs alone."""


class Extension:
    """What is loaded into one shell."""

    def __init__(self, shell: Any) -> None:
        self.shell = shell
        self.magics = DvergrMagics(shell)  # which enters itself into what %config knows
        self.completion = Completion(shell)

    def put_in(self) -> None:
        """Registers all of it, and has sessions live on this kernel's loop and show widgets."""
        self.shell.register_magics(self.magics)
        self.completion.put_in()
        KERNEL.home = _home() or KERNEL.home
        KERNEL.lives_apart = not hasattr(self.shell, "kernel")
        if hasattr(self.shell, "kernel"):
            KERNEL.on_open = show_widgets
            if KERNEL.session is not None and KERNEL.session.is_open and KERNEL.session.display is None:
                show_widgets(KERNEL.session)

    def take_out(self) -> None:
        """Removes all of it; IPython itself leaves magics registered."""
        for kind, own in self.magics.magics.items():
            registered = self.shell.magics_manager.magics[kind]
            for name in [name for name, magic in own.items() if registered.get(name) is magic]:
                del registered[name]
        self.shell.magics_manager.registry.pop(type(self.magics).__name__, None)
        self.shell.configurables.remove(self.magics)
        self.completion.take_out()
        KERNEL.on_open = None
        KERNEL.lives_apart = False


class Leaving:
    """Cancels what lives, a moment after an unload, unless a load comes first; those who watch hear of it and are let go."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._is_off = False
        session.home.post(lambda: session.home.later(RELOAD_S, self._go))

    def withdraw(self) -> None:
        """A load came: everything stays."""
        self._is_off = True

    def _go(self) -> None:
        if self._is_off or not self._session.is_open:
            return
        self._session.display = None
        for handle in self._session.handles():
            handle.cancel()
        self._session.watch_runs(self, self._hear)

    def _hear(self, _event: Event) -> None:
        if not self._session.handles():
            self._session.home.post(self._session.bus.unwatch_all)


class _Loaded:
    """The one extension of this process, and the unload that a reload may still withdraw."""

    extension: Extension | None = None
    leaving: Leaving | None = None


def load(shell: Any) -> None:
    """Puts magics, completion and settings in. A second load changes nothing."""
    if _Loaded.leaving is not None:
        _Loaded.leaving.withdraw()
        _Loaded.leaving = None
    if _Loaded.extension is not None:
        if _Loaded.extension.shell is shell:
            return
        _Loaded.extension.take_out()
    _Loaded.extension = Extension(shell)
    _Loaded.extension.put_in()


def unload(_shell: Any) -> None:
    """Takes all of it out, and cancels what lives unless a load follows at once."""
    if _Loaded.extension is None:
        return
    _Loaded.extension.take_out()
    _Loaded.extension = None
    if KERNEL.session is not None and KERNEL.session.is_open:
        _Loaded.leaving = Leaving(KERNEL.session)


def show_widgets(session: Session) -> None:
    """Has the session's Runs show themselves as widgets."""
    from dvergr_nb.widgets.display import RunDisplay

    session.display = RunDisplay(session)


def _home() -> Home | None:
    """The kernel's loop. A magic runs inside a task of it; a terminal has none while a cell runs."""
    if threading.current_thread() is not threading.main_thread():
        return None
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return None
    return Home.here()
