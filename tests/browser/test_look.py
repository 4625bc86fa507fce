"""Every state of a card and the board in three themes and two widths: pictures, and what can be computed about them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import pytest
from playwright.sync_api import expect

from tests.browser.audit import CONTRAST, FAULTS
from tests.browser.conftest import SETUP
from tests.browser.seen import Seen
from tests.rigs.lab import Lab
from tests.rigs.notebook import SHOTS, THEMES, Theme

WIDTHS: Final = {"live": (760, 1100), "busy": (760,), "gone": (760,)}
"""Widths of the outputs in px that each state of the kernel is looked at in."""
LEAST: Final = 4.5
"""Contrast of text to its ground that people with weak eyes can read (WCAG AA)."""
NAMES: Final[dict[Theme, str]] = dict(zip(THEMES, ("light", "dark", "contrast"), strict=True))

SCENES = """
import asyncio
import threading
import dvergr_nb as d

halt = threading.Event()

def reindex(ctx):
    ctx.progress(412, 1200, "Read 412 of 1,200 files")
    ctx.raise_if_cancelled()
    while not halt.wait(0.2):
        print("reading orders-2024.parquet")

fetching = threading.Event()

def fetch():
    fetching.set()
    open("gate").read()

async def train(ctx):
    ctx.progress(7, None, "epochs")
    await asyncio.Event().wait()

async def endless():
    await asyncio.Event().wait()

async def scores():
    return {"logistic": 0.93, "forest": 0.97, "boosting": 0.96}

async def load():
    raise FileNotFoundError("no file data/orders-2024.parquet")

async def works(ctx):
    print("reading plans\\nreading accounts")
    ctx.progress(0, 3, "describe accounts, plans, sessions")
    await asyncio.sleep(0.3)
    ctx.activity({"kind": "tool", "verb": "invoke", "tool_name": "sql", "tool_use_id": "q1"})
    await asyncio.sleep(0.25)
    ctx.activity({"kind": "tool", "verb": "result", "tool_name": "sql", "tool_use_id": "q1", "outcome": "3 plans"})
    ctx.progress(1, 3, "compare(plans, by='first_report')")
    ctx.activity({"kind": "tool", "verb": "invoke", "tool_name": "mail", "tool_use_id": "m1"})
    await asyncio.sleep(0.1)
    ctx.activity({"kind": "tool", "verb": "fail", "tool_name": "mail", "tool_use_id": "m1", "outcome": "no column"})
    await asyncio.sleep(0.2)
    ctx.activity("the yearly plans are different")
    return "Starter 22.1%, Team 2.8%, Business 1.4%"

class Stops:
    place = "loop"
    def __init__(self, reason, *envelopes):
        self.reason, self.envelopes = reason, envelopes
    async def execute(self, ctx):
        ctx.progress(9, 12, "Compared 9 of 12 plans")
        return d.Pause(reason=self.reason, envelopes=self.envelopes)

async def begin():
    asks = Stops(d.Reason.APPROVAL, d.Envelope(id="e", kind="approval"))
    stops = Stops(d.Reason.BUDGET_EXHAUSTED)
    for n in range(20):
        d.job(scores, label=f"nightly scores {n}")
    compare = d.job(works, label="compare the plans", tags=["nightly"])
    score = d.job(scores, label="score three models")
    archive = d.job(load, label="load the order archive")
    refund = d.start(asks, actor="analyst", text="Refund the three duplicates", label="Refund the three duplicates")
    billed = d.start(stops, actor="researcher", text="Find them", label="Find every customer who was billed in two currencies")
    await d.drain()
    cancelled = d.job(endless, label="read all support threads")
    await cancelled.admitted
    cancelled.cancel()
    await cancelled.wait()
    forest = d.job(train, label="train the forest")
    prices = d.job(fetch, label="fetch price history")
    orders = d.job(reindex, label="reindex the order archive")
    for run in (forest, prices, orders):
        await run.admitted
    await asyncio.to_thread(fetching.wait)
    prices.cancel()
    return locals()
"""
BEGIN = "import scenes\nglobals().update(await scenes.begin())"
CARDS = ("orders", "forest", "prices", "score", "archive", "refund", "billed", "cancelled", "compare")
SHOWN = {
    "reindex the order archive": "running",
    "train the forest": "running",
    "fetch price history": "cancelling",
    "score three models": "completed",
    "load the order archive": "failed",
    "analyst": "waiting for approval",
    "researcher": "stopped, budget exhausted",
    "read all support threads": "cancelled",
    "compare the plans": "completed",
}
ROOMY: Final = 3_000
"""Height of the page in px: all cells at once."""


@dataclass(slots=True, kw_only=True)
class Looked:
    """What one pass over themes, widths and states of the kernel saw."""

    texts: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    faults: dict[str, list[str]] = field(default_factory=dict)
    shots: dict[str, int] = field(default_factory=dict)
    """Sizes of the pictures in bytes, by name."""
    columns: dict[str, list[str]] = field(default_factory=dict)
    overflows: dict[str, list[str]] = field(default_factory=dict)
    heights: dict[str, list[float]] = field(default_factory=dict)

    def look(self, seen: Seen, state: str) -> None:
        """Takes pictures of the page in all themes and widths, and computes what there is to compute."""
        for theme in THEMES:
            seen.notebook.theme(theme)
            for width in WIDTHS[state]:
                name = f"{state}-{NAMES[theme]}-{width}"
                fit(seen, width)
                self.shots[name] = seen.notebook.shot(name, ".jp-WindowedPanel-viewport").stat().st_size
                self.texts[name] = seen.page.evaluate(CONTRAST)
                self.faults[name] = seen.page.evaluate(FAULTS)
                self.overflows[name] = seen.page.evaluate(OVERFLOWS)
                self.columns[name] = seen.page.evaluate(HEADS)
                self.heights[name] = seen.page.locator(".dvergr-run-card").evaluate_all("all => all.map(n => n.offsetHeight)")


OVERFLOWS = """() => [...document.querySelectorAll('.dvergr')]
  .filter(node => node.scrollWidth > node.clientWidth + 1)
  .map(node => `${node.className} is ${node.scrollWidth} wide in ${node.clientWidth}`)"""
HEADS = """() => [...document.querySelectorAll('.dvergr-heads > span')]
  .filter(node => node.checkVisibility()).map(node => node.textContent)"""
OUTPUT_WIDTH = "() => document.querySelector('.dvergr-run-card').getBoundingClientRect().width"


def fit(seen: Seen, width: int) -> None:
    """Makes the page as wide as its outputs need to be `width` px."""
    size = seen.page.viewport_size
    assert size is not None
    now = float(seen.page.evaluate(OUTPUT_WIDTH))
    seen.page.set_viewport_size({"width": round(size["width"] + width - now), "height": ROOMY})
    seen.page.wait_for_function(f"(width) => Math.abs(({OUTPUT_WIDTH})() - width) < 1", arg=width)


@pytest.fixture(scope="module")
def looked(lab: Lab) -> Iterator[Looked]:
    """One notebook is looked at while it lives, while a cell blocks it, and after its kernel was killed."""
    place = lab.root / "look"
    place.mkdir()
    (place / "scenes.py").write_text(SCENES)
    lab.write("look/look.ipynb", [SETUP + BEGIN, *CARDS, "%board", "open('busy').read()"])
    saw = Looked()
    with lab.open("look/look.ipynb", height=ROOMY) as notebook:
        seen = Seen(notebook, place)
        seen.gate("gate")
        seen.gate("busy")
        notebook.command("application:toggle-left-area")
        seen.run(*range(len(CARDS) + 2))
        for name, word in SHOWN.items():
            seen.card(name).shows(word)
        seen.card("compare the plans").details.click()
        expect(seen.card("compare the plans").log.first).to_be_visible()
        expect(seen.card("fetch price history").news).to_contain_text("the function does not check")
        seen.board().row("reindex the order archive").focus()
        notebook.page.keyboard.press("ArrowDown")
        saw.look(seen, "live")
        pid = notebook.kernel_pid()
        notebook.begin_cell(len(CARDS) + 2)
        for name in ("reindex the order archive", "train the forest", "fetch price history"):
            seen.card(name).shows("kernel busy")
        saw.look(seen, "busy")
        seen.kill_kernel(pid)
        for name in ("reindex the order archive", "train the forest", "fetch price history"):
            seen.card(name).shows("kernel gone")
        saw.look(seen, "gone")
        notebook.theme("JupyterLab Light")
        notebook.wait_restarted()
        yield saw


ALL: Final = [f"{state}-{NAMES[theme]}-{width}" for state, widths in WIDTHS.items() for theme in THEMES for width in widths]


@pytest.mark.parametrize("name", ALL)
def test_text_can_be_read_on_its_ground(looked: Looked, name: str) -> None:
    texts = looked.texts[name]
    assert len(texts) > 150
    assert [text for text in texts if text["ratio"] < LEAST] == []


@pytest.mark.parametrize("name", ALL)
def test_controls_are_named_and_roles_are_in_their_place(looked: Looked, name: str) -> None:
    assert looked.faults[name] == []


@pytest.mark.parametrize("name", ALL)
def test_nothing_is_wider_than_its_output(looked: Looked, name: str) -> None:
    assert looked.overflows[name] == []


def test_a_picture_of_every_state_theme_and_width_is_taken(looked: Looked) -> None:
    assert sorted(looked.shots) == sorted(ALL)
    assert all((SHOTS / f"{name}.png").stat().st_size == size > 20_000 for name, size in looked.shots.items())


def test_a_board_of_760_px_drops_bars_steps_and_began(looked: Looked) -> None:
    assert looked.columns["live-light-760"] == ["state", "actor", "label", "done", "took", ""]
    assert looked.columns["live-light-1100"] == ["state", "actor", "label", "done", "steps", "took", "began", ""]


def test_a_card_is_as_tall_when_its_kernel_is_busy_or_gone(looked: Looked) -> None:
    assert looked.heights["live-light-760"][:8] == looked.heights["busy-light-760"][:8] == looked.heights["gone-light-760"][:8]
