"""The arguments of a tool: their JSON schema, from annotations by way of pydantic, and the check of what a model gives."""

from __future__ import annotations

import inspect
import json
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from dvergr_nb.agent_errors import BadTool
from dvergr_nb.errors import BadInput
from dvergr_nb.records.text import clipped, shown
from dvergr_nb.runtime.context import Context

if TYPE_CHECKING:
    from pydantic import BaseModel

CONTEXT: Final = "ctx"
"""The parameter that is given the context of the Run, whatever its annotation."""
TOLD_ERRORS: Final = 5
"""How many wrong arguments one sentence names."""
REFUSED: Final[Mapping[Any, str]] = {
    inspect.Parameter.POSITIONAL_ONLY: "is positional-only; take the / out of the signature",
    inspect.Parameter.VAR_POSITIONAL: "takes any number of values; name a list instead, such as items: list[str]",
    inspect.Parameter.VAR_KEYWORD: "takes any names; write out what it takes, or take one dict",
}


class Arguments:
    """What a function takes from a model."""

    def __init__(self, name: str, function: Callable[..., Any], about: Mapping[str, str]) -> None:
        self._name = name
        hints = _hints(name, function)
        taken = [_checked(name, parameter, hints) for parameter in inspect.signature(function).parameters.values()]
        self.injected = tuple(each.name for each in taken if _is_context(each, hints))
        """Parameters that are given the context of the Run."""
        self._own = [each for each in taken if each.name not in self.injected]
        self._model = _model(name, self._own, hints)
        self.schema = _schema(name, self._model, about)

    def check(self, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """The arguments as the function takes them; what was left out is left to its defaults. Raises `BadInput`."""
        from pydantic import ValidationError

        try:
            taken = self._model.model_validate_json(json.dumps(dict(given), allow_nan=False))
        except ValidationError as problem:
            raise BadInput(self._sentence(problem.errors(include_url=False))) from None
        except (TypeError, ValueError, RecursionError) as problem:
            raise BadInput(f"{self._name} cannot be called like that: {problem}") from None
        return {
            each.name: getattr(taken, f"p{place}")
            for place, each in enumerate(self._own)
            if f"p{place}" in taken.model_fields_set
        }

    def _sentence(self, errors: Sequence[Mapping[str, Any]]) -> str:
        told = "; ".join(_told(error) for error in errors[:TOLD_ERRORS])
        more = f"; and {len(errors) - TOLD_ERRORS} more" if len(errors) > TOLD_ERRORS else ""
        takes = ", ".join(each.name for each in self._own) or "nothing"
        return f"{self._name} cannot be called like that: {told}{more}. It takes {takes}"


def _told(error: Mapping[str, Any]) -> str:
    where = clipped(".".join(str(step) for step in error["loc"]) or "the arguments", 100)
    match error["type"]:
        case "missing":
            return f"{where} is missing"
        case "extra_forbidden":
            return f"it takes no {where}"
        case _:
            text = str(error["msg"]).replace("Input should be", "should be")
            return f"{where} {text}, not {shown(error.get('input'))}"


def _hints(name: str, function: Callable[..., Any]) -> dict[str, Any]:
    try:
        return typing.get_type_hints(function, include_extras=True)
    except NameError as problem:
        raise BadTool(
            name,
            f"tool {name!r}: an annotation names {problem.name!r}, which is not known there; define it before the function",
        ) from None
    except (TypeError, SyntaxError, AttributeError) as problem:
        raise BadTool(name, f"tool {name!r}: its annotations cannot be read: {problem}") from None


def _checked(name: str, parameter: inspect.Parameter, hints: Mapping[str, Any]) -> inspect.Parameter:
    if advice := REFUSED.get(parameter.kind):
        raise BadTool(name, f"tool {name!r}: its parameter {parameter.name!r} {advice}")
    if parameter.name not in hints and parameter.name != CONTEXT:
        raise BadTool(
            name, f"tool {name!r}: its parameter {parameter.name!r} has no type; annotate it, such as {parameter.name}: str"
        )
    return parameter


def _is_context(parameter: inspect.Parameter, hints: Mapping[str, Any]) -> bool:
    hint = hints.get(parameter.name)
    return parameter.name == CONTEXT or hint is Context or Context in typing.get_args(hint)


def _model(name: str, taken: Sequence[inspect.Parameter], hints: Mapping[str, Any]) -> type[BaseModel]:
    """A model with a field per parameter, named by its place so that no name of pydantic's is in the way."""
    from pydantic import ConfigDict, Field, create_model

    fields: dict[str, Any] = {}
    for place, each in enumerate(taken):
        default = {} if each.default is each.empty else {"default": each.default}
        fields[f"p{place}"] = (hints[each.name], Field(alias=each.name, **default))
    try:
        return create_model(name, __config__=ConfigDict(extra="forbid", strict=True), **fields)
    except Exception as problem:  # noqa: BLE001  # a type may bring code of its own for this, and raise anything
        raise _no_type(name, problem) from None


def _schema(name: str, model: type[BaseModel], about: Mapping[str, str]) -> Mapping[str, Any]:
    from pydantic.json_schema import GenerateJsonSchema, JsonSchemaWarningKind

    class Quiet(GenerateJsonSchema):
        ignored_warning_kinds: set[JsonSchemaWarningKind] = {"non-serializable-default", "skipped-choice"}  # noqa: RUF012  # as pydantic declares it

    try:
        schema = model.model_json_schema(schema_generator=Quiet)
    except Exception as problem:  # noqa: BLE001  # likewise
        raise _no_type(name, problem) from None
    schema.pop("title", None)
    for parameter, own in schema.setdefault("properties", {}).items():
        own.pop("title", None)
        if about.get(parameter):
            own.setdefault("description", about[parameter])
    return schema


def _no_type(name: str, problem: Exception) -> BadTool:
    said = clipped(" ".join(str(problem).split()), 200)
    return BadTool(
        name,
        f"tool {name!r}: a model gives text, numbers, lists, dicts and models of them, and one of its types is none of these "
        f"({type(problem).__name__}: {said}); take an id or a name, and look the object up inside the function",
    )
