"""Spans of a turn for OpenTelemetry: the turn, each call of its model, each use of a tool. Never a text, argument or result.

They are children of the span that was current where the Run was started. Without an SDK nothing is recorded.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, Final

from opentelemetry import trace
from opentelemetry.trace import INVALID_SPAN, Span, SpanKind, Status, StatusCode

from dvergr_nb.actors.program import Round, ToolCall, Using
from dvergr_nb.errors import DvergrError
from dvergr_nb.records.message import Message
from dvergr_nb.records.money import MICRO, Usage
from dvergr_nb.records.profile import Profile
from dvergr_nb.records.run import Run, RunStatus
from dvergr_nb.records.text import clipped, mended
from dvergr_nb.runtime.context import Context
from dvergr_nb.runtime.logs import logger
from dvergr_nb.runtime.secrets import scrub

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse

    from dvergr_nb.actors.models.asked import Asked

log = logger(__name__)

SEMCONV: Final = "genai 0.1.0-dev"
"""The conventions whose names these are; only this table knows them."""
NAMES: Final[Mapping[str, str]] = {
    "operation": "gen_ai.operation.name",
    "agent": "gen_ai.agent.name",
    "profile": "gen_ai.agent.id",
    "version": "gen_ai.agent.version",
    "thread": "gen_ai.conversation.id",
    "provider": "gen_ai.provider.name",
    "model": "gen_ai.request.model",
    "temperature": "gen_ai.request.temperature",
    "max_tokens": "gen_ai.request.max_tokens",
    "top_p": "gen_ai.request.top_p",
    "top_k": "gen_ai.request.top_k",
    "seed": "gen_ai.request.seed",
    "presence_penalty": "gen_ai.request.presence_penalty",
    "frequency_penalty": "gen_ai.request.frequency_penalty",
    "answered_as": "gen_ai.response.model",
    "answer": "gen_ai.response.id",
    "finish_reasons": "gen_ai.response.finish_reasons",
    "input_tokens": "gen_ai.usage.input_tokens",
    "output_tokens": "gen_ai.usage.output_tokens",
    "cache_read_tokens": "gen_ai.usage.cache_read.input_tokens",
    "cache_write_tokens": "gen_ai.usage.cache_creation.input_tokens",
    "all_input_tokens": "gen_ai.aggregated_usage.input_tokens",
    "all_output_tokens": "gen_ai.aggregated_usage.output_tokens",
    "all_cache_read_tokens": "gen_ai.aggregated_usage.cache_read.input_tokens",
    "all_cache_write_tokens": "gen_ai.aggregated_usage.cache_creation.input_tokens",
    "tool": "gen_ai.tool.name",
    "tool_call": "gen_ai.tool.call.id",
    "tool_type": "gen_ai.tool.type",
    "error": "error.type",
    "run": "dvergr.run.id",
    "room": "dvergr.room",
    "trigger": "dvergr.run.trigger",
    "parent": "dvergr.run.parent",
    "kind": "dvergr.run.kind",
    "status": "dvergr.run.status",
    "reason": "dvergr.run.reason",
    "round": "dvergr.round",
    "outcome": "dvergr.outcome",
    "template": "dvergr.template_version",
    "profile_version": "dvergr.profile.version",
    "cost": "dvergr.cost.usd",
    "unpriced": "dvergr.cost.unpriced",
    "chunks": "dvergr.chunk_ids",
}
SETTINGS: Final = ("temperature", "max_tokens", "top_p", "top_k", "seed", "presence_penalty", "frequency_penalty")
"""Those settings of a model that are told; others may hold anything."""
TOKENS: Final = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
TEXT_LIMIT: Final = 300
"""Longest word of somebody else's, and longest description of an error, in characters."""


class TurnSpans:
    """The spans of one turn, which is one segment of a Run."""

    def __init__(self, profile: Profile, message: Message, ctx: Context) -> None:
        self._profile, self._message, self._ctx = profile, message, ctx
        self._tracer = trace.get_tracer("dvergr_nb")
        self._turn: Span = INVALID_SPAN
        self._chat: Span = INVALID_SPAN
        self._failure: tuple[str, str | None] | None = None
        """Type and description of what the turn has raised."""
        self._used = dict.fromkeys(TOKENS, 0)
        self._cost, self._unpriced = 0, 0
        self._shown = 0
        """How many of the cited chunks a model has been shown and has answered."""

    # The turn --------------------------------------------------------------------------------------------------------

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Around all rounds of the turn. The span ends with its Run, whose status it then says."""
        run = self._ctx.run
        self._turn = span = self._tracer.start_span(f"invoke_agent {run.actor}", attributes=self._of_turn(run))
        if span.is_recording():
            self._ctx.when_over(self._over)
        with _current(span):
            try:
                yield
            except Exception as problem:
                self._failure = type(problem).__name__, _description(problem)
                raise

    def _of_turn(self, run: Run) -> dict[str, Any]:
        profile = self._profile
        return _attributes(
            operation="invoke_agent",
            agent=run.actor,
            profile=profile.id,
            version=str(profile.version),
            thread=self._message.thread_root_id,
            model=profile.model,
            run=run.id,
            room=run.room,
            trigger=run.trigger,
            parent=run.parent,
            kind=run.kind,
            template=profile.template_version,
            profile_version=profile.version,
        )

    def _over(self, row: Run) -> None:
        """Its Run has ended or waits. Whatever a processor of spans raises is its own; the Run has ended all the same."""
        used = {f"all_{name}": count for name, count in self._used.items() if count or "cache" not in name}
        known = _attributes(
            status=row.status.value,
            reason=row.reason,
            cost=self._cost / MICRO,
            unpriced=self._unpriced,
            chunks=_each_once(self._ctx.cited),
            **used,
        )
        try:
            self._turn.set_attributes(known)
            if row.status is RunStatus.FAILED:
                kind, description = self._failure or (row.reason or "error", None)
                _failed(self._turn, kind, description)
            self._turn.end()
        except Exception:
            log.exception("the span of Run %s could not be ended", row.id)

    # Its rounds ------------------------------------------------------------------------------------------------------

    def watched(self, given: Round) -> Round:
        """The round, whose uses of tools are spans and whose spending is told to the span of its call."""
        if not self._turn.is_recording():
            return given
        return dataclasses.replace(
            given, using=lambda call: self._use(call, given), spend=lambda usage: self._spend(usage, given)
        )

    def _spend(self, usage: Usage, given: Round) -> None:
        for name in TOKENS:
            self._used[name] += getattr(usage, name)
        self._cost += usage.cost or 0
        self._unpriced += usage.cost is None
        tokens = {name: getattr(usage, name) for name in TOKENS if usage.is_measured}
        known = _attributes(
            answered_as=usage.answered_as,
            cost=None if usage.cost is None else usage.cost / MICRO,
            outcome=usage.outcome,
            **tokens,
        )
        self._chat.set_attributes(known)
        given.spend(usage)

    @contextmanager
    def chat(self, asked: Asked, settings: Mapping[str, Any], number: int) -> Iterator[Chat]:
        """Around one call of a model, also one that is tried again."""
        told = {name: settings[name] for name in SETTINGS if isinstance(settings.get(name), int | float)}
        known = _attributes(operation="chat", provider=asked.provider, model=asked.name, round=number, **self._run, **told)
        self._chat = span = self._tracer.start_span(f"chat {asked.name}", kind=SpanKind.CLIENT, attributes=known)
        if span.is_recording():
            self._turn.set_attribute(NAMES["provider"], asked.provider)
        chat = Chat(span)
        try:
            yield chat
        except Exception as problem:
            chat.failed(problem)
            raise
        finally:
            self._chat = INVALID_SPAN
            self._cite(span)
            self._shown = len(self._ctx.cited) if chat.is_answered else self._shown
            span.end()

    def asking(self) -> AbstractContextManager[object]:
        """Has what is done within, in whichever task, be a part of the call that is open."""
        return _current(self._chat)

    def _cite(self, span: Span) -> None:
        """The chunks that this request has shown for the first time."""
        if chunks := _each_once(self._ctx.cited[self._shown :]):
            span.set_attribute(NAMES["chunks"], chunks)

    @contextmanager
    def _use(self, call: ToolCall, given: Round) -> Iterator[Using]:
        name = _word(call.name)
        known = _attributes(
            operation="execute_tool",
            tool=name,
            tool_call=_word(call.id),
            tool_type="function",
            agent=self._ctx.run.actor,
            round=given.number,
            **self._run,
        )
        span = self._tracer.start_span(f"execute_tool {name}", attributes=known)
        try:
            with _current(span), given.using(call) as use:
                yield use
            if use.failure is not None:
                _failed(span, _word(use.failure))
        except Exception as problem:
            _failed(span, type(problem).__name__)
            raise
        except BaseException:
            span.set_attribute(NAMES["outcome"], "cancelled")
            raise
        finally:
            span.end()

    @property
    def _run(self) -> dict[str, Any]:
        run = self._ctx.run
        return {"run": run.id, "room": run.room, "thread": self._message.thread_root_id}


class Chat:
    """One call of a model, as far as its span is told of it."""

    def __init__(self, span: Span) -> None:
        self._span = span
        self.is_answered = False

    def ended(self, problem: BaseException | None, response: ModelResponse | None) -> None:
        """Its answer is there, or why there is none."""
        if problem is not None:
            self.failed(problem)
        elif response is not None:
            self._answered(response)

    def _answered(self, response: ModelResponse) -> None:
        self.is_answered = True
        reasons = None if response.finish_reason is None else (response.finish_reason,)
        self._span.set_attributes(
            _attributes(finish_reasons=reasons, answer=_word(response.provider_response_id or "") or None)
        )

    def failed(self, problem: BaseException) -> None:
        """It has failed, whether or not it is tried again."""
        _failed(self._span, type(problem).__name__, _description(problem))


def _attributes(**known: Any) -> dict[str, Any]:
    """By the names of the conventions, without what is not known."""
    return {NAMES[name]: value for name, value in known.items() if value is not None}


def _current(span: Span) -> AbstractContextManager[object]:
    """Makes it the current one, and leaves to others what becomes of it."""
    return trace.use_span(span, end_on_exit=False, record_exception=False, set_status_on_exception=False)


def _failed(span: Span, kind: str, description: str | None = None) -> None:
    span.set_attributes(_attributes(error=kind, outcome=kind))
    span.set_status(Status(StatusCode.ERROR, description))


def _description(problem: BaseException) -> str | None:
    """The sentence of an error of our own, without secrets; what others say may repeat what they were given."""
    return clipped(mended(scrub(str(problem))), TEXT_LIMIT) if isinstance(problem, DvergrError) else None


def _word(text: str) -> str:
    return clipped(mended(scrub(text)), TEXT_LIMIT)


def _each_once(chunks: list[str]) -> tuple[str, ...] | None:
    return tuple(dict.fromkeys(chunks)) or None
