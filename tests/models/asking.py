"""One call of a model as a turn makes it, whole or streamed, against a server of a test."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, UserPromptPart
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

from dvergr_nb.actors.models.asked import Asked
from dvergr_nb.actors.models.clients import Clients
from dvergr_nb.actors.models.failures import failure
from dvergr_nb.actors.models.resolving import resolved
from dvergr_nb.agent_errors import ModelError
from dvergr_nb.records.profile import Profile
from tests.rigs.anthropic_server import AnthropicServer
from tests.rigs.google_server import GoogleServer
from tests.rigs.model_server import ModelServer
from tests.rigs.openai_server import OpenAIServer

KEY = "sk-test-0123456789abcdefghijklmn"
LOOKUP = ToolDefinition(name="lookup", parameters_json_schema={"type": "object", "properties": {"q": {"type": "string"}}})
PRICE = {"input": 1.0, "output": 2.0, "cache_read": 0.1, "cache_write": 1.25}

SERVERS: Mapping[str, type[ModelServer]] = {"openai": OpenAIServer, "anthropic": AnthropicServer, "google": GoogleServer}


def profile_at(server: ModelServer, provider: str, **more: Any) -> Profile:
    """A profile whose model is at that server."""
    return Profile(id="reader", model=f"{provider}:small", endpoint=server.url, prices={"small": PRICE}, **more)


@asynccontextmanager
async def model_at(server: ModelServer, provider: str, **more: Any) -> AsyncIterator[Asked]:
    """The model at that server; its connections are closed in the end."""
    clients = Clients()
    try:
        yield resolved(profile_at(server, provider, **more), None, {}, clients=clients)
    finally:
        await clients.aclose()


async def ask(model: Model, *, streams: bool, text: str = "hi", settings: Any = None) -> ModelResponse:
    """One answer to one message."""
    messages: list[ModelMessage] = [ModelRequest(parts=[UserPromptPart(text)])]
    parameters = ModelRequestParameters(function_tools=[LOOKUP])
    if not streams:
        return await model.request(messages, settings, parameters)
    async with model.request_stream(messages, settings, parameters) as stream:
        async for _ in stream:
            pass
        return stream.get()


async def failed(asked: Asked, *, streams: bool, settings: Any = None) -> ModelError:
    """What the call fails of, as a turn would say it."""
    with pytest.raises(Exception) as caught:  # noqa: PT011  # that `failure` knows it is what is tested
        await ask(asked.model, streams=streams, settings=settings)
    error = failure(caught.value, asked.name)
    assert error is not None, f"not known as a failure of a model: {caught.value!r}"
    return error
