"""A model that plays a script: no key, no network, the same every time. It is called scripted wherever it is shown.

    model = scripted_model(
        call("query_frame", sql="select count(*) as n from penguins"),
        lambda given: f"There are {given[0]} penguins.",
    )

Each message begins the script anew, and the next answer is found from the conversation alone, so a turn that is resumed
goes on where it was. With `turns=[[…], […]]` each message of a thread has a script of its own; the last is played for all
that follow. Its tokens are pretended, and so is its price, so that budgets can be seen at work.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from pydantic_ai.messages import ModelMessage, ModelResponse, ModelResponseStreamEvent, TextPart, ToolCallPart
from pydantic_ai.models import ModelRequestParameters, StreamedResponse
from pydantic_ai.models.function import DeltaToolCall, FunctionModel, FunctionStreamedResponse
from pydantic_ai.settings import ModelSettings
from pydantic_ai.usage import RequestUsage

from dvergr_nb.actors.models.lines import Call, Place, Step, call, checked, place_in, played, size_of, tokens_of
from dvergr_nb.actors.script import seconds_of
from dvergr_nb.errors import BadInput
from dvergr_nb.records.money import Price
from dvergr_nb.records.profile import checked_price
from dvergr_nb.records.run import checked_word
from dvergr_nb.records.text import shown

__all__ = ["ScriptedModel", "call", "scripted_model"]

SYSTEM: Final = "scripted"
PRETENDED: Final = {"input": 0.5, "output": 1.5}
"""Dollars per million tokens."""

_WORDS: Final = re.compile(r"\s*\S+\s*")


def scripted_model(
    *steps: Step,
    name: str = "scripted-1",
    pace: float = 0.0,
    price: Price | None = PRETENDED,
    turns: Sequence[Sequence[Step]] | None = None,
) -> ScriptedModel:
    """A model that answers every message with the same steps in order, or the first with the first of `turns`, and so on.

    A step is a text, `call("tool", argument=…)`, a list of these for calls at once, an exception to raise, or a function, plain
    or async, that gives one of them: of nothing, of what the tools of this turn gave, or of that and what was said so far.
    `pace` is in seconds per streamed word. Raises `BadInput` for what cannot be a script.
    """
    if bool(steps) == bool(turns):
        raise BadInput("a scripted model has steps, or turns=[[…], […]] with the steps of each message, and not both")
    scripts = [list(steps)] if turns is None else list(turns)
    if not all(isinstance(script, list | tuple) and script for script in scripts):
        raise BadInput(f"turns are lists of steps, none of them empty, not {shown(turns)}")
    return ScriptedModel(
        [tuple(checked(step) for step in script) for script in scripts],
        name=checked_word(name, "the name of a model"),
        pace=seconds_of(pace, "pace"),
        price=None if price is None else checked_price(price, name),
    )


class ScriptedModel(FunctionModel):
    """A model of pydantic-ai. It has no state: one can answer any number of conversations at once."""

    def __init__(self, scripts: Sequence[Sequence[Step]], *, name: str, pace: float, price: Price | None) -> None:
        super().__init__(_unused, model_name=name)
        self.price = price
        self._scripts = scripts
        self._pace = pace

    @property
    def system(self) -> str:
        """The provider's name, on record and on spans."""
        return SYSTEM

    async def request(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,  # noqa: ARG002  # a script needs none
        model_request_parameters: ModelRequestParameters,  # noqa: ARG002
    ) -> ModelResponse:
        """The next answer as a whole."""
        place = place_in(messages)
        answer = await self._answer(place, messages)
        await asyncio.sleep(self._pace * sum(len(_WORDS.findall(each)) for each in answer if isinstance(each, str)))
        parts = [
            TextPart(each) if isinstance(each, str) else ToolCallPart(each.tool, dict(each.arguments), _id(place, number))
            for number, each in enumerate(answer)
        ]
        return ModelResponse(parts=parts, usage=_usage(messages, answer), model_name=self.model_name, provider_name=SYSTEM)

    @asynccontextmanager
    async def request_stream(
        self,
        messages: list[ModelMessage],
        model_settings: ModelSettings | None,  # noqa: ARG002  # a script needs none
        model_request_parameters: ModelRequestParameters,
        run_context: Any = None,  # noqa: ARG002
    ) -> AsyncGenerator[StreamedResponse]:
        """The next answer, word by word."""
        place = place_in(messages)
        answer = await self._answer(place, messages)
        yield _Stream(
            model_request_parameters=model_request_parameters,
            _model_name=self.model_name,
            _iter=self._pieces(answer, place),
            _pretended=_usage(messages, answer),
        )

    async def _answer(self, place: Place, messages: Sequence[ModelMessage]) -> Sequence[str | Call]:
        script = self._scripts[min(place.turn, len(self._scripts) - 1)]
        if place.answer >= len(script):
            return (f"(the script of {self.model_name} has ended)",)
        return await played(script[place.answer], place, messages)

    async def _pieces(self, answer: Sequence[str | Call], place: Place) -> AsyncIterator[Any]:
        for number, each in enumerate(answer):
            if isinstance(each, Call):
                arguments = json.dumps(dict(each.arguments), ensure_ascii=False)
                yield {number: DeltaToolCall(each.tool, arguments, tool_call_id=_id(place, number))}
                continue
            for word in _WORDS.findall(each) if self._pace else [each]:
                yield word
                await asyncio.sleep(self._pace)


@dataclass
class _Stream(FunctionStreamedResponse):
    """A stream whose usage is the script's, not an estimate by its pieces."""

    _pretended: RequestUsage = field(default_factory=RequestUsage)

    def __post_init__(self) -> None:
        self._usage = self._pretended

    async def _get_event_iterator(self) -> AsyncIterator[ModelResponseStreamEvent]:
        async for event in super()._get_event_iterator():
            self._usage = self._pretended
            yield event

    @property
    def provider_name(self) -> str:  # type: ignore[override]  # a function has none, a script does
        """Whose model it is."""
        return SYSTEM


def _id(place: Place, number: int) -> str:
    return f"call-{place.turn}-{place.answer}-{number}"


def _usage(messages: Sequence[ModelMessage], answer: Sequence[str | Call]) -> RequestUsage:
    said = sum(tokens_of(each if isinstance(each, str) else json.dumps(dict(each.arguments), default=str)) for each in answer)
    return RequestUsage(input_tokens=max(1, size_of(messages)), output_tokens=max(1, said))


def _unused(_messages: list[ModelMessage], _info: Any) -> ModelResponse:
    raise AssertionError("a scripted model answers by its script")
