"""Keys that may not leave the kernel: found by the names of environment variables and by their shape, replaced in any text."""

from __future__ import annotations

import base64
import json
import os
import re
import threading
from collections.abc import Mapping
from typing import Any, Final
from urllib.parse import quote, quote_plus

MASK: Final = "***"
SHORTEST: Final = 8
"""Shorter values are no secrets: they would be found in every other word."""
NAMES: Final = re.compile(r"KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIAL", re.IGNORECASE)
"""Variables that hold a secret by their name."""
PHRASES: Final = re.compile(r"SECRET|PASSWORD|PASSWD", re.IGNORECASE)
"""Of these also one of several words is one."""
PATH: Final = re.compile(r"(~|\.{1,2})?(/[\w.@ -]{0,30})+|[A-Za-z]:\\.*")
WORDS: Final = re.compile(r"[A-Za-z]+(?:[ ,;:|]+[A-Za-z]+)+")
PLACE: Final = re.compile(r"https?://[^\s@?]+")
SHAPES: Final = tuple(
    (mark, re.compile(shape), left)
    for mark, shape, left in (
        ("sk-", r"(?<![A-Za-z0-9])sk-[A-Za-z0-9_-]{16,}", MASK),
        ("AIza", r"AIza[A-Za-z0-9_-]{30,}", MASK),
        *((f"gh{kind}_", rf"gh{kind}_[A-Za-z0-9]{{30,}}", MASK) for kind in "pousr"),
        ("github_pat_", r"github_pat_[A-Za-z0-9_]{22,}", MASK),
        ("glpat-", r"glpat-[A-Za-z0-9_-]{20,}", MASK),
        ("hf_", r"(?<![A-Za-z0-9])hf_[A-Za-z0-9]{30,}", MASK),
        ("xox", r"xox[abeprs]-[A-Za-z0-9-]{10,}", MASK),
        ("AKIA", r"AKIA[A-Z0-9]{16}", MASK),
        ("ASIA", r"ASIA[A-Z0-9]{16}", MASK),
        ("eyJ", r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*", MASK),
        ("Bearer", r"Bearer(\s+|%20|\+)[A-Za-z0-9._~+/=-]{8,}", rf"Bearer\1{MASK}"),
        ("bearer", r"bearer(\s+|%20|\+)[A-Za-z0-9._~+/=-]{8,}", rf"bearer\1{MASK}"),
        ("Basic", r"Basic(\s+)(?=[A-Za-z+/=]*[0-9])[A-Za-z0-9+/=]{12,}", rf"Basic\1{MASK}"),
        ("basic", r"basic(\s+)(?=[A-Za-z+/=]*[0-9])[A-Za-z0-9+/=]{12,}", rf"basic\1{MASK}"),
        ("://", r"://[^\s/:@?#\"']{1,200}:[^\s/@\"']{1,400}@", rf"://{MASK}@"),
    )
)
"""A mark that is looked for first, the form of the key, and what is left of it."""


class Secrets:
    """The secrets of one process, and the forms in which they may turn up. Safe in any thread."""

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        self._environment = environment
        self._lock = threading.Lock()
        self._added: frozenset[str] = frozenset()
        self._seen: Mapping[Any, Any] | None = None
        self._forms: tuple[str, ...] = ()
        """All forms of all secrets, longest first, so that a secret within another leaves nothing of it."""

    def add(self, value: str) -> None:
        """Takes a secret that was given otherwise than by the environment. One of fewer than 8 characters is none."""
        value = value.strip()
        if len(value) < SHORTEST:
            return
        with self._lock:
            self._added |= {value}
            self._seen = None

    def scrub(self, text: str) -> str:
        """The text with `***` where a secret was."""
        for form in self._known():
            if form in text:
                text = text.replace(form, MASK)
        for mark, shape, left in SHAPES:
            if mark in text:
                text = shape.sub(left, text)
        return text

    def _known(self) -> tuple[str, ...]:
        now = _raw(self._environment)
        if now == self._seen:
            return self._forms
        with self._lock:
            self._seen = dict(now)
            values = {value.strip() for name, value in list(self._environment.items()) if is_secret(name, value)}
            self._forms = tuple(sorted({form for value in values | self._added for form in forms_of(value)}, key=_length))
            return self._forms


def _length(form: str) -> tuple[int, str]:
    return -len(form), form


def _raw(environment: Mapping[str, str]) -> Mapping[Any, Any]:
    """What changes whenever the environment does: CPython's own table where it is there, for comparing that is quick."""
    return vars(environment).get("_data", environment) if environment is os.environ else environment


def is_secret(name: str, value: str) -> bool:
    """Whether a variable of that name holds a secret: not where it is short, a plain path or address, or a list of words."""
    value = value.strip()
    if len(value) < SHORTEST or not NAMES.search(name):
        return False
    if PATH.fullmatch(value) or PLACE.fullmatch(value):
        return False
    return bool(PHRASES.search(name)) or not WORDS.fullmatch(value)


def forms_of(value: str) -> set[str]:
    """A secret as it is, in a URL, inside JSON, inside a repr and as base64."""
    in_url = {quote(value, safe=""), quote(value), quote_plus(value)}
    in_json = {json.dumps(value)[1:-1], json.dumps(value, ensure_ascii=False)[1:-1]}
    as_base64 = base64.b64encode(value.encode("utf-8", "surrogateescape")).decode().rstrip("=")
    lower = {re.sub(r"%[0-9A-F]{2}", lambda found: found[0].lower(), form) for form in in_url}
    twice = {json.dumps(form)[1:-1] for form in in_json}
    return {value, repr(value)[1:-1], as_base64, *in_url, *lower, *in_json, *twice}


PROCESS: Final = Secrets()


def scrub(text: str) -> str:
    """The text with `***` where a secret of this process was: cheap, also on large texts."""
    return PROCESS.scrub(text)


def add(value: str) -> None:
    """Has `scrub` know a secret that is in no environment variable."""
    PROCESS.add(value)
