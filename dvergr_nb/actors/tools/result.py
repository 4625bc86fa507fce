"""What a tool gives, as text for its model; what does not fit, and what is no text, is kept whole as bytes."""

from __future__ import annotations

import dataclasses
import json
import sys
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any, Final

from dvergr_nb.actors.tools.thread import in_own_thread
from dvergr_nb.actors.tools.tool import Rich
from dvergr_nb.records.text import clipped, mended
from dvergr_nb.records.tool_use import RESULT_LIMIT, Blob
from dvergr_nb.runtime.context import Context
from dvergr_nb.runtime.secrets import scrub

NOTHING_SAID: Final = "done"
"""What a model is told of a tool that gives None."""
ROWS: Final = 20
"""How many rows of a table a model is shown."""
COLUMNS: Final = 20
LARGE: Final = 100_000
"""A text of so many characters is gone through in a thread: on the loop it would hold up everything else."""


async def told(value: Any, ctx: Context) -> Rich:
    """A result as its model is told, without secrets and cut at `RESULT_LIMIT`; the whole comes first among its blobs."""
    match value:
        case Rich(text=text, blobs=blobs):
            return await fitted(text, ctx, blobs=blobs)
        case None:
            return Rich(text=NOTHING_SAID)
        case str():
            return await fitted(value, ctx)
        case bytes() | bytearray() | memoryview():
            return await _bytes(bytes(value), ctx)
        case _ if _is_table(value):
            return await _table(value, ctx)
        case _:
            return await fitted(await in_own_thread(lambda: as_text(value)), ctx, media_type="application/json")


async def fitted(text: str, ctx: Context, *, blobs: Sequence[Blob] = (), media_type: str = "text/plain") -> Rich:
    """The text where it fits; else its beginning, how much was cut, and the whole as a blob."""
    text = await in_own_thread(lambda: mended(scrub(text))) if len(text) > LARGE else mended(scrub(text))
    if len(text) <= RESULT_LIMIT:
        return Rich(text=text, blobs=tuple(blobs))
    whole = await ctx.blob(await in_own_thread(text.encode), media_type)
    return Rich(text=cut(text, f"the whole is kept as {whole.sha256[:12]}"), blobs=(whole, *blobs))


def cut(text: str, kept: str) -> str:
    """The beginning of a long text, with a line that says how much of it that is."""
    line = f"\n[{len(text):,} characters in all, the rest was cut; {kept}]"
    return text[: RESULT_LIMIT - len(line)] + line


async def _bytes(data: bytes, ctx: Context) -> Rich:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        blob = await ctx.blob(data)
        return Rich(text=f"{len(data):,} bytes, kept as {blob.sha256[:12]}", blobs=(blob,))
    blob = await ctx.blob(scrub(text).encode(), "text/plain")
    return Rich(text=f"{len(data):,} bytes of text, kept as {blob.sha256[:12]}", blobs=(blob,))


# Tables --------------------------------------------------------------------------------------------------------------


def _is_table(value: object) -> bool:
    """Whether it is a data frame, without loading the package that would know."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and isinstance(value, (pandas.DataFrame, pandas.Series))


async def _table(frame: Any, ctx: Context) -> Rich:
    rows, *others = frame.shape
    size = f"{rows:,} rows" + (f" × {others[0]:,} columns" if others else "")
    shown = frame.head(ROWS).to_string(**({"max_cols": COLUMNS, "max_colwidth": 60} if others else {}))
    if rows <= ROWS and (not others or others[0] <= COLUMNS):
        return await fitted(f"{shown}\n{size}", ctx)
    whole = await in_own_thread(lambda: scrub(frame.to_csv()).encode("utf-8", "replace"))
    blob = await ctx.blob(whole, "text/csv")
    text = clipped(mended(scrub(shown)), RESULT_LIMIT - 200)
    return Rich(
        text=f"{text}\n{size}; the first {min(rows, ROWS)} are shown, all are kept as {blob.sha256[:12]}", blobs=(blob,)
    )


# Anything else -------------------------------------------------------------------------------------------------------


def as_text(value: object) -> str:
    """JSON where the value can be that, its repr otherwise."""
    try:
        return "".join(PIECEWISE.iterencode(value))
    except (TypeError, ValueError, RecursionError):
        return repr(value)


def _plain(value: Any) -> Any:
    """What JSON has no form for, as something that it has one for."""
    match value:
        case AbstractSet() | Sequence() if not isinstance(value, bytes | bytearray | memoryview):
            return list(value)
        case Mapping():
            return {str(name): each for name, each in value.items()}
        case _ if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return {each.name: getattr(value, each.name) for each in dataclasses.fields(value)}
    for convert in ("model_dump", "tolist", "to_dict", "isoformat"):  # of pydantic, numpy, pandas, datetime
        if callable(getattr(value, convert, None)) and not isinstance(value, type):
            return getattr(value, convert)()
    return str(value)


PIECEWISE: Final = json.JSONEncoder(ensure_ascii=False, default=_plain)
"""Asked for pieces it lets other threads work between them, which `json.dumps` does not until all is done."""
