"""Keys that may not leave the kernel: found by the names of environment variables and by their shape, replaced in any text."""

from __future__ import annotations

import base64
import json
import os
import re
import threading
import traceback
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final
from urllib.parse import quote, quote_plus

from dvergr_nb.records.text import ELLIPSIS

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
ANCHORS: Final = tuple(
    (anchor, tuple(shape for shape in SHAPES if anchor in shape[0]))
    for anchor in ("-", "_", "AIza", "KIA", "SIA", "xox", "eyJ", "earer", "asic", "://")
)
"""What many shapes have in common: most texts have none of it, and that is soon seen."""
LEAST: Final = len("://a:b@")
"""Shorter texts hold no secret."""
SEEN: Final = 6
"""How much of the beginning of a secret may be shown while the rest of it is not there yet, in characters."""
SPLIT: Final = 2
"""So little of a secret at the end of a piece of text does not wait for the next piece: any word might end like that."""
MADE_OF: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/=%"
"""Characters that keys are made of."""
BEGUN: Final = re.compile(
    r"(?<![A-Za-z0-9])(?:sk-|AIza|gh[pousr]_|github_pat_|glpat-|hf_|xox[abeprs]-|AKIA|ASIA|eyJ)[A-Za-z0-9_.-]*\Z"
)
SCHEMES: Final = ("bearer", "basic")
LOGIN: Final = re.compile(r"://[^\s/:@?#\"']{1,200}:[^\s/@\"']{7,400}\Z")
TEXTS: Final = ("text/", "application/json", "image/svg+xml")
"""Media types whose bytes are text."""
MARGIN: Final = 4_096
"""At least so much of a text is looked at before and behind what is shown of it: longer than a key, in characters."""


class Secrets:
    """The secrets of one process, and the forms in which they may turn up. Safe in any thread."""

    def __init__(self, environment: Mapping[str, str] = os.environ) -> None:
        self._environment = environment
        self._table = _raw(environment)
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
        """The text with `***` where a secret was; where it was cut, which its last character tells, also for a part of one."""
        if len(text) < LEAST:
            return text
        for form in self._known():
            if form in text:
                text = text.replace(form, MASK)
        for anchor, shapes in ANCHORS:
            if anchor in text:
                text = _without(shapes, text)
        return text if text[-1] != ELLIPSIS else self.ended(text[:-1]) + ELLIPSIS

    def ended(self, text: str) -> str:
        """A scrubbed text that breaks off, without the beginning of a secret at its end."""
        start = self._begins_at(text)
        return text if start is None else text[:start] + MASK

    def parted(self, text: str) -> tuple[str, str]:
        """A text that goes on, scrubbed as far as it can be told, and what at its end may be the beginning of a secret."""
        start = self._begins_at(text, SPLIT)
        return (self.scrub(text), "") if start is None else (self.scrub(text[:start]), text[start:])

    def last(self, text: str, limit: int) -> str:
        """The last `limit` characters of a text that goes on, without secrets: quick however long the text is."""
        margin = max(MARGIN, len(next(iter(self._known()), "")))
        window = text[-(limit + margin) :]
        clean = self.ended(self.scrub(window))
        return clean[-limit:] if len(window) == len(text) else clean[margin:][-limit:]

    def _begins_at(self, text: str, least: int = SEEN) -> int | None:
        """Where at the end of the text a secret begins of which more than `least` characters are there, and not all of them."""
        found = [start for form in self._known() if (start := _beginning(form, text, least)) is not None]
        found += [max(0, len(text) - MARGIN) + start for start in _looks_begun(text[-MARGIN:])]
        return min(found, default=None)

    def _known(self) -> tuple[str, ...]:
        now = self._table
        if now == self._seen:
            return self._forms
        with self._lock:
            seen = dict(now)
            values = {value.strip() for name, value in list(self._environment.items()) if is_secret(name, value)}
            self._forms = tuple(sorted({form for value in values | self._added for form in forms_of(value)}, key=_length))
            self._seen = seen  # after what was found: other threads look without the lock
            return self._forms


def _without(shapes: Sequence[tuple[str, re.Pattern[str], str]], text: str) -> str:
    for mark, shape, left in shapes:
        if mark in text:
            text = shape.sub(left, text)
    return text


def _beginning(form: str, text: str, least: int) -> int | None:
    """Where the end of the text is the beginning of that form, more than `least` characters of it."""
    head = form[: least + 1]
    start = text.find(head, max(0, len(text) - len(form) + 1))
    while start >= 0:
        if form.startswith(text[start:]):
            return start
        start = text.find(head, start + 1)
    return None


def _looks_begun(text: str) -> Iterator[int]:
    """Where at the end of the text something begins that has the shape of a secret."""
    before = text.rstrip(MADE_OF)
    token = text[len(before) :]
    if len(token) > SEEN:
        begun = BEGUN.search(token)
        if before.rstrip().lower().endswith(SCHEMES):
            yield len(before)
        elif begun is not None and len(token) - begun.start() > SEEN:
            yield len(before) + begun.start()
    if "://" in text and (login := LOGIN.search(text)) is not None:
        yield login.start() + len("://")


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


def ended(text: str) -> str:
    """A text that breaks off, without secrets and without the beginning of one at its end."""
    return PROCESS.ended(PROCESS.scrub(text))


def parted(text: str) -> tuple[str, str]:
    """What can be said of a text that goes on, and what of it must wait for the rest: the beginning of a secret, it may be."""
    return PROCESS.parted(text)


def last(text: str, limit: int) -> str:
    """The last `limit` characters of a text that goes on, without secrets."""
    return PROCESS.last(text, limit)


def scrubbed(data: bytes, media_type: str) -> bytes:
    """Bytes as they may be kept: those that are text are without secrets."""
    if not media_type.startswith(TEXTS):
        return data
    return scrub(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")


def tells_none(problem: BaseException) -> bool:
    """Whether its traceback may be shown as it is."""
    text = "".join(traceback.format_exception(problem))
    return scrub(text) == text


def add(value: str) -> None:
    """Has `scrub` know a secret that is in no environment variable."""
    PROCESS.add(value)
