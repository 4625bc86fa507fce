"""What providers say that their models cost, as it came with the installed genai-prices; nothing is fetched."""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from dvergr_nb.records.money import Price

SELLERS: Final = {"openai-chat": "openai", "openai-responses": "openai"}
"""Providers whose list is under another name."""
KINDS: Final = {
    "input": "input_mtok",
    "output": "output_mtok",
    "cache_read": "cache_read_mtok",
    "cache_write": "cache_write_mtok",
}


def list_price(name: str, provider: str) -> Price | None:
    """Dollars per million tokens, where they are plain numbers that hold at any length and hour; else None."""
    from genai_prices.data_snapshot import get_snapshot

    try:
        _, model = get_snapshot().find_provider_model(name, None, SELLERS.get(provider, provider), None)
    except LookupError:
        return None
    return _plain(model.prices)


def _plain(prices: Any) -> Price | None:
    found = {kind: getattr(prices, field, None) for kind, field in KINDS.items()}
    price = {kind: value for kind, value in found.items() if value is not None}
    is_plain = {"input", "output"} <= set(price) and all(isinstance(value, Decimal) for value in price.values())
    return {kind: float(value) for kind, value in price.items()} if is_plain else None
