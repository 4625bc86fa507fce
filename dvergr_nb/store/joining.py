"""What the units about rooms and their members mean."""

from __future__ import annotations

import dataclasses

from dvergr_nb.errors import RoomDiffers
from dvergr_nb.records.operation import Join, Joined, Leave, Left, Opened, OpenRoom
from dvergr_nb.records.room import Room, checked_actor
from dvergr_nb.records.run import checked_word
from dvergr_nb.records.text import mended
from dvergr_nb.store import rooms
from dvergr_nb.store.draft import Draft
from dvergr_nb.store.rooms import Seat


def taken_part(draft: Draft, unit: OpenRoom | Join | Leave) -> Opened | Joined | Left:
    """The answer to a unit, its rows added to the draft. Raises the `DvergrError` that keeps it out."""
    match unit:
        case OpenRoom(room=room, is_asked=is_asked):
            return _opened(draft, room, is_asked=is_asked)
        case Join():
            return _joined(draft, unit)
        case Leave():
            return _left(draft, unit)


def _opened(draft: Draft, room: Room, *, is_asked: bool) -> Opened:
    """Finds or makes a room. Raises `RoomDiffers` where it was made with another rule for its threads than asked for."""
    there = draft.room(room.tenant_id, room.name)
    if there is None:
        draft.add_room(room)
        return Opened(room=room, inserted=True)
    if is_asked and there.exclusive_threads is not room.exclusive_threads:
        raise RoomDiffers(there.name, exclusive_threads=there.exclusive_threads)
    return Opened(room=there, inserted=False)


def _joined(draft: Draft, unit: Join) -> Joined:
    """Begins a stay, or finds the open one. Raises `BadInput` for a name that nobody may have."""
    given = unit.member
    program = checked_word(given.program, "program")
    member = dataclasses.replace(given, actor=checked_actor(given.actor), program=program, left_at=None)
    at_seat = rooms.seat(member)
    there = draft.stay(at_seat)
    if there is not None:
        if there.program != program:
            draft.change_stay(dataclasses.replace(there, program=program))
        return Joined(inserted=False)
    if draft.resent and rooms.joined_then(draft.con, at_seat, member.joined_at):
        return Joined(inserted=False)
    draft.add_stay(member)
    return Joined(inserted=True)


def _left(draft: Draft, unit: Leave) -> Left:
    """Ends the open stay, where there is one."""
    at_seat = Seat(unit.tenant_id, unit.room, mended(unit.actor))
    there = draft.stay(at_seat)
    if there is None:
        return Left(was_there=draft.resent and rooms.left_then(draft.con, at_seat, unit.at))
    draft.change_stay(dataclasses.replace(there, left_at=unit.at))
    return Left(was_there=True)
