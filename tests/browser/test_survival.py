"""What is left when a page is loaded again, when a notebook is opened without its kernel, and when a kernel is killed."""

from __future__ import annotations

import contextlib
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.conftest import Ready
from tests.browser.seen import Seen, moves

BODIES = """
async def counting(ctx):
    n = 0
    while True:
        n += 1
        ctx.progress(n, None, "counting")
        await asyncio.sleep(0.05)

async def quick():
    return 42

class Ask:
    place = "loop"
    async def execute(self, ctx):
        question = d.Envelope(id="refund-1", kind="approval", body={"call": "refund_order", "amount": 48})
        return d.Pause(reason=d.Reason.APPROVAL, envelopes=(question,))
"""
COUNTING = "run = d.job(counting, label='counts')\nrun"
QUICK = "done = d.job(quick, label='quick')\nawait done.wait()\ndone"
ASK = "asked = d.start(Ask(), actor='clerk', label='refund', kind='workflow')\nawait asked.wait()\nasked"


WAIT_SAVED = """
card, saved = done.card(), asyncio.Event()
card.observe(lambda change: '"result"' in change.new and saved.set(), "snapshot")
if '"result"' not in card.snapshot:
    await saved.wait()
"""
WAIT_BOARD_SAVED = """
board_saved = asyncio.Event()
shown.observe(lambda change: '"completed"' in change.new and board_saved.set(), "snapshot")
if '"completed"' not in shown.snapshot:
    await board_saved.wait()
"""
SAVE_STATE = "@jupyter-widgets/jupyterlab-manager:saveWidgetState"


@contextlib.contextmanager
def saving_widgets(seen: Seen) -> Iterator[None]:
    """Ticks Settings > Save Widget State Automatically, and unticks it."""
    ticked = "([name, on]) => window.jupyterapp.commands.isToggled(name) === on"
    seen.notebook.command(SAVE_STATE)
    seen.page.wait_for_function(ticked, arg=[SAVE_STATE, True])
    yield
    seen.notebook.command(SAVE_STATE)
    seen.page.wait_for_function(ticked, arg=[SAVE_STATE, False])


def html_of(notebook: Path) -> str:
    """The notebook as nbconvert writes it for a browser."""
    command = [sys.executable, "-m", "nbconvert", "--to", "html", "--stdout", "--log-level=ERROR", str(notebook)]
    return subprocess.run(command, check=True, capture_output=True, text=True, timeout=120).stdout


def test_after_save_and_reload_the_cards_and_the_board_live_again(ready: Ready) -> None:
    with ready(COUNTING, "%board", setup=BODIES, fresh=True) as seen:
        seen.card("counts").shows("running")
        seen.notebook.save()
        seen.notebook.reload()
        moves(seen.card("counts").news)
        expect(seen.board().row("counts")).to_have_attribute("data-state", "running")
        seen.card("counts").cancel.click()
        seen.card("counts").shows("cancelled")
        expect(seen.board().row("counts")).to_have_attribute("data-state", "cancelled")


def test_a_saved_notebook_whose_kernel_is_gone_shows_the_last_state(ready: Ready) -> None:
    with ready(COUNTING, QUICK, setup=BODIES, fresh=True) as seen, saving_widgets(seen):
        seen.card("quick").shows("completed")
        seen.notebook.execute(WAIT_SAVED)
        seen.notebook.save()
        seen.notebook.shut_down()
        seen.notebook.reload()
        seen.card("quick").shows("completed")
        expect(seen.card("quick").news).to_have_text("42")
        card = seen.card("counts")
        card.shows("kernel gone")
        expect(card.took).to_have_text(re.compile(r"^last seen \d\d:\d\d:\d\d$"))
        expect(card.cancel).to_be_disabled()


def test_nbconvert_shows_the_saved_state_and_without_one_the_html_that_stands_in_for_it(ready: Ready) -> None:
    with ready(QUICK, "shown = %board\nshown", setup=BODIES) as seen, saving_widgets(seen):
        seen.card("quick").shows("completed")
        seen.notebook.execute(WAIT_SAVED)
        seen.notebook.execute(WAIT_BOARD_SAVED)
        seen.notebook.save()
        path = seen.place / "notebook.ipynb"
        with seen.aside(html_of(path)) as page:
            states = page.locator("script[type='application/vnd.jupyter.widget-state+json']").text_content() or ""
            snapshots = [model["state"].get("snapshot") for model in json.loads(states)["state"].values()]
            rows = [row for text in snapshots if text for row in json.loads(text)["rows"]]
            assert [(row["name"], row["status"]) for row in rows] == [("quick", "completed")] * 2
            assert "42" in [row.get("result") for row in rows]
        notebook = json.loads(path.read_text())
        del notebook["metadata"]["widgets"]
        path.write_text(json.dumps(notebook))
        with seen.aside(html_of(path)) as page:
            expect(page.get_by_text("quick, completed")).to_be_visible()
            expect(page.get_by_text("Board of all rooms.")).to_be_visible()


def test_a_killed_kernel_is_said_to_be_gone_and_its_successor_finds_what_was_left(ready: Ready) -> None:
    with ready(COUNTING, ASK, "%board", setup=BODIES) as seen:
        card, board = seen.card("counts"), seen.board()
        moves(card.news)
        seen.card("refund").shows("waiting for approval")
        before = seen.value("(asked.id, asked.row.revision, str(asked.row.updated_at))")
        running = seen.value("run.id")
        seen.kill_kernel()
        card.shows("kernel gone")
        expect(card.took).to_have_text(re.compile(r"^last seen \d\d:\d\d:\d\d$"))
        expect(card.cancel).to_be_disabled()
        expect(card.news).to_have_text(
            re.compile(r"^Was running, \d+s\. The next kernel that opens this store marks it failed, orphaned\.$")
        )
        expect(board.as_of).to_have_text(re.compile(r"^kernel gone, last seen \d\d:\d\d:\d\d$"))
        expect(board.row("counts").locator(".dvergr-word")).to_have_text("kernel gone")
        expect(board.row("refund").locator(".dvergr-word")).to_have_text("waiting, approval")
        seen.notebook.wait_restarted()
        seen.run(0, 3)
        expect(board.row("counts").locator(".dvergr-word")).to_have_text("failed, orphaned")
        expect(board.row("refund").locator(".dvergr-word")).to_have_text("waiting, approval")
        assert seen.value(f"[(r.status.value, r.reason) for r in [d.run({running})]]") == "[('failed', 'orphaned')]"
        seen.notebook.execute(f"asked = d.run({before}[0])")
        assert seen.value("(asked.id, asked.revision, str(asked.updated_at))") == before
