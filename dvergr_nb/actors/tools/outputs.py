"""What an eval prints, shows and raises, gathered from a kernel's messages: text for the model, rich outputs as bytes."""

from __future__ import annotations

import asyncio
import base64
import binascii
import json
import re
from collections.abc import Mapping
from typing import Any, Final

from dvergr_nb.actors.tools.result import fitted
from dvergr_nb.actors.tools.tool import Rich, ToolFailed
from dvergr_nb.records.tool_use import Blob
from dvergr_nb.runtime.context import Context

TEXT_LIMIT: Final = 2_000_000
"""Characters kept of one eval; one that prints more is interrupted."""
SHOWN: Final = 20
"""Rich outputs kept of one eval."""
SHOWN_BYTES: Final = 20_000_000
"""Largest rich output that is kept."""
BINARY: Final = ("image/png", "image/jpeg")
KEPT: Final = (*BINARY, "image/svg+xml", "text/html", "application/json")
"""Rich outputs that are kept, as bytes: they are never shown as what they claim to be."""
ANSI: Final = re.compile(r"\x1b\[[0-9;?]*[ -/]*[@-~]|\x1b[@-_]")
"""Colours and movements of a terminal."""


class Output:
    """The output of one eval."""

    def __init__(self) -> None:
        self.error: str | None = None
        """The name of what it raised, or another word for why it has failed."""
        self.full = asyncio.Event()
        """Set once it has printed more than is kept."""
        self._texts: list[str] = []
        self._size = 0
        self._shown: list[tuple[str, bytes]] = []
        self._left_out = 0

    def take(self, kind: str, content: Mapping[str, Any]) -> None:
        """One message of the kernel."""
        match kind:
            case "stream":
                self._say(content["text"])
            case "error":
                self.error = str(content["ename"])
                self._say("\n".join(content["traceback"]) + "\n")
            case "execute_result" | "display_data":
                self._show(content["data"])

    def note(self, what: str) -> None:
        """Something about the eval itself, however much it has printed."""
        self._texts.append(f"\n[{what}]")

    def _say(self, text: str) -> None:
        fits = text[: TEXT_LIMIT - self._size]
        self._size += len(fits)
        self._texts.append(fits)
        if len(fits) < len(text):
            self.full.set()

    def _show(self, data: Mapping[str, Any]) -> None:
        for media_type in KEPT:
            if media_type in data:
                self._keep(media_type, _bytes(media_type, data[media_type]))
        if isinstance(data.get("text/plain"), str):
            self._say(data["text/plain"] + "\n")

    def _keep(self, media_type: str, data: bytes | None) -> None:
        if data is None or len(data) > SHOWN_BYTES or len(self._shown) >= SHOWN:
            self._left_out += 1
        else:
            self._shown.append((media_type, data))

    async def told(self, ctx: Context) -> Rich:
        """All of it, its rich outputs kept. Raises `ToolFailed` with the same where the eval has failed."""
        blobs: list[Blob] = []
        for media_type, data in self._shown:
            blob = await ctx.blob(data, media_type)
            self.note(f"{media_type}, {blob.size:,} bytes, kept as {blob.sha256[:12]}")
            blobs.append(blob)
        if self._left_out:
            self.note(f"{self._left_out} more rich outputs were not kept")
        text = ANSI.sub("", "".join(self._texts)).strip("\n")
        whole = await fitted(text or "done", ctx, blobs=blobs)
        if self.error is not None:
            raise ToolFailed(self.error, whole.text, whole.blobs)
        return whole


def _bytes(media_type: str, value: Any) -> bytes | None:
    """A rich output as it would be in a file; None where it is not what it claims to be."""
    try:
        if media_type in BINARY:
            return base64.b64decode(value)
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        return text.encode("utf-8", "replace")
    except (TypeError, ValueError, binascii.Error):
        return None
