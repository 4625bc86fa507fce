"""What a call came to: tokens as the provider counts them, cost at the price of the name that was asked."""

from __future__ import annotations

import datetime as dt

import pytest
from genai_prices.data_snapshot import get_snapshot
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.usage import RequestUsage

from dvergr_nb.actors.models.asked import Asked
from dvergr_nb.actors.models.list_prices import list_price
from dvergr_nb.actors.models.scripted_model import scripted_model
from dvergr_nb.actors.models.usage import price_for, usage_of
from dvergr_nb.records.money import Usage
from dvergr_nb.records.profile import Profile
from tests.models.asking import SERVERS, ask, model_at
from tests.rigs.model_server import Say, Tokens

LOCAL = "http://127.0.0.1:8000/v1"
MANY = Tokens(input=1000, output=50, cache_read=400, cache_write=0)
WRITTEN = Tokens(input=1000, output=50, cache_read=400, cache_write=100)


async def used(provider: str, act: Say, *, streams: bool) -> Usage:
    """The usage of one call, measured over HTTP."""
    async with SERVERS[provider](act) as server, model_at(server, provider) as asked:
        return usage_of(await ask(asked.model, streams=streams), asked, "completed")


@pytest.mark.parametrize("provider", SERVERS)
@pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])
async def test_tokens_of_the_cache_are_among_the_input_and_cost_their_own_price(provider, streams) -> None:
    usage = await used(provider, Say(tokens=MANY), streams=streams)
    assert (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens) == (1000, 50, 400)
    assert usage.cost == 600 * 1 + 50 * 2 + 40
    assert (usage.is_measured, usage.outcome, usage.provider) == (True, "completed", provider)


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])
async def test_tokens_written_to_the_cache_cost_more(streams) -> None:
    usage = await used("anthropic", Say(tokens=WRITTEN), streams=streams)
    assert (usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens) == (1000, 400, 100)
    assert usage.cost == 500 + 40 + 125 + 100


@pytest.mark.parametrize("provider", ["openai", "google"])
@pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])
async def test_a_usage_that_is_left_out_is_unmeasured_and_has_no_cost(provider, streams) -> None:
    usage = await used(provider, Say(tokens=None), streams=streams)
    assert (usage.is_measured, usage.cost, usage.input_tokens) == (False, None, 0)


@pytest.mark.parametrize("tokens", [10**13, 10**18, 10**30])
async def test_more_tokens_than_can_be_are_put_on_record_as_the_most_there_can_be(tokens) -> None:
    usage = await used("openai", Say(tokens=Tokens(input=tokens, output=tokens)), streams=True)
    assert (usage.input_tokens, usage.output_tokens, usage.cost) == (10**12, 10**12, 10**12)


def test_tokens_below_nothing_are_none() -> None:
    response = ModelResponse(parts=[TextPart("hi")], usage=RequestUsage(input_tokens=-5, output_tokens=7))
    usage = usage_of(response, asked_for({"input": 1.0, "output": 1.0}), "completed")
    assert (usage.input_tokens, usage.output_tokens, usage.cost) == (0, 7, 7)


async def test_no_more_tokens_come_from_a_cache_than_there_were() -> None:
    usage = await used("openai", Say(tokens=Tokens(input=5, output=5, cache_read=10**9)), streams=True)
    assert (usage.cache_read_tokens, usage.cost) == (5, 10)


@pytest.mark.parametrize("provider", SERVERS)
async def test_another_name_in_the_answer_changes_no_price(provider) -> None:
    usage = await used(provider, Say(model="gpt-4o-mini", tokens=Tokens(input=100, output=10)), streams=False)
    assert (usage.model, usage.answered_as, usage.cost) == ("small", "gpt-4o-mini", 120)


def asked_for(price: dict[str, float] | None) -> Asked:
    """A model of that price."""
    return Asked(model=scripted_model("hi"), name="small", provider="openai", price=price)


def test_a_call_without_an_answer_is_unmeasured() -> None:
    usage = usage_of(None, asked_for({"input": 1.0, "output": 1.0}), "ModelBusy")
    assert usage == Usage(model="small", provider="openai", is_measured=False, outcome="ModelBusy")


def test_an_unknown_price_is_no_price_at_all() -> None:
    response = ModelResponse(
        parts=[TextPart("hi")], usage=RequestUsage(input_tokens=5, output_tokens=5), model_name="gpt-4o-mini"
    )
    usage = usage_of(response, asked_for(None), "completed")
    assert (usage.cost, usage.is_measured, usage.input_tokens) == (None, True, 5)


def test_a_price_of_nothing_is_a_price() -> None:
    response = ModelResponse(parts=[TextPart("hi")], usage=RequestUsage(input_tokens=5, output_tokens=5))
    assert usage_of(response, asked_for({"input": 0.0, "output": 0.0}), "completed").cost == 0


# Prices --------------------------------------------------------------------------------------------------------------


def test_the_profiles_price_comes_first() -> None:
    own = {"input": 9.0, "output": 9.0}
    assert (
        price_for(Profile(id="a", model="openai:gpt-6.1-terra", prices={"gpt-6.1-terra": own}), "gpt-6.1-terra", "openai")
        == own
    )


LISTED = [
    ("openai", "gpt-5.4-mini"),  # plain
    ("openai", "gpt-6.1-terra"),  # dearer where the input is long
    ("openai-chat", "gpt-6.1-terra"),
    ("openai", "gpt-5.6-luna"),  # cheaper from a day on
    ("anthropic", "claude-haiku-4-5"),
    ("anthropic", "claude-sonnet-4-6"),  # one price for all lengths from a day on
    ("google", "gemini-3.8-flash"),
]


@pytest.mark.parametrize(("provider", "name"), LISTED)
@pytest.mark.parametrize("tokens", [1_000, 200_000, 200_001, 272_000, 272_001, 900_000])
@pytest.mark.parametrize("day", [dt.datetime(2026, 1, 1, tzinfo=dt.UTC), dt.datetime(2027, 6, 1, tzinfo=dt.UTC)], ids=str)
def test_a_call_of_a_provider_itself_costs_what_its_list_says_for_its_length_and_day(provider, name, tokens, day) -> None:
    told = RequestUsage(input_tokens=tokens, output_tokens=777, cache_read_tokens=500)
    response = ModelResponse(parts=[TextPart("hi")], usage=told, timestamp=day)
    price = price_for(Profile(id="a", model=f"{provider}:{name}"), name, provider)
    cost = usage_of(response, Asked(model=scripted_model("hi"), name=name, provider=provider, price=price), "completed").cost
    _, listed = get_snapshot().find_provider_model(name, None, provider.removesuffix("-chat"), None)
    assert cost == pytest.approx(float(listed.get_prices(day).calc_price(told)["total_price"] * 1_000_000), abs=1)


@pytest.mark.parametrize(
    "more",
    [
        {"endpoint": LOCAL},
        {"settings": {"openai_service_tier": "flex"}},
        {"settings": {"anthropic_cache_instructions": "1h"}},
    ],
    ids=["elsewhere", "another tier of service", "a longer cache"],
)
def test_a_list_price_holds_only_for_what_the_list_is_of(more) -> None:
    assert price_for(Profile(id="a", model="openai:gpt-6.1-terra", **more), "gpt-6.1-terra", "openai") is None


@pytest.mark.parametrize(("name", "provider"), [("nothing-like-it", "openai"), ("a", "nowhere")])
def test_an_unknown_model_has_no_list_price(name, provider) -> None:
    assert list_price(name, provider) is None


def test_a_model_of_the_list_without_a_price_of_its_text_has_none() -> None:
    assert list_price("whisper-1", "openai").of(10, dt.datetime(2026, 12, 1, tzinfo=dt.UTC)) is None
