"""A person watches an agent: its text grows, tools have rows, cost is in the head; what tools were given comes on demand."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from playwright.sync_api import expect

from tests.browser.audit import CONTRAST, FAULTS
from tests.browser.conftest import Ready
from tests.browser.seen import Card
from tests.rigs.notebook import THEMES

if TYPE_CHECKING:
    from playwright.sync_api import Locator

LEAST: Final = 4.5
"""Contrast of text to its ground that people with weak eyes can read (WCAG AA)."""
NARROW: Final = 620
"""A page whose outputs are narrower than a card's head is long, in px."""

AGENT = """
from dvergr_nb.actors.models.scripted_model import call
go = asyncio.Event()

async def look(question: str) -> str:
    \"\"\"Looks something up.\"\"\"
    await go.wait()
    if "fails" in question:
        raise LookupError("no such table")
    return "<b>found</b> " + question

model = d.scripted_model(
    [call("look", question="where <img src=x onerror=alert(1)> is it"), call("look", question="this fails")],
    " ".join(f"word{n}" for n in range(120)),
    pace=0.02,
    price={"input": 501, "output": 1_001},
)
d.agent("researcher", model=model, tools=[look], budget=1.0)
"""
ASKED = "%%turn researcher -o asked\nWhich customers are likely to leave?"


def grows(node: Locator) -> None:
    """Waits until its text has grown twice."""
    for _ in range(2):
        before = len(node.inner_text())
        node.page.wait_for_function("([node, before]) => node.innerText.length > before", arg=[node.element_handle(), before])


def uses(card: Card) -> Locator:
    """The buttons that ask for what tools were given."""
    return card.log.get_by_role("button", name="arguments and result")


def test_a_turn_shows_the_tools_at_work_then_its_text_as_it_grows_then_what_it_cost(ready: Ready) -> None:
    with ready(ASKED, "%board", setup=AGENT, run=False) as seen:
        seen.run(0, 1, 2)
        card = seen.card("researcher")
        doing, money = card.root.locator(".dvergr-doing"), card.root.locator(".dvergr-money")
        expect(doing).to_have_text("uses look, look")
        expect(money).to_contain_text("of $1.00")
        seen.notebook.execute("go.set()")
        stream = card.root.locator(".dvergr-stream")
        expect(stream).to_contain_text("word0")
        grows(stream)
        expect(doing).to_be_hidden()
        card.shows("completed")
        expect(card.news).to_contain_text("word0 word1")
        cost = seen.value("d.current_session().run(asked).cost / 1e6")
        assert money.inner_text() == f"${float(cost):.4f} of $1.00"
        expect(card.facts).to_contain_text("researcher v1")
        expect(card.facts).to_contain_text("2 rounds")
        board = seen.board()
        expect(board.root.get_by_role("columnheader", name="cost")).to_be_visible()
        expect(board.rows.first.locator(".dvergr-cost")).to_contain_text("$")


def test_details_have_rows_for_rounds_and_tools_and_tell_arguments_and_results_on_demand_only(ready: Ready) -> None:
    with ready(ASKED, setup=AGENT + "go.set()\n", run=False) as seen:
        seen.run(0, 1)
        card = seen.card("researcher")
        card.shows("completed")
        card.details.click()
        expect(card.log.filter(has_text="round 1")).to_contain_text("tokens in")
        expect(card.log.filter(has_text="round 1")).to_contain_text("$")
        expect(card.log.filter(has_text="failed, LookupError")).to_have_count(1)
        expect(uses(card)).to_have_count(2)
        assert "where <img" not in card.root.inner_text()
        uses(card).first.focus()
        seen.page.keyboard.press("Enter")
        told = card.root.get_by_role("group", name="Arguments and result of look")
        expect(told.locator("pre").first).to_have_text('{"question": "where <img src=x onerror=alert(1)> is it"}')
        expect(told.locator("pre").last).to_contain_text("<b>found</b> where <img src=x")
        assert seen.page.locator(".dvergr :is(img, b, script)").count() == 0
        assert seen.page.evaluate(FAULTS) == []
        seen.page.keyboard.press("Enter")
        expect(told).to_have_count(0)


GIVES = """
import base64
from dvergr_nb.records.tool_use import ToolUse

PIXEL = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
)
SVG = b"<svg xmlns='http://www.w3.org/2000/svg' onload='window.pwned=1'/>"

async def gives(ctx):
    invoked = ctx.fact(kind="tool", verb="invoke", tool_name="plot", tool_use_id="call 1")
    done = ctx.fact(kind="tool", verb="complete", status="completed", tool_name="plot", tool_use_id="call 1")
    await ctx.report("plot", [invoked, done])
    given = {"image/png": PIXEL, "image/svg+xml": SVG, "text/html": b"x" * 12_345}
    blobs = [await ctx.blob(data, media_type) for media_type, data in given.items()]
    run = ctx.run
    await ctx.keep(ToolUse(
        id=invoked.id, tenant_id=run.tenant_id, room=run.room, run_id=run.id, round=0, name="plot", tool_use_id="call 1",
        arguments="{}", result="y" * 20_000, status="completed", blobs=tuple(blobs), started_at=invoked.at, ended_at=done.at,
    ))
"""


def test_a_picture_that_a_tool_gave_is_shown_and_what_may_hold_a_script_is_a_size(ready: Ready) -> None:
    with ready("run = d.job(gives, label='gives')\nawait run.wait()\nrun", setup=GIVES) as seen:
        card = seen.card("gives")
        card.details.click()
        uses(card).click()
        expect(card.root.locator(".dvergr-use")).to_contain_text("Result, the first 20,000 characters")
        captions = card.root.locator(".dvergr-use figcaption")
        expect(captions).to_have_text(["image/png, 70 bytes", "image/svg+xml, 65 bytes", "text/html, 12 kB"])
        picture = card.root.locator(".dvergr-use img")
        expect(picture).to_have_count(1)
        seen.page.wait_for_function("node => node.complete && node.naturalWidth === 1", arg=picture.element_handle())
        assert seen.page.evaluate("() => window.pwned") is None
        boxes = card.root.locator(".dvergr-use pre").evaluate_all("all => all.map(node => node.offsetHeight)")
        assert max(boxes) < 300


SPENDS = """
room, script = d.room(), d.script
room.join("thrifty", d.scripted([script.cost(0.0123, model="big", input_tokens=4_112, output_tokens=188), "done"]))
unpriced = [script.cost(None), script.use("sql"), script.cost(None), "done"]
room.join("unknown", d.scripted([script.cost(0.02), script.use("sql"), *unpriced]))
room.join("last", d.scripted([script.cost(0.8), "done"]))
"""
TURNS = ("%%turn thrifty\ngo", "%%turn unknown\ngo", "%%turn last --budget 1\ngo", "%board")


def test_cost_is_said_in_words_readable_in_every_theme_and_width(ready: Ready) -> None:
    with ready(*TURNS, setup=SPENDS, run=False) as seen:
        seen.run(0, 1, 2, 3, 4)
        said = {"thrifty": "$0.0123", "unknown": "$0.02 + 2 calls of unknown price", "last": "$0.80 of $1.00, 80% spent"}
        for name, words in said.items():
            seen.card(name).shows("completed")
            expect(seen.card(name).root.locator(".dvergr-money")).to_have_text(words)
        expect(seen.board().rows.locator(".dvergr-cost")).to_have_text(["$0.800", "$0.020+", "$0.012"])
        seen.card("thrifty").details.click()
        expect(seen.card("thrifty").log.filter(has_text="round 1")).to_contain_text("big, 4,112 tokens in, 188 out")
        for theme in THEMES:
            seen.notebook.theme(theme)
            assert [text for text in seen.page.evaluate(CONTRAST) if text["ratio"] < LEAST] == []
        seen.notebook.theme("JupyterLab Light")
        seen.page.set_viewport_size({"width": NARROW, "height": 1000})
        wide = "() => [...document.querySelectorAll('.dvergr')].filter(n => n.scrollWidth > n.clientWidth + 1).length"
        seen.page.wait_for_function(f"() => ({wide})() === 0")
        assert seen.page.evaluate(FAULTS) == []


HOSTILE = """
EVIL = "<img src=x onerror=\\"window.pwned=1\\"><script>window.pwned=2</script> "
EVIL += "\\u202egnp.exe\\u2066 a\\u200b\\u200db \\x1b[31mred\\x1b[0m Z" + "\\u0338" * 300
LINES = EVIL + "\\n" + "\\n".join(f"line {n}" for n in range(100_000))
ONE = "x" * 1_000_000
sent = [LINES[:n * 40_000] for n in range(1, 25)] + [LINES]
room = d.room()

def speaker(texts, gate):
    async def handle(message, ctx):
        for text in texts:
            ctx.stream(text)
            await asyncio.sleep(0.1)
        gate.set()
        return texts[-1]
    return handle

lines_said, one_said = asyncio.Event(), asyncio.Event()
room.join("floods", speaker(sent, lines_said))
room.join("lengthy", speaker([ONE], one_said))
"""
WATCH = """() => {
  window.longest = 0;
  window.slowest = 0;
  const note = list => list.getEntries().forEach(task => { window.longest = Math.max(window.longest, task.duration); });
  new PerformanceObserver(note).observe({ type: 'longtask' });
  let last = performance.now();
  const frame = now => { window.slowest = Math.max(window.slowest, now - last); last = now; requestAnimationFrame(frame); };
  requestAnimationFrame(frame);
}"""


def test_a_hostile_reply_is_text_in_a_card_that_stays_small_on_a_page_that_stays_quick(ready: Ready) -> None:
    turns = ("%%turn floods\ngo", "%%turn lengthy\ngo")
    with ready(*turns, setup=HOSTILE, run=False) as seen:
        seen.run(0)
        seen.page.evaluate(WATCH)
        seen.run(1, 2)
        floods, lengthy = seen.card("floods"), seen.card("lengthy")
        for card in (floods, lengthy):
            card.shows("completed")
            expect(card.root.locator(".dvergr-reply")).to_be_visible()
            assert card.root.evaluate("node => node.offsetHeight") < 200
            card.root.get_by_role("button", name="Show all").click()
            expect(card.news).to_contain_text("the rest is in the store")
            assert card.root.evaluate("node => node.offsetHeight") < 800
        reply = floods.root.locator(".dvergr-reply")
        expect(reply).to_contain_text('<img src=x onerror="window.pwned=1">')
        assert reply.evaluate("node => getComputedStyle(node).unicodeBidi") == "isolate"
        assert len(reply.inner_text()) <= 50_001
        floods.details.click()
        expect(floods.log.first).to_be_visible()
        grows_no_more = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
        seen.page.evaluate(grows_no_more)
        longest, slowest = seen.page.evaluate("() => [window.longest, window.slowest]")
        print(f"beside a hostile reply: longest task {longest:.0f} ms, longest time between frames {slowest:.0f} ms")
        assert longest < 1_000
        assert seen.page.evaluate("() => window.pwned") is None
        assert seen.page.locator(".dvergr :is(img, script, iframe)").count() == 0
        word = floods.root.locator(".dvergr-head .dvergr-word").bounding_box()
        who = floods.root.locator(".dvergr-who").bounding_box()
        assert word is not None
        assert who is not None
        assert who["x"] < word["x"]
