"""The rounds of one turn of a model: asking it, using what it wants used, and knowing at each point what is settled."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any, TypeVar, cast

from pydantic_ai import Agent, AgentRun, CallToolsNode, ModelRequestNode
from pydantic_ai.exceptions import ContentFilterError, OutputTokenLimitExceeded, UnexpectedModelBehavior
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolCallPart, ToolReturnPart
from pydantic_ai.usage import UsageLimits
from pydantic_graph import End as Ended

from dvergr_nb.actors.agents.driver import Driver
from dvergr_nb.actors.agents.history import History, prompt
from dvergr_nb.actors.agents.listening import listen
from dvergr_nb.actors.agents.spans import TurnSpans
from dvergr_nb.actors.models.failures import failure, is_worth_another_try, pause_before
from dvergr_nb.actors.models.resolving import Asked
from dvergr_nb.actors.models.usage import usage_of
from dvergr_nb.actors.program import Answer, Broken, Complete, Continue, End, Round, ToolCall
from dvergr_nb.actors.tools.result import as_text
from dvergr_nb.actors.tools.running import run_tool
from dvergr_nb.actors.tools.tool import Tool
from dvergr_nb.agent_errors import ModelError, StepLimit
from dvergr_nb.records.message import Message
from dvergr_nb.records.profile import Profile
from dvergr_nb.records.text import mended
from dvergr_nb.runtime.context import Context
from dvergr_nb.runtime.secrets import scrub

T = TypeVar("T")
Part = Any
"""A part of a request."""


class ModelRounds:
    """`Rounds` of one message. `_settled` and `_request` are what the next call of the model begins from."""

    def __init__(
        self,
        *,
        agent: Agent[Any, Any],
        profile: Profile,
        tools: Mapping[str, Tool],
        asked: Callable[[Any], Awaitable[Asked]],
        message: Message,
        before: History,
        ctx: Context,
        spans: TurnSpans,
    ) -> None:
        self._agent, self._profile, self._tools, self._find, self._ctx = agent, profile, tools, asked, ctx
        self._spans = spans
        self._settled: list[ModelMessage] = list(before.shown)
        self._known = before.ids
        self._request: list[Part] = [prompt(message)]
        self._before: tuple[list[ModelMessage], list[Part]] = self._settled, self._request
        """What the call that was answered last began from."""
        self._heard: ModelResponse | None = None
        """The whole answer to the running call, which costs what it does also where the turn waits for it no more."""
        self._response: ModelResponse | None = None
        self._driver: Driver | None = None
        self._is_fresh = True
        """Whether nothing was asked in the driver's run yet; it begins with the request at the end of its history."""
        self._asked: Asked | None = None
        self._given: Round | None = None
        self._used = 0
        caps = profile.caps.narrowed(max_steps=ctx.wanted.max_steps)
        self._max_steps, self._tool_cap = caps.max_steps, caps.tool_calls

    # Asking ----------------------------------------------------------------------------------------------------------

    async def call(self, given: Round) -> Answer:
        """The model's answer. A provider that is busy is asked again, each time on record and paid."""
        if given.number >= self._max_steps:
            raise StepLimit(self._profile.id, self._max_steps)
        self._given = given = self._spans.watched(given)
        self._request += [prompt(message) for message in given.folded if message.id not in self._known]
        asked = await self._next_model()
        for attempt in range(self._profile.retries + 1):
            with self._spans.chat(asked, self._settings(None), given.number) as chat:
                problem = await self._tried(asked, given)
                chat.ended(problem, self._response)
            if problem is None:
                return await self._answer()
            if attempt == self._profile.retries or not is_worth_another_try(problem):
                raise problem
            given.note("retry", type(problem).__name__)
            await asyncio.sleep(pause_before(attempt + 1, problem))
        raise AssertionError("a call of a model was neither answered nor refused")

    async def _next_model(self) -> Asked:
        """The model that this round asks; another one than before begins a run of its own."""
        wanted = self._ctx.dials.model
        asked = await self._find(self._ctx.wanted.model if wanted is None else wanted)
        if self._asked is not None and asked.model is not self._asked.model:
            await self.close()
        self._asked = asked
        return asked

    async def _tried(self, asked: Asked, given: Round) -> ModelError | None:
        """Asks once. What it came to is charged, whatever it was; where there is no answer, that is given back, not raised."""
        self._heard = None
        try:
            settled, self._response = await self._step(lambda run: self._asked_in(run, given))
        except asyncio.CancelledError:
            given.spend(usage_of(self._heard, asked, "cut" if self._ctx.token.stop is None else "cancelled"))
            raise
        except Exception as problem:
            known = failure(problem, asked.name)
            if known is None:
                raise
            given.spend(usage_of(None, asked, type(known).__name__))
            self._driver = None
            return known
        self._before = self._settled, self._request
        self._settled, self._request = settled, []
        given.spend(usage_of(self._response, asked, "completed"))
        return None

    async def _asked_in(self, run: AgentRun[Any, Any], given: Round) -> tuple[list[ModelMessage], ModelResponse]:
        """Sends the request within a run of the agent, and has the text shown as it comes. All messages, and the answer."""
        is_fresh, self._is_fresh = self._is_fresh, False
        node = await _first_request(run) if is_fresh else ModelRequestNode(ModelRequest(parts=list(self._request)))
        with self._spans.asking():
            async with node.stream(run.ctx) as stream:
                await listen(stream, given.say)
        called = await run.next(node)
        if not isinstance(called, CallToolsNode):
            raise TypeError(f"a model's answer is followed by its tools, not by {type(called).__name__}")
        self._heard = called.model_response
        return list(run.all_messages()), called.model_response

    async def _step(self, work: Callable[[AgentRun[Any, Any]], Awaitable[T]]) -> T:
        """A step in the run of the agent; a new run begins from what is settled."""
        if self._driver is None:
            self._driver, self._is_fresh = Driver(self._entered), True
        driver = self._driver
        try:
            return await driver.step(work)
        except BaseException:
            self._driver = None  # it has ended with the step
            raise

    def _entered(self) -> AbstractAsyncContextManager[AgentRun[Any, Any]]:
        history = [*self._settled]
        if self._request:
            history.append(ModelRequest(parts=list(self._request)))
        asked = cast(Asked, self._asked)
        return self._agent.iter(
            message_history=history,
            model=asked.model,
            model_settings=cast(Any, self._settings),
            deps=self,
            usage_limits=UsageLimits(request_limit=None),
            infer_name=False,
        )

    def _settings(self, _run: Any) -> dict[str, Any]:
        """Looked at before each call, so that what was changed meanwhile holds from the next round."""
        temperature = self._ctx.dials.temperature
        own = {} if temperature is None else {"temperature": temperature}
        return {**self._profile.settings, **own, "max_retries": 0}

    # Answers ---------------------------------------------------------------------------------------------------------

    async def _answer(self) -> Answer:
        """What the response asks for: tools of ours, a check of its output, or nothing more."""
        response = cast(ModelResponse, self._response)
        calls = [part for part in response.parts if isinstance(part, ToolCallPart)]
        cut = None if calls else _cut_short(response, cast(Asked, self._asked).name)
        if cut is not None and not response.text:
            raise cut
        if not self._is_for_output(calls):
            end = Complete(missing=self._nothing()) if cut is None else Broken(error=str(cut))
            return Answer(text=scrub(response.text or ""), tool_calls=tuple(_named(part) for part in calls), end=end)
        if own := tuple(_named(part) for part in calls if part.tool_name in self._tools):
            return Answer(tool_calls=own)
        try:
            return Answer(end=await self._checked_output())
        except asyncio.CancelledError:
            self._settled, self._request = self._before  # a round that is cut was never answered
            raise

    def _nothing(self) -> ModelError | None:
        """Semantics 2.12: a turn that has come to no text has failed; to have nothing to say, a model says so."""
        return failure(UnexpectedModelBehavior("it has said nothing"), cast(Asked, self._asked).name)

    def _is_for_output(self, calls: Sequence[ToolCallPart]) -> bool:
        """Whether the answer is to be checked as the turn's output, or has that beside tools."""
        is_wanted = self._ctx.wanted.output_type is not None
        return is_wanted and not (calls and all(call.tool_name in self._tools for call in calls))

    async def _checked_output(self) -> End:
        """pydantic-ai checks the output: it is the end of the turn, or the model is told what is wrong with it. Tools that are
        wanted beside it are used on the way.
        """

        async def check(run: AgentRun[Any, Any]) -> tuple[list[ModelMessage], Any]:
            node = await run.next(CallToolsNode(cast(ModelResponse, self._response)))
            return list(run.all_messages()), node

        try:
            self._settled, node = await self._step(check)
        except Exception as problem:
            known = failure(problem, cast(Asked, self._asked).name)
            if known is None:
                raise
        else:
            if isinstance(node, Ended):
                return Complete(value=node.data.output, text=_as_text(node.data.output))
            self._request = list(node.request.parts)
            return Continue()
        raise known

    # Tools -----------------------------------------------------------------------------------------------------------

    async def use(self, calls: tuple[ToolCall, ...], given: Round) -> End:
        """Uses them all at once; what they gave is part of the next request, in the order in which they were asked for."""
        given, response = self._spans.watched(given), cast(ModelResponse, self._response)
        parts = [part for part in response.parts if isinstance(part, ToolCallPart)]
        if self._is_for_output(parts):
            return await self._checked_output()
        uses = [asyncio.ensure_future(self._use(call, part.args or "", given)) for call, part in zip(calls, parts, strict=True)]
        try:
            texts = await asyncio.gather(*uses)
        except BaseException:
            await _ended(uses)
            raise
        self._request = [
            ToolReturnPart(tool_name=part.tool_name, content=text, tool_call_id=part.tool_call_id)
            for part, text in zip(parts, texts, strict=True)
        ]
        return Continue()

    async def used(self, name: str, call_id: str, arguments: Mapping[str, Any]) -> str:
        """One use of a tool that pydantic-ai asks for."""
        return await self._use(ToolCall(id=call_id or "call", name=name), arguments, cast(Round, self._given))

    async def _use(self, call: ToolCall, arguments: str | Mapping[str, Any], given: Round) -> str:
        cap = self._ctx.dials.tool_cap if self._ctx.dials.tool_cap is not None else self._tool_cap
        if cap is not None and self._used >= cap:
            return self._refused(call, given, "tool-cap", f"not done: this turn may use tools {cap} times, and has")
        self._used += 1
        tool = self._tools.get(call.name)
        if tool is None:
            known = ", ".join(self._tools) or "no tools at all"
            return self._refused(call, given, "unknown-tool", f"there is no tool {call.name!r}; there are: {known}")
        return await run_tool(tool, call, arguments, self._ctx, given, on_error=self._profile.on_tool_error)

    def _refused(self, call: ToolCall, given: Round, outcome: str, sentence: str) -> str:
        with given.using(call) as using:
            using.failed(outcome)
        return sentence

    async def close(self) -> None:
        """Leaves the run of the agent."""
        driver, self._driver = self._driver, None
        if driver is not None:
            await driver.close()


async def _first_request(run: AgentRun[Any, Any]) -> ModelRequestNode[Any, Any]:
    """The request that a run begins with."""
    node = run.next_node
    while not isinstance(node, ModelRequestNode):
        if isinstance(node, CallToolsNode | Ended):
            raise TypeError(f"a run that begins with a request has {type(node).__name__} before it")
        node = await run.next(node)
    return node


def _cut_short(response: ModelResponse, model: str) -> ModelError | None:
    """Why an answer ends where it does, or has not a word, where that was not for the model to decide."""
    words = "what it said until then stands" if response.text else "it has said nothing"
    match response.finish_reason:
        case "length":
            return failure(OutputTokenLimitExceeded(words), model)
        case "content_filter":
            return failure(ContentFilterError(str((response.provider_details or {}).get("refusal") or words)), model)
        case _:
            return None


def _named(part: ToolCallPart) -> ToolCall:
    """The call by words, whatever the provider has sent: it is sent back, which no lone surrogate could be."""
    part.tool_name, part.tool_call_id = mended(part.tool_name), mended(part.tool_call_id)
    return ToolCall(id=part.tool_call_id.strip() or "call", name=part.tool_name.strip() or "tool")


def _as_text(output: Any) -> str:
    """JSON; of what a function of somebody's has made of an output and has no such form, what it says of itself."""
    if isinstance(output, str):
        return output
    from pydantic import PydanticSchemaGenerationError, TypeAdapter

    try:
        return TypeAdapter(type(output)).dump_json(output, indent=2).decode()
    except (PydanticSchemaGenerationError, ValueError):
        return as_text(output)


async def _ended(tasks: Sequence[asyncio.Future[Any]]) -> None:
    """Cancels what goes on and returns once all has ended."""
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
