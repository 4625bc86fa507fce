"""What the units about tools and sources mean: each row is noted once, and all of a unit or none."""

from __future__ import annotations

import dataclasses

from dvergr_nb.errors import BadInput
from dvergr_nb.ids import is_id
from dvergr_nb.records.operation import Cite, Keep, Kept
from dvergr_nb.records.run import WORD_LIMIT
from dvergr_nb.records.text import clipped, mended, shown
from dvergr_nb.records.tool_use import ARGUMENTS_LIMIT, RESULT_LIMIT, Blob, Citation, ToolUse
from dvergr_nb.store.belonging import run_in_room
from dvergr_nb.store.draft import Draft

CHUNK_LIMIT = 1_000
"""Longest id and title of a chunk, in characters."""


def kept(draft: Draft, unit: Keep) -> Kept:
    """Notes the uses that are new. Raises `BadMessage` where one's Run is not in its room."""
    uses = {use.id: use for use in map(_sound_use, reversed(unit.uses))}
    for use in uses.values():
        run_in_room(draft, use.run_id, use.tenant_id, use.room, "a use of a tool")
    there = draft.same_uses(list(uses))
    new = [use for use in reversed(uses.values()) if use.id not in there]
    draft.add_uses(new)
    return Kept(inserted=len(new))


def cited(draft: Draft, unit: Cite) -> Kept:
    """Notes the citations that are new. Raises `BadMessage` where one's Run is not in its room."""
    citations = [_sound_citation(citation) for citation in unit.citations]
    for citation in citations:
        run_in_room(draft, citation.run_id, citation.tenant_id, citation.room, "a citation")
    return Kept(inserted=draft.add_citations(citations))


def _sound_use(use: ToolUse) -> ToolUse:
    if not is_id(use.id) or not is_id(use.run_id):
        raise BadInput(f"the ids of a use and of its Run are UUIDs, not {shown(use.id)} and {shown(use.run_id)}")
    return dataclasses.replace(
        use,
        id=use.id.lower(),
        name=_line(use.name),
        tool_use_id=_line(use.tool_use_id),
        arguments=clipped(mended(use.arguments), ARGUMENTS_LIMIT),
        result=clipped(mended(use.result), RESULT_LIMIT),
        status=_line(use.status),
        blobs=tuple(map(_sound_blob, use.blobs)),
    )


def _sound_blob(blob: Blob) -> Blob:
    return dataclasses.replace(blob, media_type=_line(blob.media_type))


def _sound_citation(citation: Citation) -> Citation:
    if not is_id(citation.run_id):
        raise BadInput(f"the id of a Run is a UUID, not {shown(citation.run_id)}")
    chunk, title = (clipped(mended(text), CHUNK_LIMIT) for text in (citation.chunk_id, citation.title))
    return dataclasses.replace(citation, chunk_id=chunk, title=title)


def _line(text: str) -> str:
    return clipped(mended(text), WORD_LIMIT)
