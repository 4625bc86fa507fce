"""What providers say that their models cost, as it came with the installed genai-prices; nothing is fetched."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from genai_prices.types import ModelInfo, TieredPrices

    from dvergr_nb.records.money import Price

SELLERS: Final = {"openai-chat": "openai", "openai-responses": "openai"}
"""Providers whose list is under another name."""
KINDS: Final = {
    "input": "input_mtok",
    "output": "output_mtok",
    "cache_read": "cache_read_mtok",
    "cache_write": "cache_write_mtok",
}


@dataclass(frozen=True, slots=True)
class ListPrice:
    """What a provider asks for a model, which may change from a day on and with the length of the input."""

    model: ModelInfo

    def of(self, input_tokens: int, at: dt.datetime) -> Price | None:
        """Dollars per million tokens of a call at that time; None where the list does not give input and output.

        A step holds for all tokens of a call whose input is longer than it, as providers charge by it.
        """
        prices = self.model.get_prices(at)
        price = {kind: _at_length(getattr(prices, field, None), input_tokens) for kind, field in KINDS.items()}
        known = {kind: float(value) for kind, value in price.items() if value is not None}
        return known if {"input", "output"} <= set(known) else None


def list_price(name: str, provider: str) -> ListPrice | None:
    """The list price of a model; None where the list does not have it."""
    from genai_prices.data_snapshot import get_snapshot

    try:
        _, model = get_snapshot().find_provider_model(name, None, SELLERS.get(provider, provider), None)
    except LookupError:
        return None
    return ListPrice(model)


def _at_length(price: Decimal | TieredPrices | None, input_tokens: int) -> Decimal | None:
    if price is None or isinstance(price, Decimal):
        return price
    passed = [tier.price for tier in sorted(price.tiers, key=lambda tier: tier.start) if input_tokens > tier.start]
    return passed[-1] if passed else price.base
