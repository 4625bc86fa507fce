"""The clients that reach providers: one per event loop, provider, endpoint and key, and closed at the end.

Connections belong to the loop that opened them, so a client is never shared between loops. No client tries a call again by
itself: how often a call is tried is decided, shown and paid elsewhere.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import inspect
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakKeyDictionary

from dvergr_nb.actors.models.reference import Remote, is_local

if TYPE_CHECKING:
    from ssl import SSLContext

    from httpx2 import AsyncClient
    from pydantic_ai.models import Model
    from pydantic_ai.providers import Provider

NO_KEY: Final = "no-key-needed"
"""What is sent to a server of this machine where there is no key; the SDKs refuse to send nothing."""


@dataclass(frozen=True, slots=True)
class _Open:
    """A client, its connections and the models that were made on it."""

    http: AsyncClient
    provider: Provider[Any]
    models: dict[str, Model] = field(default_factory=dict)


Opened = dict[tuple[str, str | None, str], _Open]
"""By provider, endpoint and a hash of the key."""


class Clients:
    """All open clients of one owner."""

    def __init__(self) -> None:
        self._by_loop: WeakKeyDictionary[asyncio.AbstractEventLoop, Opened] = WeakKeyDictionary()
        self._closing: set[asyncio.Task[None]] = set()

    def model(self, asked: Remote) -> Model:
        """The model object on a client of the running loop; the same one each time, until that is closed."""
        found = self._found(asked)
        if asked.text not in found.models:
            found.models[asked.text] = _model(asked, found.provider)
        return found.models[asked.text]

    def _found(self, asked: Remote) -> _Open:
        mine = self._by_loop.setdefault(asyncio.get_running_loop(), {})
        name = (asked.provider, asked.endpoint, hashlib.sha256((asked.key or "").encode()).hexdigest())
        if name not in mine:
            http = _http(asked.endpoint)
            mine[name] = _Open(http, _made(asked, http))
        return mine[name]

    @property
    def open(self) -> int:
        """How many clients the running loop has."""
        return len(self._by_loop.get(asyncio.get_running_loop(), {}))

    async def aclose(self) -> None:
        """Closes the clients of the running loop with their connections; the next model that is resolved gets a new one."""
        await _closed(self._by_loop.pop(asyncio.get_running_loop(), {}))

    def close(self) -> asyncio.Task[None] | None:
        """As `aclose`, where nothing can be awaited: the running loop closes them soon. None where there is nothing."""
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # connections of loops that have ended, ended with them
            return None
        mine = self._by_loop.pop(loop, {})
        if not mine:
            return None
        closing = loop.create_task(_closed(mine))
        self._closing.add(closing)
        closing.add_done_callback(self._closing.discard)
        return closing


async def _closed(opened: Opened) -> None:
    for each in opened.values():
        await each.http.aclose()


_LOADED: Final[set[str]] = set()


def is_loaded(asked: Remote) -> bool:
    """Whether a client can be made without loading its packages first."""
    return asked.provider in _LOADED


def load(asked: Remote) -> None:
    """Loads what a client of that provider needs, which takes seconds: in a thread. What is missing is told when it is used."""
    with contextlib.suppress(ImportError):
        import genai_prices.data_snapshot  # noqa: F401  # this and all below: only so that it is there

        _certificates()
        match asked.known.package if asked.known else asked.provider:
            case "openai":
                import openai.resources.chat.completions
                import openai.resources.responses.responses  # noqa: F401
                import pydantic_ai.models.openai
                import pydantic_ai.providers.openai
            case "anthropic":
                import anthropic.resources.beta.messages.messages  # noqa: F401
                import pydantic_ai.models.anthropic
                import pydantic_ai.providers.anthropic
            case "google.genai":
                import pydantic_ai.models.google
                import pydantic_ai.providers.google  # noqa: F401
    _LOADED.add(asked.provider)


def _http(endpoint: str | None) -> AsyncClient:
    """An HTTP client of our own. One for this machine goes through no proxy, whatever the environment says."""
    from pydantic_ai.models import create_async_httpx2_client

    if not is_local(endpoint):
        return create_async_httpx2_client()
    import httpx2

    return create_async_httpx2_client(transport=httpx2.AsyncHTTPTransport(verify=_certificates()))


@cache
def _certificates() -> SSLContext:
    """Those of this machine. To read them takes a good part of the time that a client takes to make."""
    import httpx2

    return httpx2.create_ssl_context()


def _made(asked: Remote, http: AsyncClient) -> Provider[Any]:
    """A provider on that client whose SDK tries nothing again. That of Google does not unless it is told to."""
    provider = _provider(asked, http)
    if hasattr(provider.client, "max_retries"):
        provider.client.max_retries = 0
    return provider


def _provider(asked: Remote, http: AsyncClient) -> Provider[Any]:
    key = asked.key or NO_KEY
    match asked.provider:
        case "openai" | "openai-chat" | "openai-responses":
            from pydantic_ai.providers.openai import OpenAIProvider

            return OpenAIProvider(base_url=asked.endpoint, api_key=key, http_client=http)
        case "anthropic":
            from pydantic_ai.providers.anthropic import AnthropicProvider

            return AnthropicProvider(base_url=asked.endpoint, api_key=key, http_client=http)
        case "google":
            from pydantic_ai.providers.google import GoogleProvider

            return GoogleProvider(base_url=asked.endpoint, api_key=key, http_client=http)
        case _:
            return _other(asked, http)


def _other(asked: Remote, http: AsyncClient) -> Provider[Any]:
    """One that pydantic-ai finds by its name, with as much of ours as it takes."""
    from pydantic_ai.providers import infer_provider_class

    made = infer_provider_class(asked.provider)
    takes = inspect.signature(made).parameters
    given = {"api_key": asked.key, "http_client": http}
    return made(**{name: value for name, value in given.items() if name in takes and value is not None})


def _model(asked: Remote, provider: Provider[Any]) -> Model:
    """`openai` means the Responses API at OpenAI itself, and chat completions, which others speak too, anywhere else."""
    match asked.provider:
        case _ if asked.known is None:
            from pydantic_ai.models import infer_model

            return infer_model(f"{asked.provider}:{asked.name}", provider_factory=lambda _name: provider)
        case "anthropic":
            from pydantic_ai.models.anthropic import AnthropicModel

            return AnthropicModel(asked.name, provider=provider)
        case "google":
            from pydantic_ai.models.google import GoogleModel

            return GoogleModel(asked.name, provider=provider)
        case "openai-responses":
            from pydantic_ai.models.openai import OpenAIResponsesModel

            return OpenAIResponsesModel(asked.name, provider=provider)
        case "openai" if asked.endpoint is None:
            from pydantic_ai.models.openai import OpenAIResponsesModel

            return OpenAIResponsesModel(asked.name, provider=provider)
        case _:
            from pydantic_ai.models.openai import OpenAIChatModel

            return OpenAIChatModel(asked.name, provider=provider)
