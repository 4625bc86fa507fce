"""Details: the chart is drawn from the times on record, and the list below says the same in words."""

from __future__ import annotations

import json
from typing import Any

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Ready
from tests.browser.seen import Card, Seen

BODIES = """
async def works(ctx):
    print("first line\\nsecond line")
    ctx.progress(0, 3, "reads")
    await asyncio.sleep(0.3)
    ctx.activity({"kind": "tool", "verb": "invoke", "tool_name": "sql", "tool_use_id": "q1"})
    await asyncio.sleep(0.2)
    ctx.activity({"kind": "tool", "verb": "result", "tool_name": "sql", "tool_use_id": "q1", "outcome": "12 rows"})
    ctx.activity({"kind": "tool", "verb": "invoke", "tool_name": "mail", "tool_use_id": "m1"})
    await asyncio.sleep(0.1)
    ctx.activity({"kind": "tool", "verb": "fail", "tool_name": "mail", "tool_use_id": "m1", "outcome": "no such address"})
    ctx.progress(3, 3, "writes")
    await asyncio.sleep(0.4)
    ctx.activity("a note")
    return 42

go = asyncio.Event()

async def goes_on(ctx):
    ctx.progress(1, 2, "waits")
    await go.wait()
"""
RECORDED = """
import json
drawn = d.current_session().details(run)
marks = [(lane.name, mark.shape, mark.at, mark.took) for lane in drawn.lanes for mark in lane.marks]
entries = [(entry.who, entry.text) for entry in drawn.entries]
print(json.dumps({"took": drawn.took, "marks": marks, "entries": entries}))
"""
PLACES = """(chart) => [...chart.querySelectorAll('.dvergr-lane')].flatMap(lane => {
  const [name, track] = lane.children;
  const box = track.getBoundingClientRect();
  return [...track.children].map(mark => {
    const own = mark.getBoundingClientRect();
    return [name.textContent, mark.className, (own.left - box.left) / box.width, own.width / box.width, box.width];
  });
})"""
WORK = "run = d.job(works, label='works')\nawait run.wait()\nrun"


def recorded(seen: Seen) -> dict[str, Any]:
    return dict(json.loads(seen.notebook.execute(RECORDED)["stdout"]))


def opened(seen: Seen, name: str) -> Card:
    card = seen.card(name)
    card.details.click()
    expect(card.log.first).to_be_visible()
    return card


def test_bars_dots_and_ticks_stand_where_the_store_says_they_happened(ready: Ready) -> None:
    with ready(WORK, setup=BODIES) as seen:
        card = opened(seen, "works")
        told = recorded(seen)
        places = card.chart.evaluate(PLACES)
        assert [place[0] for place in places] == [mark[0] for mark in told["marks"]]
        assert {"progress", "sql", "mail", "printed", "notes", "messages"} == {place[0] for place in places}
        for (_, _, left, width, track), (_, shape, at, took) in zip(places, told["marks"], strict=True):
            dot, tick = 4 / track, 1 / track
            assert left + {"said": dot, "tick": tick, "bad": tick}.get(shape, 0) == pytest.approx(
                at / told["took"], abs=2 / track
            )
            if took is not None:
                assert width == pytest.approx(max(3 / track, took / told["took"] - 1 / track), abs=2 / track)
        kinds = {place[0]: place[1] for place in places}
        assert kinds["mail"] == "dvergr-was-bad"
        assert kinds["progress"] == "dvergr-round"


def test_the_list_says_in_words_what_the_chart_draws(ready: Ready) -> None:
    with ready(WORK, setup=BODIES) as seen:
        card = opened(seen, "works")
        told = recorded(seen)
        assert card.log.count() == len(told["entries"])
        for item, (who, text) in zip(card.log.all(), told["entries"], strict=True):
            expect(item).to_contain_text(who)
            expect(item).to_contain_text(text)
        lines = " | ".join(card.log.all_inner_texts()).replace("\n", " ")
        for words in ("phase 1", "reads", "sql", "12 rows", "no such address", "writes", "a note", "result", "42"):
            assert words in lines
        expect(card.chart).to_have_attribute("aria-label", f"{card.chart.get_attribute('aria-label')}")
        expect(card.root.get_by_role("img", name="the list below says the same in words")).to_be_visible()


def test_details_and_their_entries_open_and_close_by_keyboard(ready: Ready) -> None:
    with ready(WORK, setup=BODIES) as seen:
        card, page = seen.card("works"), seen.page
        card.details.focus()
        expect(card.details).to_have_attribute("aria-expanded", "false")
        page.keyboard.press("Enter")
        expect(card.details).to_have_attribute("aria-expanded", "true")
        expect(card.chart).to_be_visible()
        printed = card.root.get_by_role("button", name="printed")
        seen.tab_to(printed)
        page.keyboard.press("Space")
        expect(printed).to_have_attribute("aria-expanded", "true")
        expect(card.root.locator("pre.dvergr-open")).to_have_text("first line\nsecond line\n")
        page.keyboard.press("Space")
        expect(card.root.locator("pre.dvergr-open")).to_have_count(0)
        card.details.focus()
        page.keyboard.press("Space")
        expect(card.chart).to_be_hidden()
        expect(card.details).to_be_focused()


def test_the_chart_of_a_run_that_lives_ends_at_now_and_grows_until_it_ends(ready: Ready) -> None:
    with ready("run = d.job(goes_on, label='goes on')\nrun", setup=BODIES) as seen:
        card = opened(seen, "goes on")
        expect(card.log.filter(has_text="waits")).to_contain_text("goes on")
        span = "() => Number(document.querySelector('.dvergr-timeline').style.getPropertyValue('--span'))"
        first = seen.page.evaluate(span)
        seen.page.wait_for_function(f"(first) => ({span})() > first + 1", arg=first)
        bar = "() => Number(document.querySelector('.dvergr-round').style.getPropertyValue('--for'))"
        assert float(seen.page.evaluate(bar)) > 1
        seen.notebook.execute("go.set(); await run.wait()")
        card.shows("completed")
        expect(card.log.filter(has_text="waits")).not_to_contain_text("goes on")
        assert recorded(seen)["took"] == pytest.approx(seen.page.evaluate(span), abs=0.01)
