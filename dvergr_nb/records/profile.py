"""Profiles: immutable, versioned definitions of agents, as plain data with a hash of what they say."""

from __future__ import annotations

import dataclasses
import datetime as dt
import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal

from dvergr_nb.errors import BadInput
from dvergr_nb.records.money import TURN_BUDGET, Price, dollars
from dvergr_nb.records.room import checked_actor
from dvergr_nb.records.text import mended, printable, shown

MAX_STEPS: Final = 32
"""Model rounds of one Run unless told otherwise."""
MOST_STEPS: Final = 1_000
TEXT_LIMIT: Final = 200_000
"""Longest instructions of a profile or a skill, in characters."""
NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")
"""What providers take as the name of a tool."""
MOST_PRICE: Final = 1e12
"""More dollars for a million tokens than anybody asks."""
PRICE_KINDS: Final = ("input", "output", "cache_read", "cache_write")

OnToolError = Literal["tell", "fail"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Skill:
    """Instructions that an agent loads when it needs them: its model is told the id and the description only."""

    id: str
    description: str
    instructions: str

    def __post_init__(self) -> None:
        if not isinstance(self.id, str) or not NAME.fullmatch(self.id):
            raise BadInput(f"the id of a skill is a word of letters, digits, - and _, not {shown(self.id)}")
        for name in ("description", "instructions"):
            _check_text(getattr(self, name), f"the {name} of skill {self.id!r}", blank=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Caps:
    """What one Run of the profile may use at most."""

    max_steps: int = MAX_STEPS
    """Model rounds, those that were cut included."""
    budget: int | None = TURN_BUDGET
    """Micro-dollars; None for no wallet and no limit."""
    tool_calls: int | None = None

    def __post_init__(self) -> None:
        _check_count(self.max_steps, "max_steps", MOST_STEPS)
        if self.tool_calls is not None:
            _check_count(self.tool_calls, "tool_calls", 1_000_000, least=0)

    def narrowed(self, *, max_steps: int | None = None, budget: int | None = None, tool_calls: int | None = None) -> Caps:
        """The smaller of each: limits can be lowered, never raised."""
        return Caps(
            max_steps=_smaller(self.max_steps, max_steps) or self.max_steps,
            budget=_smaller(self.budget, budget),
            tool_calls=_smaller(self.tool_calls, tool_calls),
        )


def _smaller(own: int | None, other: int | None) -> int | None:
    return own if other is None else other if own is None else min(own, other)


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    """One version of an agent's definition. Equal content has an equal hash, whatever the version."""

    id: str
    """The actor that acts by it."""
    version: int = 0
    """From 1; 0 before the store has given one."""
    instructions: str = ""
    template_version: int = 1
    """Which wording of what this package adds to the instructions."""
    model: str
    """`provider:name` such as `openai:gpt-6.1-terra`, or the name of a model that a cell of this kernel has given."""
    endpoint: str | None = None
    """The base URL of a server that speaks the provider's protocol."""
    key_env: str | None = None
    """The environment variable that holds the API key, where it is not the provider's usual one."""
    tools: tuple[str, ...] = ()
    skills: tuple[Skill, ...] = ()
    caps: Caps = field(default_factory=Caps)
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What every call of the model is sent besides, such as `temperature`; plain data."""
    prices: Mapping[str, Price] = field(default_factory=dict)
    """By the name of a model as it is asked for, without its provider: dollars per million tokens."""
    on_tool_error: OnToolError = "tell"
    """Whether the model is told that a tool raised, or the Run fails."""
    retries: int = 2
    """How often one call of the model is tried again where the provider is busy or cannot be reached."""
    created_at: dt.datetime | None = None

    @property
    def hash(self) -> str:
        """The SHA-256 of its content, as hex: all but version and time."""
        text = json.dumps(self.content(), sort_keys=True, ensure_ascii=True, allow_nan=False)
        return hashlib.sha256(text.encode()).hexdigest()

    def content(self) -> dict[str, Any]:
        """Its content as plain data, as the store keeps it; `profile_of` reads it back."""
        plain = dataclasses.asdict(dataclasses.replace(self, settings={}, prices={}))
        for name in ("version", "created_at"):
            del plain[name]
        return plain | {"settings": dict(self.settings), "prices": {name: dict(price) for name, price in self.prices.items()}}

    def __repr__(self) -> str:
        budget = "" if self.caps.budget is None else f", at most {dollars(self.caps.budget)}"
        return f"Profile {printable(self.id)} v{self.version}: {printable(self.model)}{budget}"


def profile_of(content: Mapping[str, Any], *, version: int, created_at: dt.datetime | None = None) -> Profile:
    """The profile whose content that is."""
    known = dict(content)
    return Profile(
        **known
        | {
            "tools": tuple(known["tools"]),
            "skills": tuple(Skill(**skill) for skill in known["skills"]),
            "caps": Caps(**known["caps"]),
            "version": version,
            "created_at": created_at,
        }
    )


def checked(profile: Profile) -> Profile:
    """The profile, its text mended. Raises `BadInput` where a field breaks its rule."""
    checked_actor(profile.id)
    _check_text(profile.instructions, "the instructions of a profile")
    _check_count(profile.template_version, "template_version", 1_000_000)
    _check_count(profile.retries, "retries", 10, least=0)
    _check_line(profile.model, "a model")
    for name in ("endpoint", "key_env"):
        if getattr(profile, name) is not None:
            _check_line(getattr(profile, name), name)
    if not isinstance(profile.on_tool_error, str) or profile.on_tool_error not in ("tell", "fail"):
        raise BadInput(f"on_tool_error is 'tell' or 'fail', not {shown(profile.on_tool_error)}")
    _check_tools(profile.tools)
    _check_skills(profile.skills)
    prices = {name: checked_price(price, name) for name, price in _mapping(profile.prices, "prices").items()}
    return dataclasses.replace(
        profile,
        instructions=mended(profile.instructions),
        prices=prices,
        settings=_plain(_mapping(profile.settings, "settings")),
    )


def checked_price(price: object, model: str) -> Price:
    """Dollars per million tokens, all of them numbers from 0. Raises `BadInput`."""
    what = f"the price of {shown(model)}"
    if not isinstance(price, Mapping) or not {"input", "output"} <= set(price) <= set(PRICE_KINDS):
        raise BadInput(f"{what} is dollars per million tokens, {{'input': …, 'output': …}}, not {shown(price)}")
    for kind, value in price.items():
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        if not is_number or not 0 <= value <= MOST_PRICE:  # no comparison holds for NaN
            raise BadInput(f"{kind} in {what} is a number of dollars from 0, not {shown(value)}")
    return {kind: float(value) for kind, value in price.items()}


def _check_tools(tools: object) -> None:
    if isinstance(tools, str) or not isinstance(tools, Sequence):
        raise BadInput(f"tools are a list of names, not {shown(tools)}")
    for name in tools:
        if not isinstance(name, str) or not NAME.fullmatch(name):
            raise BadInput(f"the name of a tool is 1 to 64 letters, digits, - and _, not {shown(name)}")
    if len(set(tools)) != len(tools):
        raise BadInput(f"each tool is named once, not {shown(list(tools))}")


def _check_skills(skills: object) -> None:
    if not isinstance(skills, Sequence) or not all(isinstance(skill, Skill) for skill in skills):
        raise BadInput(f"skills are a list of d.Skill, not {shown(skills)}")
    names = [skill.id for skill in skills]
    if len(set(names)) != len(names):
        raise BadInput(f"each skill has an id of its own, not {shown(names)}")


def _check_text(value: object, what: str, *, blank: bool = True) -> None:
    if not isinstance(value, str) or len(value) > TEXT_LIMIT or (not blank and not value.strip()):
        raise BadInput(f"{what}: text of at most {TEXT_LIMIT:,} characters{'' if blank else ', not blank'}, not {shown(value)}")


def _check_line(value: object, what: str) -> None:
    if not isinstance(value, str) or not 0 < len(value.strip()) <= len(value) <= 500 or "\n" in value:
        raise BadInput(f"{what} is a line of 1 to 500 characters, not {shown(value)}")


def _check_count(value: object, what: str, most: int, *, least: int = 1) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or not least <= value <= most:
        raise BadInput(f"{what} is a whole number from {least} to {most:,}, not {shown(value)}")


def _mapping(value: object, what: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
        raise BadInput(f"{what} are a mapping by name, not {shown(value)}")
    return value


def _plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    try:
        plain: dict[str, Any] = json.loads(mended(json.dumps(dict(settings), allow_nan=False, ensure_ascii=False)))
    except (TypeError, ValueError, RecursionError) as problem:
        raise BadInput(f"settings are plain data: {problem}") from None
    return plain
