"""A cell as a job: compiled like a cell, run on a shallow copy of the notebook's names."""

from __future__ import annotations

import ast
import inspect
import itertools
import linecache
from collections.abc import Mapping
from dataclasses import dataclass
from types import CodeType
from typing import Any, Final, NoReturn

from dvergr_nb.actors.job import CoroutineJob, FunctionJob, Job
from dvergr_nb.errors import BadInput
from dvergr_nb.runtime.context import Context

TOP_LEVEL_AWAIT: Final = ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
_numbers: Final = itertools.count(1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cell:
    """A compiled cell: its statements, and the expression at its end that is the result, where there is one."""

    statements: CodeType
    last: CodeType | None
    is_async: bool
    """Whether it awaits at the top level, so that it belongs on the loop."""


def compiled(source: str) -> Cell:
    """Compiles the cell. Raises `BadInput` with the line for a syntax error; nothing has begun then."""
    name = f"<job {next(_numbers)}>"
    try:
        tree = compile(source, name, "exec", ast.PyCF_ONLY_AST | TOP_LEVEL_AWAIT)
        last = _last_expression(tree, source)
        statements = compile(tree, name, "exec", TOP_LEVEL_AWAIT)
        value = None if last is None else compile(last, name, "eval", TOP_LEVEL_AWAIT)
    except (SyntaxError, ValueError) as problem:
        raise BadInput(_syntax(problem)) from None
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    return Cell(statements=statements, last=value, is_async=any(_awaits(code) for code in (statements, value)))


def _last_expression(tree: ast.Module, source: str) -> ast.Expression | None:
    """Takes the last expression off the tree; a cell that ends in a semicolon has no result."""
    last = tree.body[-1] if tree.body else None
    if not isinstance(last, ast.Expr) or source.rstrip().endswith(";"):
        return None
    tree.body.pop()
    return ast.Expression(last.value)


def _awaits(code: CodeType | None) -> bool:
    return code is not None and bool(code.co_flags & inspect.CO_COROUTINE)


def _syntax(problem: SyntaxError | ValueError) -> str:
    if not isinstance(problem, SyntaxError):
        return f"the cell cannot be compiled: {problem}"
    text = (problem.text or "").strip()
    return f"line {problem.lineno} of the cell: {problem.msg}" + (f": {text}" if text else "")


def cell_job(cell: Cell, names: Mapping[str, Any], place: str | None = None) -> Job:
    """The body that runs the cell. `place` overrides where: `loop` or `thread`."""
    on_loop = cell.is_async if place is None else place == "loop"
    if cell.is_async and not on_loop:
        raise BadInput("the cell awaits at its top level, which a worker thread cannot; leave --thread out")
    return CoroutineJob(_on_loop(cell, names)) if on_loop else FunctionJob(_in_thread(cell, names))


def _on_loop(cell: Cell, names: Mapping[str, Any]) -> Any:
    async def call(ctx: Context) -> Any:
        space = _space(names, ctx)
        started = eval(cell.statements, space)  # noqa: S307  # the person's own cell
        if inspect.isawaitable(started):
            await started
        if cell.last is None:
            return None
        value = eval(cell.last, space)  # noqa: S307
        return await value if _awaits(cell.last) else value

    return call


def _in_thread(cell: Cell, names: Mapping[str, Any]) -> Any:
    def call(ctx: Context) -> Any:
        space = _space(names, ctx)
        exec(cell.statements, space)  # noqa: S102  # the person's own cell
        return None if cell.last is None else eval(cell.last, space)  # noqa: S307

    return call


def _space(names: Mapping[str, Any], ctx: Context) -> dict[str, Any]:
    return {**names, "ctx": ctx, "input": _refuse_input}


def _refuse_input(_prompt: object = "") -> NoReturn:
    raise BadInput("input() cannot be asked in a Run: nobody may be there to answer; put the value into a variable first")
