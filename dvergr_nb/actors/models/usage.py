"""What a call of a model came to: its tokens as the provider counts them, and its cost at our own prices."""

from __future__ import annotations

import dataclasses
import datetime as dt
from typing import TYPE_CHECKING, Any, Final

from dvergr_nb.actors.models.asked import Asked
from dvergr_nb.actors.models.list_prices import ListPrice, list_price
from dvergr_nb.actors.models.reference import is_official
from dvergr_nb.records.money import MICRO, MOST_USD, Price, Usage, cost_of
from dvergr_nb.records.profile import Profile
from dvergr_nb.records.text import clipped, mended
from dvergr_nb.runtime.secrets import scrub

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse

NAME_LIMIT: Final = 200
"""Longest name under which a model answers, in characters; it may say anything."""
MOST: Final = MOST_USD * MICRO
"""The most tokens and micro-dollars of one call that a record holds; a provider that says more is taken to mean this."""


LONG_CACHE: Final = "1h"
"""How settings of Anthropic's caches ask for the life that costs more."""


def usage_of(response: ModelResponse | None, asked: Asked, outcome: str) -> Usage:
    """The usage of one call that ended in `outcome`, with its cost where there is a price.

    Prices go by the name that was asked, never by the name that answered. `input_tokens` of pydantic-ai hold those of the
    cache, at every provider. Without an answer, or where it does not say what was used, nothing is measured.
    """
    if response is None:
        return Usage(model=asked.name, provider=asked.provider, is_measured=False, outcome=outcome)
    said = response.usage
    given, written = _count(said.input_tokens), _count(said.cache_write_tokens)
    read = min(_count(said.cache_read_tokens), given)
    usage = Usage(
        model=asked.name,
        answered_as=None if response.model_name is None else scrub(mended(clipped(response.model_name, NAME_LIMIT))),
        provider=asked.provider,
        input_tokens=given,
        output_tokens=_count(said.output_tokens),
        cache_read_tokens=read,
        cache_write_tokens=min(written, given - read),
        is_measured=_is_measured(said),
        outcome=outcome,
    )
    priced = cost_of(usage, _price_at(asked.price, usage.input_tokens, response.timestamp))
    return priced if priced.cost is None else dataclasses.replace(priced, cost=min(priced.cost, MOST))


def _count(said: int) -> int:
    """Tokens as they can be: no provider's word makes them fewer than none."""
    return min(max(0, said), MOST)


def _price_at(price: Price | ListPrice | None, input_tokens: int, at: dt.datetime) -> Price | None:
    return price.of(input_tokens, at) if isinstance(price, ListPrice) else price


def _is_measured(said: Any) -> bool:
    return bool(said.input_tokens or said.output_tokens) and not said.unmeasured_requests


def price_for(profile: Profile, name: str, provider: str) -> Price | ListPrice | None:
    """The profile's own price, else the provider's list price where it is asked itself, else None.

    A setting that asks for another service tier, or that a cache is kept for longer, makes the list price a guess, so there
    is none.
    """
    if name in profile.prices:
        return profile.prices[name]
    is_listed = is_official(profile, provider) and not any(_changes_price(*setting) for setting in profile.settings.items())
    return list_price(name, provider) if is_listed else None


def _changes_price(setting: str, value: object) -> bool:
    return "service_tier" in setting or value == LONG_CACHE
