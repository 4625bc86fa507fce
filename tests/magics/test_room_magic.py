"""`%room` in a terminal: who takes part and what was said, as text."""

from __future__ import annotations

import re

import pytest

from dvergr_nb.api import KERNEL
from dvergr_nb.errors import NotFound
from tests.magics.conftest import Shell


@pytest.fixture
def lab(terminal: Shell) -> Shell:
    """A terminal with a room `lab` in which `tester` has answered once."""
    terminal.cell("import dvergr_nb as d\nlab = d.room('lab')\nlab.join('tester', d.scripted('fine', 'good'));")
    terminal.cell("%%turn tester --room lab -o r\nhow is it?\nin detail")
    terminal.cell("await r")
    return terminal


def test_it_shows_who_is_there_and_what_was_said(lab: Shell) -> None:
    lines = lab.text("%room lab").splitlines()
    assert lines[0] == "Room lab"
    assert lines[1].split() == ["tester", "scripted", "is", "free"]
    assert [re.split(r" {2,}", line)[2:] for line in lines[2:]] == [
        ["from", "to", "message"],
        ["user", "tester", "how is it?"],
        ["tester", "user", "fine"],
    ]
    assert lines[3].split()[2] == lines[4].split()[2] == lab.value("r").row.trigger[-8:]


def test_without_a_name_it_shows_the_room_of_the_session_and_makes_none(terminal: Shell) -> None:
    assert terminal.text("%room") == "Room main\nnobody takes part in this kernel\nnothing was said yet"
    assert KERNEL.current().store.rooms() == []


def test_it_tells_who_works_and_how_many_wait(terminal: Shell) -> None:
    terminal.cell("import dvergr_nb as d\nd.room().join('slow', d.echo(delay_ms=60_000));")
    run = terminal.value("%%turn slow -o a\nA")
    terminal.cell("%%turn slow --new-thread\nB")
    assert terminal.text("%room").splitlines()[1] == f"slow  echo  works on Run {run.id[-8:]}, 1 queued"
    terminal.cell("%cancel --room main\nawait d.drain(30)")


def test_only_the_last_messages_are_shown_and_it_says_how_to_see_the_others(terminal: Shell) -> None:
    terminal.cell("import dvergr_nb as d\nfor n in range(25): await d.post('main', f'message {n}')")
    lines = terminal.text("%room").splitlines()
    assert "older messages: d.room('main').messages(limit=None)" in lines
    assert lines[-1].endswith("message 24")
    assert not any(line.endswith("message 4") for line in lines)


def test_a_closed_room_says_so_and_looking_opens_it_not(lab: Shell) -> None:
    lab.cell("await lab.close()")
    assert lab.text("%room lab").splitlines()[:2] == ["Room lab, closed", "nobody takes part in this kernel"]
    assert lab.value("lab.is_closed") is True


def test_what_was_said_moves_no_cursor(terminal: Shell) -> None:
    terminal.cell("import dvergr_nb as d\nawait d.post('main', '\\x1b[2Jx\\u202e');")
    text = terminal.text("%room")
    assert "\x1b" not in text
    assert "\u202e" not in text


@pytest.mark.parametrize("line", ["%room nowhere", "%runs nowhere", "%cancel --room nowhere"])
def test_an_unknown_room_names_those_that_were_opened_also_without_runs(terminal: Shell, line: str) -> None:
    terminal.cell("import dvergr_nb as d\nd.room('somewhere');")
    problem = terminal.error(line)
    assert type(problem) is NotFound
    assert "'somewhere'" in str(problem)


def test_a_room_without_runs_can_be_asked_for_them(terminal: Shell) -> None:
    terminal.cell("import dvergr_nb as d\nd.room('somewhere');")
    assert terminal.text("%runs somewhere") == "no Runs that fit"
    assert terminal.text("%cancel --room somewhere") == "nothing lives in room somewhere"


@pytest.mark.parametrize("line", ["%room;", "%room ;", "%room lab;"])
def test_a_semicolon_shows_nothing(lab: Shell, line: str) -> None:
    assert lab.value(line) is None
