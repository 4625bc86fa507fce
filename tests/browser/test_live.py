"""Cards move by themselves, and say so when they cannot."""

from __future__ import annotations

import re

from playwright.sync_api import expect

from tests.browser.conftest import Ready
from tests.browser.seen import moves, open_gate

COUNTING = """
counted = {}
halt = threading.Event()

async def on_loop(name, ctx):
    while not halt.is_set():
        counted[name] = counted.get(name, 0) + 1
        ctx.progress(counted[name], None, "counting")
        await asyncio.sleep(0.05)

def in_thread(name, ctx):
    while not halt.wait(0.05):
        counted[name] = counted.get(name, 0) + 1
        ctx.progress(counted[name], None, "counting")
"""
STARTS = (
    'one = d.job(on_loop, "one", label="one")\none',
    'two = d.job(on_loop, "two", label="two")\ntwo',
    'three = d.job(in_thread, "three", label="three")\nthree',
)


def test_cards_move_while_the_kernel_idles_and_while_a_cell_awaits(ready: Ready) -> None:
    with ready(*STARTS, "await one", setup=COUNTING, run=False) as seen:
        seen.run(0, 1, 2, 3)
        cards = [seen.card(name) for name in ("one", "two", "three")]
        moves(*(card.news for card in cards))
        moves(*(card.took for card in cards))
        seen.notebook.begin_cell(4)
        seen.page.wait_for_function(
            "() => window.jupyterapp.shell.currentWidget.sessionContext.session.kernel.status === 'busy'"
        )
        moves(*(card.news for card in cards))
        for card in cards:
            card.shows("running")
        seen.notebook.interrupt()
        seen.notebook.wait_idle()
        assert seen.value("[run.row.status.value for run in (one, two, three)]") == "['running', 'running', 'running']"
        moves(*(card.news for card in cards))


def test_cards_say_kernel_busy_during_a_blocking_cell_and_catch_up_after(ready: Ready) -> None:
    blocking = "before = dict(counted)\nopen('gate').read()\nafter = dict(counted)"
    with ready(*STARTS, blocking, setup=COUNTING, run=False) as seen:
        gate = seen.gate()
        seen.run(0, 1, 2, 3)
        cards = [seen.card(name) for name in ("one", "two", "three")]
        moves(*(card.news for card in cards))  # all of them count before the cell begins
        seen.notebook.begin_cell(4)
        for card in cards:
            card.shows("kernel busy")
            expect(card.cancel).to_be_enabled()
        moves(*(card.took for card in cards))
        open_gate(gate)
        for card in cards:
            card.shows("running")
        seen.notebook.wait_idle()
        assert seen.value("[after[name] > before[name] for name in ('one', 'two', 'three')]") == "[False, False, True]"
        reached = int(seen.value("after['three']"))
        seen.page.wait_for_function(
            "([node, least]) => Number(node.textContent.replace(/[^0-9]/g, '')) >= least",
            arg=[cards[2].news.locator(".dvergr-step > .dvergr-soft").first.element_handle(), reached],
        )
        moves(*(card.news for card in cards))


def test_a_cancel_sent_during_a_blocking_cell_is_taken_when_the_cell_ends(ready: Ready) -> None:
    with ready(STARTS[0], "open('gate').read()", setup=COUNTING, run=False) as seen:
        gate = seen.gate()
        seen.run(0, 1)
        card = seen.card("one")
        seen.notebook.begin_cell(2)
        card.shows("kernel busy")
        card.cancel.click()
        expect(card.news).to_have_text("Cancel was sent; the kernel takes it when its cell ends.")
        expect(card.cancel).to_be_disabled()
        open_gate(gate)
        card.shows("cancelled")
        assert seen.value("d.run(one.id).status.value") == "'cancelled'"


def test_two_tabs_on_one_notebook_both_move_and_both_act(ready: Ready) -> None:
    with ready(STARTS[0], STARTS[1], setup=COUNTING) as seen:
        seen.notebook.save()
        with seen.beside() as other:
            here, there = seen.card("one"), other.card("one")
            moves(here.news, there.news)
            there.cancel.click()
            here.shows("cancelled")
            there.shows("cancelled")
            seen.card("two").cancel.click()
            other.card("two").shows("cancelled")


def test_the_handle_as_the_last_expression_of_a_cell_is_a_card_and_a_magic_shows_one_too(ready: Ready) -> None:
    with ready("%%job by magic -o run\nawait asyncio.sleep(0)\n6 * 7", "%card run", "run") as seen:
        who = seen.page.locator(".dvergr-who").get_by_text("by magic", exact=True)
        expect(who).to_have_count(3)
        for node in seen.page.locator(".dvergr-run-card").all():
            expect(node.locator(".dvergr-word")).to_have_text("completed")
            expect(node.locator(".dvergr-slot")).to_have_text("42")
        expect(seen.card("by magic").facts).to_have_text(re.compile(r"job of dvergr.*· [0-9a-f]{8}$"))
