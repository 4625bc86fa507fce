"""Text as it may be stored and shown."""

from __future__ import annotations

from typing import Final

ELLIPSIS: Final = "…"
SHOWN_LIMIT: Final = 60
"""How much of a value an error repeats, in characters."""


def mended(text: str) -> str:
    """The text with what is no Unicode, or what DuckDB cannot hold, replaced by U+FFFD.

    Lone surrogates have no UTF-8 form. NUL has one, but ends a text in too many programs that will read the store.
    """
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text


def clipped(text: str, limit: int) -> str:
    """At most `limit` characters, the last one an ellipsis where something was cut."""
    return text if len(text) <= limit else text[: limit - 1] + ELLIPSIS


def printable(text: str) -> str:
    """The text on one line that moves no cursor and colours nothing: what is no printable character becomes U+FFFD."""
    return text if text.isprintable() else "".join(char if char.isprintable() else "\ufffd" for char in text)


def first_line(text: str, limit: int = 200) -> str:
    """The first line that is not blank, clipped; empty where there is none."""
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return clipped(line, limit)


def shown(value: object, limit: int = SHOWN_LIMIT) -> str:
    """A value as an error repeats it: its repr in one line, cut. A repr that raises is part of what is wrong with the value."""
    try:
        text = repr(value)
    except BaseException as problem:  # noqa: BLE001  # the value's own code, which may not replace the error that names it
        text = f"a {type(value).__name__} whose repr raises {type(problem).__name__}"
    return clipped(" ".join(text.split()), limit)
