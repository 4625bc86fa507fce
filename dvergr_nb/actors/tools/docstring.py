"""What a docstring says about a function and about its parameters, in Google's form."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Mapping
from typing import Any, Final

SECTION: Final = re.compile(r"[A-Z][A-Za-z ]*:\s*")
ARGS: Final = re.compile(r"(Args|Arguments|Parameters):\s*")
PARAMETER: Final = re.compile(r"\*{0,2}(\w+)\s*(?:\([^)]*\))?:\s*(.*)")


def summary_of(function: Callable[..., Any]) -> str:
    """The first paragraph on one line; empty where there is none."""
    lines: list[str] = []
    for line in (inspect.getdoc(function) or "").splitlines():
        if not line.strip() or ARGS.fullmatch(line):
            break
        lines.append(line.strip())
    return " ".join(lines)


def parameters_of(function: Callable[..., Any]) -> Mapping[str, str]:
    """What the `Args:` section says of each parameter, by name."""
    found: dict[str, str] = {}
    name, margin = "", None
    for line in _section((inspect.getdoc(function) or "").splitlines()):
        indent = len(line) - len(line.lstrip())
        margin = indent if margin is None else margin
        begins = PARAMETER.fullmatch(line.strip())
        if begins and indent <= margin:
            name = begins[1]
            found[name] = begins[2]
        elif name:
            found[name] = f"{found[name]} {line.strip()}".strip()
    return found


def _section(lines: list[str]) -> list[str]:
    """The lines below `Args:` up to the next section, blank ones left out."""
    starts = [number for number, line in enumerate(lines) if ARGS.fullmatch(line)]
    if not starts:
        return []
    inside: list[str] = []
    for line in lines[starts[0] + 1 :]:
        if line.strip() and not line[0].isspace():
            break
        if line.strip():
            inside.append(line)
    return inside
