"""The room view: what is said appears with its turns, a person says something by keyboard, and it can be read by everybody."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import pytest
from playwright.sync_api import expect

from tests.browser.audit import CONTRAST, FAULTS
from tests.browser.conftest import SETUP, Ready
from tests.browser.seen import Seen, open_gate
from tests.browser.test_hostile import BROKEN, IMAGE, MARKDOWN, SCRIPT, TURNED, assert_harmless
from tests.browser.test_look import LEAST, NAMES, OVERFLOWS
from tests.rigs.lab import Lab
from tests.rigs.notebook import SHOTS, THEMES

if TYPE_CHECKING:
    from playwright.sync_api import Locator

ROOM: Final = """
gates = {}

def gate(word):
    return gates.setdefault(word, asyncio.Event())

LINE = "Customers on the monthly plan leave earlier than all others; price explains little."
STORY = "\\n".join(f"{n}. {LINE}" for n in range(9))

async def researcher(message, ctx):
    word = message.content.split()[0]
    ctx.stream(STORY)
    await gate(word).wait()
    if word == "wrong":
        raise ValueError("no table plans")
    return f"That was {word}."

researcher.program_kind = "scripted"
room = d.room("research", title="Churn in spring")
room.join("researcher", researcher)
"""


class Room:
    """One room view."""

    def __init__(self, seen: Seen) -> None:
        self.seen = seen
        self.root = seen.page.locator(".dvergr-room").first
        self.messages = self.root.locator(".dvergr-message")
        self.turns = self.root.locator(".dvergr-turn")
        self.box = self.root.get_by_role("textbox", name="New message")
        self.to = self.root.get_by_role("combobox", name="To")
        self.note = self.root.locator(".dvergr-ack")
        self.present = self.root.locator(".dvergr-present > li")

    def message(self, text: str) -> Locator:
        """The message whose text is exactly that."""
        said = self.seen.page.locator(".dvergr-text").get_by_text(text, exact=True)
        return self.messages.filter(has=said)

    def turn_of(self, text: str) -> Locator:
        """The first turn that this message has caused."""
        return self.message(text).locator(".dvergr-turn").first

    def send(self, text: str) -> None:
        """As a person does it with the keyboard alone."""
        self.box.focus()
        self.seen.page.keyboard.type(text)
        self.seen.page.keyboard.press("Control+Enter")
        expect(self.message(text)).to_be_visible()

    def open_gate(self, *words: str) -> None:
        """Lets the turns end whose messages begin with these words."""
        self.seen.notebook.execute("\n".join(f"gate({word!r}).set()" for word in words))


STARTS: Final = (ROOM, "room")
"""Cells of most tests; the view is the second one's output."""


def test_a_message_sent_by_keyboard_appears_with_its_turn_and_then_its_reply(ready: Ready) -> None:
    with ready(*STARTS) as seen:
        room = Room(seen)
        expect(room.present).to_have_text(["researcherscriptedidle"])
        room.send("plans first")
        expect(room.box).to_have_value("")
        turn = room.turn_of("plans first")
        expect(turn.locator(".dvergr-word")).to_have_text("running")
        expect(turn.locator(".dvergr-stream")).to_contain_text("8. Customers on the monthly plan")
        expect(room.present.locator(".dvergr-word")).to_have_text("running")
        tall = turn.locator(".dvergr-stream").bounding_box()
        assert tall is not None
        assert 75 <= tall["height"] <= 85, "four lines"
        room.open_gate("plans")
        expect(room.message("That was plans.")).to_be_visible()
        expect(turn.locator(".dvergr-word")).to_have_text("completed")
        expect(room.present.locator(".dvergr-word")).to_have_text("idle")


def test_other_threads_queue_in_order_and_a_reply_joins_its_own(ready: Ready) -> None:
    with ready(*STARTS) as seen:
        room = Room(seen)
        for text in ("one a", "two b", "three c"):
            room.send(text)
        for text, word in (("one a", "running"), ("two b", "queued, 1st"), ("three c", "queued, 2nd")):
            expect(room.turn_of(text).locator(".dvergr-word")).to_have_text(word)
        expect(room.present).to_contain_text("queued 2")
        room.message("two b").get_by_role("button", name="Reply in thread: two b").click()
        expect(room.box).to_be_focused()
        expect(room.root.locator(".dvergr-reply-to")).to_contain_text("Reply in thread: two b")
        room.send("two more")
        thread = room.root.locator(".dvergr-thread").filter(has=seen.page.get_by_text("two b", exact=True))
        expect(thread.locator(".dvergr-text")).to_have_text(["two b", "two more"])
        seen.page.keyboard.press("Escape")
        expect(room.root.locator(".dvergr-reply-to")).to_be_hidden()
        expect(room.box).to_be_focused()
        room.open_gate("one", "two", "three")
        for text in ("That was one.", "That was three."):
            expect(room.message(text)).to_be_visible()
        threads = seen.value("[m.thread_root_id for m in room.messages() if m.content.startswith('two')]")
        assert len(set(threads.strip("[]").split(", "))) == 1


QUIET: Final = """
async def hums(message, ctx):
    for text in ("", "Three groups", "Three groups stand out. " * 8, ""):
        await gate(f"hum {len(text)}").wait()
        ctx.stream(text)
        gates.pop(f"hum {len(text)}")
    await gate("hummed").wait()
    return d.Withheld(reason="too-late")

room.join("hums", hums)
"""


def test_a_turn_takes_one_line_until_its_text_needs_more_and_says_how_it_ended_without_a_reply(ready: Ready) -> None:
    with ready(ROOM + QUIET, "room", run=False) as seen:
        seen.run(0, 1, 2)
        room = Room(seen)
        room.to.select_option("hums")
        room.send("a song")
        turn = room.turn_of("a song")
        stream = turn.locator(".dvergr-stream")
        expect(turn.locator(".dvergr-word")).to_have_text("running")
        expect(stream).to_be_hidden()
        one = _height(turn)
        room.open_gate("hum 0", "hum 12")
        expect(stream).to_have_text("Three groups")
        assert _height(turn) == pytest.approx(2 * one, abs=1)
        room.open_gate("hum 192")
        expect(stream).to_have_attribute("data-tall", "")
        assert _height(turn) == pytest.approx(5 * one, abs=1)
        room.open_gate("hum 0")
        expect(stream).to_have_text("")
        assert _height(turn) == pytest.approx(5 * one, abs=1)
        room.open_gate("hummed")
        expect(turn).to_contain_text("no reply, too late")
        assert _height(turn) == pytest.approx(one, abs=1)


def _height(node: Locator) -> float:
    box = node.bounding_box()
    assert box is not None
    return box["height"]


LOST: Final = """
gate("one").set()
lost = room.post("one a", to="researcher")
fence = room.fence()
await lost
room.reopen(fence)
"""


def test_a_message_that_nobody_answers_is_answered_by_a_button_where_its_actor_takes_part(ready: Ready) -> None:
    with ready(ROOM + LOST, "room") as seen:
        room = Room(seen)
        unanswered = room.message("one a").locator(".dvergr-unanswered")
        expect(unanswered).to_contain_text("unanswered by researcher")
        button = unanswered.get_by_role("button", name="Answer by researcher")
        seen.notebook.execute("room.leave('researcher')")
        expect(button).to_be_disabled()
        seen.notebook.execute("room.join('researcher', researcher)")
        expect(button).to_be_enabled()
        room.message("one a").focus()
        seen.page.keyboard.press("ArrowRight")
        seen.page.keyboard.press("ArrowRight")
        expect(button).to_be_focused()
        seen.page.keyboard.press("Enter")
        expect(room.message("That was one.")).to_be_visible()
        expect(unanswered).to_be_hidden()
        expect(room.message("one a")).to_be_focused()
        assert seen.value("room.unanswered()") == "[]"


def test_a_turn_is_cancelled_by_click_and_by_arrows_and_enter(ready: Ready) -> None:
    with ready(*STARTS) as seen:
        room = Room(seen)
        room.send("one a")
        room.turn_of("one a").get_by_role("button", name="Cancel researcher").click()
        expect(room.turn_of("one a").locator(".dvergr-word")).to_have_text("cancelled")
        room.send("two b")
        room.message("two b").focus()
        seen.page.keyboard.press("ArrowRight")
        expect(room.message("two b").get_by_role("button", name="Reply")).to_be_focused()
        seen.page.keyboard.press("ArrowRight")
        expect(room.turn_of("two b").get_by_role("button", name="Cancel researcher")).to_be_focused()
        seen.page.keyboard.press("Enter")
        expect(room.turn_of("two b").locator(".dvergr-word")).to_have_text("cancelled")
        expect(room.message("two b")).to_be_focused()


def test_threads_are_walked_folded_and_opened_by_keys_and_none_reaches_the_notebook(ready: Ready) -> None:
    with ready(*STARTS) as seen:
        room = Room(seen)
        room.open_gate("one", "two")
        room.send("one a")
        expect(room.message("That was one.")).to_be_visible()
        room.send("two b")
        expect(room.message("That was two.")).to_be_visible()
        before = seen.cells()
        room.message("That was two.").focus()
        seen.page.keyboard.press("Home")
        expect(room.message("one a")).to_be_focused()
        seen.page.keyboard.press("Enter")
        expect(room.message("That was one.")).to_have_count(0)
        expect(room.message("one a")).to_have_attribute("aria-expanded", "false")
        seen.page.keyboard.press("ArrowDown")
        expect(room.message("two b")).to_be_focused()
        seen.page.keyboard.press("ArrowUp")
        seen.page.keyboard.press("ArrowRight")
        expect(room.message("That was one.")).to_be_visible()
        for key in ("a", "b", "x", "d", "d", "z", "m", "y"):
            seen.page.keyboard.press(key)
        expect(room.message("one a")).to_be_focused()
        assert seen.cells() == before
        seen.page.keyboard.press("Escape")
        seen.page.keyboard.press("b")
        assert len(seen.cells()) == len(before) + 1, "Escape gave the keyboard back"


def test_what_cannot_be_posted_is_said_beside_the_box_and_a_closed_room_takes_nothing(ready: Ready) -> None:
    with ready(*STARTS) as seen:
        room = Room(seen)
        seen.notebook.execute("await room.close()")
        expect(room.root.locator(".dvergr-head .dvergr-word")).to_have_text("closed")
        room.box.fill("anybody there?")
        expect(room.note).to_have_text("The room is closed and admits nothing.")
        expect(room.root.get_by_role("button", name="Send")).to_be_disabled()
        expect(room.box).to_have_value("anybody there?")


def test_what_is_said_to_a_busy_kernel_is_kept_until_it_listens_and_to_a_dead_one_it_cannot_be_said(ready: Ready) -> None:
    with ready(*STARTS, "open('busy').read()", run=False) as seen:
        pipe = seen.gate("busy")
        seen.run(0, 1, 2)
        room = Room(seen)
        room.send("one a")
        word = room.turn_of("one a").locator(".dvergr-word")
        expect(word).to_have_text("running")
        pid = seen.notebook.kernel_pid()
        seen.notebook.begin_cell(3)
        expect(word).to_have_text("kernel busy")
        room.box.fill("two b")
        room.box.press("Control+Enter")
        expect(room.note).to_have_text("Sent; the kernel takes it when its cell ends.")
        expect(room.box).to_have_value("two b")
        open_gate(pipe)
        expect(room.message("two b")).to_be_visible()
        expect(room.box).to_have_value("")
        room.box.fill("three c")
        seen.kill_kernel(pid)
        expect(word).to_have_text("kernel gone")
        expect(room.note).to_have_text("The kernel is gone; nothing can be sent.")
        expect(room.root.get_by_role("button", name="Send")).to_be_disabled()
        expect(room.box).to_have_value("three c")
        seen.notebook.wait_restarted()


HOSTILE: Final = f"""
SCRIPT, IMAGE, MARKDOWN, TURNED, BROKEN = {SCRIPT!r}, {IMAGE!r}, {MARKDOWN!r}, {TURNED!r}, {BROKEN!r}
EVERYTHING = " ".join((SCRIPT, IMAGE, MARKDOWN, TURNED, BROKEN))

class Says(Exception):
    def __str__(self):
        return EVERYTHING

async def answers(message, ctx):
    ctx.stream(EVERYTHING)
    if "fail" in message.content:
        raise Says
    if "hold" in message.content:
        await asyncio.Event().wait()
    return EVERYTHING + "\\n" + message.content[:50]

answers.program_kind = IMAGE
room = d.room(IMAGE + BROKEN, title=SCRIPT)
room.join(SCRIPT + TURNED, answers)
room
"""


def test_markup_in_every_field_of_a_room_is_shown_as_text(ready: Ready) -> None:
    with ready(HOSTILE) as seen:
        room = Room(seen)
        expect(room.root.locator(".dvergr-head")).to_contain_text(SCRIPT)
        expect(room.root.locator(".dvergr-head")).to_contain_text(IMAGE)
        expect(room.present).to_contain_text(SCRIPT)
        room.box.fill(f"{SCRIPT} {TURNED} fail")
        room.to.select_option(index=2)
        room.box.press("Control+Enter")
        expect(room.turns.first).to_contain_text(f"Says: {SCRIPT}")
        room.box.fill(f"{IMAGE} {MARKDOWN} hold")
        room.box.press("Control+Enter")
        expect(room.turns.last.locator(".dvergr-stream")).to_contain_text(IMAGE[:40])
        room.root.get_by_role("button", name="Reply").last.click()
        expect(room.root.locator(".dvergr-reply-to")).to_contain_text(IMAGE)
        isolated = "nodes => nodes.every(node => getComputedStyle(node).unicodeBidi === 'isolate')"
        assert room.root.locator(".dvergr-message :is(p, span), .dvergr-present span").evaluate_all(isolated)
        assert_harmless(seen)


FLOOD: Final = """
room = d.room("flood")
room.join("floods", lambda message: "\\n".join(f"line {n}" for n in range(100_000)))
await room.post("go", to="floods")
await d.drain()
room
"""


def test_a_hundred_thousand_lines_are_cut_and_opened_as_far_as_they_are_shown(ready: Ready) -> None:
    with ready(FLOOD) as seen:
        room = Room(seen)
        reply = room.messages.last
        expect(reply.locator(".dvergr-text")).to_contain_text("line 11")
        assert len(reply.locator(".dvergr-text").text_content() or "") < 800
        reply.get_by_role("button", name="more").click()
        expect(reply.locator(".dvergr-text")).to_contain_text("line 1000")
        assert len(reply.locator(".dvergr-text").text_content() or "") <= 50_000
        reply.get_by_role("button", name="less").click()
        expect(reply.locator(".dvergr-text")).not_to_contain_text("line 1000")


MANY: Final = """
room = d.room("many")
heads = [room.post(f"thread {n}") for n in range(200)]
for each in heads:
    await each
for n in range(1_800):
    posting = room.post(f"message {n}", reply_to=heads[n % 200].message.id)
await posting
d.RoomView(room="many", limit=2_000)
"""
DRAWN_LIMIT_MS: Final = 2_000
"""Generous: a busy machine is slow, and how long it took is printed."""
ANSWERED: Final = """(text) => new Promise(resolve => {
  const began = performance.now();
  const root = document.querySelector('.dvergr-room');
  const box = root.querySelector('textarea');
  const watch = new MutationObserver(() => {
    const found = [...root.querySelectorAll('.dvergr-text')].some(node => node.textContent === text);
    if (found) { watch.disconnect(); resolve(performance.now() - began); }
  });
  watch.observe(root, { subtree: true, childList: true, characterData: true });
  box.value = text;
  box.dispatchEvent(new Event('input'));
  box.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', ctrlKey: true, bubbles: true }));
})"""


def test_two_thousand_messages_in_two_hundred_threads_stay_quick(ready: Ready) -> None:
    with ready(MANY) as seen:
        room = Room(seen)
        expect(room.root.locator(".dvergr-foot")).to_contain_text("2,000 messages in 200 threads")
        assert room.messages.count() < 400
        took = sorted(float(seen.page.evaluate(ANSWERED, f"new {number}")) for number in range(5))
        print(f"a message among 2,000 was shown {took[2]:.0f} ms after it was sent, {took[-1]:.0f} ms at worst")
        assert took[2] < DRAWN_LIMIT_MS


SAID: Final = """

for word in ("Which", "wrong", "How"):
    gate(word).set()
room.join("critic", lambda message: None)
room.join("writer", researcher)

async def say(text, to="researcher", reply_to=None):
    posting = room.post(text, to=to, reply_to=reply_to)
    await posting
    return posting.message.id

first = await say("Which customers are likely to leave, and why?\\nOnly paying plans, please.")
await d.drain()
await say("How many of them were on a trial?", reply_to=first)
await say("wrong table, I fear")
await say("Long ago " + "there was a plan that nobody remembers. " * 60, to="critic")
await d.drain()
await say("Draft the note to the eleven customers", to="writer")
await say("Compare the two price lists line by line")
await say("Refund the three duplicate orders")
"""
WIDTHS: Final = (1240, 880, 560)
"""Widths of the page in px: those of the outputs are about 180 less."""
TWO_FRAMES: Final = "() => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"
ALL: Final = [f"room-{state}-{theme}-{width}" for state in ("live", "gone") for theme in NAMES.values() for width in WIDTHS]


class Looked:
    """What a pass over themes, widths and states of the kernel saw."""

    def __init__(self) -> None:
        self.texts: dict[str, list[dict[str, Any]]] = {}
        self.faults: dict[str, list[str]] = {}
        self.overflows: dict[str, list[str]] = {}

    def look(self, seen: Seen, state: str) -> None:
        """Takes pictures of the room and computes what there is to compute."""
        for theme in THEMES:
            seen.notebook.theme(theme)
            for width in WIDTHS:
                name = f"room-{state}-{NAMES[theme]}-{width}"
                seen.page.set_viewport_size({"width": width, "height": 1200})
                seen.page.evaluate(TWO_FRAMES)
                seen.notebook.shot(name, ".dvergr-room")
                self.texts[name] = seen.page.evaluate(CONTRAST)
                self.faults[name] = seen.page.evaluate(FAULTS)
                self.overflows[name] = seen.page.evaluate(OVERFLOWS)


@pytest.fixture(scope="module")
def looked(lab: Lab) -> Iterator[Looked]:
    """One room, looked at while its kernel lives and after it was killed."""
    place = lab.root / "room"
    place.mkdir()
    lab.write("room/room.ipynb", [SETUP + ROOM, SAID, "room"])
    saw = Looked()
    with lab.open("room/room.ipynb", height=1200) as notebook:
        seen = Seen(notebook, place)
        notebook.command("application:toggle-left-area")
        seen.run(0, 1, 2)
        room = Room(seen)
        expect(room.turn_of("Refund the three duplicate orders").locator(".dvergr-word")).to_have_text("queued, 1st")
        room.message("Compare the two price lists line by line").focus()
        room.message("Draft the note to the eleven customers").get_by_role("button", name="Reply").click()
        room.box.fill("And the yearly plans?")
        saw.look(seen, "live")
        seen.kill_kernel()
        expect(room.root.locator(".dvergr-head .dvergr-word")).to_have_text("kernel gone")
        saw.look(seen, "gone")
        notebook.theme("JupyterLab Light")
        notebook.wait_restarted()
        yield saw


@pytest.mark.parametrize("name", ALL)
def test_text_of_a_room_can_be_read_on_its_ground(looked: Looked, name: str) -> None:
    assert len(looked.texts[name]) > 40
    assert [text for text in looked.texts[name] if text["ratio"] < LEAST] == []


@pytest.mark.parametrize("name", ALL)
def test_controls_of_a_room_are_named_and_nothing_is_wider_than_its_output(looked: Looked, name: str) -> None:
    assert looked.faults[name] == []
    assert looked.overflows[name] == []


def test_a_picture_of_a_room_is_taken_in_every_theme_and_width(looked: Looked) -> None:
    assert sorted(looked.texts) == sorted(ALL)
    assert all((SHOTS / f"{name}.png").stat().st_size > 10_000 for name in ALL)


TURNS: Final = """
streamed = d.turn("researcher", "one a", room="research")
queued = d.turn("researcher", "two b", room="research")
"""


def test_the_card_of_a_turn_streams_in_four_lines_and_that_of_the_next_says_what_it_waits_for(ready: Ready) -> None:
    with ready(ROOM, TURNS, "streamed", "queued") as seen:
        streamed, queued = (seen.page.locator(".dvergr-run-card").nth(number) for number in range(2))
        stream = streamed.locator(".dvergr-stream")
        expect(stream).to_contain_text("8. Customers on the monthly plan")
        box = stream.bounding_box()
        assert box is not None
        assert 75 <= box["height"] <= 85, "four lines"
        expect(streamed.locator(".dvergr-head + .dvergr-soft")).to_have_text("one a")
        expect(streamed.locator(".dvergr-facts")).to_contain_text("scripted")
        expect(queued.locator(".dvergr-word")).to_have_text("queued")
        expect(queued.locator(".dvergr-slot")).to_contain_text("this begins when that has ended")
        Room(seen).open_gate("one", "two")
        for card, reply in ((streamed, "That was one."), (queued, "That was two.")):
            expect(card.locator(".dvergr-reply")).to_have_text(reply)
            expect(card.locator(".dvergr-stream")).to_be_hidden()
        streamed.get_by_role("button", name="Details").click()
        expect(streamed.locator(".dvergr-log > li").last).to_contain_text("researcher")
        expect(streamed.locator(".dvergr-log > li").last).to_contain_text("That was one.")
