"""Every way in which a call fails becomes one typed line without keys, whichever provider it is."""

from __future__ import annotations

import asyncio
import json
import traceback

import httpx2
import pytest
from pydantic_ai import exceptions as of

from dvergr_nb.actors.models.asked import Asked
from dvergr_nb.actors.models.failures import failure, is_worth_another_try, pause_before
from dvergr_nb.agent_errors import ModelBusy, ModelConfused, ModelError, ModelRefused, ModelTimedOut, ModelUnreachable
from tests.models.asking import KEY, SERVERS, ask, failed, model_at
from tests.rigs.model_server import Fail, Raw, Say, cut, hang, use

TOO_LONG = Fail(400, "maximum context length is 5, reduce the length of the messages", code="context_length_exceeded")

each_provider = pytest.mark.parametrize("provider", SERVERS)
streamed_or_not = pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])


@each_provider
@streamed_or_not
@pytest.mark.parametrize(
    ("act", "kind", "says"),
    [
        (Fail(401, "bad key"), ModelRefused, "refuses the key (401): bad key; check the key"),
        (Fail(403, "not yours"), ModelRefused, "refuses the key (403)"),
        (Fail(404, "no such model"), ModelRefused, "is not known there (404): no such model; check its name"),
        (Fail(400, "strange field"), ModelRefused, "refuses the request (400): strange field"),
        (Fail(402, "pay first"), ModelRefused, "is out of credit or quota (402): pay first; add credit"),
        (Fail(429, "slow down"), ModelBusy, "gets too many requests (429): slow down"),
        (Fail(500, "oops"), ModelBusy, "has trouble of its own (500): oops; try again later"),
        (Fail(503, "gone"), ModelBusy, "has trouble of its own (503): gone"),
        (Fail(529, "Overloaded"), ModelBusy, "has trouble of its own (529): Overloaded"),
        (Raw(), ModelConfused, "gave an answer that cannot be used"),
        (Raw("<html>", content_type="text/html"), ModelConfused, "gave an answer that cannot be used"),
        (cut(0), ModelUnreachable, "cannot be reached, or its answer broke off"),
    ],
    ids=lambda value: str(getattr(value, "status", "")) or None,
)
async def test_a_failure_says_what_happened_and_what_to_do(provider, streams, act, kind, says) -> None:
    async with SERVERS[provider](act) as server, model_at(server, provider) as asked:
        error = await failed(asked, streams=streams)
    assert type(error) is kind
    assert str(error).startswith("small ")
    assert says in str(error)
    assert "\n" not in str(error)
    assert error.model == "small"
    assert error.status == getattr(act, "status", None)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "said",
    ["null", "[1, 2]", '{"created": NaN, "choices": [{"index": 0, "delta": {"content": "x"}}]}', "[" * 100_000 + "]" * 100_000],
    ids=["null", "list", "nan", "deep"],
)
async def test_json_that_is_no_answer_is_confused_however_it_breaks_what_reads_it(said) -> None:
    stream = Raw(f"data: {said}\n\ndata: [DONE]\n\n", content_type="text/event-stream")
    async with SERVERS["openai"](stream) as server, model_at(server, "openai") as asked:
        error = await failed(asked, streams=True)
    assert type(error) is ModelConfused
    assert "gave an answer that cannot be used" in str(error)


def test_an_error_of_ones_own_code_is_no_failure_of_the_model() -> None:
    with pytest.raises(AttributeError) as caught:
        getattr(None, "model")  # noqa: B009
    assert failure(caught.value, "small") is None


@each_provider
async def test_a_stream_that_is_cut_is_unreachable(provider) -> None:
    async with SERVERS[provider](cut(2)) as server, model_at(server, provider) as asked:
        error = await failed(asked, streams=True)
    assert type(error) is ModelUnreachable
    assert is_worth_another_try(error)


@each_provider
@pytest.mark.parametrize(("act", "streams"), [(hang(), False), (hang(), True), (hang(2), True)])
async def test_no_answer_in_time_is_timed_out(provider, act, streams) -> None:
    async with SERVERS[provider](act) as server, model_at(server, provider) as asked:
        error = await failed(asked, streams=streams, settings={"timeout": 0.3})
        await server.disconnected()
    assert type(error) is ModelTimedOut
    assert "gave no answer in time" in str(error)
    assert len(server.requests) == 1


@streamed_or_not
async def test_a_conversation_that_is_too_long_says_so(streams) -> None:
    async with SERVERS["openai"](TOO_LONG) as server, model_at(server, "openai") as asked:
        error = await failed(asked, streams=streams)
    assert type(error) is ModelRefused
    assert "finds the conversation too long (400)" in str(error)
    assert "new thread" in str(error)


@each_provider
async def test_trouble_in_the_middle_of_a_stream_is_worth_another_try(provider) -> None:
    async with SERVERS[provider](Fail(429, "too much", in_stream=True)) as server, model_at(server, provider) as asked:
        error = await failed(asked, streams=True)
    assert type(error) is ModelBusy
    assert "too much" in str(error)


@each_provider
async def test_how_long_to_wait_is_taken_from_the_header(provider) -> None:
    async with SERVERS[provider](Fail(429, retry_after=3)) as server, model_at(server, provider) as asked:
        error = await failed(asked, streams=True)
    assert error.retry_after_s == 3.0


@each_provider
async def test_nobody_listening_is_unreachable(provider) -> None:
    async with SERVERS[provider]() as server, model_at(server, provider) as asked:
        await server.stop()
        error = await failed(asked, streams=False)
    assert type(error) is ModelUnreachable


async def asked_and_told(asked: Asked, streams: bool) -> None:
    """As a turn that says at once what went wrong."""
    try:
        await ask(asked.model, streams=streams)
    except of.ModelAPIError as problem:
        error = failure(problem, asked.name)
        assert KEY in str(problem)  # noqa: PT017  # or the test shows nothing
    assert error is not None
    raise error


@each_provider
@streamed_or_not
async def test_a_key_that_a_provider_repeats_is_in_no_part_of_the_error(provider, streams) -> None:
    async with (
        SERVERS[provider](Fail(401, "Incorrect key {key} in " + "x" * 500)) as server,
        model_at(server, provider) as asked,
    ):
        with pytest.raises(ModelRefused) as caught:
            await asked_and_told(asked, streams)
    error = caught.value
    assert server.requests[0].key == KEY
    assert error.__context__ is None
    assert error.__cause__ is None
    told = str(error) + repr(error) + repr(vars(error)) + "".join(traceback.format_exception(error))
    assert KEY not in told
    assert KEY[:12] not in told
    assert "Incorrect key ***" in told


async def test_a_long_message_is_cut() -> None:
    async with SERVERS["openai"](Fail(400, "word " * 1000)) as server, model_at(server, "openai") as asked:
        error = await failed(asked, streams=False)
    assert len(str(error)) < 450
    assert "…" in str(error)


async def test_the_message_of_a_provider_moves_no_cursor() -> None:
    async with SERVERS["openai"](Fail(400, "\x1b[31mred\u202e\nand more")) as server, model_at(server, "openai") as asked:
        error = await failed(asked, streams=False)
    assert str(error).isprintable() or "\ufffd" in str(error)
    assert "\x1b" not in str(error)
    assert "\u202e" not in str(error)


async def test_broken_arguments_of_a_tool_are_an_answer_still() -> None:
    async with SERVERS["openai"](use(("lookup", '{"q": oops'))) as server, model_at(server, "openai") as asked:
        response = await ask(asked.model, streams=True)
    assert response.tool_calls[0].args == '{"q": oops'


async def test_an_answer_that_is_cancelled_is_seen_by_the_server_and_the_next_call_works() -> None:
    async with SERVERS["openai"](hang(2), Say("again")) as server, model_at(server, "openai") as asked:
        call = asyncio.create_task(ask(asked.model, streams=True))
        await server.requested()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        await server.disconnected()
        assert (await ask(asked.model, streams=True)).text == "again"


@pytest.mark.parametrize(
    ("problem", "kind"),
    [
        (of.ModelQuotaExceededError("m", "no credit"), ModelRefused),
        (of.ModelHTTPError(418, "m"), ModelRefused),
        (of.ModelHTTPError(504, "m"), ModelTimedOut),
        (of.ModelHTTPError(409, "m"), ModelBusy),
        (of.ModelRequestTimeout("m", 3.0), ModelTimedOut),
        (of.ContentFilterError("withheld"), ModelRefused),
        (of.IncompleteToolCall("cut short"), ModelConfused),
        (of.OutputTokenLimitExceeded("cut short"), ModelConfused),
        (of.UnexpectedModelBehavior("odd", body="{}"), ModelConfused),
        (of.ConcurrencyLimitExceeded("too many"), ModelBusy),
        (of.UserError("no such setting"), ModelRefused),
        (
            of.FallbackExceptionGroup("all", [of.ModelRateLimitError("a", "x"), of.ModelAuthenticationError("b", "y")]),
            ModelRefused,
        ),
        (httpx2.ReadTimeout("late"), ModelTimedOut),
        (httpx2.RemoteProtocolError("broke"), ModelUnreachable),
        (ConnectionResetError("reset"), ModelUnreachable),
        (TimeoutError(), ModelTimedOut),
        (json.JSONDecodeError("bad", "{", 1), ModelConfused),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, BaseException) else None,
)
def test_what_no_server_of_ours_can_do_has_a_class_too(problem, kind) -> None:
    error = failure(problem, "small")
    assert type(error) is kind
    assert isinstance(error, ModelError)


@pytest.mark.parametrize(
    "problem", [ValueError("ours"), asyncio.CancelledError(), KeyboardInterrupt(), of.UsageLimitExceeded("x")]
)
def test_what_is_no_failure_of_a_model_is_none(problem) -> None:
    assert failure(problem, "small") is None


def test_a_failure_that_is_known_already_stays_what_it_is() -> None:
    error = ModelBusy("small", "busy")
    assert failure(error, "other") is error


def test_only_what_may_pass_is_worth_another_try() -> None:
    kinds = (ModelBusy, ModelUnreachable, ModelTimedOut, ModelRefused, ModelConfused)
    assert [is_worth_another_try(kind("m", "x")) for kind in kinds] == [True, True, True, False, False]
    assert not is_worth_another_try(ValueError())


def test_pauses_grow_from_half_a_second_to_twenty() -> None:
    error = ModelBusy("m", "x")
    assert [pause_before(attempt, error, chance=lambda: 0.0) for attempt in (1, 2, 3, 4, 20)] == [0.5, 1.0, 2.0, 4.0, 20.0]
    assert pause_before(1, error, chance=lambda: 0.999) == pytest.approx(0.9995)
    assert pause_before(500, error) == 20.0


def test_a_provider_may_ask_for_its_own_pause_up_to_a_minute() -> None:
    pauses = [pause_before(5, ModelBusy("m", "x", retry_after_s=asked)) for asked in (0.0, 3.0, 3600.0)]
    assert pauses == [0.0, 3.0, 60.0]
