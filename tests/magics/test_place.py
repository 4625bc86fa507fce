"""`%dvergr` and what it can do, in a terminal."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from dvergr_nb.api import KERNEL
from dvergr_nb.errors import BadInput, NotAStore, Refused, SessionClosed, StoreBusy
from dvergr_nb.magics import doctor
from dvergr_nb.records.operation import Post
from dvergr_nb.runtime.speaking import Said
from dvergr_nb.session import Session
from tests.magics.conftest import Shell

HOLDER = """
import sys
import dvergr_nb as d
d.connect("taken.duckdb")
print("held", flush=True)
sys.stdin.read()
"""


def test_without_an_argument_it_says_where_and_opens_nothing(terminal: Shell, tmp_path: Path) -> None:
    assert terminal.text("%dvergr") == f"store  {tmp_path / '.dvergr' / 'store.duckdb'} (opened at first use)"
    assert KERNEL.session is None
    assert not (tmp_path / ".dvergr").exists()


def test_it_tells_store_user_room_and_what_lives(terminal: Shell, tmp_path: Path) -> None:
    terminal.cell("%dvergr connect here.duckdb")
    terminal.cell("import threading\ngate = threading.Event()")
    terminal.cell("%%job waits -o r\ngate.wait(30)")
    lines = terminal.text("%dvergr").splitlines()
    assert lines[0].split() == ["store", str(tmp_path / "here.duckdb")]
    assert [line.split()[0] for line in lines[:4]] == ["store", "user", "room", "lives"]
    assert lines[2].split() == ["room", "main"]
    assert lines[3].split() == ["lives", "1", "Run"]
    assert lines[4].split()[1:5] == ["running", "waits", "in", "main"]
    terminal.cell("gate.set()\nawait r")
    assert terminal.text("%dvergr").endswith("nothing")


def test_it_tells_which_rooms_live_here_and_who_takes_part(terminal: Shell) -> None:
    terminal.cell("import dvergr_nb as d\nd.room('lab').join('tester', d.scripted('yes'))\nd.room('other');")
    terminal.cell("done = d.room('done')\nawait done.close()")
    lines = terminal.text("%dvergr").splitlines()
    assert lines[3:6] == ["rooms  lab: tester", "       other: nobody", "       done: closed"]


def test_it_tells_how_many_messages_nobody_has_answered(terminal: Shell) -> None:
    terminal.cell("%dvergr connect a.duckdb")
    for count, said in [(1, "1 message is unanswered: d.unanswered()"), (2, "2 messages are unanswered: d.unanswered()")]:
        unanswered(KERNEL.current(), f"m{count}")
        assert terminal.text("%dvergr").splitlines()[-1] == said


def unanswered(session: Session, text: str) -> None:
    """A message to an actor whose kernel died before its Run was admitted."""
    room = session.rooms.open("main")
    if not session.store.members("main"):
        room.join("tester", lambda _message: "yes")
    message = room.speaking.message(Said(content=text, to="tester"))
    session.store.submit(Post(message=message)).result(30)


def test_the_room_can_be_changed(terminal: Shell) -> None:
    terminal.cell("%dvergr room lab")
    terminal.cell("%%job -o r\n1")
    assert terminal.value("r").row.room == "lab"
    assert [room.name for room in KERNEL.current().store.rooms()] == ["lab"]
    assert isinstance(terminal.error(f"%dvergr room {'x' * 300}"), BadInput)


def test_after_close_every_magic_says_what_to_type(terminal: Shell) -> None:
    terminal.cell("%dvergr connect here.duckdb")
    path = KERNEL.current().path
    assert terminal.text("%dvergr close") == f"closed {path}; %dvergr connect {path} opens it again"
    for cell in ("%runs", "%dvergr", "%board", "%card x", "%cancel x", "%%job\n1", "%runsql SELECT 1", "%dvergr room x"):
        problem = terminal.error(cell)
        assert isinstance(problem, SessionClosed)
        assert f"type %dvergr connect {path}" in str(problem)
    terminal.cell(f"%dvergr connect {path}")
    assert terminal.text("%runs").startswith("no Runs yet")


def test_close_is_refused_while_runs_live_unless_now(terminal: Shell) -> None:
    terminal.cell("import asyncio")
    terminal.cell("%%job -o r\nawait asyncio.sleep(60)")
    assert isinstance(terminal.error("%dvergr close"), Refused)
    terminal.value("%dvergr close --now")
    terminal.cell("%dvergr connect .dvergr/store.duckdb")
    (row,) = terminal.value("%runs")
    assert (row.status, row.reason) == ("failed", "orphaned")


def test_a_failed_connect_changes_nothing(terminal: Shell, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("not a store")
    terminal.cell("%%job -o r\n1")
    terminal.cell("await r")
    assert isinstance(terminal.error("%dvergr connect notes.txt"), NotAStore)
    assert (tmp_path / "notes.txt").read_text() == "not a store"
    assert len(terminal.value("%runs")) == 1


def test_connecting_another_store_closes_the_one_before_and_prints_are_still_captured(terminal: Shell) -> None:
    terminal.cell("%dvergr connect one.duckdb")
    first = KERNEL.current()
    terminal.cell("%dvergr connect two.duckdb")
    assert not first.is_open
    terminal.cell("%%job -o r\nprint('kept')")
    terminal.cell("await r")
    assert list(terminal.value("%activity r")["content"]) == ["kept"]


def test_a_store_that_another_process_holds_names_the_holder(terminal: Shell, tmp_path: Path) -> None:
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", HOLDER]
    with subprocess.Popen(
        command, cwd=tmp_path, env={"PYTHONPATH": str(root)}, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "held\n"
        problem = terminal.error("%dvergr connect taken.duckdb")
        assert isinstance(problem, StoreBusy)
        assert f"process {other.pid}" in str(problem)
        assert "%dvergr connect OTHER.duckdb" in str(problem)
        terminal.cell("%config DvergrMagics.path = 'taken.duckdb'")
        assert f"process {other.pid}" in terminal.text("%dvergr doctor")
        assert other.stdin is not None
        other.stdin.close()
        other.wait(30)
    terminal.value("%dvergr connect taken.duckdb")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("%dvergr conect x", "no command 'conect'; it has connect, room, close, doctor, compact"),
        ("%dvergr connect", "needs a path: %dvergr connect PATH"),
        ("%dvergr room", "needs a name: %dvergr room NAME"),
        ("%dvergr doctor x", "takes nothing more, so 'x' is too much"),
        ("%dvergr doctor --now", "--now goes with %dvergr close only"),
        ("%dvergr connect a b", "takes no 'b' there"),
    ],
)
def test_bad_input_says_what_there_is(terminal: Shell, line: str, said: str) -> None:
    problem = terminal.error(line)
    assert isinstance(problem, BadInput)
    assert said in str(problem)


def test_compact_gives_the_disk_back_what_is_not_needed_and_loses_nothing(terminal: Shell) -> None:
    terminal.cell("%%job -o r\nfor n in range(40):\n    print('x' * 20_000)\n    ctx.activity(str(n) * 9_000)")
    terminal.cell("await r")
    before = terminal.value("%activity r")
    text = terminal.text("%dvergr compact")
    assert text.startswith(KERNEL.current().path)
    assert " before, " in text
    assert terminal.value("%activity r").equals(before)
    terminal.cell("%%job --key again -o s\n2")
    assert terminal.value("await s") == 2
    assert "reopened  0 times" in terminal.text("%dvergr doctor")
    terminal.cell("%dvergr close")
    terminal.cell("%dvergr connect .dvergr/store.duckdb")
    assert [run.status for run in terminal.value("%runs")] == ["completed", "completed"]


def test_compact_of_a_store_in_memory_does_nothing(terminal: Shell) -> None:
    terminal.cell("%dvergr connect :memory:")
    assert terminal.text("%dvergr compact") == ":memory:: 0 B before, 0 B now"


def test_settings_hold_for_stores_opened_from_now_on(terminal: Shell, tmp_path: Path) -> None:
    terminal.cell("%config DvergrMagics.path = 'mine.duckdb'\n%config DvergrMagics.room = 'lab'")
    terminal.cell("%config DvergrMagics.user_id = 'ada'\n%config DvergrMagics.tenant_id = 'team'")
    terminal.cell("%runs")
    session = KERNEL.current()
    assert (session.path, session.room) == (str(tmp_path / "mine.duckdb"), "lab")
    assert "ada of team" in terminal.text("%dvergr")


def test_the_doctor_has_a_line_for_everything_and_each_says_ok_or_what_to_do(terminal: Shell, tmp_path: Path) -> None:
    before = terminal.text("%dvergr doctor")
    assert "not there yet" in before
    assert not (tmp_path / ".dvergr").exists()
    terminal.cell("%%job -o r\n1")
    terminal.cell("await r")
    lines = terminal.text("%dvergr doctor").splitlines()
    assert [line.split()[0] for line in lines] == [
        "store", "holder", "backlog", "reopened", "loop", "kernel", "widgets", "python", "threads"
    ]  # fmt: skip
    assert "schema 3" in lines[0]
    assert "0 units wait; last commit 20" in lines[2]
    assert "ms late" in lines[4]
    assert all("ok" in line for line in lines)


def test_the_doctor_of_a_closed_store_says_how_to_open_it(terminal: Shell) -> None:
    terminal.cell("%dvergr connect here.duckdb")
    terminal.cell("%dvergr close")
    assert "type %dvergr connect" in terminal.text("%dvergr doctor").splitlines()[0]


@pytest.mark.parametrize(
    ("installed", "advice"),
    [
        ("6.29.5", "clicks wait for the running cell: pip install -U 'ipykernel>=7.4'"),
        ("7.3.0", "clicks are handled in threads that may wake tasks late: pip install -U 'ipykernel>=7.4'"),
        ("7.4.0", "ok"),
        ("8.0.0a1", "ok"),
    ],
)
def test_the_doctor_knows_which_ipykernel_delays_clicks(monkeypatch: pytest.MonkeyPatch, installed: str, advice: str) -> None:
    class Shell:
        kernel = True

    monkeypatch.setattr(doctor, "version", lambda package: installed)
    assert doctor.kernel(Shell()).advice == advice


def test_the_doctor_says_which_package_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "version", lambda package: None if package == "anywidget" else "1")
    assert next(doctor.packages(object())).advice == "pip install anywidget, and restart the kernel"


@pytest.mark.parametrize(("count", "said"), [(0, "0 B"), (999, "999 B"), (3_400_000, "3 MB"), (2_500_000_000, "2.5 GB")])
def test_sizes_are_said_as_people_do(count: int, said: str) -> None:
    assert doctor.size(count) == said
