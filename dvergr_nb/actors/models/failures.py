"""How calls of a model fail: what went wrong in one line, without keys, and whether another try may help."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from dvergr_nb.agent_errors import ModelBusy, ModelConfused, ModelError, ModelRefused, ModelTimedOut, ModelUnreachable
from dvergr_nb.records.text import clipped, printable
from dvergr_nb.runtime import secrets

MESSAGE_LIMIT: Final = 300
"""How much of a provider's own words an error repeats, in characters."""
FIRST_PAUSE_S: Final = 0.5
LONGEST_PAUSE_S: Final = 20.0
LONGEST_ASKED_S: Final = 60.0
"""The longest pause that a provider may ask for."""

_SDKS: Final = ("openai", "anthropic", "google", "groq", "mistralai", "cohere", "huggingface_hub", "xai_sdk")
_TRANSPORTS: Final = ("httpx2", "httpx", "httpcore2", "httpcore", "aiohttp", "ssl", "socket")
_READERS: Final = ("pydantic_ai", "pydantic", "json", *_SDKS, *_TRANSPORTS)
"""Packages that read what a provider sends; some of it breaks them in ways they have no error for."""

Kind = type[ModelError]
Found = tuple[Kind, str, str]
"""The class, what happened, and what to do; both are pieces of a sentence."""


def failure(problem: BaseException, model: str) -> ModelError | None:
    """What a call of `model` failed of, or None where the model has no part in it. It holds nothing of the original.

    Raise it outside of the handler that caught the original, or that is kept as its context.
    """
    if isinstance(problem, ModelError):
        return problem
    while isinstance(problem, BaseExceptionGroup):
        problem = problem.exceptions[-1]
    found = next((found for rule in _RULES if (found := rule(problem))), None)
    if found is None:
        return None
    kind, what, advice = found
    status, words = _status(problem), _words(problem)
    sentence = f"{printable(model)} {what}{f' ({status})' if status else ''}{f': {words}' if words else ''}; {advice}"
    return kind(model, sentence, status=status, retry_after_s=_retry_after(problem))


def is_worth_another_try(error: BaseException) -> bool:
    """Whether the same call may work a little later."""
    return isinstance(error, ModelBusy | ModelUnreachable | ModelTimedOut)


def pause_before(attempt: int, error: ModelError, *, chance: Callable[[], float] = random.random) -> float:
    """Seconds to wait after `attempt` tries, 1, 2, …: what the provider asks for, else twice as long each time."""
    if error.retry_after_s is not None:
        return min(max(0.0, error.retry_after_s), LONGEST_ASKED_S)
    return min(LONGEST_PAUSE_S, FIRST_PAUSE_S * float(2 ** min(max(0, attempt - 1), 10)) * (1 + chance()))


# What happened -------------------------------------------------------------------------------------------------------

_LATER: Final = "try again later"
_BUSY: Final = (ModelBusy, "is busy or has trouble of its own", _LATER)
_TOO_MANY: Final = (ModelBusy, "gets too many requests", "let fewer turns run at once, or " + _LATER)
_UNREACHABLE: Final = (ModelUnreachable, "cannot be reached, or its answer broke off", "check the network and endpoint=")
_LATE: Final = (ModelTimedOut, "gave no answer in time", "give it longer with settings={'timeout': SECONDS}, or " + _LATER)
_REFUSED: Final = (ModelRefused, "refuses the request", "change what is asked, its settings or its tools")
_KEY: Final = (ModelRefused, "refuses the key", "check the key, and that it may use this model")
_ABSENT: Final = (ModelRefused, "is not known there", "check its name and endpoint=")
_TOO_LONG: Final = (ModelRefused, "finds the conversation too long", "go on in a new thread, or use a model that takes more")
_NO_CREDIT: Final = (ModelRefused, "is out of credit or quota", "add credit with the provider, or use another model")
_WITHHELD: Final = (ModelRefused, "had its answer withheld by a content filter", "ask differently")
_CUT_SHORT: Final = (ModelConfused, "stopped at its limit of output tokens", "raise max_tokens in settings")
_CONFUSED: Final = (ModelConfused, "gave an answer that cannot be used", "ask again, or use another model")


def _of_pydantic(problem: BaseException) -> Found | None:
    from pydantic_ai import exceptions as of

    rules: Mapping[type[BaseException], Found] = {  # the narrower ones first
        of.ModelAuthenticationError: _KEY,
        of.ModelNotFoundError: _ABSENT,
        of.ModelContextWindowExceededError: _TOO_LONG,
        of.ModelRequestRejectedError: _REFUSED,
        of.ModelQuotaExceededError: _NO_CREDIT,
        of.ModelRateLimitError: _TOO_MANY,
        of.ModelUnavailableError: _BUSY,
        of.ModelServerError: _BUSY,
        of.ModelTimeoutError: _LATE,
        of.ModelRequestTimeout: _LATE,
        of.ModelConnectionError: _UNREACHABLE,
        of.ContentFilterError: _WITHHELD,
        of.OutputTokenLimitExceeded: _CUT_SHORT,
        of.UnexpectedModelBehavior: _CONFUSED,
        of.UserError: _REFUSED,
        of.ConcurrencyLimitExceeded: _TOO_MANY,
    }
    if found := next((found for kind, found in rules.items() if isinstance(problem, kind)), None):
        return _BY_STATUS.get(_status(problem) or 0, found) if found is _BUSY else found
    return _of_other_api_error(problem) if isinstance(problem, of.ModelAPIError) else None


def _of_other_api_error(problem: BaseException) -> Found:
    """One that pydantic-ai puts into no class: what it comes from tells."""
    status = _status(problem)
    if status is not None:
        return _of_status(status)
    if getattr(problem, "in_stream", False):
        return _BUSY
    causes = list(_causes(problem))
    if any(isinstance(each, json.JSONDecodeError | UnicodeDecodeError) for each in causes) or "JSON" in str(problem):
        return _CONFUSED
    found = (found for each in causes for rule in (_of_transport, _of_sdk) if (found := rule(each)))
    return next(found, _BUSY)


def _of_sdk(problem: BaseException) -> Found | None:
    """An error of a provider's own package that came past pydantic-ai."""
    if _package(problem) not in _SDKS or not isinstance(problem, Exception):
        return None
    status, name = _status(problem), type(problem).__name__
    if status is not None:
        return _of_status(status)
    return _LATE if "Timeout" in name else _UNREACHABLE if "Connection" in name else _CONFUSED


def _of_transport(problem: BaseException) -> Found | None:
    match problem:
        case json.JSONDecodeError() | UnicodeDecodeError():
            return _CONFUSED
        case TimeoutError():
            return _LATE
        case ConnectionError():
            return _UNREACHABLE
        case Exception() if _package(problem) in _TRANSPORTS:
            return _LATE if "Timeout" in type(problem).__name__ else _UNREACHABLE
        case _:
            return None


def _of_reading(problem: BaseException) -> Found | None:
    """A plain error, raised where an answer is read that is JSON and yet nothing a provider may say."""
    if not isinstance(problem, Exception) or _package(problem) not in ("builtins", "pydantic_core"):
        return None
    return _CONFUSED if _raised_in(problem) in _READERS else None


def _raised_in(problem: BaseException) -> str:
    """The package whose code has raised it."""
    trace = problem.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    return "" if trace is None else str(trace.tb_frame.f_globals.get("__name__", "")).partition(".")[0]


_RULES: Final[tuple[Callable[[BaseException], Found | None], ...]] = (_of_pydantic, _of_sdk, _of_transport, _of_reading)
_BY_STATUS: Final = {
    401: _KEY,
    402: _NO_CREDIT,
    403: _KEY,
    404: _ABSENT,
    408: _LATE,
    409: _BUSY,
    413: _TOO_LONG,
    425: _BUSY,
    429: _TOO_MANY,
    504: _LATE,
}


def _of_status(status: int) -> Found:
    return _BY_STATUS.get(status, _BUSY if status >= 500 else _REFUSED)


# What is known of it -------------------------------------------------------------------------------------------------


def _package(problem: BaseException) -> str:
    return type(problem).__module__.partition(".")[0]


def _causes(problem: BaseException) -> Iterator[BaseException]:
    """What it comes from, the nearest first."""
    seen: set[int] = set()
    cause = problem.__cause__ or problem.__context__
    while cause is not None and id(cause) not in seen:
        seen.add(id(cause))
        yield cause
        cause = cause.__cause__ or cause.__context__


def _status(problem: BaseException) -> int | None:
    for name in ("status_code", "code"):
        value = getattr(problem, name, None)
        if isinstance(value, int) and not isinstance(value, bool) and 100 <= value < 600:
            return value
    return None


def _retry_after(problem: BaseException) -> float | None:
    seconds = getattr(problem, "retry_after", None)
    return float(seconds) if isinstance(seconds, int | float) and seconds >= 0 else None


def _words(problem: BaseException) -> str:
    """The provider's own words on one line, without keys and then cut: a piece of a key would be a key half told."""
    said = _message_in(getattr(problem, "body", None)) or str(getattr(problem, "message", "") or problem)
    return clipped(printable(" ".join(secrets.scrub(said).split())).rstrip("."), MESSAGE_LIMIT)


def _message_in(body: Any) -> str:
    """The message in an error's body, wherever the provider puts it."""
    match body:
        case {"error": {"message": str(message)}} | {"message": str(message)} | {"error": str(message)}:
            return message
        case {"detail": detail}:
            return str(detail)
        case [first, *_]:
            return _message_in(first)
        case str():
            return body
        case _:
            return ""
