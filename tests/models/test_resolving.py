"""What names a model is found, or refused in a sentence before anything is asked."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any

import pytest
from pydantic_ai.models.test import TestModel

from dvergr_nb.actors.models.clients import Clients
from dvergr_nb.actors.models.reference import name_of
from dvergr_nb.actors.models.resolving import resolved, usable
from dvergr_nb.actors.models.scripted_model import scripted_model
from dvergr_nb.agent_errors import BadModel
from dvergr_nb.records.profile import Profile
from dvergr_nb.runtime import secrets
from tests.models.asking import KEY, SERVERS, ask, model_at, profile_at
from tests.rigs.model_server import Fail, Say

LOCAL = "http://127.0.0.1:8000/v1"


def refused(model: Any, bound: Mapping[str, Any] = MappingProxyType({}), **more: Any) -> str:
    """Why it cannot be asked."""
    profile = Profile(id="reader", model=model if isinstance(model, str) else "given", **more)
    with pytest.raises(BadModel) as caught:
        usable(profile, model, bound)
    assert "\n" not in str(caught.value)
    return str(caught.value)


@pytest.mark.parametrize(
    ("model", "says"),
    [
        ("opnai:gpt-6.1-terra", "did you mean 'openai'?"),
        ("nobody:at-all", "names no provider that is known here; there are openai, "),
        (
            "gpt-6.1-terra",
            "no model 'gpt-6.1-terra' is known in this kernel; write provider:name, such as 'openai:gpt-6.1-terra'",
        ),
        ("openai:", "names a provider and no model"),
        ("openai: ", "names a provider and no model"),
        (":small", "names no provider"),
        (3, "a model is 'provider:name', such as 'openai:gpt-6.1-terra', or a model object, not 3"),
        ("", "a model is 'provider:name'"),
        ("groq:llama", 'needs the package groq, which is not installed; install it: pip install "pydantic-ai-slim[groq]"'),
    ],
)
def test_what_names_no_model_is_refused(model, says) -> None:
    assert says in refused(model)


def test_a_name_that_no_cell_has_given_is_refused_with_the_nearest() -> None:
    assert "did you mean 'scripted-1'?" in refused("scripted-2", {"scripted-1": scripted_model("hi")})


def test_a_bound_name_that_is_no_model_is_refused() -> None:
    assert "'mine' names 'gpt-5' in this kernel, which is no model object" in refused("mine", {"mine": "gpt-5"})


@pytest.mark.parametrize(
    ("model", "variable"),
    [
        ("openai:gpt-6.1-terra", "OPENAI_API_KEY"),
        ("openai-chat:gpt-6.1-terra", "OPENAI_API_KEY"),
        ("anthropic:claude-haiku-4-5", "ANTHROPIC_API_KEY"),
        ("google:gemini-2.5-flash", "GOOGLE_API_KEY"),
        ("google-gla:gemini-2.5-flash", "GOOGLE_API_KEY"),
        ("deepseek:deepseek-chat", "DEEPSEEK_API_KEY"),
    ],
)
def test_a_missing_key_is_named_by_its_variable(monkeypatch, model, variable) -> None:
    monkeypatch.delenv(variable, raising=False)
    assert f"needs an API key in the environment variable {variable}, which is not set" in refused(model)


def test_a_key_that_the_profile_names_must_be_there_also_on_this_machine() -> None:
    assert "variable MY_KEY, which is not set" in refused("openai:small", key_env="MY_KEY", endpoint=LOCAL)


def test_a_blank_key_is_none(monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "  ")
    assert "is not set" in refused("openai:small")


def test_a_key_that_no_header_can_carry_is_refused_without_being_shown(monkeypatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "schlüssel-1234567")
    sentence = refused("openai:small")
    assert "OPENAI_API_KEY holds no key that can be sent" in sentence
    assert "schl" not in sentence


@pytest.mark.parametrize("endpoint", ["127.0.0.1:8000/v1", "ftp://127.0.0.1", "http://", "http://[::1", "http://a:99999/"])
def test_an_endpoint_that_is_no_address_is_refused(endpoint) -> None:
    assert "an endpoint is a base URL such as" in refused("openai:small", endpoint=endpoint)


@pytest.mark.parametrize("endpoint", ["http://ann:secret@127.0.0.1/v1", "http://127.0.0.1/v1?key=abcdefgh"])
def test_an_endpoint_with_a_key_in_it_is_refused_and_not_repeated(endpoint) -> None:
    sentence = refused("openai:small", endpoint=endpoint)
    assert "no user, password or query" in sentence
    assert "secret" not in sentence
    assert "abcdefgh" not in sentence


def test_an_endpoint_goes_with_providers_whose_protocol_others_speak() -> None:
    assert "for a server that speaks OpenAI's protocol write openai:NAME" in refused("deepseek:x", endpoint=LOCAL)


def test_retries_inside_an_sdk_cannot_be_asked_for() -> None:
    assert "say retries=" in refused("openai:small", settings={"max_retries": 3})


@pytest.mark.parametrize("package", ["openai", "anthropic", "google"])
def test_a_missing_package_is_refused_with_the_pip_command(package) -> None:
    hidden = "google.genai" if package == "google" else package
    code = f"""
import sys
class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name == {hidden!r} or name.startswith({hidden!r} + "."):
            raise ModuleNotFoundError("No module named " + repr(name), name=name)
sys.meta_path.insert(0, Hidden())
from dvergr_nb.actors.models.resolving import usable
from dvergr_nb.records.profile import Profile
try:
    usable(Profile(id="a", model="{package}:small", endpoint={LOCAL!r}), None, {{}})
except Exception as problem:
    print(type(problem).__name__, problem)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.startswith("BadModel")
    assert f"needs the package {hidden}, which is not installed" in done.stdout
    assert f'pip install "dvergr_nb[{package}]"' in done.stdout


def test_to_check_a_model_loads_no_sdk() -> None:
    code = f"""
import sys
from dvergr_nb.actors.models.resolving import usable
from dvergr_nb.actors.models import failures, usage
from dvergr_nb.records.profile import Profile
usable(Profile(id="a", model="openai:small", endpoint={LOCAL!r}), None, {{}})
print([name for name in ("openai", "pydantic_ai", "httpx2", "genai_prices") if name in sys.modules])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.strip() == "[]"


# What is asked -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("provider", SERVERS)
@pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])
async def test_a_model_is_asked_at_its_endpoint_by_its_name_with_the_key(provider, streams) -> None:
    async with SERVERS[provider](Say("Hello there")) as server, model_at(server, provider) as asked:
        assert (await ask(asked.model, streams=streams)).text == "Hello there"
        assert (asked.name, asked.provider, asked.is_scripted) == ("small", provider, False)
    (request,) = server.requests
    assert request.key == KEY
    assert "small" in request.path if provider == "google" else request.body["model"] == "small"


async def test_the_key_comes_from_the_variable_that_the_profile_names(monkeypatch) -> None:
    monkeypatch.setenv("MY_KEY", "mine-0123456789")
    async with SERVERS["openai"]() as server, model_at(server, "openai", key_env="MY_KEY") as asked:
        await ask(asked.model, streams=False)
    assert server.requests[0].key == "mine-0123456789"


@pytest.mark.parametrize("provider", SERVERS)
async def test_a_server_of_this_machine_needs_no_key_and_no_proxy(monkeypatch, provider) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "GOOGLE_API_KEY"):
        monkeypatch.delenv(name)
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    async with SERVERS[provider](Say("local")) as server, model_at(server, provider) as asked:
        assert (await ask(asked.model, streams=False)).text == "local"


async def test_a_key_is_known_to_whoever_scrubs_texts_once_it_was_handed_out(monkeypatch) -> None:
    monkeypatch.setenv("PLAIN", "quite-an-ordinary-word")
    assert secrets.scrub("quite-an-ordinary-word") == "quite-an-ordinary-word"
    async with SERVERS["openai"]() as server, model_at(server, "openai", key_env="PLAIN"):
        assert "ordinary" not in secrets.scrub("it was quite-an-ordinary-word")


@pytest.mark.parametrize("provider", SERVERS)
async def test_a_model_that_was_resolved_shows_no_key(provider) -> None:
    async with SERVERS[provider]() as server, model_at(server, provider) as asked:
        assert KEY not in repr(asked) + repr(asked.model)


async def test_the_endpoint_of_the_environment_counts_as_one(monkeypatch) -> None:
    async with SERVERS["openai"](Say("moved")) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.url)
        clients = Clients()
        asked = resolved(Profile(id="reader", model="openai:moved-there"), None, {}, clients=clients)
        assert (await ask(asked.model, streams=False)).text == "moved"
        assert asked.price is None
        await clients.aclose()


async def test_openai_itself_is_asked_by_its_responses_and_others_by_chat_completions() -> None:
    clients = Clients()
    kinds = {
        model: type(resolved(Profile(id="a", model=model, endpoint=endpoint), None, {}, clients=clients).model).__name__
        for model, endpoint in (("openai:a", None), ("openai:b", LOCAL), ("openai-chat:c", None), ("openai-responses:d", LOCAL))
    }
    assert kinds == {
        "openai:a": "OpenAIResponsesModel",
        "openai:b": "OpenAIChatModel",
        "openai-chat:c": "OpenAIChatModel",
        "openai-responses:d": "OpenAIResponsesModel",
    }
    await clients.aclose()


async def test_a_name_may_have_colons_of_its_own() -> None:
    async with SERVERS["openai"]() as server:
        clients = Clients()
        profile = Profile(id="a", model="openai:ft:small:me", endpoint=server.url)
        asked = resolved(profile, None, {}, clients=clients)
        await ask(asked.model, streams=False)
        await clients.aclose()
    assert server.requests[0].body["model"] == asked.name == "ft:small:me"


async def test_what_a_turn_names_is_asked_instead_of_the_profiles_own() -> None:
    async with SERVERS["openai"]() as server:
        clients = Clients()
        asked = resolved(profile_at(server, "openai"), "openai:other", {}, clients=clients)
        assert asked.name == "other"
        assert asked.price is None
        await clients.aclose()


async def test_a_model_object_is_asked_as_it_is_by_its_name_or_itself() -> None:
    model = scripted_model("hi", name="script")
    for given, bound in ((model, {}), ("mine", {"mine": model}), (None, {"mine": model})):
        asked = resolved(Profile(id="a", model="mine"), given, bound, clients=Clients())
        assert asked.model is model
        assert asked.is_scripted
        assert asked.price == {"input": 0.5, "output": 1.5}


async def test_a_price_of_the_profile_comes_before_that_of_an_object() -> None:
    profile = Profile(id="a", model="mine", prices={"mine": {"input": 7.0, "output": 8.0}})
    asked = resolved(profile, None, {"mine": scripted_model("hi")}, clients=Clients())
    assert asked.price == {"input": 7.0, "output": 8.0}


async def test_an_object_of_pydantic_ai_has_no_price_unless_the_profile_says_one() -> None:
    asked = resolved(Profile(id="a", model="test"), TestModel(), {}, clients=Clients())
    assert (asked.name, asked.price, asked.is_scripted) == ("test", None, False)


def test_a_model_object_is_named_by_its_own_name() -> None:
    assert name_of(scripted_model("hi", name="script")) == "script"
    assert name_of(" openai:small ") == "openai:small"


# Clients -------------------------------------------------------------------------------------------------------------


async def test_one_model_is_the_same_object_each_time_and_one_client_serves_all_of_a_provider() -> None:
    async with SERVERS["openai"]() as server:
        clients = Clients()
        profile = profile_at(server, "openai")
        first, again = (resolved(profile, None, {}, clients=clients).model for _ in range(2))
        other = resolved(profile, "openai:other", {}, clients=clients).model
        assert first is again
        assert other is not first
        assert clients.open == 1
        for model in (first, other, first):
            await ask(model, streams=False)
        assert server.most_open == 1
        await clients.aclose()
        assert clients.open == 0
        await server.idle()


async def test_another_key_gets_a_client_of_its_own(monkeypatch) -> None:
    async with SERVERS["openai"]() as server:
        clients = Clients()
        for key in ("first-0123456789", "second-0123456789"):
            monkeypatch.setenv("OPENAI_API_KEY", key)
            await ask(resolved(profile_at(server, "openai"), None, {}, clients=clients).model, streams=False)
        assert clients.open == 2
        await clients.aclose()
    assert [request.key for request in server.requests] == ["first-0123456789", "second-0123456789"]


async def test_a_client_that_was_closed_is_made_anew() -> None:
    async with SERVERS["openai"](Say("a"), Say("b")) as server:
        clients = Clients()
        for expected in ("a", "b"):
            asked = resolved(profile_at(server, "openai"), None, {}, clients=clients)
            assert (await ask(asked.model, streams=False)).text == expected
            await clients.aclose()


async def test_clients_can_be_closed_where_nothing_is_awaited() -> None:
    async with SERVERS["openai"]() as server:
        clients = Clients()
        await ask(resolved(profile_at(server, "openai"), None, {}, clients=clients).model, streams=False)
        closing = clients.close()
        assert clients.open == 0
        assert closing is not None
        await server.idle()
        await closing
        assert clients.close() is None


def test_without_a_loop_there_is_nothing_to_close() -> None:
    assert Clients().close() is None


@pytest.mark.parametrize("provider", SERVERS)
async def test_no_sdk_tries_again_by_itself(provider) -> None:
    for act in (Fail(429, retry_after=0), Fail(500), Fail(503)):
        async with SERVERS[provider](act) as server, model_at(server, provider) as asked:
            for streams in (False, True):
                with pytest.raises(Exception, match=str(act.status)):
                    await ask(asked.model, streams=streams)
            assert len(server.requests) == 2


def test_each_loop_has_clients_of_its_own() -> None:
    clients, seen = Clients(), []

    async def once() -> None:
        async with SERVERS["openai"](Say("here")) as server:
            asked = resolved(profile_at(server, "openai"), None, {}, clients=clients)
            assert (await ask(asked.model, streams=False)).text == "here"
            seen.append(asked.model)
            await clients.aclose()

    for _ in range(2):
        asyncio.run(once())
    assert seen[0] is not seen[1]
