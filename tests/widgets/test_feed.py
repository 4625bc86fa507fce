"""What a board or a card is told of: everything, in order, in few messages, and again on request."""

from __future__ import annotations

import asyncio
import json
from itertools import pairwise
from typing import Any

import pytest

from dvergr_nb.records.run import Progress, live
from dvergr_nb.session import Session
from dvergr_nb.widgets import feed as feeds
from dvergr_nb.widgets.feed import FLUSH_S, SLICE
from tests.widgets.told import Gate, Told, feed_of


def session() -> Session:
    return Session(":memory:")


async def quick(ctx: Any) -> int:
    return 1


async def test_it_shows_what_lives_and_what_the_store_remembers() -> None:
    with session() as here:
        await here.job(quick, label="old").wait()
        gate, told = Gate(), Told()
        run = here.job(gate.body, label="new")
        await run.admitted
        feed_of(here, told)
        await told.until(lambda: len(told.rows()) == 2)
        assert {label: row["status"] for label, row in told.rows().items()} == {"old": "completed", "new": "running"}
        gate.open()
        await run.wait()
        await told.until(lambda: told.rows()["new"]["status"] == "completed")


async def test_a_run_that_starts_later_appears_by_itself() -> None:
    with session() as here:
        told = Told()
        feed_of(here, told)
        await here.job(quick, label="late").wait()
        await told.until(lambda: "late" in told.rows())


async def test_every_patch_is_one_revision_more_than_the_one_before() -> None:
    with session() as here:
        told = Told()
        feed_of(here, told)
        for number in range(5):
            await here.job(quick, label=f"job {number}").wait()
        await told.until(lambda: all(row["status"] == "completed" for row in told.rows().values()) and len(told.rows()) == 5)
        revisions = [message["rev"] for message in told.of("patch")]
        assert revisions == list(range(1, len(revisions) + 1))


async def test_many_changes_are_few_messages_and_the_last_one_counts() -> None:
    with session() as here:
        gate, told = Gate(), Told()
        run = here.job(gate.body, label="busy")
        await run.admitted
        feed = feed_of(here, told)
        before = here.row_of(run.id)
        assert before is not None
        for number in range(1_000):
            feed.take(live(before, progress=Progress(done=number, total=1_000)), has_ended=False)
            if number % 10 == 0:
                await asyncio.sleep(0.001)
        await told.until(lambda: told.rows()["busy"].get("progress", {}).get("done") == 999)
        times = [at for at, message in zip(told.times, told.messages, strict=True) if message["type"] == "patch"]
        assert all(after - before >= FLUSH_S - 0.005 for before, after in pairwise(times))
        gate.open()
        await run.wait()


async def test_it_beats_while_something_lives_and_rests_when_nothing_does() -> None:
    with session() as here:
        gate, told = Gate(), Told()
        run = here.job(gate.body, label="alive")
        await run.admitted
        feed_of(here, told)
        await told.until(lambda: len(told.of("beat")) >= 2)
        gate.open()
        await run.wait()
        await told.until(lambda: told.of("rest"))
        assert told.messages[-1]["type"] == "rest"
        assert told.of("beat")[-1]["every_s"] == 1.0


async def test_a_ping_is_answered_by_a_beat() -> None:
    with session() as here:
        gate, told = Gate(), Told()
        run = here.job(gate.body, label="alive")
        await run.admitted
        feed = feed_of(here, told)
        await told.until(told.rows)
        before = len(told.of("beat"))
        feed.answer_ping()
        assert len(told.of("beat")) == before + 1
        gate.open()
        await run.wait()


async def test_a_resync_gives_the_whole_state_newest_first_and_what_is_too_much_in_patches(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(feeds, "WHOLE", 50)
    with session() as here:
        count = 50 + SLICE + 10
        for number in range(count):
            here.job(quick, label=f"job {number}")
        await here.drain()
        told = Told()
        feed = feed_of(here, told)
        await told.until(lambda: len(told.rows()) == count)
        told.messages.clear()
        told.times.clear()
        feed.resync()
        first = told.of("snapshot")[0]["rows"]
        assert len(first) == 50
        assert first[0]["created"] == max(row["created"] for row in feed.rows.values())
        await told.until(lambda: len(told.rows()) == count)
        assert max(len(message["rows"]) for message in told.of("patch")) <= SLICE


async def test_a_board_of_a_room_shows_no_other_room() -> None:
    with session() as here:
        told = Told()
        feed_of(here, told, room="mine")
        await here.job(quick, label="theirs", room="yours").wait()
        await here.job(quick, label="ours", room="mine").wait()
        await told.until(lambda: "ours" in told.rows())
        assert list(told.rows()) == ["ours"]


async def test_past_its_limit_the_oldest_that_ended_leave_and_what_lives_stays() -> None:
    with session() as here:
        gate, told = Gate(), Told()
        run = here.job(gate.body, label="oldest, alive")
        await run.admitted
        feed_of(here, told, limit=3)
        for number in range(5):
            await here.job(quick, label=f"job {number}").wait()
        await told.until(lambda: set(told.rows()) == {"oldest, alive", "job 3", "job 4"})
        assert told.of("patch")[-1]["cut"]
        gate.open()
        await run.wait()


async def test_a_board_says_when_the_store_holds_more_than_it_shows() -> None:
    with session() as here:
        for number in range(4):
            await here.job(quick, label=f"job {number}").wait()
        told = Told()
        feed_of(here, told, limit=3)
        await told.until(lambda: len(told.rows()) == 3)
        assert set(told.rows()) == {"job 1", "job 2", "job 3"}
        assert told.of("patch")[-1]["cut"]


async def test_what_is_read_late_does_not_undo_what_was_heard() -> None:
    with session() as here:
        gate, told = Gate(), Told()
        run = here.job(gate.body, label="x")
        await run.admitted
        feed = feed_of(here, told)
        stale = here.runs()
        gate.open()
        await run.wait()
        await told.until(lambda: told.rows()["x"]["status"] == "completed")
        feed._remember(stale)
        assert feed.rows[run.id]["status"] == "completed"
        assert not feed._changed


async def test_the_state_is_saved_when_something_has_ended() -> None:
    with session() as here:
        told = Told()
        feed_of(here, told)
        await here.job(quick, label="x").wait()
        await told.until(lambda: told.saved and '"completed"' in told.saved[-1])
        state = json.loads(told.saved[-1])
        assert state["type"] == "snapshot"
        assert [row["label"] for row in state["rows"]] == ["x"]


async def test_a_state_of_many_rows_is_saved_whole() -> None:
    with session() as here:
        count = SLICE + 5
        for number in range(count):
            here.job(quick, label=f"job {number}")
        await here.drain()
        told = Told()
        feed_of(here, told)
        await told.until(lambda: told.saved)
        assert len(json.loads(told.saved[-1])["rows"]) == count


async def test_a_feed_that_was_stopped_hears_nothing_and_can_still_be_asked() -> None:
    with session() as here:
        told = Told()
        feed = feed_of(here, told)
        await here.job(quick, label="before").wait()
        await told.until(lambda: told.rows().get("before", {}).get("status") == "completed")
        feed.stop()
        await here.job(quick, label="after").wait()
        feed.resync()
        assert [row["label"] for row in told.of("snapshot")[-1]["rows"]] == ["before"]
