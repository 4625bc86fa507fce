"""Says the messages between views and Python in TypeScript: `python -m tests.records.wire_types > js/src/shared/wire.d.ts`."""

from __future__ import annotations

import inspect
import sys
import types
from typing import Any, Literal, NotRequired, Union, get_args, get_origin, get_type_hints, is_typeddict

from dvergr_nb.records import wire, wire_room, wire_timeline, wire_use

HEAD = """\
// Made from dvergr_nb/records/wire*.py by: python -m tests.records.wire_types > js/src/shared/wire.d.ts
// Times are milliseconds since 1970; offsets and lengths are seconds.
"""
PLAIN = {str: "string", int: "number", float: "number", bool: "boolean", type(None): "null"}
UNIONS = ("FromPython", "FromView", "FromRoom", "RoomAct", "FromRoomView")


def as_typescript() -> str:
    """The whole declaration file."""
    known = {**vars(wire_timeline), **vars(wire_use), **vars(wire), **vars(wire_room)}
    shapes = [value for value in known.values() if is_typeddict(value)]
    unions = [f"export type {name} = {_type(known[name])};\n" for name in UNIONS]
    return "\n".join([HEAD, *(_interface(shape) for shape in shapes), *unions])


def _interface(shape: Any) -> str:
    doc = " ".join((inspect.getdoc(shape) or "").split())
    fields = "".join(f"  {_field(name, hint)};\n" for name, hint in get_type_hints(shape, include_extras=True).items())
    return f"/** {doc} */\nexport interface {shape.__name__} {{\n{fields}}}\n"


def _field(name: str, hint: Any) -> str:
    if get_origin(hint) is NotRequired:
        return f"{name}?: {_type(get_args(hint)[0])}"
    return f"{name}: {_type(hint)}"


def _type(hint: Any) -> str:
    if hint in PLAIN:
        return PLAIN[hint]
    match get_origin(hint):
        case origin if origin is Literal:
            return " | ".join(f"'{value}'" for value in get_args(hint))
        case origin if origin is list:
            each = _type(get_args(hint)[0])
            return f"({each})[]" if " | " in each else f"{each}[]"
        case origin if origin in (Union, types.UnionType):
            return " | ".join(_type(each) for each in get_args(hint))
        case _:
            return str(hint.__name__)


if __name__ == "__main__":
    sys.stdout.write(as_typescript())
