"""A disk that does not answer: admissions wait in front of the store until they are let through."""

from __future__ import annotations

import threading
from concurrent.futures import Future
from typing import Any

from dvergr_nb.records.operation import Admit, Answer, Unit
from dvergr_nb.store.store import Store


class Held:
    """Holds every admission back from now on; `let_go` lets them through, in order."""

    def __init__(self, store: Store) -> None:
        self.asked = threading.Event()
        """Set once an admission waits here."""
        self.let_go_of = threading.Event()
        """Set once the disk answers again."""
        self._submit = store.submit
        self._store = store
        store.submit = self._held  # type: ignore[method-assign]  # the disk of this one test

    def _held(self, unit: Unit, then: Any = None) -> Future[Answer]:
        if not isinstance(unit, Admit):
            return self._submit(unit, then)
        answer: Future[Answer] = Future()

        def later() -> None:
            self.let_go_of.wait()
            self._submit(unit, then).add_done_callback(lambda settled: _copy(settled, answer))

        threading.Thread(target=later, daemon=True).start()
        self.asked.set()
        return answer

    def let_go(self) -> None:
        """The disk answers again."""
        self._store.submit = self._submit  # type: ignore[method-assign]
        self.let_go_of.set()


def _copy(settled: Future[Answer], to: Future[Answer]) -> None:
    problem = settled.exception()
    if problem is None:
        to.set_result(settled.result())
    else:
        to.set_exception(problem)
