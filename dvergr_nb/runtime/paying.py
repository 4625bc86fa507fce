"""Who pays: a person's budget is minted where the room has less, an agent's never is."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from dvergr_nb.records.run import RunKind
from dvergr_nb.runtime import context

if TYPE_CHECKING:
    from dvergr_nb.records.money import Grant

AGENTS: Final = frozenset({RunKind.AGENT_TURN, RunKind.AGENT_TASK})
"""Kinds of Runs in which an agent decides what happens."""


def agent_at_work() -> context.Context | None:
    """The context of the agent whose code this is, None where a person's is."""
    found = context.current()
    return None if found is None else agent_of(found)


def agent_of(found: context.Context) -> context.Context | None:
    """The agent that a context belongs to: itself, or the one whose code has started its Run."""
    return found if found.run.kind in AGENTS else found.started_by


def grant_of(budget: Any, default: int | None = None) -> Grant | None:
    """What a Run may spend: `budget` in dollars where that is given, else what its profile says. Raises `BadInput`.

    A given budget is given whole or not at all; of a default, what is there will do.
    """
    if budget is None and default is None:
        return None
    from dvergr_nb.records.money import Grant, micro

    is_person = agent_at_work() is None
    if budget is None:
        return Grant(amount=default or 0, mints=is_person, takes_what_is_there=True)
    return Grant(amount=micro(budget), mints=is_person)


def said_by_code() -> dict[str, Any]:
    """What a message says of itself where an agent's code speaks in another name: which Run that was."""
    agent = agent_at_work()
    return {} if agent is None else {"provenance": {"mode": "run", "source": agent.run.id}}
