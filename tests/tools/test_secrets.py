"""Keys in texts: which are found, in which forms, and what is left alone."""

from __future__ import annotations

import base64
import json
import os
import time
from urllib.parse import quote, quote_plus

import pytest

from dvergr_nb.runtime import secrets
from dvergr_nb.runtime.secrets import Secrets, scrub

KEY = 'q7Z/r+55"d1 0é\\9'


@pytest.fixture
def known():
    return Secrets({"SOME_API_KEY": KEY, "OTHER": "plain value"})


@pytest.mark.parametrize(
    "form",
    [
        KEY,
        quote(KEY),
        quote(KEY, safe=""),
        quote_plus(KEY),
        quote(KEY, safe="").lower().replace("q7z", "q7Z"),
        json.dumps(KEY),
        json.dumps(KEY, ensure_ascii=False),
        json.dumps({"error": json.dumps({"key": KEY})}),
        repr(KEY),
        base64.b64encode(KEY.encode()).decode(),
    ],
)
def test_a_value_of_the_environment_is_found_in_every_form(known, form):
    for text in (form, f"a{form}b", f"key={form}&x", f"{form}{form}"):
        cleaned = known.scrub(text)
        assert form not in cleaned
        assert "***" in cleaned
        assert "q7Z" not in cleaned


def test_all_but_the_secret_stays(known):
    assert known.scrub(f"before {KEY} after plain value") == "before *** after plain value"
    assert known.scrub("nothing here") == "nothing here"
    assert known.scrub("") == ""


@pytest.mark.parametrize(
    "name", ["OPENAI_API_KEY", "my_token", "GH_TOKEN", "DB_PASSWORD", "PGPASSWD", "CLIENT_SECRET", "X_CREDENTIALS"]
)
def test_names_that_speak_of_secrets(name):
    assert Secrets({name: "abcdefgh"}).scrub("x abcdefgh y") == "x *** y"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("SOME_KEY", "short"),
        ("SOME_KEY", ""),
        ("HOME", "abcdefghij"),
        ("KEY_FILE", "/srv/keys/some.json"),
        ("KEY_DIR", "~/keys/here"),
        ("HOST_KEY_TYPES", "rsa ecdsa ed"),
        ("KEY_ORDER", "first,second,third"),
        ("TOKEN_URL", "https://auth.example.org/token"),
    ],
)
def test_what_is_no_secret_is_left_alone(name, value):
    text = f"x {value} y"
    assert Secrets({name: value}).scrub(text) == text


def test_a_passphrase_is_a_secret_although_it_is_words():
    assert Secrets({"DB_PASSWORD": "correct horse battery"}).scrub("correct horse battery!") == "***!"


def test_a_secret_within_another_leaves_nothing_of_the_longer():
    both = Secrets({"A_KEY": "abcdefgh", "B_KEY": "abcdefghijkl"})
    assert both.scrub("abcdefghijkl abcdefgh") == "*** ***"


@pytest.mark.parametrize(
    "key",
    [
        "sk-abcdefghijklmnopqrstuvwx",
        "sk-ant-api03-abcdefghij_klmnop-q",
        "sk-proj-a1b2c3d4e5f6g7h8i9",
        "AIzaSyA1234567890abcdefghijklmnopqrstuv",
        "ghp_" + "a1" * 18,
        "github_pat_11ABCDEFG0abcdefghijklmn",
        "AKIAIOSFODNN7EXAMPLE",
        "xoxb-123456789012-abcdef",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.dozjgNryP4J3jVmNHl0w5N",
    ],
)
def test_keys_are_known_by_their_shape(key):
    empty = Secrets({})
    for text in (key, f'{{"key": "{key}"}}', f"key={key}&", f"({key})"):
        assert key[6:] not in empty.scrub(text)
    assert empty.scrub(f"a {key} b") == "a *** b"


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("Authorization: Bearer abc.def-ghi", "Authorization: Bearer ***"),
        ("authorization: bearer abcdefghij", "authorization: bearer ***"),
        ("Basic dXNlcjpwYXNzd29yZDE=", "Basic ***"),
        ("postgres://me:pass@host/db", "postgres://***@host/db"),
        ("a basic understanding of it", "a basic understanding of it"),
        ("task-sk-short, risk-free, disk-space", "task-sk-short, risk-free, disk-space"),
        ("https://example.org/a:b@c", "https://example.org/a:b@c"),
    ],
)
def test_headers_and_urls(text, left):
    assert Secrets({}).scrub(text) == left


def test_the_environment_is_read_anew_when_it_changes(monkeypatch):
    assert scrub("first-value-1") == "first-value-1"
    monkeypatch.setenv("NEW_API_KEY", "first-value-1")
    assert scrub("first-value-1") == "***"
    monkeypatch.setenv("NEW_API_KEY", "second-value-2")
    assert scrub("first-value-1 second-value-2") == "first-value-1 ***"
    monkeypatch.delenv("NEW_API_KEY")
    assert scrub("second-value-2") == "second-value-2"


def test_a_key_given_otherwise_is_found_once_it_is_added(monkeypatch):
    monkeypatch.setattr(secrets, "PROCESS", Secrets(os.environ))
    secrets.add("given-by-hand")
    secrets.add("none")
    assert scrub("given-by-hand none") == "*** none"


@pytest.mark.parametrize(
    "text",
    [
        "lorem ipsum dolor sit amet " * 40_000,
        "a" * 1_000_000,
        "eyJ" * 333_000,
        "eyJabcdefgh." * 80_000,
        "://a:" * 200_000,
        "Bearer " * 140_000,
        "Bearer" + " " * 1_000_000,
        "Basic " + "a" * 1_000_000,
        "sk-" * 333_000,
        "AIza" * 250_000,
        "%2F" * 333_000,
    ],
)
def test_a_megabyte_takes_no_time_that_anybody_sees(known, text):
    known.scrub("warm")
    began = time.process_time()
    known.scrub(text)
    assert time.process_time() - began < 0.5
