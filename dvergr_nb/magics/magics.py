"""The magics as IPython sees them: each parses its line and calls one function."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any, Final

from IPython.core.magic import Magics, cell_magic, line_cell_magic, line_magic, magics_class, no_var_expand
from traitlets import Unicode, observe

from dvergr_nb.api import KERNEL
from dvergr_nb.magics import acting, job, looking, place, rooming, turn
from dvergr_nb.magics._parse import Line, Parser

PARSERS: Final[dict[str, Parser]] = {
    "dvergr": place.parser(),
    "turn": turn.parser(),
    "job": job.parser(),
    "room": rooming.parser(),
    "runs": looking.runs_parser(),
    "card": looking.card_parser(),
    "board": looking.board_parser(),
    "cancel": acting.cancel_parser(),
    "activity": looking.activity_parser(),
    "runsql": looking.runsql_parser(),
}
"""Every magic and how its line reads."""
ALONE: Final = ("dvergr", "room", "runs", "board")
"""Those that may stand without anything behind them; IPython takes a semicolon there for a part of the name."""
SETTINGS: Final = ("path", "tenant_id", "user_id", "room")


@magics_class
class DvergrMagics(Magics):
    """Runs and rooms: start, say, watch, cancel and ask about work that does not hold the prompt."""

    path = Unicode("", help="The store opened at first use; empty: .dvergr/store.duckdb").tag(config=True)
    tenant_id = Unicode("", help="Whose Runs these are, in stores opened from now on; empty: the user's").tag(config=True)
    user_id = Unicode("", help="Who asks, in stores opened from now on; empty: the user of this system").tag(config=True)
    room = Unicode("", help="The room of Runs that name none, in stores opened from now on; empty: main").tag(config=True)

    def __init__(self, shell: Any) -> None:
        super().__init__(shell)
        for name in ALONE:
            self.magics["line"][f"{name};"] = _silenced(self.magics["line"][name])
        self._take_settings()

    @observe(*SETTINGS)
    def _changed(self, _change: Any) -> None:
        self._take_settings()

    def _take_settings(self) -> None:
        KERNEL.config = {name: value for name in SETTINGS if (value := getattr(self, name))}

    @no_var_expand
    @line_magic
    def dvergr(self, line: str) -> Any:
        """Where the store is, who I am and what lives; `%dvergr --help` lists what else it can do."""
        return _answer(PARSERS["dvergr"].line(line), lambda given: place.dvergr(self.shell, given))

    @no_var_expand
    @cell_magic
    def turn(self, line: str, cell: str) -> Any:
        """Says the cell to an actor and gives the prompt back."""
        return _answer(PARSERS["turn"].line(line), lambda given: turn.turn(self.shell, given, cell))

    @no_var_expand
    @line_magic("room")  # type: ignore[arg-type]  # IPython's
    def show_room(self, line: str) -> Any:
        """A live view of a room; the setting of that name says which one it is unless told otherwise."""
        return _answer(PARSERS["room"].line(line), rooming.room)

    @no_var_expand
    @cell_magic
    def job(self, line: str, cell: str) -> Any:
        """Runs the cell as a Run and gives the prompt back."""
        return _answer(PARSERS["job"].line(line), lambda given: job.job(self.shell, given, cell))

    @no_var_expand
    @line_magic
    def runs(self, line: str) -> Any:
        """Runs on record, newest first."""
        return _answer(PARSERS["runs"].line(line), lambda given: looking.runs(self.shell, given))

    @no_var_expand
    @line_magic
    def card(self, line: str) -> Any:
        """A live card of one Run."""
        return _answer(PARSERS["card"].line(line), lambda given: looking.card(self.shell, given))

    @no_var_expand
    @line_magic
    def board(self, line: str) -> Any:
        """A live board of the Runs of a room."""
        return _answer(PARSERS["board"].line(line), looking.board)

    @no_var_expand
    @line_magic
    def cancel(self, line: str) -> Any:
        """Asks Runs to stop."""
        return _answer(PARSERS["cancel"].line(line), lambda given: acting.cancel(self.shell, given))

    @no_var_expand
    @line_magic
    def activity(self, line: str) -> Any:
        """Everything a Run did, as a DataFrame."""
        return _answer(PARSERS["activity"].line(line), lambda given: looking.activity(self.shell, given))

    @no_var_expand
    @line_cell_magic
    def runsql(self, line: str, cell: str | None = None) -> Any:
        """One read-only SELECT over the views runs, messages and activity."""
        given, rest = PARSERS["runsql"].head(line)
        query = rest if cell is None else f"{rest}\n{cell}"
        return _answer(given, lambda given: looking.runsql(self.shell, given, query))


def _silenced(magic: Callable[[str], Any]) -> Callable[[str], Any]:
    return lambda _nothing: magic(";")


def _answer(given: Line, act: Callable[[Line], Any]) -> Any:
    """What the magic returns: nothing where help was asked for, or where a semicolon silences it."""
    if given.help is not None:
        sys.stdout.write(given.help)
        return None
    answer = act(given)
    return None if given.is_silent else answer
