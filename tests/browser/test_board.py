"""A board of a thousand Runs: quick, filtered, walked by keys, and never moved under a person who reads."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import SETUP, Ready
from tests.browser.seen import Board, Seen, open_gate
from tests.rigs.lab import Lab

ROWS = 1_000
SHOWN_LIMIT_MS = 20_000
"""Generous: a busy machine is slow, and how long it took is printed."""

MAKE = f"""
d.connect(":memory:")

async def quick():
    return 1

async def wrong():
    raise ValueError("no such thing")

async def endless():
    await asyncio.Event().wait()

for n in range({ROWS} - 30):
    d.job(quick, label=f"job {{n}}", tags=["even" if n % 2 == 0 else "odd"])
await d.drain()
for n in range(20):
    d.job(wrong, label=f"wrong {{n}}")
await d.drain()
runs = [d.job(endless, label=f"endless {{n}}") for n in range(10)]
"""

TIMED = """(index) => new Promise(resolve => {
  const began = performance.now();
  const count = () => document.querySelectorAll('.dvergr-body > .dvergr-row').length;
  const watch = new MutationObserver(() => {
    const foot = document.querySelector('.dvergr-foot')?.textContent ?? '';
    if (count() && foot.includes('of 1,000')) { watch.disconnect(); resolve(performance.now() - began); }
  });
  watch.observe(document.body, { subtree: true, childList: true, characterData: true });
  const nb = window.jupyterapp.shell.currentWidget;
  nb.content.deselectAll();
  nb.content.activeCellIndex = index;
  window.jupyterapp.commands.execute('notebook:run-cell');
})"""

HELD = """(scroller) => {
  const top = scroller.getBoundingClientRect().top;
  const rows = [...scroller.querySelectorAll('.dvergr-row')];
  const at = row => row.getBoundingClientRect().top - top;
  return rows.filter(row => at(row) >= -1 && at(row) < scroller.clientHeight - 13).map(row => row.children[2].textContent);
}"""


class Thousand:
    """The page with the board, and what its making measured."""

    def __init__(self, seen: Seen, shown_ms: float) -> None:
        self.seen, self.shown_ms = seen, shown_ms
        self.board: Board = seen.board()

    def start_over(self) -> None:
        """Takes back what the test before did: no filter, no row open, the newest on top."""
        board = self.board
        if board.root.locator(".dvergr-below .dvergr-run-card").count():
            board.root.locator("[aria-selected=true].dvergr-row").evaluate("node => node.click()")
        board.field.fill("")
        board.chip("all").click()
        board.chip("all").evaluate("node => node.blur()")
        expect(board.range).to_have_text(re.compile(r"^rows 1 to 14 of (the newest )?1,000, newest first$"))


def in_view(board: Board) -> list[str]:
    """The labels that can be read now, from the top."""
    return list(board.scroller.evaluate(HELD))


@pytest.fixture(scope="module")
def made(lab: Lab) -> Iterator[Thousand]:
    """One page for the module: making a thousand Runs takes longer than looking at them."""
    place = lab.root / "thousand"
    place.mkdir()
    lab.write("thousand/board.ipynb", [SETUP + MAKE, "%board"])
    with lab.open("thousand/board.ipynb") as notebook:
        seen = Seen(notebook, place)
        seen.run(0)
        shown_ms = float(notebook.page.evaluate(TIMED, 1))
        yield Thousand(seen, shown_ms)
        assert notebook.console_errors == []


@pytest.fixture
def thousand(made: Thousand) -> Thousand:
    made.start_over()
    return made


def test_a_thousand_rows_are_shown_at_once(thousand: Thousand) -> None:
    print(f"a board of {ROWS:,} rows was shown {thousand.shown_ms:.0f} ms after its cell was sent")
    assert thousand.shown_ms < SHOWN_LIMIT_MS
    assert in_view(thousand.board)[:10] == [f"endless {n}" for n in reversed(range(10))]


def test_only_rows_in_view_exist_wherever_the_list_is_scrolled_to(thousand: Thousand) -> None:
    board = thousand.board
    assert 14 <= board.rows.count() <= 24
    board.scroller.evaluate("node => { node.scrollTop = node.scrollHeight; }")
    expect(board.range).to_have_text(re.compile(r"^rows 987 to 1,000 of "))
    expect(board.row("job 0")).to_be_visible()
    assert 14 <= board.rows.count() <= 24
    assert in_view(thousand.board) == [f"job {n}" for n in reversed(range(14))]


def test_the_wheel_scrolls_the_list_and_not_the_notebook(thousand: Thousand) -> None:
    board = thousand.board
    board.scroller.hover()
    thousand.seen.page.mouse.wheel(0, 480)
    expect(board.range).to_have_text(re.compile(r"^rows 21 to 34 of "))
    expect(board.rows.first).to_be_attached()
    board.scroller.evaluate("node => { node.scrollTop = 0; }")


def test_chips_count_and_filter_and_a_status_with_none_is_left_out(thousand: Thousand) -> None:
    board = thousand.board
    expect(board.chip("completed")).to_have_text("completed970")
    expect(board.chip("failed")).to_have_text("failed20")
    expect(board.chip("waiting")).to_be_hidden()
    board.chip("failed").click()
    expect(board.chip("failed")).to_have_attribute("aria-pressed", "true")
    expect(board.range).to_have_text("rows 1 to 14 of 20, newest first")
    assert in_view(thousand.board) == [f"wrong {n}" for n in reversed(range(6, 20))]
    board.chip("failed").click()
    expect(board.range).to_have_text(re.compile(r" of (the newest )?1,000, newest first$"))


def test_the_field_filters_by_label_and_tag_and_escape_empties_it(thousand: Thousand) -> None:
    board = thousand.board
    board.field.fill("ODD")
    expect(board.range).to_have_text("rows 1 to 14 of 485, newest first")
    board.field.fill("job 12")
    expect(board.range).to_have_text("rows 1 to 11 of 11, newest first")
    board.chip("failed").click()
    expect(board.range).to_have_text("No Run is like that.")
    board.field.press("Escape")
    expect(board.field).to_have_value("")
    expect(board.range).to_have_text("rows 1 to 14 of 20, newest first")


def test_arrows_walk_enter_opens_and_escape_leaves(thousand: Thousand) -> None:
    board, page = thousand.board, thousand.seen.page
    board.chip("failed").click()
    board.row("wrong 19").focus()
    for key, label in (("ArrowDown", "wrong 18"), ("ArrowUp", "wrong 19"), ("End", "wrong 0"), ("Home", "wrong 19")):
        page.keyboard.press(key)
        expect(board.row(label)).to_be_focused()
        assert label in in_view(thousand.board)
    page.keyboard.press("PageDown")
    expect(board.row("wrong 5")).to_be_focused()
    page.keyboard.press("Enter")
    opened = board.root.locator(".dvergr-below .dvergr-run-card")
    expect(opened.locator(".dvergr-who")).to_have_text("wrong 5")
    expect(opened.locator(".dvergr-error").first).to_have_text("ValueError: no such thing")
    expect(opened.locator(".dvergr-log > li").first).to_be_visible()
    opened.get_by_role("button", name="Details").focus()
    page.keyboard.press("Escape")
    expect(opened).to_have_count(0)
    expect(board.row("wrong 5")).to_be_focused()
    page.keyboard.press("Escape")
    expect(board.row("wrong 5")).not_to_be_focused()


def test_the_list_is_one_stop_for_tab(thousand: Thousand) -> None:
    board, page = thousand.board, thousand.seen.page
    board.row("endless 9").focus()
    page.keyboard.press("Shift+Tab")
    expect(board.field).to_be_focused()
    page.keyboard.press("Tab")
    expect(board.row("endless 9")).to_be_focused()
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Tab")
    expect(board.row("endless 8").get_by_role("button")).to_be_focused()
    page.keyboard.press("Tab")
    assert not board.root.evaluate("node => node.contains(document.activeElement)")


def test_a_reader_hears_a_grid_with_counted_rows_and_named_columns(thousand: Thousand) -> None:
    board = thousand.board
    grid = board.root.get_by_role("grid", name="Runs")
    expect(grid).to_have_attribute("aria-rowcount", "1001")
    names = grid.get_by_role("columnheader").all_text_contents()
    assert names == ["state", "actor", "label", "done", "took", ""]
    expect(board.rows.first).to_have_attribute("aria-rowindex", "2")
    expect(board.rows.first.get_by_role("gridcell")).to_have_count(len(names))
    board.scroller.evaluate("node => { node.scrollTop = node.scrollHeight; }")
    expect(board.rows.last).to_have_attribute("aria-rowindex", "1001")
    expect(board.root.get_by_role("group", name="Ended")).to_be_visible()


def test_the_board_says_kernel_busy_and_catches_up(thousand: Thousand) -> None:
    board, seen = thousand.board, thousand.seen
    gate = seen.gate("board-gate")
    seen.page.evaluate(
        "(code) => { window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.requestExecute({code}); }",
        "open('board-gate').read()",
    )
    expect(board.as_of).to_have_text(re.compile(r"^kernel busy, as of \d\d:\d\d:\d\d$"))
    expect(board.row("endless 9").locator(".dvergr-word")).to_have_text("kernel busy")
    open_gate(gate)
    expect(board.as_of).to_have_text(re.compile(r"^as of \d\d:\d\d:\d\d$"))
    expect(board.row("endless 9").locator(".dvergr-word")).to_have_text("running")


FORTY = """
async def endless():
    await asyncio.Event().wait()

old = [d.job(endless, label=f"old {n}") for n in range(40)]
"""
THREE_MORE = "new = [d.job(endless, label=f'new {n}') for n in range(3)]\nfor run in new: await run.admitted"


def test_what_is_new_waits_above_a_person_who_reads_and_comes_when_asked(ready: Ready) -> None:
    with ready("%board", setup=FORTY) as seen:
        board = seen.board()
        board.row("old 35").focus()
        before = in_view(board)
        seen.notebook.execute(THREE_MORE)
        expect(board.above).to_have_text("3 new above")
        assert in_view(board) == before
        expect(board.row("old 35")).to_be_focused()
        board.above.click()
        expect(board.row("new 2")).to_be_visible()
        assert in_view(board)[:4] == ["new 2", "new 1", "new 0", "old 39"]
        expect(board.above).to_be_hidden()
        board.scroller.evaluate("node => { node.scrollTop = 480; }")
        expect(board.range).to_have_text("rows 21 to 34 of 43, newest first")
        before = in_view(board)
        seen.notebook.execute(THREE_MORE)
        expect(board.above).to_have_text("3 new above")
        assert in_view(board) == before
        board.scroller.evaluate("node => { node.scrollTop = 0; }")
        expect(board.above).to_be_hidden()
        assert in_view(board)[:3] == ["new 2", "new 1", "new 0"]
