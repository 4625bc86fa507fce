"""A person cancels with the mouse or the keyboard, and no key pressed in a widget reaches the notebook."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.conftest import Ready
from tests.browser.seen import Seen

ENDLESS = """
async def endless():
    await asyncio.Event().wait()

def deaf():
    open("gate").read()
"""
STARTS = ('one = d.job(endless, label="one")\none', 'two = d.job(endless, label="two")\ntwo')

NOTEBOOK_KEYS = ("a", "b", "c", "v", "x", "d", "d", "m", "y", "1", "j", "k", "z", "Shift+M", "0", "0", "Delete")
"""In command mode they add, delete, cut, paste, merge and convert cells, and restart the kernel."""


def statuses(seen: Seen) -> str:
    return seen.value("[d.run(run.id).status.value for run in (one, two)]")


def test_a_click_on_cancel_ends_that_run_and_no_other(ready: Ready) -> None:
    with ready(*STARTS, setup=ENDLESS) as seen:
        seen.card("one").cancel.click()
        seen.card("one").shows("cancelled")
        expect(seen.card("one").cancel).to_be_hidden()
        seen.card("two").shows("running")
        assert statuses(seen) == "['cancelled', 'running']"


def test_tab_and_enter_alone_cancel_a_run_and_focus_stays_in_its_card(ready: Ready) -> None:
    with ready(*STARTS, setup=ENDLESS) as seen:
        seen.page.keyboard.press("Escape")
        card = seen.card("two")
        seen.tab_to(card.cancel)
        seen.page.keyboard.press("Enter")
        card.shows("cancelled")
        expect(card.details).to_be_focused()
        assert statuses(seen) == "['running', 'cancelled']"


def test_a_function_that_does_not_check_says_so_and_ends_cancelled_when_it_returns(ready: Ready) -> None:
    with ready('run = d.job(deaf, label="deaf")\nrun', setup=ENDLESS, run=False) as seen:
        gate = seen.gate()
        seen.run(0, 1)
        card = seen.card("deaf")
        card.cancel.click()
        card.shows("cancelling")
        expect(card.cancel).to_be_disabled()
        expect(card.news).to_contain_text("the function does not check. It ends when the function returns.")
        gate.write_text("go")
        card.shows("cancelled")


def test_a_row_of_a_board_is_cancelled_by_click_and_by_arrow_and_enter(ready: Ready) -> None:
    with ready("\n".join(start.splitlines()[0] for start in STARTS), "%board", setup=ENDLESS) as seen:
        board = seen.board()
        board.row("one").hover()
        board.row("one").get_by_role("button", name="Cancel one").click()
        expect(board.row("one")).to_have_attribute("data-state", "cancelled")
        board.row("two").focus()
        seen.page.keyboard.press("ArrowRight")
        expect(board.row("two").get_by_role("button", name="Cancel two")).to_be_focused()
        seen.page.keyboard.press("Enter")
        expect(board.row("two")).to_have_attribute("data-state", "cancelled")
        expect(board.row("two")).to_be_focused()
        assert statuses(seen) == "['cancelled', 'cancelled']"


def test_no_key_pressed_inside_a_card_or_a_board_reaches_the_notebook(ready: Ready) -> None:
    with ready(STARTS[0], "two = d.job(endless, label='two')", "%board", setup=ENDLESS) as seen:
        board = seen.board()
        before = seen.cells()
        for inside in (seen.card("one").details, board.chip("running"), board.row("two"), board.field):
            inside.focus()
            for key in NOTEBOOK_KEYS:
                seen.page.keyboard.press(key)
            expect(inside).to_be_focused()
            assert seen.cells() == before
        assert statuses(seen) == "['running', 'running']"
        seen.page.evaluate("() => document.activeElement.blur()")
        seen.page.locator(".jp-Notebook").press("b")
        assert len(seen.cells()) == len(before) + 1, "the same key does reach the notebook outside"


def test_escape_gives_the_keyboard_back_to_the_notebook(ready: Ready) -> None:
    with ready(STARTS[0], setup=ENDLESS + "two = None\n") as seen:
        before = seen.cells()
        seen.card("one").details.focus()
        seen.page.keyboard.press("Escape")
        seen.page.keyboard.press("b")
        assert len(seen.cells()) == len(before) + 1
