"""A person steers a running turn by a second cell, queues a third, and sees the order; nothing said or shown is markup."""

from __future__ import annotations

import json
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.conftest import Ready
from tests.browser.seen import Card, Seen, open_gate

WRITER = """
room = d.room()
async def gated(message, joined):
    await asyncio.to_thread(lambda: open("gate").read())
    return "Draft: " + message.content

held = asyncio.Event()
async def held_draft(message, joined):
    if not joined and message.content == "a report":
        await held.wait()
    return "Draft: " + ", ".join(each.content for each in (message, *joined))

room.join("writer", d.scripted(*[held_draft] * 4))
seen_order = []
d.watch_runs("order", lambda e: seen_order.append((e.type, e.run.label)) if e.type in ("run/started", "run/finished") else None)
"""
ASKED = "%%turn writer -o report\na report"
STEERED = "%%turn writer -o same\nat most one page"
QUEUED = "%%turn writer --new-thread -o poem\na poem"
HOSTILE = "<img src=x onerror=\"document.title='owned'\"> \u202egnp.exe </script><script>document.title='owned'</script>"


def card_in(seen: Seen, index: int) -> Card:
    """The card in the output of a cell."""
    return Card(seen.notebook.output(index).locator(".dvergr-run-card"))


def test_a_second_cell_steers_the_running_turn(ready: Ready) -> None:
    with ready(ASKED, STEERED, setup=WRITER, run=False) as seen:
        seen.run(0, 1)
        first = card_in(seen, 1)
        first.shows("running")
        seen.run(2)
        joined = card_in(seen, 2)
        first.shows("completed")
        joined.shows("completed")
        expect(seen.notebook.output(2)).to_contain_text("joined Run")
        expect(first.news).to_contain_text("Draft: a report, at most one page")
        assert seen.value("(same.id == report.id, report.row.steps)") == "(True, 2)"


def test_a_turn_that_waits_is_shown_queued_and_begins_after_the_one_before(ready: Ready) -> None:
    with ready(ASKED, QUEUED, "%board", setup=WRITER, run=False) as seen:
        seen.run(0, 1, 2, 3)
        first, waiting, board = card_in(seen, 1), card_in(seen, 2), seen.board()
        first.shows("running")
        waiting.shows("queued")
        expect(seen.notebook.output(2)).to_contain_text("queued behind 1")
        expect(board.row("a poem")).to_contain_text("queued")
        seen.value("held.set()")
        waiting.shows("completed")
        expect(waiting.news).to_contain_text("Draft: a poem")
        expect(board.row("a poem")).to_contain_text("completed")
        order = json.loads(seen.value("__import__('json').dumps(seen_order)").strip("'"))
        assert order == [
            ["run/started", "a report"],
            ["run/finished", "a report"],
            ["run/started", "a poem"],
            ["run/finished", "a poem"],
        ]


def test_cancelling_the_running_turn_lets_the_queued_one_begin_and_a_queued_one_is_cancelled_at_once(ready: Ready) -> None:
    last = "%%turn writer --new-thread -o song\na song"
    with ready(ASKED, QUEUED, last, setup=WRITER, run=False) as seen:
        seen.run(0, 1, 2, 3)
        first, second, third = (card_in(seen, index) for index in (1, 2, 3))
        second.shows("queued")
        third.shows("queued")
        third.cancel.click()
        third.shows("cancelled")
        second.shows("queued")
        first.cancel.click()
        first.shows("cancelled")
        second.shows("completed")
        assert (
            seen.value("[run.row.reason for run in (report, poem, song)]") == "['cancel-requested', None, 'cancel-requested']"
        )


def test_markup_in_actor_message_reply_and_tool_is_shown_as_text(ready: Ready) -> None:
    setup = f"""
hostile = {HOSTILE!r}
name = hostile[:150]
d.room().join(name, d.scripted([d.script.use(hostile[:120], 1), d.script.say(hostile)]))
run = d.turn(name, hostile)
"""
    with ready("run", "%board", setup=setup) as seen:
        card = card_in(seen, 1)
        card.shows("completed")
        expect(card.news).to_contain_text("onerror=")
        card.details.click()
        expect(card.log.first).to_contain_text("<img src=x")
        assert seen.page.locator(".dvergr img, .dvergr script").count() == 0
        assert "owned" not in seen.page.title()


def test_the_gate_of_a_turn_holds_no_other_cell_up(ready: Ready, place: Path) -> None:
    setup = WRITER + 'room.join("writer", d.scripted(gated))\n'
    with ready(ASKED, "answer = 6 * 7", setup=setup, run=False) as seen:
        gate = seen.gate()
        assert gate.parent == place
        seen.run(0, 1, 2)
        card_in(seen, 1).shows("running")
        assert seen.value("answer") == "42"
        open_gate(gate)
        card_in(seen, 1).shows("completed")
