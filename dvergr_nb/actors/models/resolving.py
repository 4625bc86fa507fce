"""From what a profile names to a model that can be asked; everything that is wrong with it is said before a Run exists.

usable(profile, None, bound)            # when an agent is defined: refuses an unknown form, a missing package or key
await loaded(profile, None, bound)      # what it needs, in a thread; None stands for the profile's own model
asked = resolved(profile, None, bound, clients=clients)  # on the loop of the turn
for attempt in range(profile.retries + 1):
    try:
        response = await asked.model.request(messages, settings, parameters)
        return usage_of(response, asked, "completed")
    except Exception as problem:
        error = failure(problem, asked.name)
    if error is None or not is_worth_another_try(error) or attempt == profile.retries:
        raise error                          # outside of the `except`, so that nothing of the provider's is chained
    await asyncio.sleep(pause_before(attempt + 1, error))
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from dvergr_nb.actors.models.asked import Asked
from dvergr_nb.actors.models.clients import Clients, is_loaded, load
from dvergr_nb.actors.models.reference import Bound, Remote, is_model, missing_key, missing_package, reference, wanted_by
from dvergr_nb.actors.models.usage import price_for
from dvergr_nb.agent_errors import BadModel
from dvergr_nb.records.profile import Profile
from dvergr_nb.records.text import clipped, first_line, shown
from dvergr_nb.runtime import secrets

if TYPE_CHECKING:
    from pydantic_ai.models import Model

__all__ = ["Asked", "loaded", "resolved", "usable"]

SCRIPTED: Final = "scripted"
"""What a scripted model says it is behind."""


def usable(profile: Profile, given: Any, bound: Mapping[str, Any]) -> None:
    """Refuses with `BadModel` what cannot be asked as things stand; builds no client and asks nobody.

    `given` is what a turn names instead of the profile's own model, or None; `bound` are the models that cells of this kernel
    have given, by name.
    """
    found = reference(profile, given, bound)
    if isinstance(found, Bound):
        _check_bound(found)


def resolved(profile: Profile, given: Any, bound: Mapping[str, Any], *, clients: Clients) -> Asked:
    """The model to ask, with a client of the running loop. Raises `BadModel` as `usable` does, and where no client comes up."""
    match reference(profile, given, bound):
        case Bound() as found:
            return _of_object(profile, found)
        case Remote() as found:
            return _of_remote(profile, found, clients)


async def loaded(profile: Profile, given: Any, bound: Mapping[str, Any]) -> None:
    """Loads in a thread what `resolved` needs, where nobody has: everything else on the loop goes on. Raises `BadModel`."""
    found = reference(profile, given, bound)
    if isinstance(found, Remote) and not is_loaded(found):
        await asyncio.to_thread(load, found)


# Objects -------------------------------------------------------------------------------------------------------------


def _check_bound(found: Bound) -> None:
    if not is_model(found.model):
        raise BadModel(
            found.name, f"{clipped(found.name, 80)!r} names {shown(found.model)} in this kernel, which is no model object"
        )


def _of_object(profile: Profile, found: Bound) -> Asked:
    """A model object as it is."""
    _check_bound(found)
    model, name = found.model, str(found.model.model_name)
    own = getattr(model, "price", None)
    price = profile.prices.get(found.name) or profile.prices.get(name) or own
    return Asked(model=model, name=found.name, provider=model.system, price=price, is_scripted=model.system == SCRIPTED)


# Providers -----------------------------------------------------------------------------------------------------------


def _of_remote(profile: Profile, found: Remote, clients: Clients) -> Asked:
    if found.key:
        secrets.add(found.key)
    model = _made(found, clients)
    return Asked(model=model, name=found.name, provider=found.provider, price=price_for(profile, found.name, found.provider))


def _made(found: Remote, clients: Clients) -> Model:
    """Raises `BadModel`, alone, for whatever a provider finds wrong with its settings."""
    try:
        return clients.model(found)
    except ImportError as problem:
        sentence = missing_package(found.text, *wanted_by(problem, found.provider))
    except Exception as problem:  # noqa: BLE001  # each SDK has an error base of its own, which only its package can name
        sentence = _unmade(found.text, secrets.scrub(first_line(str(problem))))
    raise BadModel(found.text, sentence)


def _unmade(text: str, problem: str) -> str:
    """A provider that pydantic-ai makes names the variable that it misses in its own words."""
    named = re.search(r"`([A-Z][A-Z0-9_]{3,})`", problem)
    if named is None:
        return f"{clipped(text, 80)!r} cannot be asked: {problem}"
    if "KEY" in named[1] or "TOKEN" in named[1]:
        return missing_key(text, named[1])
    return f"{clipped(text, 80)!r} needs the environment variable {named[1]}, which is not set; set it, or name another model"
