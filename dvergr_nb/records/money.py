"""Money as authority to spend: whole micro-dollars in wallets, moved by transfers that are never changed or taken back.

A room has a wallet, and so has a Run that was given a budget. What all wallets hold is what was minted minus what was consumed.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Final, Literal

from dvergr_nb.errors import BadInput
from dvergr_nb.ids import RunId, named
from dvergr_nb.records.text import shown

MICRO: Final = 1_000_000
"""Micro-dollars in a dollar."""
MOST_USD: Final = 1_000_000
"""More dollars than one budget may hold: a slip of the keyboard, not a wish."""
TURN_BUDGET: Final = MICRO
"""What a turn of a model may spend unless told otherwise (design 8.3)."""
NOTICES: Final = (50, 75, 90, 95)
"""At which percentages of its budget a Run says so, once each."""

TransferKind = Literal["mint", "grant", "consume", "return"]


def micro(usd: object, what: str = "a budget") -> int:
    """Dollars as whole micro-dollars. Raises `BadInput` where it is no amount above 0."""
    is_number = isinstance(usd, int | float | Decimal) and not isinstance(usd, bool)
    is_nan = isinstance(usd, Decimal) and usd.is_nan()  # one that signals could not even be compared
    if not is_number or is_nan or not 0 < usd <= MOST_USD:  # type: ignore[operator]  # checked first
        raise BadInput(f"{what} is an amount of dollars above 0 and at most {MOST_USD:,}, not {shown(usd)}")
    whole = round(Decimal(str(usd)) * MICRO)
    if not whole:
        raise BadInput(f"{what} is at least one micro-dollar, 0.000001, not {shown(usd)}")
    return whole


def dollars(amount: int) -> str:
    """An amount as people read it: cents, and below a dollar four digits, or six, so that a round is not lost in rounding."""
    sign, whole = "-" if amount < 0 else "", abs(amount)
    digits = 2 if whole >= MICRO or whole % 10_000 == 0 else 4 if whole >= 1_000 else 6
    return f"{sign}${whole / MICRO:,.{digits}f}"


def room_wallet(tenant_id: str, room: str) -> str:
    """The id of a room's wallet; that of a Run is the Run's own."""
    return named(f"dvergr/resource/room|{tenant_id}|{room}")


def mint_id(seed: str) -> str:
    """The id of what is minted for something that has an id of its own, so that doing it twice does it once."""
    return named(f"dvergr/resource/mint|{seed}")


def grant_id(run_id: RunId) -> str:
    """The id of the grant a Run begins with."""
    return named(f"dvergr/resource/allocation|{run_id}")


def return_id(run_id: RunId) -> str:
    """The id of what a Run gives back."""
    return named(f"dvergr/resource/return|{run_id}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Transfer:
    """Micro-dollars from one wallet to another. Minted ones come from nowhere, consumed ones go there."""

    id: str
    tenant_id: str
    user_id: str
    """In whose name."""
    room: str
    run_id: RunId | None
    kind: TransferKind
    source: str | None
    """A wallet; None for a mint."""
    target: str | None
    """A wallet; None for what is consumed."""
    amount: int
    """Micro-dollars, above 0."""
    at: dt.datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Grant:
    """What a Run may spend, from its parent's wallet where that has one, else from its room's."""

    amount: int
    """Micro-dollars, above 0."""
    mints: bool = False
    """Whether a person asks, so that what the room's wallet lacks is minted. A parent's wallet is never filled up."""
    takes_what_is_there: bool = False
    """Whether less will do, as long as there is something."""

    def __post_init__(self) -> None:
        if not isinstance(self.amount, int) or isinstance(self.amount, bool) or self.amount <= 0:
            raise BadInput(f"a grant is a whole number of micro-dollars above 0, not {shown(self.amount)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Usage:
    """What one call of a model came to, whether or not it gave an answer."""

    model: str
    """The model that was asked, as its profile names it; prices go by this."""
    answered_as: str | None = None
    """What the provider calls the model that answered."""
    provider: str | None = None
    input_tokens: int = 0
    """All of them, those read from a cache and written to one included."""
    output_tokens: int = 0
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    cost: int | None = None
    """Micro-dollars; None where no price is known or nothing was measured."""
    is_measured: bool = True
    """Whether the provider said how much was used."""
    outcome: str = "completed"
    """`completed`, `cut`, `cancelled`, or the type of the error."""

    def __post_init__(self) -> None:
        for name in ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens", "cost"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
                raise BadInput(f"{name} of a usage is a whole number from 0, not {shown(value)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Spend:
    """One call of a model on record, paid from the wallet of its Run as far as that reaches."""

    id: str
    """Also that of the transfer, so that a call is paid once."""
    tenant_id: str
    user_id: str
    room: str
    run_id: RunId
    actor: str
    round: int
    """Of its Run: 0, 1, …"""
    usage: Usage
    at: dt.datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Purse:
    """The wallet of a Run as it stands."""

    granted: int
    balance: int
    spent: int

    @property
    def share(self) -> float:
        """How much of the grant is gone, 0 to 1."""
        return 1 - self.balance / self.granted if self.granted else 0.0


Price = Mapping[str, float]
"""Dollars per million tokens: `input`, `output`, and where they differ `cache_read` and `cache_write`."""


def cost_of(usage: Usage, price: Price | None) -> Usage:
    """The usage with its cost, rounded to whole micro-dollars once per call; without one where nobody knows the price."""
    if price is None or not usage.is_measured:
        return usage
    plain = usage.input_tokens - usage.cache_read_tokens - usage.cache_write_tokens
    tokens = {
        "input": max(0, plain),
        "output": usage.output_tokens,
        "cache_read": usage.cache_read_tokens,
        "cache_write": usage.cache_write_tokens,
    }
    fallback = {"cache_read": price["input"], "cache_write": price["input"]}
    cost = sum(count * Decimal(str(price.get(kind, fallback.get(kind, 0.0)))) for kind, count in tokens.items())
    return dataclasses.replace(usage, cost=round(cost))  # dollars per million tokens are micro-dollars per token
