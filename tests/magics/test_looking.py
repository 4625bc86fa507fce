"""`%runs`, `%card`, `%board`, `%activity`, `%%runsql`, `%cancel` in a terminal."""

from __future__ import annotations

import datetime as dt
import re

import pytest

from dvergr_nb.api import KERNEL
from dvergr_nb.clock import UTC
from dvergr_nb.errors import AmbiguousRun, BadFilter, BadInput, DvergrError, NoSuchRun, NotFound, QueryRefused, QueryTimedOut
from dvergr_nb.magics.looking import moment
from dvergr_nb.magics.tables import duration, plain
from dvergr_nb.records.run import RunStatus
from tests.magics.conftest import Shell

SAID = [(0.424, "0.42s"), (12, "12s"), (134, "2m 14s"), (11_100, "3h 5m"), (-1, "0.00s")]
NOW = dt.datetime(2026, 5, 1, 12, tzinfo=UTC)


@pytest.fixture
def three(terminal: Shell) -> Shell:
    """Three Runs that have ended: `a` in main, `b` and `c` in lab, `b` with tags, `c` failed."""
    terminal.cell("%%job first -o a\n1")
    terminal.cell("await a")
    terminal.cell("%%job second -o b --room lab --tag x --tag y\nprint('two')\n2")
    terminal.cell("await b")
    terminal.cell("%%job third -o c --room lab --kind check\n1 / 0")
    terminal.cell("await c.wait()")
    return terminal


def test_runs_are_listed_newest_first_as_text(three: Shell) -> None:
    lines = three.text("%runs").splitlines()
    assert re.fullmatch(r"run +status +label +actor +room +started \(UTC\) +tags +took", lines[0])
    assert [re.split(r" {2,}", line)[2] for line in lines[1:]] == ["third", "second", "first"]
    assert "failed (error)" in lines[1]
    assert "  x, y  " in lines[2]


@pytest.mark.parametrize(
    ("line", "labels"),
    [
        ("%runs lab", ["third", "second"]),
        ("%runs --status failed", ["third"]),
        ("%runs --tag y", ["second"]),
        ("%runs --kind check", ["third"]),
        ("%runs --actor dvergr --limit 2", ["third", "second"]),
        ("%runs --since 1h", ["third", "second", "first"]),
        ("%runs --since 2100-01-01", []),
        ("%runs --tree a", ["first"]),
    ],
)
def test_filters_narrow_the_table_and_its_frame_alike(three: Shell, line: str, labels: list[str]) -> None:
    table = three.value(line)
    assert [run.label for run in table] == labels
    assert list(table.df()["label"]) == labels
    assert str(table.df()["status"].dtype) == "category"


def test_an_empty_table_says_why(terminal: Shell) -> None:
    assert terminal.text("%runs") == "no Runs yet; start one with %%job or d.job(…)"
    assert terminal.text("%runs --status failed") == "no Runs that fit"
    assert terminal.text("%board") == "nothing lives here now"


def test_hostile_text_is_escaped_in_html_and_moves_no_cursor_in_text(terminal: Shell) -> None:
    terminal.cell("%%job '<script>alert(1)</script>' -o a\n1")
    terminal.shell.user_ns["d"] = KERNEL.current().job(lambda: 1, label="\x1b[31mred\x1b[0m \u202e")
    terminal.cell("await a\nawait d")
    table = terminal.value("%runs")
    assert "<script>" not in table._repr_html_()
    assert "&lt;script&gt;" in table._repr_html_()
    assert "\x1b" not in repr(table)
    assert "\u202e" not in repr(table)


def test_a_run_is_a_variable_an_id_or_a_piece_of_one(three: Shell) -> None:
    run_id = three.value("b").id
    for word in ("b", run_id, run_id[-8:], run_id[:-4], run_id.upper()):
        assert three.text(f"%card {word}").startswith(f"Run {run_id[-8:]}: second · completed")


def test_an_unknown_run_names_the_nearest_and_an_ambiguous_one_the_candidates(three: Shell) -> None:
    run_id = three.value("b").id
    unknown = three.error(f"%card {run_id[-8:-1]}z")
    assert isinstance(unknown, NoSuchRun)
    assert run_id in unknown.nearest
    ambiguous = three.error(f"%activity {run_id[:6]}")
    assert isinstance(ambiguous, AmbiguousRun)
    assert len(ambiguous.candidates) == 3


@pytest.mark.parametrize("line", ["%runs nowhere", "%board nowhere", "%cancel --room nowhere"])
def test_an_unknown_room_names_the_rooms_there_are(three: Shell, line: str) -> None:
    problem = three.error(line)
    assert type(problem) is NotFound
    assert str(problem).startswith("no room 'nowhere' in this store; rooms: ")
    assert "'lab'" in str(problem)
    assert "'main'" in str(problem)


def test_the_card_of_a_terminal_tells_what_was_done(three: Shell) -> None:
    text = three.text("%card b")
    assert "1 correlated activity message\n" in text
    assert re.search(r"s +printed +two", text)
    assert text.endswith("result: 2")
    assert three.text("%card c").endswith("error: ZeroDivisionError: division by zero")


def test_the_board_of_a_terminal_lists_what_lives(terminal: Shell) -> None:
    terminal.cell("import threading\ngate = threading.Event()")
    terminal.cell("%%job waits -o r --room lab\ngate.wait(30)")
    table = terminal.value("%board lab")
    assert [run.status for run in table] == [RunStatus.RUNNING]
    assert list(table.df()["label"]) == ["waits"]
    terminal.cell("gate.set()\nawait r")


def test_activity_is_one_frame_joined_to_the_run(three: Shell) -> None:
    frame = three.value("%activity b")
    assert list(frame["content"]) == ["two"]
    assert set(frame["run_id"]) == {three.value("b").id}


def test_sql_is_asked_in_a_cell_or_in_a_line_and_may_be_stored(three: Shell) -> None:
    assert three.value("%runsql SELECT label FROM runs WHERE room = 'lab' ORDER BY label")["label"].tolist() == [
        "second",
        "third",
    ]
    frame = three.value("%%runsql -o kept --limit-s 5\nSELECT count(*) AS n\nFROM runs")
    assert frame["n"].tolist() == [3]
    assert three.value("kept") is frame
    assert three.value("%runsql -o quiet SELECT 1 AS x;") is None
    assert three.value("quiet")["x"].tolist() == [1]


def test_sql_is_not_expanded(three: Shell) -> None:
    three.cell("label = 'wrong'")
    assert three.value("%runsql SELECT '{label} $label' AS x")["x"].tolist() == ["{label} $label"]


@pytest.mark.parametrize(
    ("cell", "kind"),
    [
        ("%%runsql\nDROP TABLE runs", QueryRefused),
        ("%runsql SELECT 1; SELECT 2", QueryRefused),
        ("%runsql", BadInput),
        ("%%runsql\n  ", BadInput),
        ("%%runsql --limit-s 0.05\nSELECT count(*) FROM range(100000) a, range(100000) b, range(1000) c", QueryTimedOut),
        ("%runs --tree a --tag x", BadFilter),
        ("%runs --since yesterday", BadInput),
        ("%runs --status done", BadInput),
        ("%card", BadInput),
        ("%cancel", BadInput),
        ("%cancel a --room lab", BadInput),
    ],
)
def test_bad_input_is_one_line_of_ours(three: Shell, cell: str, kind: type[DvergrError]) -> None:
    three._read()
    problem = three.error(cell)
    assert type(problem) is kind
    printed = three._read()
    assert [line for line in (printed.out + printed.err).splitlines() if line.strip()] == [f"{kind.__name__}: {problem}"]


def test_cancel_asks_and_says_so(terminal: Shell) -> None:
    terminal.cell("import asyncio")
    terminal.cell("%%job long -o r\nawait asyncio.sleep(60)")
    run_id = terminal.value("r").id
    assert terminal.text(f"%cancel {run_id[-8:]} r") == f"asked {run_id[-8:]} (long) to stop"
    terminal.cell("await r.wait()")
    assert terminal.value("r").row.status is RunStatus.CANCELLED
    assert terminal.text("%cancel r") == f"{run_id[-8:]} (long) has ended already: cancelled"


def test_cancelling_a_room_leaves_the_others_alone(terminal: Shell) -> None:
    terminal.cell("import asyncio")
    for room in ("lab", "lab", "main"):
        terminal.cell(f"%%job --room {room} -o {room}\nawait asyncio.sleep(60)")
    assert terminal.text("%cancel --room lab") == "asked 2 Runs to stop"
    terminal.cell("await lab.wait()")
    assert [run.room for run in terminal.value("%runs --status running")] == ["main"]


def test_no_run_is_cancelled_where_one_of_the_names_is_wrong(terminal: Shell) -> None:
    terminal.cell("import threading\ngate = threading.Event()")
    terminal.cell("%%job -o r\ngate.wait(30)")
    assert isinstance(terminal.error("%cancel r nonsense"), NoSuchRun)
    terminal.cell("gate.set()")
    assert terminal.value("await r") is True


@pytest.mark.parametrize("line", ["%runs;", "%runs ;", "%board;", "%card a;", "%dvergr;", "%activity a;"])
def test_a_trailing_semicolon_shows_nothing(three: Shell, line: str) -> None:
    three._read()
    assert three.value(line) is None
    assert three._read() == ("", "")


@pytest.mark.parametrize("magic", ["%dvergr", "%runs", "%card", "%board", "%cancel", "%activity", "%runsql"])
def test_help_is_printed_and_opens_nothing(terminal: Shell, magic: str) -> None:
    assert terminal.printed(f"{magic} --help").startswith("usage: %")
    assert KERNEL.session is None


def test_help_of_a_cell_magic_runs_nothing(terminal: Shell) -> None:
    assert terminal.printed("%%job --help\n1").startswith("usage: %%job")
    assert KERNEL.session is None


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("30m", NOW - dt.timedelta(minutes=30)),
        ("1.5h", NOW - dt.timedelta(minutes=90)),
        ("2d", NOW - dt.timedelta(days=2)),
        ("2026-04-01", dt.datetime(2026, 4, 1, tzinfo=UTC)),
        ("2026-04-01T10:00+02:00", dt.datetime(2026, 4, 1, 8, tzinfo=UTC)),
    ],
)
def test_since_is_a_span_or_a_time(text: str, at: dt.datetime) -> None:
    assert moment(text, lambda: NOW) == at


@pytest.mark.parametrize(
    ("seconds", "said"), [(0.424, "0.42s"), (12, "12s"), (134, "2m 14s"), (11_100, "3h 5m"), (-1, "0.00s")]
)
def test_durations_are_said_as_people_do(seconds: float, said: str) -> None:
    assert duration(seconds) == said


def test_plain_text_is_one_line_of_bounded_length() -> None:
    assert plain("a\nb\tc\0") == "a\ufffdb\ufffdc\ufffd"
    assert len(plain("x" * 1_000_000)) == 48


def test_a_handle_in_a_terminal_is_one_line_that_moves_no_cursor(terminal: Shell) -> None:
    terminal.cell("import dvergr_nb as d\nrun = d.job(lambda: 1, label='a\\x1b[2Jb')")
    assert "a\ufffd[2Jb" in terminal.text("run")
    assert "\x1b" not in terminal.text("run")
