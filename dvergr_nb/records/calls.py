"""What calls of models come to, in words: which models, how many tokens, at what cost."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from dvergr_nb.records.money import Spend

Calls = dict[str, list["Spend"]]
"""Calls of models by the round they belong to, as its facts name it."""


def by_round(spends: Sequence[Spend]) -> Calls:
    """The calls of a Run by their rounds, in order."""
    calls: Calls = {}
    for spend in spends:
        calls.setdefault(f"round {spend.round + 1}", []).append(spend)
    return calls


def models(spends: Sequence[Spend]) -> str:
    """The models that were asked, each once."""
    return ", ".join(dict.fromkeys(spend.usage.model for spend in spends))


def tokens(spends: Sequence[Spend]) -> Iterator[str]:
    """How many calls there were, where that is not one, and how many tokens they took."""
    if len(spends) > 1:
        yield f"{len(spends)} calls"
    measured = [spend.usage for spend in spends if spend.usage.is_measured]
    given, got = sum(use.input_tokens for use in measured), sum(use.output_tokens for use in measured)
    if given or got:
        yield f"{given:,} tokens in, {got:,} out"
    elif spends and not measured:
        yield "usage unknown"


def cost(spends: Sequence[Spend]) -> tuple[int | None, bool]:
    """What they have cost as far as prices are known, in micro-dollars, and whether one has no known price."""
    costs = [spend.usage.cost for spend in spends if spend.usage.cost is not None]
    return (sum(costs) if costs else None), len(costs) < len(spends)


def told(spends: Sequence[Spend]) -> str:
    """A line for each."""
    return "\n".join(_line(spend) for spend in spends)


def _line(spend: Spend) -> str:
    from dvergr_nb.records.money import dollars

    use = spend.usage
    other = use.answered_as if use.answered_as != use.model else None
    words = [
        use.model + (f" of {use.provider}" if use.provider else ""),
        f"answered as {other}" if other else "",
        f"{use.input_tokens:,} tokens in, {use.output_tokens:,} out" if use.is_measured else "usage unknown",
        f"{use.cache_read_tokens:,} read from a cache" if use.cache_read_tokens else "",
        f"{use.cache_write_tokens:,} written to a cache" if use.cache_write_tokens else "",
        "price unknown" if use.cost is None else dollars(use.cost),
        use.outcome,
    ]
    return ", ".join(word for word in words if word)
