"""Imports point down, and a third-party package is known in its own folder only."""

from __future__ import annotations

import ast
import sys
from pathlib import Path

import pytest

from tests.contract.source import PACKAGE, ROOT, Import, imports, modules, name_of, tree_of

BASE = ("errors", "agent_errors", "ids", "clock", "forks")

BELOW = {
    "errors": (),
    "agent_errors": ("errors",),
    "clock": (),
    "forks": (),
    "ids": ("clock",),
    "records": BASE,
    "store": (*BASE, "records"),
    "runtime": (*BASE, "records"),
    "actors": (*BASE, "records", "runtime"),
    "lookup": (*BASE, "records", "runtime", "store"),
    "session": (*BASE, "records", "runtime", "store", "actors", "lookup"),
    "api": (*BASE, "records", "runtime", "actors", "lookup", "session"),
    "conversation": (*BASE, "records", "runtime", "actors", "lookup", "session", "api"),
    "agents": (*BASE, "records", "runtime", "actors", "lookup", "session", "api"),
    "widgets": (*BASE, "records", "runtime", "actors", "lookup", "session", "api", "conversation", "agents"),
    "magics": (*BASE, "records", "runtime", "actors", "lookup", "session", "api", "conversation", "agents", "widgets"),
}
"""What each layer may import. `store` is known to `session` and its `lookup` alone, and `runtime` does not know it."""

OWNERS = {
    "duckdb": ("store",),
    "pandas": ("store",),
    "pyarrow": ("store",),
    "anywidget": ("widgets",),
    "ipywidgets": ("widgets",),
    "traitlets": ("widgets", "magics"),
    "IPython": ("magics",),
    "pydantic": ("actors",),
    "pydantic_ai": ("actors",),
    "pydantic_graph": ("actors",),
    "openai": ("actors",),
    "anthropic": ("actors",),
    "xllamacpp": ("actors",),
    "opentelemetry": ("actors",),
    "httpx2": ("actors",),
    "genai_prices": ("actors",),
    "jupyter_client": ("actors",),
    "psutil": ("actors",),
    "anyio": ("actors",),
}

LATE = ("pandas", "pyarrow")
"""Heavy packages: only inside functions, or for types."""


def layer(name: str) -> str:
    """The layer that a module of ours belongs to; empty for the root."""
    parts = name.split(".")
    return parts[1] if len(parts) > 1 else ""


def fault(path: Path, found: Import) -> str | None:
    """What is wrong with one import of one file of the package."""
    own = layer(name_of(path))
    if found.level:
        return "is relative"
    if found.top == "dvergr_nb":
        return _fault_inside(path, own, found)
    if found.top in sys.stdlib_module_names:
        return None
    if own not in OWNERS.get(found.top, ()):
        return f"is a third-party package that {own or 'the root'} may not know"
    if found.top in LATE and not (found.in_function or found.for_types):
        return "is heavy and must be imported inside a function"
    return None


def _fault_inside(path: Path, own: str, found: Import) -> str | None:
    theirs = layer(found.target)
    if theirs not in BELOW:
        return "imports from the package root"
    if own and theirs != own and theirs not in BELOW[own]:
        return f"points up or sideways: {own} may not know {theirs}"
    *_, module, name = found.target.split(".")
    if any(part.startswith("_") for part in (module, name)) and PACKAGE / theirs != path.parent:
        return "is private to its folder"
    return None


def test_every_import_obeys_the_layers() -> None:
    faults = [
        f"{path.relative_to(ROOT)}:{found.line} {found.target} {problem}"
        for path in modules()
        for found in imports(tree_of(path))
        if (problem := fault(path, found))
    ]
    assert not faults, "\n".join(faults)


@pytest.mark.parametrize(
    ("where", "code", "problem"),
    [
        ("records/run.py", "import duckdb", "may not know"),
        ("runtime/bus.py", "from dvergr_nb.store.store import Store", "runtime may not know store"),
        ("store/runs.py", "def f():\n    from dvergr_nb.runtime.bus import Bus", "store may not know runtime"),
        ("actors/job.py", "if TYPE_CHECKING:\n    from dvergr_nb.session import Session", "actors may not know session"),
        ("session.py", "from dvergr_nb import job", "package root"),
        ("session.py", "import dvergr_nb", "package root"),
        ("store/frames.py", "import pandas as pd", "inside a function"),
        ("store/runs.py", "from .table import fold", "relative"),
        ("magics/job.py", "from dvergr_nb.widgets._base import Base", "private"),
        ("widgets/run_card.py", "from IPython.display import HTML", "may not know"),
    ],
)
def test_the_check_sees_a_wrong_import(where: str, code: str, problem: str) -> None:
    (found,) = imports(ast.parse(code))
    assert problem in (fault(PACKAGE / where, found) or "")


def test_every_folder_and_module_of_the_package_has_a_layer() -> None:
    found = {layer(name_of(path)) for path in modules()}
    assert found - {""} <= set(BELOW)


def test_nothing_but_the_root_imports_by_name_at_run_time() -> None:
    calls = [
        f"{path.relative_to(ROOT)}:{node.lineno}"
        for path in modules()
        if path != PACKAGE / "__init__.py"
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Attribute | ast.Name)
        and getattr(node, "attr", getattr(node, "id", "")) in {"import_module", "__import__"}
    ]
    assert not calls


def test_the_init_of_a_subpackage_is_a_docstring_and_nothing_else() -> None:
    for path in PACKAGE.glob("*/**/__init__.py"):
        tree = tree_of(path)
        assert ast.get_docstring(tree), path
        assert len(tree.body) == 1, path


def test_every_folder_with_modules_is_a_package() -> None:
    assert {path.parent for path in modules()} == {path.parent for path in PACKAGE.rglob("__init__.py")}
