"""What stands in for a card, a board or a room view where no widget can be: on GitHub, in nbconvert, in a terminal.

Constant while a Run lives: no times, no counts, no state that moves, so that a saved notebook compares equal when it is
run again. All text is escaped.
"""

from __future__ import annotations

from html import escape

from dvergr_nb.ids import short
from dvergr_nb.records.run import Run, RunKind, RunStatus
from dvergr_nb.records.text import clipped, printable

ENDED = frozenset({RunStatus.WAITING, RunStatus.COMPLETED, RunStatus.FAILED, RunStatus.CANCELLED})
ERROR_LIMIT = 500


def card_text(run: Run) -> str:
    """One line about a Run."""
    return f"Run {short(run.id)}: {printable(run.name)}{printable(_state(run))}{_money(run)}"


def card_html(run: Run) -> str:
    """A paragraph about a Run, and its error where it failed."""
    kind = "job" if run.kind == RunKind.WORKFLOW else run.kind.replace("-", " ")
    facts = f"{kind} of {run.actor}" + _profile(run)
    failed = run.error if run.status is RunStatus.FAILED else None
    error = f"<br><code>{escape(clipped(failed, ERROR_LIMIT))}</code>" if failed else ""
    return (
        f"<p><bdi><strong>{escape(run.name)}</strong></bdi>{escape(_state(run))}{escape(_money(run))}"
        f" <small><bdi>{escape(facts)}</bdi> · <code>{escape(short(run.id))}</code></small>{error}</p>"
    )


def _money(run: Run) -> str:
    """What it has cost, once it has ended; nothing for a Run that never called a model."""
    if run.status not in ENDED or not (run.cost or run.unpriced):
        return ""
    from dvergr_nb.records.money import dollars  # most Runs call no model

    if not run.cost:
        return ", price unknown"
    calls = f"{run.unpriced:,} call{'' if run.unpriced == 1 else 's'}"
    return f", {dollars(run.cost)}" + (f" + {calls} of unknown price" if run.unpriced else "")


def _profile(run: Run) -> str:
    """Which version of which profile acted; known from the beginning."""
    acted = run.provenance
    return f", {acted.profile_id} v{acted.profile_version}" if acted.profile_id and acted.profile_version else ""


def board_text(room: str) -> str:
    """One line about a board."""
    return f"Board of room {printable(room)}" if room else "Board of all rooms"


def board_html(room: str) -> str:
    """A paragraph about a board."""
    of = f"room <bdi><strong>{escape(room)}</strong></bdi>" if room else "all rooms"
    return f"<p>Board of {of}. It moves in JupyterLab while the kernel lives; <code>%runs</code> lists the same as text.</p>"


def room_text(room: str) -> str:
    """One line about a room view."""
    return f"Room {printable(room)}"


def room_html(room: str) -> str:
    """A paragraph about a room view."""
    return (
        f"<p>Room <bdi><strong>{escape(room)}</strong></bdi>. What is said there is shown in JupyterLab while the kernel "
        "lives; it is on record in the store.</p>"
    )


def _state(run: Run) -> str:
    if run.status not in ENDED:
        return ""
    return f", {run.status.value}" + (f", {run.reason}" if run.reason else "")
