"""The card: a board of one row."""

from __future__ import annotations

import traitlets

from dvergr_nb.api import KERNEL
from dvergr_nb.records.run import Run, RunStatus
from dvergr_nb.records.timeline import Timeline
from dvergr_nb.records.wire import row
from dvergr_nb.runtime.handle import RunHandle
from dvergr_nb.session import Session
from dvergr_nb.widgets import fallback
from dvergr_nb.widgets._base import RunView, static
from dvergr_nb.widgets.feed import LIVE, Scope


class RunCard(RunView):
    """A live card of one Run, named by its handle, its row, its id or an unambiguous piece of that."""

    _esm = static("run_card.js")
    _css = static("run_card.css")

    run_id = traitlets.Unicode("").tag(sync=True)

    def __init__(self, run: RunHandle | Run | str, *, session: Session | None = None) -> None:
        venue = session or KERNEL.current()
        known = run.row if isinstance(run, RunHandle) else run if isinstance(run, Run) else venue.run(run)
        self._run = known
        super().__init__(venue, Scope(only=known.id), [known], run_id=known.id)
        if isinstance(run, RunHandle) and not run.ready.done():
            run.ready.when_set(lambda: venue.home.post(lambda: self._admitted(run)))

    def _start(self) -> None:
        super()._start()
        if self.session.is_open and self._run.id not in self.feed.hub.live:
            self.feed.hub.read(lambda: self.session.row_of(self._run.id), self._show)

    def _show(self, run: Run | None) -> None:
        """What was heard of while it was read is newer."""
        if run is not None and not self.feed.knows(run.id):
            self.feed.take(run, has_ended=run.status not in LIVE)

    def _ended(self, run: Run) -> None:
        """Its output is not in its row: it is read once more, then there is nothing to hear any more."""
        self._run = run
        self.feed.hub.read(lambda: self.session.details(run.id), lambda drawn: self._complete(run, drawn))
        if run.status.is_terminal:
            self.feed.stop()

    def _complete(self, run: Run, drawn: Timeline) -> None:
        self.feed.put(row(run, result=drawn.result, activities=drawn.activities))

    def _admitted(self, handle: RunHandle) -> None:
        """The admission was answered: with a used key it is another Run's card; where it was refused, the card says why."""
        problem = handle.ready.exception()
        if problem is not None:
            refused = row(self._run)
            refused["status"], refused["reason"], refused["error"] = RunStatus.FAILED.value, "refused", str(problem)
            self.feed.put(refused)
        elif handle.id != self._run.id:
            self.feed.hub.read(lambda: handle.row, self._turn_to)

    def _turn_to(self, run: Run) -> None:
        self._run = run
        self.run_id = run.id
        self.feed.turn_to(Scope(only=run.id))
        self._show(run)

    def _plain(self) -> str:
        return fallback.card_text(self._run)

    def _html(self) -> str:
        return fallback.card_html(self._run)
