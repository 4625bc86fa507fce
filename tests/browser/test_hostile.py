"""Text that bodies say is text, whatever it holds, and whatever there is of it."""

from __future__ import annotations

from playwright.sync_api import expect

from tests.browser.conftest import Ready
from tests.browser.seen import Seen, moves
from tests.browser.test_survival import html_of

SCRIPT = "<script>window.pwned = 'script'</script>"
IMAGE = "<img src=x onerror=\"window.pwned = 'image'\">"
MARKDOWN = "**bold** [link](javascript:window.pwned='link') # head"
TURNED = "\u202egnp.txt\u202c \u2066a\u2067b"
BROKEN = "a\0b \ud800 c"
MENDED = "a\ufffdb \ufffd c"

BODIES = f"""
SCRIPT, IMAGE, MARKDOWN, TURNED, BROKEN = {SCRIPT!r}, {IMAGE!r}, {MARKDOWN!r}, {TURNED!r}, {BROKEN!r}
EVERYTHING = " ".join((SCRIPT, IMAGE, MARKDOWN, TURNED, BROKEN))

class Says(Exception):
    def __str__(self):
        return EVERYTHING

async def shouts(ctx):
    print(EVERYTHING)
    ctx.progress(1, 2, EVERYTHING)
    ctx.activity(EVERYTHING)
    await go.wait()
    return EVERYTHING

async def fails():
    raise Says

go = asyncio.Event()
"""
START = (
    "shouting = d.job(shouts, label=EVERYTHING, actor=SCRIPT + BROKEN, room=IMAGE + BROKEN, tags=[MARKDOWN[:60], BROKEN])\n"
    "shouting"
)


def assert_harmless(seen: Seen) -> None:
    """Nothing that came as text became an element or ran."""
    assert seen.page.evaluate("() => window.pwned") is None
    made = ".dvergr :is(script, img, iframe, a, b, em, strong, object, style, svg)"
    assert seen.page.locator(made).count() == 0


def test_markup_in_every_field_of_a_card_and_its_details_is_shown_as_text(ready: Ready) -> None:
    with ready(START, "failing = d.job(fails, label='fails')\nfailing", setup=BODIES) as seen:
        card = seen.page.locator(".dvergr-run-card").first
        expect(card.locator(".dvergr-who")).to_contain_text(SCRIPT)
        expect(card.locator(".dvergr-step")).to_contain_text(IMAGE[:40])
        expect(card.locator(".dvergr-facts")).to_contain_text(MENDED)
        expect(card.locator(".dvergr-facts")).to_contain_text(MARKDOWN[:60])
        card.get_by_role("button", name="Details", exact=True).click()
        expect(card.locator(".dvergr-log")).to_contain_text(SCRIPT)
        seen.notebook.execute("go.set(); await shouting.wait()")
        expect(card.locator(".dvergr-word").first).to_have_text("completed")
        expect(card.locator(".dvergr-reply")).to_contain_text(SCRIPT)
        expect(card.locator(".dvergr-reply")).to_contain_text(MARKDOWN)
        error = seen.card("fails").news
        expect(error).to_contain_text(f"Says: {SCRIPT}")
        expect(error).to_contain_text(MENDED)
        assert_harmless(seen)


def test_markup_on_a_board_in_its_filter_and_in_its_room_is_shown_as_text(ready: Ready) -> None:
    with ready(START + ";", "d.RunBoard(room=IMAGE + BROKEN)", "%board", setup=BODIES) as seen:
        for board in seen.page.locator(".dvergr-run-board").all():
            row = board.locator(".dvergr-body > .dvergr-row").first
            expect(row).to_contain_text(SCRIPT)
            row.click()
            expect(board.locator(".dvergr-below .dvergr-who")).to_contain_text(IMAGE[:40])
        field = seen.board().field
        field.fill(SCRIPT)
        expect(seen.board().range).to_contain_text("rows 1 to 1 of 1")
        assert_harmless(seen)


def test_the_table_and_the_html_that_stand_in_for_widgets_escape_all_text(ready: Ready) -> None:
    with ready(START, "%runs", setup=BODIES) as seen:
        expect(seen.page.locator("table.dvergr-runs")).to_contain_text("<script>")
        seen.notebook.execute("go.set(); await shouting.wait()")
        seen.notebook.run_cell(1)
        seen.notebook.save()
        with seen.aside(html_of(seen.place / "notebook.ipynb")) as page:
            expect(page.locator("body")).to_contain_text(SCRIPT)
            assert page.evaluate("() => window.pwned") is None
            assert page.locator(".jp-OutputArea :is(script:not([type]), img, a)").count() == 0
        assert_harmless(seen)


def test_marks_that_turn_the_direction_of_writing_end_with_the_field_that_holds_them(ready: Ready) -> None:
    with ready('d.job(lambda: 1, label="\\u202eabc")', "d.job(fails, label='fails')", setup=BODIES) as seen:
        who = seen.page.locator(".dvergr-who").first
        word = seen.page.locator(".dvergr-head .dvergr-word").first
        expect(word).to_have_text("completed")
        name, state = who.bounding_box(), word.bounding_box()
        assert name is not None
        assert state is not None
        assert name["x"] + name["width"] <= state["x"]
        isolated = "nodes => nodes.every(node => getComputedStyle(node).unicodeBidi === 'isolate')"
        assert seen.page.locator(".dvergr-run-card :is(h3, p, span, pre)").evaluate_all(isolated)


WATCH_TASKS = """() => {
  window.longest = 0;
  const note = list => list.getEntries().forEach(task => { window.longest = Math.max(window.longest, task.duration); });
  new PerformanceObserver(note).observe({ type: 'longtask' });
}"""

FLOODS = """
def floods():
    print("x" * 1_000_000)
    for n in range(100_000):
        print("line", n)
    return "y" * 1_000_000

async def breaks():
    raise ValueError("z" * 1_000_000)

async def endless(ctx):
    n = 0
    while True:
        n += 1
        ctx.progress(n, None, "counting")
        await asyncio.sleep(0.05)

bystander = d.job(endless, label="bystander")
"""


def test_a_million_characters_and_a_hundred_thousand_lines_leave_the_page_quick_and_the_card_small(ready: Ready) -> None:
    cells = ("bystander", "flood = d.job(floods, label='flood')\nflood", "broken = d.job(breaks, label='breaks')\nbroken")
    with ready(*cells, setup=FLOODS) as seen:
        flood, broken = seen.card("flood"), seen.card("breaks")
        flood.shows("completed")
        broken.shows("failed")
        for card in (flood, broken):
            assert len(card.news.text_content() or "") <= 2_100
            box = card.root.bounding_box()
            assert box is not None
            assert box["height"] < 160
        flood.details.click()
        expect(flood.log.filter(has_text="characters of print output were dropped")).to_be_visible()
        assert flood.log.count() <= 502
        assert seen.page.locator(".dvergr *").count() < 6_000
        seen.page.evaluate(WATCH_TASKS)
        moves(seen.card("bystander").news)
        worst = float(seen.page.evaluate("() => window.longest"))
        print(f"the longest task of the page beside a flooded card took {worst:.0f} ms")
        assert worst < 1_000
