"""The package's files, and the imports in them wherever they stand."""

from __future__ import annotations

import ast
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parents[2]
PACKAGE: Final = ROOT / "dvergr_nb"


@dataclass(frozen=True, slots=True, kw_only=True)
class Import:
    """One imported name: `target` is the module, or the name in it, in full."""

    target: str
    line: int
    level: int
    """Dots of a relative import."""
    in_function: bool
    for_types: bool
    """Under `if TYPE_CHECKING`, so never executed."""

    @property
    def top(self) -> str:
        """The top-level package it comes from."""
        return self.target.split(".")[0]


def modules() -> list[Path]:
    """Every Python file of the package."""
    return sorted(PACKAGE.rglob("*.py"))


def name_of(path: Path) -> str:
    """The dotted name of a file of the repository."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(), str(path))


def imports(tree: ast.AST, *, in_function: bool = False, for_types: bool = False) -> Iterator[Import]:
    """All imports below a node, also in functions and under TYPE_CHECKING."""
    for node in ast.iter_child_nodes(tree):
        where = {"in_function": in_function, "for_types": for_types}
        match node:
            case ast.Import(names=names):
                yield from (Import(target=each.name, line=node.lineno, level=0, **where) for each in names)
            case ast.ImportFrom(module=module, names=names, level=level):
                yield from (Import(target=f"{module}.{each.name}", line=node.lineno, level=level, **where) for each in names)
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                yield from imports(node, in_function=True, for_types=for_types)
            case ast.If(test=ast.Name(id="TYPE_CHECKING")):
                yield from imports(node, in_function=in_function, for_types=True)
            case _:
                yield from imports(node, **where)


def tracked() -> list[str]:
    """Every file that git would ship: tracked, or new and not ignored."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return [name for name in listed.stdout.split("\0") if name and (ROOT / name).exists()]
