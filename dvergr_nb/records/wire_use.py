"""What a card is told on demand only: arguments and result of a tool, all of a reply. Text and plain pictures, no markup."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Final, Literal, NotRequired, TypedDict

from dvergr_nb.records.text import clipped, mended

if TYPE_CHECKING:
    from dvergr_nb.records.tool_use import Blob, ToolUse

TEXT_LIMIT: Final = 20_000
"""How much of arguments and of a result is shown, in characters."""
REPLY_LIMIT: Final = 50_000
"""How much of a reply is shown when all of it is asked for, in characters."""
REPLY_LINES: Final = 2_000
PICTURE_TYPES: Final = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""What is shown as a picture. None of these can hold markup or a script."""
PICTURES_LIMIT: Final = 2_000_000
"""Most bytes of pictures in one answer: what hosts let through at once by default."""
TYPE_LIMIT: Final = 100
BLOBS_LIMIT: Final = 50


class BlobWire(TypedDict):
    """What a tool gave besides text. `picture`: a data: URL, where it may be shown; else `size` in bytes has to do."""

    media_type: str
    size: int
    picture: NotRequired[str]


class AskUse(TypedDict):
    """A person asked for arguments and result of a use of a tool."""

    type: Literal["use"]
    id: str
    run_id: str
    use_id: str


class UseTold(TypedDict):
    """The answer to `AskUse`. `cut`: what there is more of than is shown."""

    type: Literal["use"]
    id: str
    run_id: str
    use_id: str
    at: float
    arguments: str
    result: str
    cut: NotRequired[list[Literal["arguments", "result"]]]
    blobs: NotRequired[list[BlobWire]]


class AskReply(TypedDict):
    """A person asked for all of a long reply."""

    type: Literal["reply"]
    id: str
    run_id: str


class ReplyTold(TypedDict):
    """The answer to `AskReply`: all of it, or as much as is ever shown; then it is `cut`."""

    type: Literal["reply"]
    id: str
    run_id: str
    at: float
    text: str
    cut: NotRequired[bool]


def use_told(ask: AskUse, use: ToolUse, pictures: Mapping[str, bytes], at: float) -> UseTold:
    """A use of a tool as a card shows it; `pictures` are the bytes that could be read of those that may be shown, by name."""
    told = UseTold(type="use", id=ask["id"], run_id=ask["run_id"], use_id=ask["use_id"], at=at, arguments="", result="")
    told["arguments"], told["result"] = (mended(clipped(text, TEXT_LIMIT)) for text in (use.arguments, use.result))
    cut: list[Literal["arguments", "result"]] = []
    if len(use.arguments) >= TEXT_LIMIT:
        cut.append("arguments")
    if len(use.result) >= TEXT_LIMIT:
        cut.append("result")
    if cut:
        told["cut"] = cut
    if use.blobs:
        told["blobs"] = [_blob(blob, pictures.get(blob.sha256)) for blob in use.blobs[:BLOBS_LIMIT]]
    return told


def shown_pictures(use: ToolUse) -> Iterator[Blob]:
    """Those of its blobs that are shown, in order, as long as they are not too much together."""
    left = PICTURES_LIMIT
    for blob in use.blobs[:BLOBS_LIMIT]:
        if blob.media_type in PICTURE_TYPES and blob.size <= left:
            left -= blob.size
            yield blob


def _blob(blob: Blob, data: bytes | None) -> BlobWire:
    wire = BlobWire(media_type=mended(clipped(blob.media_type, TYPE_LIMIT)), size=blob.size)
    if data is not None:
        wire["picture"] = f"data:{blob.media_type};base64,{base64.b64encode(data).decode()}"
    return wire


def reply_told(ask: AskReply, content: str, at: float) -> ReplyTold:
    """A reply as a card shows all of it."""
    lines = content.split("\n", REPLY_LINES)
    text = clipped("\n".join(lines[:REPLY_LINES]), REPLY_LIMIT)
    told = ReplyTold(type="reply", id=ask["id"], run_id=ask["run_id"], at=at, text=mended(text))
    if len(text) < len(content):
        told["cut"] = True
    return told
