"""A search of one's own as a tool: any function from a text to chunks, which are told with their ids and cited."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol

from dvergr_nb.actors.tools.defining import tool_of
from dvergr_nb.actors.tools.thread import in_own_thread
from dvergr_nb.actors.tools.tool import Tool
from dvergr_nb.agent_errors import BadTool
from dvergr_nb.errors import BadInput
from dvergr_nb.records.run import LABEL_LIMIT
from dvergr_nb.records.text import printable, shown
from dvergr_nb.runtime.context import Context

MOST: Final = 100
"""The most chunks of one search."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Chunk:
    """A piece of text that a search has found."""

    id: str
    """As it can be found again: it is what a citation names."""
    text: str
    title: str = ""
    score: float | None = None


class Retriever(Protocol):
    """A function that finds chunks for a text, the best first; also one that is to be awaited."""

    def __call__(self, query: str, /) -> Sequence[Chunk | tuple[str, str]] | Awaitable[Sequence[Chunk | tuple[str, str]]]: ...


def retriever(
    fn: Retriever, *, name: str = "search", description: str = "Finds passages that say something about a text.", top: int = 5
) -> Tool:
    """A tool that searches with `fn` and tells the `top` best chunks; their ids are kept with the Run as its citations.

    `fn` takes the text and gives `Chunk`s or pairs of id and text, the best first.
    """
    if not callable(fn):
        raise BadTool(str(name), f"a retriever is a function from a text to chunks, not {shown(fn)}")
    if isinstance(top, bool) or not isinstance(top, int) or not 1 <= top <= MOST:
        raise BadInput(f"top is a whole number from 1 to {MOST}, not {shown(top)}")

    async def search(query: str, ctx: Context) -> str:
        """Searches.

        Args:
            query: What to look for, in words.
            ctx: Of the Run.
        """
        found = fn(query) if inspect.iscoroutinefunction(fn) else await in_own_thread(lambda: fn(query))
        given = await found if inspect.isawaitable(found) else found
        chunks = [_chunk(each) for each in _several(given)[:top]]
        ctx.cite({chunk.id: chunk.title for chunk in chunks})
        return "\n\n".join(map(_told, chunks)) or "nothing was found"

    return tool_of(search, name=name, description=description)


def _several(given: Any) -> Sequence[Any]:
    if isinstance(given, str | bytes) or not isinstance(given, Sequence):
        raise BadInput(f"a retriever gives a list of chunks, not {shown(given)}")
    return given


def _chunk(given: Any) -> Chunk:
    match given:
        case Chunk():
            chunk = given
        case (str() as an_id, str() as text):
            chunk = Chunk(id=an_id, text=text)
        case _:
            raise BadInput(f"a retriever gives d.Chunk(id=…, text=…) or pairs of id and text, not {shown(given)}")
    words = (chunk.id, chunk.title)
    if not all(isinstance(word, str) and len(word) <= LABEL_LIMIT for word in words) or not chunk.id.strip():
        raise BadInput(f"a chunk has an id and a title of at most {LABEL_LIMIT} characters, not {shown(words)}")
    return chunk


def _told(chunk: Chunk) -> str:
    title = f" {printable(chunk.title)}" if chunk.title else ""
    score = f" ({chunk.score:.3g})" if chunk.score is not None else ""
    return f"[{printable(chunk.id)}]{title}{score}\n{chunk.text}"
