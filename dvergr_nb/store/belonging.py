"""What says it belongs to a Run must be in the room of that Run."""

from __future__ import annotations

from dvergr_nb.errors import BadMessage
from dvergr_nb.ids import RunId, short
from dvergr_nb.records.run import Run
from dvergr_nb.store.draft import Draft


def run_in_room(draft: Draft, run_id: RunId, tenant_id: str, room: str, what: str = "activity") -> Run:
    """The Run. Raises `BadMessage` (`orphan-message-activity`) where it is not in that room, or nowhere."""
    run = draft.run(run_id)
    if run is None or run.room != room or run.tenant_id != tenant_id:
        raise BadMessage("orphan-message-activity", f"{what} of Run {short(run_id)}, which is not in room {room!r}")
    return run
