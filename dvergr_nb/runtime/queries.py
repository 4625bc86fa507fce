"""SQL within a Run: over what happened in its room, or over frames of somebody's."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from dvergr_nb.records.run import Run
    from dvergr_nb.runtime.entry import Tools
    from dvergr_nb.runtime.ports import Found


class Queries:
    """What a live Run asks the store in SQL."""

    row: Run
    tools: Tools

    def queried(self, frames: Mapping[str, Any] | None, sql: str, limit_s: float, rows: int) -> Found:
        """What a SELECT gives over these frames, over those of the room where there are none. In a worker thread."""
        store = self.tools.store
        return store.query(store.room_frames(self.row.room) if frames is None else frames, sql, limit_s=limit_s, rows=rows)
