"""A batch of units as one transaction: decide each, then one statement per table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from dvergr_nb.errors import DvergrError
from dvergr_nb.ids import MessageId, RunId
from dvergr_nb.records.message import Message
from dvergr_nb.records.operation import Admit, Answer, Cause, End, Post, Record, Resume, Unit
from dvergr_nb.store import messages, pauses, runs, slots
from dvergr_nb.store.causes import CAUSES
from dvergr_nb.store.decide import decided
from dvergr_nb.store.draft import Draft, Rows
from dvergr_nb.store.known import Known
from dvergr_nb.store.messages import FACTS, MESSAGES
from dvergr_nb.store.pauses import ENVELOPES
from dvergr_nb.store.rooms import ROOMS
from dvergr_nb.store.runs import RUNS
from dvergr_nb.store.slots import KEYS, SLOTS
from dvergr_nb.store.table import Pen
from dvergr_nb.store.transaction import transaction

Outcome = Answer | DvergrError


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
        draft.known.lose(unit, refusal)
        return refusal


def _look_up(draft: Draft, units: Sequence[Unit]) -> None:
    """Fetches in two statements what the units name and memory has not; what is left is looked up one by one."""
    fresh = {unit.run.id for unit in units if isinstance(unit, Admit)}
    wanted = {run_id for unit in units for run_id in _runs_named(unit) if run_id not in draft.known.open} - fresh
    if len(wanted) > 1:
        draft.learn_runs(wanted, runs.by_ids(draft.con, list(wanted)))
    named = {message_id for unit in units for message_id in _places_named(unit) if draft.remembered(message_id) is None}
    if len(named) > 1:
        draft.learn_places(named, messages.places(draft.con, list(named)))


def _places_named(unit: Unit) -> Iterator[MessageId]:
    match unit:
        case Post(message=message) | Record(message=message):
            yield from _parent(message)
        case Admit(message=None, run=run):
            yield run.trigger
        case Admit(message=Message() as message):
            yield from _parent(message)
        case End(messages=several):
            for message in several:
                yield from _parent(message)
        case _:
            return


def _parent(message: Message) -> Iterator[MessageId]:
    if message.reply_to is not None:
        yield message.reply_to


def _runs_named(unit: Unit) -> Iterator[RunId]:
    match unit:
        case Record(message=message) if message.run_id:
            yield message.run_id
        case End(run_id=run_id) | Resume(run_id=run_id):
            yield run_id
        case Cause(run_id=run_id, cause_id=cause_id):
            yield run_id
            yield cause_id
        case _:
            return


def _write(pen: Pen, rows: Rows) -> None:
    pen.insert(ROOMS, rows.rooms)
    pen.insert(MESSAGES, rows.messages)
    pen.insert(FACTS, rows.facts)
    pen.insert(RUNS, rows.runs)
    pen.insert(KEYS, rows.keys)
    _write_slots(pen, rows)
    if rows.taken:
        pauses.taken(pen.con, rows.taken)
    if rows.moves and runs.moved(pen.con, rows.moves) != {move.before.id for move in rows.moves}:
        raise Stale
    pen.insert(ENVELOPES, rows.envelopes)
    pen.insert(CAUSES, rows.causes)


def _write_slots(pen: Pen, rows: Rows) -> None:
    if rows.slots:
        there = slots.placed(pen.con, rows.slots)
        pen.insert(SLOTS, [(*slot, holder) for slot, holder in rows.slots.items() if slot not in there])
