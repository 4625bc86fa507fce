"""What can be a tool, and what its model is told of it."""

from __future__ import annotations

import datetime as dt
import enum
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from dvergr_nb.actors.tools.defining import DEFINED, tool
from dvergr_nb.actors.tools.tool import Tool
from dvergr_nb.agent_errors import BadTool
from dvergr_nb.errors import BadInput
from dvergr_nb.runtime.context import Context
from tests.tools.uses import told, used


class Colour(enum.Enum):
    RED = "red"


class Point(BaseModel):
    x: int
    y: int = 0


@dataclass
class Size:
    width: int


@pytest.fixture(autouse=True)
def _no_names_left():
    before = dict(DEFINED)
    yield
    DEFINED.clear()
    DEFINED.update(before)


def test_a_decorated_function_is_a_tool_that_can_still_be_called():
    @tool
    def add(a: int, b: int = 2) -> int:
        """Adds two numbers.

        Nothing else.
        """
        return a + b

    assert isinstance(add, Tool)
    assert (add.name, add.description, add.timeout) == ("add", "Adds two numbers.", None)
    assert add(1) == 3
    assert add(1, b=5) == 6
    assert repr(add) == "Tool add(a, b): Adds two numbers."


def test_the_decorator_takes_a_name_a_description_and_a_time_limit():
    @tool(name="plus", description="Sums.", timeout=2.5)
    def added_otherwise(a: int) -> int:
        """Not this."""
        return a

    assert (added_otherwise.name, added_otherwise.description, added_otherwise.timeout) == ("plus", "Sums.", 2.5)
    assert DEFINED["plus"] is added_otherwise
    assert "added_otherwise" not in DEFINED


def test_the_schema_says_types_defaults_and_what_the_docstring_says_of_each():
    @tool
    def look(where: str, count: int = 3, kinds: list[Literal["a", "b"]] | None = None) -> str:  # noqa: D417  # one is left out
        """Looks there.

        Args:
            where (str): The place,
                in words.
            count: How often.
            ghost: Is no parameter.

        Returns:
            what: it is
        """
        return where

    assert look.schema == {
        "type": "object",
        "additionalProperties": False,
        "required": ["where"],
        "properties": {
            "where": {"type": "string", "description": "The place, in words."},
            "count": {"type": "integer", "default": 3, "description": "How often."},
            "kinds": {
                "anyOf": [{"type": "array", "items": {"enum": ["a", "b"], "type": "string"}}, {"type": "null"}],
                "default": None,
            },
        },
    }


def test_a_field_in_the_annotation_is_heeded_and_says_more_than_the_docstring():
    @tool
    def step(n: Annotated[int, Field(ge=1, description="From one.")]) -> int:
        """Steps.

        Args:
            n: Any.
        """
        return n

    assert step.schema["properties"]["n"] == {"type": "integer", "minimum": 1, "description": "From one."}
    with pytest.raises(BadInput, match="n should be greater than or equal to 1, not 0"):
        step.check({"n": 0})


def test_names_that_pydantic_uses_itself_are_names_like_any_other():
    @tool
    def odd(schema: str, model_config: int, copy: bool, p0: str) -> str:
        return schema

    assert list(odd.schema["properties"]) == ["schema", "model_config", "copy", "p0"]
    given = {"schema": "s", "model_config": 1, "copy": True, "p0": "p"}
    assert odd.check(given) == given


def test_arguments_come_as_the_types_of_the_function():
    @tool
    def take(*, point: Point, size: Size, day: dt.date, colour: Colour, pair: tuple[int, str], words: set[str]) -> None: ...

    given = take.check(
        {"point": {"x": 1}, "size": {"width": 2}, "day": "2026-01-02", "colour": "red", "pair": [1, "a"], "words": ["w"]}
    )
    assert given == {
        "point": Point(x=1),
        "size": Size(2),
        "day": dt.date(2026, 1, 2),
        "colour": Colour.RED,
        "pair": (1, "a"),
        "words": {"w"},
    }


def test_what_is_left_out_is_left_to_the_function():
    @tool
    def grow(to: list[int] = []) -> list[int]:  # noqa: B006
        return to

    assert grow.check({}) == {}


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"n": "3"}, "n should be a valid integer, not '3'"),
        ({"n": True}, "n should be a valid integer, not True"),
        ({"n": None}, "n should be a valid integer, not None"),
        ({}, "n is missing"),
        ({"n": 1, "m": 2}, "it takes no m"),
        ({"n": 1, "words": ["a", 2]}, "words.1 should be a valid string, not 2"),
        ({"n": "\ud800"}, "cannot be called like that"),
        ({"n": float("nan")}, "cannot be called like that"),
    ],
)
def test_wrong_arguments_are_refused_with_a_sentence(given, sentence):
    @tool
    def count(n: int, words: list[str] | tuple[()] = ()) -> int:
        return n

    with pytest.raises(BadInput) as caught:
        count.check(given)
    assert sentence.split(".")[0] in str(caught.value)
    assert "It takes n, words" in str(caught.value) or "cannot be called" in str(caught.value)


def test_a_parameter_of_the_context_is_injected_and_in_no_schema():
    @tool
    def a(x: int, ctx) -> None: ...

    @tool
    def b(x: int, run: Context) -> None: ...

    @tool
    def c(x: int, run: Context | None = None) -> None: ...

    for each in (a, b, c):
        assert list(each.schema["properties"]) == ["x"]


async def test_the_injected_context_is_that_of_the_run():
    @tool
    def who(ctx: Context) -> str:
        return ctx.run.actor

    assert await told(who) == "researcher"


def untyped(x): ...
def many(*xs: int): ...
def named(**xs: int): ...
def positional(x: int, /): ...
def strange(x: subprocess.Popen[bytes]): ...
def unknown(x: Nowhere): ...  # type: ignore[name-defined]  # noqa: F821
def generating(x: int):
    yield x


def calling(x: Callable[[int], int]): ...


@pytest.mark.parametrize(
    ("function", "sentence"),
    [
        (untyped, "parameter 'x' has no type; annotate it, such as x: str"),
        (many, "parameter 'xs' takes any number of values; name a list"),
        (named, "parameter 'xs' takes any names"),
        (positional, "parameter 'x' is positional-only; take the / out"),
        (strange, "take an id or a name"),
        (calling, "take an id or a name"),
        (unknown, "names 'Nowhere', which is not known there"),
        (generating, "is a generator"),
        (lambda x: x, "write the lambda as a def"),
        (len, "made of a function"),
        (int, "made of a function"),
        (3, "made of a function"),
        ("text", "made of a function"),
    ],
)
def test_what_cannot_be_a_tool_is_refused_when_defined_with_what_to_do(function, sentence):
    before = dict(DEFINED)
    with pytest.raises(BadTool) as caught:
        tool(function)
    assert sentence in str(caught.value)
    assert before == DEFINED


@pytest.mark.parametrize("name", ["", "two words", "ünlaut", "a" * 65, "1st", "a.b", 3])
def test_a_name_that_providers_refuse_is_refused(name):
    def fine(x: int) -> None: ...

    with pytest.raises(BadTool, match="letters, digits"):
        tool(fine, name=name)


@pytest.mark.parametrize("timeout", [0, -1, float("nan"), float("inf"), True, "3"])
def test_a_time_limit_is_a_number_of_seconds_above_zero(timeout):
    def fine(x: int) -> None: ...

    with pytest.raises(BadTool, match="seconds above 0"):
        tool(fine, timeout=timeout)


@pytest.mark.parametrize("option", ["requires_approval", "effect", "idempotency"])
@pytest.mark.parametrize("value", [True, False, None])
def test_what_comes_with_a_later_version_is_refused_by_name(option, value):
    with pytest.raises(BadTool, match=f"{option} come with a later version"):
        tool(**{option: value})


def test_any_is_a_type_that_somebody_has_chosen():
    @tool
    def free(x: Any) -> None: ...

    assert free.check({"x": [1, {"a": None}]}) == {"x": [1, {"a": None}]}


def test_a_default_that_is_no_json_stays_the_functions_own():
    marker = object()

    @tool
    def fine(x: Any = marker) -> bool:
        return x is marker

    assert fine.schema["properties"] == {"x": {}}
    assert fine() is True


def test_methods_are_tools_of_what_they_are_bound_to():
    class Shop:
        def price(self, item: str) -> int:
            return len(item)

    made = tool(Shop().price)
    assert list(made.schema["properties"]) == ["item"]
    assert made("abc") == 3


async def test_a_function_without_parameters_takes_nothing():
    @tool
    def now() -> str:
        return "noon"

    assert now.schema == {"type": "object", "properties": {}, "additionalProperties": False}
    assert (await used(now, "")).told == ["noon"]
    assert (await used(now, "{}")).told == ["noon"]


def test_a_tool_for_agents_only_says_so_when_it_is_called():
    async def call(arguments, ctx): ...

    bare = Tool(name="bare", description="", call=call, check=dict)
    with pytest.raises(BadTool, match="for agents only"):
        bare()


def test_tools_can_be_spoken_of_without_loading_pydantic():
    code = (
        "import sys; import dvergr_nb.actors.tools.tool, dvergr_nb.actors.tools.defining, dvergr_nb.actors.tools.toolbox;"
        "import dvergr_nb.actors.tools.running; assert 'pydantic' not in sys.modules, 'pydantic'"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
