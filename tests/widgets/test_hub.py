"""One subscription for all views of a session, and beats that take turns."""

from __future__ import annotations

import asyncio
import gc
import weakref
from typing import Any

import pytest

from dvergr_nb.errors import StoreFailed
from dvergr_nb.ids import RunId
from dvergr_nb.records.run import Run
from dvergr_nb.session import Session
from dvergr_nb.widgets.display import RunDisplay
from dvergr_nb.widgets.hub import BEATS_AT_ONCE, Hub
from tests.widgets.told import Gate, Told, feed_of


async def test_all_views_of_a_session_share_one_subscription_that_ends_with_the_last() -> None:
    with Session(":memory:") as here:
        before = len(here.bus._watches)
        feeds = [feed_of(here, Told()) for _ in range(5)]
        assert len(here.bus._watches) == before + 1
        for feed in feeds:
            feed.stop()
        assert len(here.bus._watches) == before


async def test_a_card_is_told_of_its_own_run_only() -> None:
    with Session(":memory:") as here:
        gate, told, board = Gate(), Told(), Told()
        mine, other = here.job(gate.body, label="mine"), here.job(gate.body, label="other")
        await mine.admitted
        feed_of(here, told, only=mine.id)
        feed_of(here, board)
        gate.open()
        await mine.wait()
        await other.wait()
        await board.until(lambda: len(board.rows()) == 2)
        await told.until(lambda: told.rows()["mine"]["status"] == "completed")
        assert list(told.rows()) == ["mine"]


class Counted:
    """A listener that counts its beats."""

    only: RunId | None = None
    is_live = True

    def __init__(self) -> None:
        self.beats: list[float] = []

    def take(self, run: Run, *, has_ended: bool) -> None: ...

    def withdraw(self, run_id: RunId) -> None: ...

    def beat(self, every_s: float) -> None:
        self.beats.append(every_s)


async def test_where_many_views_live_beats_take_turns_and_say_how_long_the_next_takes() -> None:
    with Session(":memory:") as here:
        hub, listeners = Hub(here), [Counted() for _ in range(BEATS_AT_ONCE + 10)]
        for listener in listeners:
            hub.add(listener)
        hub.keep_beating()
        first = [listener for listener in listeners if listener.beats]
        assert 0 < len(first) <= BEATS_AT_ONCE
        assert {beat for listener in first for beat in listener.beats} == {2.0}
        hub._beat()
        assert all(listener.beats for listener in listeners)
        for listener in listeners:
            hub.remove(listener)


async def test_a_view_that_fails_changes_no_run_and_no_other_view(caplog: Any) -> None:
    class Broken(Counted):
        def take(self, run: Run, *, has_ended: bool) -> None:
            raise RuntimeError("broken")

    with Session(":memory:") as here:
        hub, told = Hub.of(here), Told()
        hub.add(Broken())
        feed_of(here, told)
        run = here.job(asyncio.sleep, 0, label="x")
        await run
        await told.until(lambda: told.rows().get("x", {}).get("status") == "completed")
        assert "broken" in caplog.text


async def test_views_go_on_after_an_unload_and_a_load_that_ended_all_subscriptions() -> None:
    with Session(":memory:") as here:
        gate, told = Gate(), Told()
        run = here.job(gate.body, label="x")
        await run.admitted
        feed_of(here, told)
        here.bus.unwatch_all()
        gate.open()
        await run.wait()
        RunDisplay(here)
        await told.until(lambda: told.rows()["x"]["status"] == "completed")


async def test_a_closed_session_is_not_held_by_its_hub() -> None:
    here, listener = Session(":memory:"), Counted()
    hub, held = Hub.of(here), weakref.ref(here)
    assert Hub.of(here) is hub
    hub.add(listener)
    hub.remove(listener)
    here.close()
    del hub, here
    await asyncio.sleep(0)  # what close has posted is done
    gc.collect()
    assert held() is None


async def test_what_cannot_be_read_is_logged_and_breaks_no_loop(caplog: pytest.LogCaptureFixture) -> None:
    broken: list[Any] = []
    read = asyncio.Event()
    asyncio.get_running_loop().set_exception_handler(lambda _loop, context: broken.append(context))
    with Session(":memory:") as here:

        def ask() -> int:
            here.home.post(read.set)
            raise StoreFailed("store", "the disk hangs")

        Hub.of(here).read(ask, broken.append)
        await read.wait()
        answered = asyncio.Event()
        Hub.of(here).read(lambda: 1, lambda _: answered.set())
        await answered.wait()
        assert broken == []
        assert "the disk hangs" in caplog.text
