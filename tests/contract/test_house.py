"""The repository's shape: what lies where, how long things are, and what is never written down."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path

import pytest

from tests.contract.source import ROOT, modules, tracked, tree_of

FOLDERS = {"dvergr_nb", "notebooks", "js", "tests", "binder"}
FILES = {"pyproject.toml", "README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md"}
DOTTED = {".ci", ".editorconfig", ".gitattributes", ".gitignore", ".pre-commit-config.yaml", ".npmrc"}

MODULE_LINES = 400
FUNCTION_LINES = 40

VAGUE = {"utils", "util", "helpers", "helper", "common", "core", "misc", "manager"}

PLACES = re.compile(r"/(?:root|home/\w+|work|Users/\w+)/")
"""Folders of somebody's machine."""

REGISTRIES = re.compile(r"https?://[^\s\"']*(?:registry\.|pypi\.|npmjs\.|/simple/|/npm/)[^\s\"']*")

TEXT = {".py", ".md", ".toml", ".json", ".js", ".mjs", ".ts", ".css", ".sql", ".ipynb", ".txt", ".cfg", ".yaml", ".yml", ""}


def texts() -> list[tuple[str, str]]:
    """Every text file that git would ship, this one left out, since it names what must not be named."""
    here = Path(__file__).relative_to(ROOT).as_posix()
    return [(name, (ROOT / name).read_text()) for name in tracked() if Path(name).suffix in TEXT and name != here]


def functions(path: Path) -> list[tuple[str, int]]:
    """Name and length of every function of a file, decorators and docstring not counted."""
    found = []
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            body = node.body[1:] if ast.get_docstring(node) is not None else node.body
            found.append((node.name, (body[-1].end_lineno or 0) - body[0].lineno + 1 if body else 0))
    return found


def python_files() -> list[Path]:
    return [
        *modules(),
        *(ROOT / name for name in tracked() if name.startswith(("tests/", "notebooks/")) and name.endswith(".py")),
    ]


def test_the_top_level_is_exactly_this() -> None:
    found = {name.split("/")[0] for name in tracked()}
    assert found - DOTTED == FOLDERS | FILES


def test_every_module_of_the_package_is_shorter_than_400_lines() -> None:
    long = {str(p.relative_to(ROOT)): n for p in modules() if (n := len(p.read_text().splitlines())) >= MODULE_LINES}
    assert not long


def test_every_function_has_at_most_40_lines() -> None:
    long = [f"{p.relative_to(ROOT)} {name}: {n}" for p in python_files() for name, n in functions(p) if n > FUNCTION_LINES]
    assert not long


def test_every_module_says_what_it_is_in_its_first_line() -> None:
    mute = [
        str(path.relative_to(ROOT)) for path in python_files() if (tree := tree_of(path)).body and not ast.get_docstring(tree)
    ]
    assert not mute


def test_no_module_has_a_vague_name() -> None:
    assert not [name for name in tracked() if Path(name).stem in VAGUE]


@pytest.mark.parametrize(("what", "pattern"), [("a folder of a machine", PLACES), ("a package registry", REGISTRIES)])
def test_no_file_names(what: str, pattern: re.Pattern[str]) -> None:
    found = [f"{name}: {match[0]}" for name, text in texts() if (match := pattern.search(text))]
    assert not found, f"{what} is named in {found}"


def test_lock_files_keep_checksums_and_no_addresses() -> None:
    packages = json.loads((ROOT / "js" / "package-lock.json").read_text())["packages"]
    installed = {name: package for name, package in packages.items() if name}
    assert all("resolved" not in package and "integrity" in package for package in installed.values())


def test_no_work_is_announced_in_comments() -> None:
    mark = re.compile(r"\b(?:" + "|".join(("TO" + "DO", "FIX" + "ME", "X" * 3)) + r")\b")
    assert not [name for name, text in texts() if name.endswith((".py", ".js", ".sql", ".css")) and mark.search(text)]


def test_scripts_can_be_executed_and_are_bash() -> None:
    for name in (".ci/run", "tests/run", "notebooks/run"):
        assert (ROOT / name).stat().st_mode & 0o111, name
        assert (ROOT / name).read_text().startswith("#!/usr/bin/env bash\n"), name
