"""What a unit means: its answer and its rows, or the error that keeps it out.

Each function checks all before it changes the draft, so that a refused unit leaves nothing behind.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from dvergr_nb.errors import BadMessage, BadRun, DvergrError, MoveRefused, NoSuchMessage, ThreadBusy
from dvergr_nb.ids import MessageId, RunId, short
from dvergr_nb.records import message as messages
from dvergr_nb.records import run as runs
from dvergr_nb.records.message import ACTIVITY, Message
from dvergr_nb.records.operation import (
    Admit,
    Admitted,
    Answer,
    Attend,
    Cause,
    Charge,
    Cite,
    Define,
    End,
    Fund,
    Join,
    Keep,
    KeyTaken,
    Leave,
    Moved,
    Noted,
    OpenRoom,
    Post,
    Posted,
    Record,
    Resume,
    Unit,
)
from dvergr_nb.records.run import Reason, Run, RunStatus
from dvergr_nb.records.text import clipped, mended
from dvergr_nb.store import pauses
from dvergr_nb.store.attending import attended
from dvergr_nb.store.belonging import run_in_room
from dvergr_nb.store.draft import Draft
from dvergr_nb.store.joining import taken_part
from dvergr_nb.store.known import is_open
from dvergr_nb.store.messages import Place
from dvergr_nb.store.slots import NOBODY, Key, Slot


def decided(draft: Draft, unit: Unit) -> Answer:
    """The answer to a unit, its rows added to the draft. Raises the `DvergrError` that keeps it out."""
    match unit:
        case Record(message=message) | Post(message=message):
            return _posted(draft, message, _sound(draft, message, activity=isinstance(unit, Record)))
        case Admit():
            return _admitted(draft, unit)
        case End():
            return _ended(draft, unit)
        case Resume():
            return _resumed(draft, unit)
        case Cause():
            return _noted(draft, unit)
        case OpenRoom() | Join() | Leave():
            return taken_part(draft, unit)
        case Attend():
            return attended(draft, unit)
        case _:
            return _of_agents(draft, unit)


def _of_agents(draft: Draft, unit: Define | Fund | Charge | Keep | Cite) -> Answer:
    """What most kernels never do is loaded by those that do it."""
    from dvergr_nb.store import defining, funding, keeping

    match unit:
        case Define():
            return defining.defined(draft, unit)
        case Fund():
            return funding.funded(draft, unit)
        case Charge():
            return funding.charged(draft, unit)
        case Keep():
            return keeping.kept(draft, unit)
        case Cite():
            return keeping.cited(draft, unit)


def _sound(draft: Draft, message: Message, *, activity: bool = False) -> Message:
    """The message with its text mended. Raises `BadMessage` where its shape or its Run is wrong."""
    if draft.careful or message.metadata or message.facts:
        message = messages.checked(message)
    elif (content := mended(message.content)) is not message.content:
        message = dataclasses.replace(message, content=content)
    if (activity or message.to == ACTIVITY) and message.run_id is not None:
        run_in_room(draft, message.run_id, message.tenant_id, message.room)
    for fact in message.facts:
        if fact.run_id is not None and fact.run_id != message.run_id:
            run_in_room(draft, fact.run_id, message.tenant_id, message.room)
    return message


def _posted(draft: Draft, given: Message, message: Message) -> Posted:
    there = draft.same_place(given)
    if there is None:
        root = _root(draft, message)
        draft.add_message(message, root)
        return Posted(inserted=True, thread_root_id=root)
    _check_own(there, message)
    return Posted(inserted=False, thread_root_id=there.thread_root_id)


def _check_own(there: Place | None, message: Message) -> None:
    if there is not None and there.tenant_id != message.tenant_id:
        raise BadMessage("message-id-taken", f"the id of message {short(message.id)} is in use; make a new one")


def _root(draft: Draft, message: Message) -> MessageId:
    """The thread: a reply's is its parent's where that is in the room, else what the sender believes."""
    if message.reply_to is None:
        return message.id
    parent = draft.place(message.reply_to)
    if parent is None or parent.room != message.room or parent.tenant_id != message.tenant_id:
        return message.thread_root_id
    return parent.thread_root_id


def _admitted(draft: Draft, unit: Admit) -> Admitted | KeyTaken:
    run = runs.checked(unit.run) if draft.careful else unit.run
    if (same := draft.same_run(run.id)) is not None:
        return _admitted_before(draft, same, unit)
    try:
        return _admitted_now(draft, unit, run)
    except DvergrError:
        # What stands in its way may be itself: a unit that is sent again long after it was stored.
        if (same := draft.run(run.id)) is None:
            raise
        return _admitted_before(draft, same, unit)


def _admitted_now(draft: Draft, unit: Admit, run: Run) -> Admitted | KeyTaken:
    if run.status is not RunStatus.RUNNING:
        raise BadRun("invalid-run-status", f"a Run is admitted as running, not as {run.status.value!r}")
    if unit.grant is not None:
        from dvergr_nb.store.funding import check_grant

        check_grant(unit.grant)
    key = unit.key and Key(run.tenant_id, run.room, mended(unit.key))
    if key and (first := draft.holder_of_key(key)) and (holder := draft.run(first)):
        return KeyTaken(run=holder) if holder.id != run.id else _admitted_before(draft, holder, unit)
    message = None if unit.message is None else _sound_trigger(draft, run, unit.message)
    if run.parent is not None:
        _check_parent(draft, run, run.parent)
    root, slot = _thread(draft, run, message)
    if message is not None and draft.same_place(message) is None:
        draft.add_message(message, root)
    draft.add_run(run, key or None)
    if slot:
        draft.rows.slots[slot] = run.id
    if unit.grant is None:
        return Admitted(run=run, thread_root_id=root)
    from dvergr_nb.store.funding import given

    balances, lacking = given(draft, run, unit.grant)
    return Admitted(run=run, thread_root_id=root, balances=balances, lacking=lacking)


def _admitted_before(draft: Draft, there: Run, unit: Admit) -> Admitted:
    place = draft.place(there.trigger)
    if there.tenant_id != unit.run.tenant_id or place is None:
        raise BadRun("run-id-taken", f"the id of Run {short(there.id)} is in use; make a new one")
    if unit.grant is None:
        return Admitted(run=there, thread_root_id=place.thread_root_id)
    from dvergr_nb.store.funding import given_before

    balances, lacking = given_before(draft, there)
    return Admitted(run=there, thread_root_id=place.thread_root_id, balances=balances, lacking=lacking)


def _sound_trigger(draft: Draft, run: Run, message: Message) -> Message:
    if (message.id, message.room, message.tenant_id) != (run.trigger, run.room, run.tenant_id):
        raise BadRun("invalid-trigger", f"Run {short(run.id)} must be admitted with its own trigger, in its own room")
    return _sound(draft, message)


def _check_parent(draft: Draft, run: Run, parent: RunId) -> None:
    found = draft.run(parent)
    if found is None or found.tenant_id != run.tenant_id:
        raise BadRun("no-such-parent", f"the parent Run {short(parent)} is not in this store; name one that is, or none")


def _thread(draft: Draft, run: Run, message: Message | None) -> tuple[MessageId, Slot | None]:
    """The thread of the Run, and the slot it takes there. Raises `ThreadBusy` where another Run is open.

    A thread that this very unit begins needs no slot: its root is the Run's trigger, which is one Run's alone. In a room with
    exclusive threads every Run takes the slot, which is nobody's own there.
    """
    there = draft.same_place(message) if message else draft.place(run.trigger)
    is_known = message is not None if there is None else (there.room, there.tenant_id) == (run.room, run.tenant_id)
    if not is_known:
        raise NoSuchMessage(run.trigger, run.room)
    root = there.thread_root_id if there else _root(draft, message) if message else run.trigger
    room = draft.room(run.tenant_id, run.room)
    is_exclusive = room is not None and room.exclusive_threads
    slot = Slot(run.tenant_id, run.room, root, NOBODY if is_exclusive else run.actor)
    if holder := draft.holder(slot):
        other = draft.run(holder)
        raise ThreadBusy(holder, other.actor if other else run.actor, root)
    if there is None and root == run.trigger:
        return root, slot if is_exclusive else None
    same = None if there is None else draft.caused_by(run.trigger, run.tenant_id, run.actor)
    first = None if root == run.trigger else draft.open_by(root, run.tenant_id, run.actor)
    for other in (same, first):
        if other is not None and other.room == run.room and is_open(other):
            raise ThreadBusy(other.id, run.actor, root)
    if same is not None:
        raise BadRun(
            "trigger-taken",
            f"message {short(run.trigger)} has caused Run {short(same.id)} of {run.actor!r} already; post a new message",
        )
    return root, slot


def _ended(draft: Draft, unit: End) -> Moved:
    before = _standing(draft, unit.run_id, unit.tenant_id, unit.status)
    is_same_end = before.status is unit.status or before.reason == Reason.RECORD_LOST
    if before.updated_at == unit.at and is_same_end and before.revision:
        return Moved(run=before, balances=_emptied_before(draft, before))
    runs.check_move(unit.run_id, unit.found, unit.status)
    if before.status is not unit.found:
        raise MoveRefused(unit.run_id, unit.status.value, before.status.value)
    after = _after(draft, unit, before)
    if after.is_paused != bool(unit.envelopes):
        raise BadRun("envelopes", f"Run {short(before.id)} must have envelopes when it pauses, and only then")
    for given, message in [(given, _output(draft, before, given)) for given in unit.messages]:
        _posted(draft, given, message)
    if before.status is RunStatus.WAITING:
        draft.rows.taken.append(before.id)
    draft.rows.envelopes.extend(pauses.rows(before.id, before.tenant_id, unit.envelopes))
    slot = draft.slot_of(before.id)
    if slot and not after.is_paused:
        draft.rows.slots[slot] = None
    draft.move(before, after)
    return Moved(run=after, balances=_emptied(draft, after))


def _emptied(draft: Draft, run: Run) -> Mapping[str, int]:
    """Gives back what is left in the wallet of a Run that has ended for good; the wallets that this has changed."""
    if not run.status.is_terminal or draft.till.holds(run.id) is None:
        return {}
    from dvergr_nb.store.funding import given_back

    return given_back(draft, run)


def _emptied_before(draft: Draft, run: Run) -> Mapping[str, int]:
    """The wallets that its end has changed before, as they stand now."""
    if not run.status.is_terminal:
        return {}
    from dvergr_nb.store.funding import given_back_before

    return given_back_before(draft, run)


def _output(draft: Draft, run: Run, given: Message) -> Message:
    """A message that comes with the Run's end. Raises `BadMessage` where it belongs elsewhere, or its id to somebody else."""
    if (given.room, given.tenant_id) != (run.room, run.tenant_id):
        raise BadMessage("foreign-room", f"Run {short(run.id)} is in room {run.room!r}, so it says nothing in {given.room!r}")
    _check_own(draft.same_place(given), given)
    return _sound(draft, given)


def _after(draft: Draft, unit: End, before: Run) -> Run:
    status, reason, error = unit.status, unit.reason, unit.error
    lost = draft.lost(before.id)
    cost, unpriced = draft.till.spent(before.id)
    if lost and status is RunStatus.COMPLETED:
        status, reason, error = RunStatus.FAILED, Reason.RECORD_LOST.value, f"some of its activity could not be stored: {lost}"
    return dataclasses.replace(
        before,
        status=status,
        reason=reason,
        error=error and clipped(mended(error), runs.ERROR_LIMIT),
        steps=unit.steps,
        updated_at=unit.at,
        ended_at=unit.at if status.is_terminal else None,
        revision=before.revision + 1,
        cost=cost,
        unpriced=unpriced,
    )


def _standing(draft: Draft, run_id: RunId, tenant_id: str, wanted: RunStatus) -> Run:
    found = draft.run(run_id)
    if found is None or found.tenant_id != tenant_id:
        raise MoveRefused(run_id, wanted.value, None)
    return found


def _resumed(draft: Draft, unit: Resume) -> Moved:
    before = _standing(draft, unit.run_id, unit.tenant_id, RunStatus.RUNNING)
    if draft.resent and (before.status, before.boot_id, before.updated_at) == (RunStatus.RUNNING, unit.boot_id, unit.at):
        return Moved(run=before)
    if not before.is_paused:
        raise MoveRefused(unit.run_id, RunStatus.RUNNING.value, f"{before.status.value}, not paused")
    after = dataclasses.replace(
        before,
        status=RunStatus.RUNNING,
        reason=None,
        boot_id=unit.boot_id,
        updated_at=unit.at,
        revision=before.revision + 1,
    )
    draft.rows.taken.append(before.id)
    draft.move(before, after)
    return Moved(run=after)


def _noted(draft: Draft, unit: Cause) -> Noted:
    if unit.run_id == unit.cause_id:
        raise BadRun("invalid-cause", f"Run {short(unit.run_id)} cannot be its own cause")
    for run_id in (unit.run_id, unit.cause_id):
        found = draft.run(run_id)
        if found is None or found.tenant_id != unit.tenant_id:
            raise BadRun("cause-not-durable", f"Run {short(run_id)} is not durable in this store; name one that is")
    if found is not None and not found.status.is_terminal:
        raise BadRun("cause-not-resolved", f"Run {short(found.id)} has not resolved, it is {found.status.value}")
    noted = draft.causes(unit.run_id)
    if unit.cause_id not in noted:
        draft.rows.causes.append((unit.run_id, unit.cause_id, unit.tenant_id, unit.at))
        noted = [*noted, unit.cause_id]
    return Noted(causes=tuple(noted))
