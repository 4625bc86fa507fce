"""A batch of units as one transaction: decide each, then one statement per table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dvergr_nb.errors import DvergrError
from dvergr_nb.ids import MessageId, RunId
from dvergr_nb.records.operation import Admit, Attend, End, Post, Record, Resume, Unit
from dvergr_nb.store import messages, pauses, rooms, runs, slots
from dvergr_nb.store.attention import ATTENTION
from dvergr_nb.store.causes import CAUSES
from dvergr_nb.store.decide import decided
from dvergr_nb.store.draft import Draft, Rows
from dvergr_nb.store.known import Known
from dvergr_nb.store.messages import FACTS, MESSAGES
from dvergr_nb.store.pauses import ENVELOPES
from dvergr_nb.store.profiles import PROFILES
from dvergr_nb.store.rooms import MEMBERS, ROOMS
from dvergr_nb.store.runs import RUNS
from dvergr_nb.store.slots import KEYS, SLOTS
from dvergr_nb.store.table import Pen
from dvergr_nb.store.ticket import Outcome
from dvergr_nb.store.transaction import transaction
from dvergr_nb.store.uses import CITATIONS, TOOL_USES
from dvergr_nb.store.wallets import SPENDS, TRANSFERS


class Stale(Exception):
    """A compare-and-set hit no row: memory and store disagree, so nothing of this transaction may stay."""


def moved_run(unit: Unit) -> RunId | None:
    """The Run whose row the unit writes: two of these never share a transaction."""
    match unit:
        case Admit(run=run):
            return run.id
        case End(run_id=run_id) | Resume(run_id=run_id):
            return run_id
        case _:
            return None


def cut(units: Sequence[Unit]) -> Iterator[tuple[int, int]]:
    """Where the units are to be cut into transactions, as pairs of start and end."""
    start, written = 0, set[RunId]()
    for at, unit in enumerate(units):
        run_id = moved_run(unit)
        if run_id in written:
            yield start, at
            start, written = at, set()
        if run_id is not None:
            written.add(run_id)
    if start < len(units):
        yield start, len(units)


def folded(pen: Pen, known: Known, units: Sequence[Unit], *, careful: bool = False, resent: bool = False) -> list[Outcome]:
    """Applies the units in one transaction; per unit its answer or the error that kept it out.

    When it returns, COMMIT has. Raises what DuckDB raises, and `Stale`; then nothing of any unit is stored.
    """
    draft = Draft(pen.con, known, careful=careful, resent=resent)
    if not careful:
        _look_up(draft, units)
    outcomes = [_outcome(draft, unit) for unit in units]
    if draft.rows:
        with transaction(pen.con):
            _write(pen, draft.rows)
    draft.keep()
    return outcomes


def _outcome(draft: Draft, unit: Unit) -> Outcome:
    try:
        return decided(draft, unit)
    except DvergrError as refusal:
        draft.refuse(unit, refusal)
        return refusal


def _look_up(draft: Draft, units: Sequence[Unit]) -> None:
    """Fetches in two statements what the units name and memory has not; what is left is looked up one by one."""
    open_runs, places = draft.known.open, draft.known.places
    fresh = {unit.run.id for unit in units if isinstance(unit, Admit)}
    named_runs, named_places = set[RunId](), set[MessageId]()
    for unit in units:
        if isinstance(unit, Record | Post):
            run_id, named = unit.message.run_id, unit.message.reply_to
        elif isinstance(unit, Admit):
            run_id, named = None, unit.message.reply_to if unit.message else unit.run.trigger
        elif isinstance(unit, End | Resume):
            run_id, named = unit.run_id, None
        elif isinstance(unit, Attend) and unit.facts:
            run_id, named = None, unit.facts[0].message_id
        else:
            continue
        if run_id is not None and run_id not in open_runs and run_id not in fresh:
            named_runs.add(run_id)
        if named is not None and named not in places:
            named_places.add(named)
    if len(named_runs) > 1:
        draft.learn_runs(named_runs, runs.by_ids(draft.con, list(named_runs)))
    if len(named_places) > 1:
        draft.learn_places(named_places, messages.places(draft.con, list(named_places)))


def _write(pen: Pen, rows: Rows) -> None:
    pen.insert(ROOMS, rows.rooms)
    _write_stays(pen, rows)
    pen.insert(MESSAGES, rows.messages)
    pen.insert(FACTS, rows.facts)
    pen.insert(RUNS, rows.runs)
    pen.insert(KEYS, rows.keys)
    _write_slots(pen, rows)
    if rows.taken:
        pauses.taken(pen.con, rows.taken)
    if rows.moves and runs.moved(pen.con, rows.moves) != len(rows.moves):
        raise Stale
    pen.insert(ENVELOPES, rows.envelopes)
    pen.insert(CAUSES, rows.causes)
    pen.insert(ATTENTION, rows.attention)
    pen.insert(PROFILES, rows.profiles)
    pen.insert(TOOL_USES, rows.tool_uses)
    pen.insert(CITATIONS, rows.citations)
    pen.insert(TRANSFERS, rows.transfers)
    pen.insert(SPENDS, rows.spends)


def _write_stays(pen: Pen, rows: Rows) -> None:
    """Those that end first: after that the only open stay at a seat is the one that begins."""
    if rows.stays and rooms.changed(pen.con, rows.stays) != len(rows.stays):
        raise Stale
    pen.insert(MEMBERS, rows.members)


def _write_slots(pen: Pen, rows: Rows) -> None:
    if rows.slots:
        there = slots.placed(pen.con, rows.slots)
        pen.insert(SLOTS, [(*slot, holder) for slot, holder in rows.slots.items() if slot not in there])
