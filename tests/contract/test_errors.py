"""The trees that errors.py and agent_errors.py draw are the tree that there is."""

from __future__ import annotations

import ast
import builtins
import re

from dvergr_nb import agent_errors, errors
from tests.contract.source import PACKAGE, modules, tree_of

INSIDE = {"Down", "Stale", "ToolFailed", "KernelDied"}
"""Raised and caught within the store, or within a use of a tool; no caller ever sees them."""

DRAWN = re.compile(r"^(?P<indent>[│ ]*)[├└]── (?P<name>\w+)(?: \((?P<builtin>\w+)\))?")


def drawn() -> dict[str, tuple[str, str | None]]:
    """For each class in the docstring: the class above it, and the builtin named beside it."""
    above = ["DvergrError"]
    tree: dict[str, tuple[str, str | None]] = {}
    for line in f"{errors.__doc__}\n{agent_errors.__doc__}".splitlines():
        if found := DRAWN.match(line.removeprefix("    ")):
            depth = len(found["indent"]) // 4
            del above[depth + 1 :]
            tree.setdefault(found["name"], (above[depth], found["builtin"]))
            above.append(found["name"])
    return tree


def real() -> dict[str, tuple[str, str | None]]:
    tree: dict[str, tuple[str, str | None]] = {}
    for name, value in {**vars(errors), **vars(agent_errors)}.items():
        if isinstance(value, type) and issubclass(value, errors.DvergrError) and value is not errors.DvergrError:
            ours, *others = value.__bases__
            tree[name] = (ours.__name__, others[0].__name__ if others else None)
    return tree


def test_the_drawn_tree_is_the_real_tree() -> None:
    assert len(drawn()) > 10
    assert drawn() == real()


def test_no_error_shadows_a_builtin() -> None:
    assert not set(real()) & set(vars(builtins))


def test_an_error_in_a_cell_is_one_line() -> None:
    shown = errors.NoSuchRun("abc", ["0123456789"])._render_traceback_()
    assert shown == ["NoSuchRun: no Run 'abc' in this store; nearest: 23456789"]


def test_what_a_body_raised_stays_on_that_line_and_moves_no_cursor() -> None:
    failed = errors.RunFailed("0123456789", "load", "error", "ValueError: a\n  b\x1b[2J")
    assert failed._render_traceback_() == ["RunFailed: 'load' failed, error: ValueError: a b\ufffd[2J (Run 23456789)"]


def test_all_exception_classes_of_the_package_are_in_the_tree_or_are_signals() -> None:
    """What is no error but a signal (an abort that bodies must not swallow) is a CancelledError or a BaseException."""
    signals = {"CancelledError", "BaseException"}
    for path in modules():
        if path in (PACKAGE / "errors.py", PACKAGE / "agent_errors.py"):
            continue
        for node in ast.walk(tree_of(path)):
            if isinstance(node, ast.ClassDef) and node.name not in INSIDE:
                bases = {ast.unparse(base).split(".")[-1] for base in node.bases}
                ends = {base for base in bases if base in signals or base.endswith(("Error", "Exception")) or base in real()}
                assert ends <= signals, f"{path.name}: {node.name} is an error outside errors.py"


def test_a_blind_except_never_swallows_what_it_caught() -> None:
    """It logs it, raises it, or puts it on record: the handler says something of the exception."""
    silent = []
    for path in modules():
        for node in ast.walk(tree_of(path)):
            match node:
                case ast.ExceptHandler(type=None):
                    silent.append(f"{path.name}:{node.lineno} names no class")
                case ast.ExceptHandler(type=ast.Name(id="Exception" | "BaseException"), name=name, body=body):
                    text = ast.unparse(ast.Module(body=body, type_ignores=[]))
                    if not re.search(rf"\blog\w*\.|\braise\b|\b{name or 'raise'}\b", text):
                        silent.append(f"{path.name}:{node.lineno} swallows what it caught")
                case _:
                    pass
    assert not silent, "\n".join(silent)


def test_an_error_repeats_no_more_than_a_line_of_what_was_typed() -> None:
    typed = "a" * 1_000_000
    for problem in (errors.NoSuchRun(typed), errors.AmbiguousRun(typed, ["1", "2"]), errors.NoSuchMessage(typed, typed)):
        assert len(str(problem)) < 300
