"""A model that can be asked: the client that reaches it, and what its calls are called and cost."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic_ai.models import Model

    from dvergr_nb.actors.models.list_prices import ListPrice
    from dvergr_nb.records.money import Price


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A model as a turn asks it."""

    model: Model = field(repr=False)
    """It belongs to the event loop on which it was resolved."""
    name: str
    """As its profile asks for it, without the provider: prices go by this, whatever the answers say."""
    provider: str
    price: Price | ListPrice | None
    """Dollars per million tokens; None where nobody knows."""
    is_scripted: bool = False
    """Whether it plays a script, which is said wherever it is shown."""
