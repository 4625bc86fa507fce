"""A disk that does not answer: what it is asked to keep waits in front of the store until it is let through."""

from __future__ import annotations

import functools
import threading
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

from dvergr_nb.records.operation import Admit, Answer, Unit
from dvergr_nb.store.store import Store


class Held:
    """Holds units of some kinds back from now on, admissions unless told otherwise; `let_go` lets them through, in order."""

    def __init__(self, store: Store, *kinds: type) -> None:
        self.asked = threading.Event()
        """Set once one waits here."""
        self.let_go_of = threading.Event()
        """Set once the disk answers again."""
        self._kinds = kinds or (Admit,)
        self._note = store.note
        self._store = store
        self._waiting: list[tuple[Unit, Any, Future[Answer]]] = []
        self._lock = threading.Lock()
        store.note = self._held  # type: ignore[method-assign]  # the disk of this one test

    def _held(self, unit: Unit, then: Any = None) -> Any:
        with self._lock:
            if not isinstance(unit, self._kinds) or self.let_go_of.is_set():
                return self._note(unit, then)
            answer: Future[Answer] = Future()
            self._waiting.append((unit, then, answer))
        self.asked.set()
        return SimpleNamespace(future=answer)

    def let_go(self) -> None:
        """The disk answers again."""
        with self._lock:
            self.let_go_of.set()
            self._store.note = self._note  # type: ignore[method-assign]
            for unit, then, answer in self._waiting:
                self._note(unit, then).future.add_done_callback(functools.partial(_copy, to=answer))


def _copy(settled: Future[Answer], to: Future[Answer]) -> None:
    problem = settled.exception()
    if problem is None:
        to.set_result(settled.result())
    else:
        to.set_exception(problem)
