"""What names a model, read and checked before anything is built: `provider:name`, a name of this kernel, or an object."""

from __future__ import annotations

import difflib
import ipaddress
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, TypeGuard
from urllib.parse import SplitResult, urlsplit

from dvergr_nb.actors.models.known import ALIASES, KNOWN, OTHERS, Known, first_set, is_installed
from dvergr_nb.agent_errors import BadModel
from dvergr_nb.records.profile import Profile
from dvergr_nb.records.text import clipped, shown

if TYPE_CHECKING:
    from pydantic_ai.models import Model

EXAMPLE: Final = "openai:gpt-6.1-terra"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bound:
    """A model object that was given, or that a cell of this kernel has given a name."""

    model: Any
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Remote:
    """A model behind a provider, with all that its client needs."""

    text: str
    """As it was typed."""
    provider: str
    name: str
    known: Known | None
    """None for one that pydantic-ai makes the client of."""
    endpoint: str | None
    """None for the provider's own."""
    key: str | None = field(repr=False)
    """None where none is needed, or where pydantic-ai finds it."""


Reference = Bound | Remote


def name_of(given: Any) -> str:
    """What `Profile.model` says for what was given as a model. Raises `BadModel` for what cannot be one."""
    if isinstance(given, str) and given.strip():
        return given.strip()
    if is_model(given):
        return given.model_name
    raise BadModel(shown(given), f"a model is 'provider:name', such as {EXAMPLE!r}, or a model object, not {shown(given)}")


def is_model(given: Any) -> TypeGuard[Model]:
    """Whether that is a model object of pydantic-ai."""
    if given is None or isinstance(given, str):
        return False
    from pydantic_ai.models import Model

    return isinstance(given, Model)


def reference(profile: Profile, given: Any, bound: Mapping[str, Any]) -> Reference:
    """What is meant by `given`, or by the profile's own model where that is None. Raises `BadModel`."""
    _check_settings(profile)
    wanted = profile.model if given is None else given
    if is_model(wanted):
        return Bound(model=wanted, name=wanted.model_name)
    text = name_of(wanted)
    if text in bound:
        return Bound(model=bound[text], name=text)
    return _remote(profile, text, bound)


def _remote(profile: Profile, text: str, bound: Mapping[str, Any]) -> Remote:
    prefix, colon, name = (part.strip() for part in text.partition(":"))
    if not colon:
        raise BadModel(text, _unbound(text, bound))
    provider = ALIASES.get(prefix, prefix)
    known = KNOWN.get(provider)
    if not name or (known is None and not _is_provider(provider, text)):
        raise BadModel(text, _unknown(text, prefix, bound))
    if known is not None and not is_installed(known.package):
        raise BadModel(text, missing_package(text, known.package, f"dvergr_nb[{known.extra}]"))
    endpoint = _endpoint(profile, text, known)
    return Remote(
        text=text, provider=provider, name=name, known=known, endpoint=endpoint, key=_key(profile, text, provider, endpoint)
    )


def _check_settings(profile: Profile) -> None:
    if "max_retries" in profile.settings:
        raise BadModel(
            profile.model,
            "max_retries in settings would have calls of the model repeated unseen and unpaid; leave it out and say retries=",
        )


# Names ---------------------------------------------------------------------------------------------------------------


def _is_provider(provider: str, text: str) -> bool:
    """Whether pydantic-ai knows it. Raises `BadModel` where it does and its package is missing."""
    from pydantic_ai.providers import infer_provider_class

    try:
        infer_provider_class(provider)
    except ImportError as problem:
        raise BadModel(text, missing_package(text, *wanted_by(problem, provider))) from None
    except ValueError:
        return False
    return True


def _near(word: str, known: Iterable[str], otherwise: str) -> str:
    near = difflib.get_close_matches(word, list(known), 1, 0.6)
    return f"did you mean {near[0]!r}?" if near else otherwise


def _unbound(text: str, bound: Mapping[str, Any]) -> str:
    otherwise = f"write provider:name, such as {EXAMPLE!r}, or run the cell that defines it"
    return f"no model {clipped(text, 80)!r} is known in this kernel; {_near(text, bound, otherwise)}"


def _unknown(text: str, prefix: str, bound: Mapping[str, Any]) -> str:
    providers = (*KNOWN, *ALIASES, *OTHERS)
    if prefix in providers:
        return f"{clipped(text, 80)!r} names a provider and no model; write provider:name, such as {EXAMPLE!r}"
    otherwise = f"there are {', '.join(KNOWN)} and those of pydantic-ai; write provider:name, such as {EXAMPLE!r}"
    near = _near(text, bound, "") or _near(prefix, providers, otherwise)
    return f"{clipped(text, 80)!r} names no provider that is known here; {near}"


def wanted_by(problem: ImportError, provider: str) -> tuple[str, str]:
    """The package that a provider of pydantic-ai misses, and the extra that brings it."""
    package, extra = (
        re.search(r"install the `([^`]+)` package", str(problem)),
        re.search(r'pip install "([^"]+)"', str(problem)),
    )
    return package[1] if package else provider, extra[1] if extra else f"pydantic-ai-slim[{provider}]"


def missing_package(text: str, package: str, extra: str) -> str:
    """The sentence about a package that must be installed first."""
    return f'{clipped(text, 80)!r} needs the package {package}, which is not installed; install it: pip install "{extra}"'


# Where it is and what opens it ---------------------------------------------------------------------------------------


def endpoint_of(profile: Profile, known: Known | None) -> str | None:
    """Where the model is asked; None for the provider's own address."""
    return profile.endpoint or (first_set((known.base,)) if known else None)


def _endpoint(profile: Profile, text: str, known: Known | None) -> str | None:
    endpoint = endpoint_of(profile, known)
    if endpoint is None:
        return None
    if known is None:
        raise BadModel(
            text,
            f"endpoint goes with {', '.join(KNOWN)}, not with {clipped(text, 80)!r}; "
            "for a server that speaks OpenAI's protocol write openai:NAME",
        )
    url = _split(endpoint)
    if url is None or url.scheme not in ("http", "https") or not url.hostname:
        raise BadModel(text, f"an endpoint is a base URL such as 'http://127.0.0.1:8000/v1', not {shown(endpoint)}")
    if url.username or url.password or url.query or url.fragment:
        raise BadModel(
            text, "an endpoint is kept on record, so no user, password or query may be in it; name a key with key_env="
        )
    return endpoint.rstrip("/")


def _split(endpoint: str) -> SplitResult | None:
    try:
        url = urlsplit(endpoint)
        _ = url.port
    except ValueError:
        return None
    return url


def is_local(endpoint: str | None) -> bool:
    """Whether the address is this machine's own, where no key is needed and no proxy is asked."""
    host = (urlsplit(endpoint).hostname or "") if endpoint else ""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")


def _key(profile: Profile, text: str, provider: str, endpoint: str | None) -> str | None:
    """The key. Raises `BadModel` where one is needed and there is none."""
    known = KNOWN.get(provider)
    usual = known.keys if known else OTHERS.get(provider, ())
    names = (profile.key_env,) if profile.key_env else usual
    key = first_set(names)
    if key is None and names and (profile.key_env or not is_local(endpoint)):
        raise BadModel(text, missing_key(text, names[0]))
    if key is not None and not (key.isascii() and key.isprintable()):
        raise BadModel(text, f"{names[0]} holds no key that can be sent: it has characters that are no plain ASCII")
    return key


def missing_key(text: str, variable: str) -> str:
    """The sentence about an environment variable that holds no key."""
    return (
        f"{clipped(text, 80)!r} needs an API key in the environment variable {variable}, which is not set; "
        f"set it before Jupyter starts, or here: import os, getpass; os.environ[{variable!r}] = getpass.getpass()"
    )


def is_official(profile: Profile, provider: str) -> bool:
    """Whether the provider itself is asked, so that its list prices hold."""
    return endpoint_of(profile, KNOWN.get(ALIASES.get(provider, provider))) is None
