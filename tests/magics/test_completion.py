"""Tab after our magics."""

from __future__ import annotations

import pytest
from IPython.core.completer import Completion, provisionalcompleter

from dvergr_nb.api import KERNEL
from tests.magics.conftest import Shell


def offers(terminal: Shell, typed: str) -> list[Completion]:
    """What Tab offers behind what was typed."""
    with provisionalcompleter():
        return list(terminal.shell.Completer.completions(typed, len(typed)))


def offered(terminal: Shell, typed: str) -> list[str]:
    """The words alone."""
    return [completion.text for completion in offers(terminal, typed)]


@pytest.fixture
def two(terminal: Shell) -> Shell:
    """Two Runs that have ended, `a` in main and `b` in lab."""
    terminal.shell.Completer.use_jedi = False
    terminal.cell("%%job first -o a\n1")
    terminal.cell("%%job second -o b --room lab --tag x\n2")
    terminal.cell("await a\nawait b")
    return terminal


@pytest.mark.parametrize("magic", ["%card", "%cancel", "%activity", "%runs --tree"])
def test_runs_are_offered_by_variable_and_by_the_end_of_their_id(two: Shell, magic: str) -> None:
    ids = [two.value(name).id[-8:] for name in ("a", "b")]
    found = offered(two, f"{magic} ")
    assert {"a", "b", *ids} <= set(found)
    assert not any(len(text) == 36 for text in found)


def test_the_label_stands_beside_an_id(two: Shell) -> None:
    typed = f"%card {two.value('b').id[-8:-2]}"
    assert [(c.text, c.type) for c in offers(two, typed)] == [(two.value("b").id[-8:], "second, completed")]


def test_a_whole_id_is_offered_where_its_beginning_was_typed(two: Shell) -> None:
    run_id = two.value("b").id
    assert offered(two, f"%card {run_id[:-3]}") == [run_id]


@pytest.mark.parametrize(
    ("typed", "wanted"),
    [
        ("%runs --st", ["--status"]),
        ("%runs --status f", ["failed"]),
        ("%runs --status ", ["queued", "running", "waiting", "completed", "failed", "cancelled"]),
        ("%runs l", ["lab"]),
        ("%board m", ["main"]),
        ("%cancel --room l", ["lab"]),
        ("%%job --room l", ["lab"]),
        ("%%job --i", ["--idle-timeout"]),
        ("%runs --tag ", ["x"]),
        ("%runs --kind work", ["workflow"]),
        ("%runs --actor d", ["dvergr"]),
        ("%dvergr c", ["connect", "close", "compact"]),
        ("%dvergr room l", ["lab"]),
        ("%runsql --l", ["--limit-s"]),
        ("%%turn ", ["echo"]),
        ("%%turn --new-thread e", ["echo"]),
        ("%%turn echo --on-busy ", ["steer", "queue", "refuse"]),
        ("%%turn --room l", ["lab"]),
        ("%room ", ["main", "lab"]),
    ],
)
def test_options_and_their_values_are_offered(two: Shell, typed: str, wanted: list[str]) -> None:
    assert sorted(offered(two, typed)) == sorted(wanted)


@pytest.mark.parametrize("typed", ["%%turn --key ech", "%%turn echo ech", "%%turn -o ech"])
def test_actors_are_offered_only_where_one_is_named(two: Shell, typed: str) -> None:
    assert "echo" not in offered(two, typed)


def test_the_actors_of_the_room_that_is_named_are_offered(two: Shell) -> None:
    two.cell("import dvergr_nb as d\nd.room('lab').join('tester', d.scripted('yes'));")
    assert offered(two, "%%turn --room lab tes") == ["tester"]
    assert "tester" not in offered(two, "%%turn tes")


def test_only_the_first_line_of_a_cell_is_ours(two: Shell) -> None:
    assert "import" in offered(two, "%%job --ro\nimpor")


def test_tab_opens_no_store_and_other_magics_are_left_alone(terminal: Shell) -> None:
    offered(terminal, "%card ")
    offered(terminal, "%runs ")
    assert KERNEL.session is None
    assert "--status" not in offered(terminal, "%time --st")


def test_tab_after_close_offers_no_runs_and_raises_nothing(two: Shell) -> None:
    two.cell("%dvergr close")
    assert set(offered(two, "%card ")) == {"a", "b"}
