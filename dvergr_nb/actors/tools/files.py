"""`read_file`, `write_file` and `list_files`, all inside one chosen folder."""

from __future__ import annotations

import os

from dvergr_nb.actors.tools.defining import tool_of
from dvergr_nb.actors.tools.folder import Folder
from dvergr_nb.actors.tools.tool import Tool, ToolFailed
from dvergr_nb.errors import BadInput
from dvergr_nb.records.text import shown


def files(folder: str | os.PathLike[str], *, write: bool = True) -> tuple[Tool, ...]:
    """Tools that read, list and, unless `write` is False, write text files below `folder`. No path and no link leads out."""
    if not isinstance(write, bool):
        raise BadInput(f"write is True or False, not {shown(write)}")
    inside = Folder(folder)

    def read_file(path: str, offset: int = 0, limit: int | None = None) -> str:
        """Reads a text file.

        Args:
            path: Relative to the folder, such as notes/a.txt.
            offset: How many lines to leave out before the first.
            limit: At most so many lines.
        """
        return _lines(path, _text(path, inside.read(path)), offset, limit)

    def write_file(path: str, content: str) -> str:
        """Writes a text file, whole or not at all; what was there is replaced, folders it needs are made.

        Args:
            path: Relative to the folder, such as notes/a.txt.
            content: All of its text.
        """
        try:
            data = content.encode()
        except UnicodeEncodeError:
            raise ToolFailed("refused", "the content is no Unicode text") from None
        is_new = inside.write(path, data)
        return f"{'wrote' if is_new else 'replaced'} {path}, {len(data):,} bytes"

    def list_files(path: str = ".", pattern: str | None = None) -> str:
        """Lists a folder: names, sizes, folders with a slash.

        Args:
            path: Relative to the folder.
            pattern: Such as *.csv or notes/**/*.md: then everything below is looked through.
        """
        return "\n".join(inside.listed(path, pattern)) or "nothing there"

    made = (tool_of(read_file), tool_of(write_file), tool_of(list_files))
    return made if write else (made[0], made[2])


def _text(path: str, data: bytes) -> str:
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError:
        text = "\0"
    if "\0" in text:
        raise ToolFailed("binary", f"{path!r} is no text: {len(data):,} bytes that are not UTF-8")
    return text


def _lines(path: str, text: str, offset: int, limit: int | None) -> str:
    if offset < 0 or (limit is not None and limit < 1):
        raise ToolFailed("invalid-arguments", "offset is a number of lines from 0, limit one from 1")
    if offset == 0 and limit is None:
        return text
    lines = text.splitlines(keepends=True)
    last = len(lines) if limit is None else min(len(lines), offset + limit)
    if offset >= len(lines):
        return f"[{path} has {len(lines):,} lines]"
    return "".join(lines[offset:last]) + f"\n[lines {offset + 1:,} to {last:,} of {len(lines):,}]"
