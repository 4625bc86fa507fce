"""Texts that go on, that were cut, and that are long."""

from __future__ import annotations

import json
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dvergr_nb.records.text import clipped
from dvergr_nb.runtime.secrets import MARGIN, SEEN, SPLIT, Secrets

KEY = "Zq7vK2mWx9Lr4TbN8cYp1HdF6sGj3aUe"
OTHER = "pa ss/wo\"rd with 'marks'"
KNOWN = Secrets({"SOME_API_KEY": KEY, "THE_PASSWORD": OTHER})
SHAPED = "sk-proj-abcdefghijklmnop1234"


def leaks(text: str, key: str = KEY) -> bool:
    """Whether more of the key's beginning is there than may be, or any other large part of it."""
    parts = [key[start : start + SEEN + 1] for start in range(len(key) - SEEN)]
    return any(part in text for part in parts)


@given(st.integers(0, len(KEY)), st.text("xyz .", max_size=30))
def test_a_text_that_ends_within_a_key_shows_hardly_its_beginning(there: int, before: str) -> None:
    assert not leaks(KNOWN.last(f"{before} {KEY[:there]}", 2_000))
    assert not leaks(KNOWN.ended(KNOWN.scrub(f"{before} {KEY[:there]}")))


@given(st.integers(1, len(KEY) + 60))
def test_a_text_that_was_clipped_within_a_key_shows_hardly_its_beginning(limit: int) -> None:
    assert not leaks(KNOWN.scrub(clipped(f"it is {KEY} and that is all there is to be said of it", limit)))


@given(st.lists(st.sampled_from([KEY, "a word ", "\n", SHAPED + " ", "x" * 500]), max_size=40), st.integers(0, len(KEY)))
def test_the_end_of_a_long_text_has_neither_a_key_nor_the_end_of_one(pieces: list[str], there: int) -> None:
    text = "".join(pieces) + KEY[:there]
    for limit in (10, 100, 2_000):
        shown = KNOWN.last(text, limit)
        assert len(shown) <= limit
        assert not leaks(shown)


def test_the_end_of_a_text_without_keys_is_shown_as_it_is() -> None:
    text = "".join(f"line {number}\n" for number in range(10_000))
    assert KNOWN.last(text, 2_000) == text[-2_000:]
    assert KNOWN.last("short", 2_000) == "short"


@pytest.mark.parametrize("cut", range(SEEN + 1, len(SHAPED)))
def test_what_looks_like_the_beginning_of_a_key_waits_for_the_rest(cut: int) -> None:
    assert SHAPED[: SEEN + 1] not in KNOWN.last(f"use {SHAPED[:cut]}", 100)


def test_a_word_that_only_began_like_a_key_is_there_once_it_has_ended() -> None:
    assert "sk-learn" not in KNOWN.last("with sk-learn", 100)
    assert KNOWN.last("with sk-learn you", 100) == "with sk-learn you"


WHOLE = f"a {KEY} b {OTHER} c"
CUTS = [cut for cut in range(len(WHOLE)) if not any(0 < cut - WHOLE.index(key) <= SPLIT for key in (KEY, OTHER))]


@given(st.lists(st.sampled_from(CUTS), max_size=6))
def test_a_text_that_comes_in_pieces_is_told_without_its_keys_and_without_a_loss(cuts: list[int]) -> None:
    text, told, held, start = WHOLE, "", "", 0
    for cut in [*sorted(cuts), len(text)]:
        clean, held = KNOWN.parted(held + text[start:cut])
        told, start = told + clean, cut
    assert told + KNOWN.ended(KNOWN.scrub(held)) == "a *** b *** c"


@pytest.mark.parametrize("word", ["Bearer ", "basic "])
def test_a_password_that_has_come_half_is_hidden(word: str) -> None:
    assert "dXNlcjpw" not in KNOWN.last(f"Authorization: {word}dXNlcjpwYX", 100)
    assert "secretpw" not in KNOWN.last("http://me:secretpw", 100)


def test_json_of_a_key_stays_json() -> None:
    text = KNOWN.scrub(json.dumps({"key": OTHER, "other": [KEY]}))
    assert json.loads(text) == {"key": "***", "other": ["***"]}


def test_the_end_of_a_text_is_found_as_quickly_in_a_long_one() -> None:
    def took(text: str) -> float:
        best = float("inf")
        for _ in range(20):
            before = time.perf_counter()
            KNOWN.last(text, 2_000)
            best = min(best, time.perf_counter() - before)
        return best

    assert took("some words " * 200_000) < 5 * took("some words " * (2 * MARGIN // 11))


def test_a_secret_that_is_set_later_is_known_at_once() -> None:
    environment = {"HOME": "/home/me"}
    known = Secrets(environment)
    assert known.scrub(f"is {KEY}") == f"is {KEY}"
    environment["NEW_TOKEN"] = KEY
    assert known.scrub(f"is {KEY}") == "is ***"
