"""The base parser: what a line means, and what is said of one that means nothing."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dvergr_nb.errors import BadInput
from dvergr_nb.magics._parse import Parser, seconds, variable, whole


def described() -> Parser:
    parser = Parser("%try", "Tries.")
    parser.add_argument("words", nargs="*")
    parser.add_argument("--room")
    parser.add_argument("--tag", action="append", default=[])
    parser.add_argument("--timeout", type=seconds)
    parser.add_argument("--limit", type=whole, default=7)
    parser.add_argument("--now", action="store_true")
    parser.add_argument("-o", type=variable, dest="output")
    return parser


def test_every_option_has_a_default_that_works() -> None:
    line = described().line("")
    assert (line.words, line.room, line.tag, line.timeout) == ([], None, [], None)
    assert (line.limit, line.now, line.output) == (7, False, None)


def test_words_and_options_may_stand_in_any_order() -> None:
    line = described().line("a --room lab b --tag x c --tag=y --now -o it")
    assert (line.words, line.room, line.tag, line.now, line.output) == (["a", "b", "c"], "lab", ["x", "y"], True, "it")


@pytest.mark.parametrize(
    ("typed", "word"),
    [
        ("'two words'", "two words"),
        ('"it\'s"', "it's"),
        ("""'say "x"'""", 'say "x"'),
        ("C:\\new\\table", "C:\\new\\table"),
        ("$HOME{x}", "$HOME{x}"),
        ("a'b c'd", "ab cd"),
        ("''", ""),
        ("#1", "#1"),
    ],
)
def test_quotes_come_off_and_nothing_else_changes(typed: str, word: str) -> None:
    assert described().line(typed).words == [word]


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Zs", "Zl", "Zp", "Cc"]), min_size=1))
def test_a_quoted_text_arrives_as_it_is_and_a_line_never_exits(text: str) -> None:
    mark = '"' if "'" in text else "'"
    if mark not in text:
        assert described().line(f"--room={mark}{text}{mark}").room == text
    with contextlib.suppress(BadInput):
        described().line(text)


def test_an_open_quote_is_named() -> None:
    with pytest.raises(BadInput, match="a ' is opened and never closed; put a text that contains ' between \" and \""):
        described().line("Tom's model")


def test_an_unknown_option_names_the_nearest_and_all_there_are() -> None:
    with pytest.raises(BadInput, match=r"no option --timout; did you mean --timeout\? It has .*--room.*--limit"):
        described().line("--timout 3")


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ("--timeout soon", "--timeout: needs a number of seconds above 0, not 'soon'"),
        ("--timeout -1", "not '-1'"),
        ("--timeout nan", "not 'nan'"),
        ("--timeout", "--timeout: expected one argument"),
        ("--limit 0", "--limit: needs a whole number from 1, not '0'"),
        ("--limit ²", "not '²'"),
        ("-o 2x", "-o: needs a name that Python accepts, not '2x'"),
        ("-o class", "not 'class'"),
    ],
)
def test_a_bad_value_is_one_sentence_with_the_value(typed: str, said: str) -> None:
    with pytest.raises(BadInput) as problem:
        described().line(typed)
    assert said in str(problem.value)
    assert str(problem.value).endswith("; %try --help shows how")


@pytest.mark.parametrize("typed", ["--help", "-h", "word --nonsense -h"])
def test_help_wins_over_everything_else(typed: str) -> None:
    line = described().line(typed)
    assert line.help is not None
    assert line.help.startswith("usage: %try")


@pytest.mark.parametrize("typed", [";", "a;", "a ;", "--room lab;"])
def test_a_semicolon_at_the_end_silences_and_is_no_part_of_a_word(typed: str) -> None:
    line = described().line(typed)
    assert line.is_silent
    assert ";" not in "".join([*line.words, line.room or ""])


def test_a_semicolon_inside_is_a_character() -> None:
    line = described().line("'a;b'")
    assert (line.words, line.is_silent) == (["a;b"], False)


def test_free_text_after_the_options_stays_as_typed() -> None:
    line, rest = described().head("-o x --limit 3 SELECT 'a  b' -- {c} $d")
    assert (line.output, line.limit, rest) == ("x", 3, "SELECT 'a  b' -- {c} $d")
    assert described().head("")[1] == ""
    assert described().head("SELECT 1;")[0].is_silent


def test_what_follows_a_lone_hash_is_a_comment_and_a_hash_in_a_word_is_not() -> None:
    described = Parser("%try", "Tries.")
    described.add_argument("words", nargs="*")
    assert described.line("fix issue #12 # what's left").words == ["fix", "issue", "#12"]
    assert described.line("# nothing").words == []
