"""Cards and boards as objects of Python: what they hold, how they show themselves, and what they leave behind."""

from __future__ import annotations

import asyncio
import dataclasses
import gc
import json
import subprocess
import sys
import weakref
from typing import Any

import pytest

import dvergr_nb as d
from dvergr_nb.clock import SystemClock
from dvergr_nb.errors import BadInput, NoSuchRun
from dvergr_nb.ids import SystemIds
from dvergr_nb.records.run import Provenance, Run, RunStatus
from dvergr_nb.session import Session
from dvergr_nb.widgets import fallback
from dvergr_nb.widgets._base import VIEW_MIME
from dvergr_nb.widgets.display import RunDisplay
from dvergr_nb.widgets.room_view import RoomView
from dvergr_nb.widgets.run_board import RunBoard
from dvergr_nb.widgets.run_card import RunCard
from tests.widgets.told import Gate

LIMIT_S = 30.0


async def changed(view: Any, is_so: Any) -> None:
    """Returns once the saved state is so."""
    news = asyncio.Event()
    view.observe(lambda _: news.set(), "snapshot")
    async with asyncio.timeout(LIMIT_S):
        while not is_so(json.loads(view.snapshot)["rows"]):
            news.clear()
            await news.wait()


async def quick(ctx: Any) -> dict[str, float]:
    return {"mean": 0.5}


def test_the_package_and_its_session_come_without_anywidget() -> None:
    code = "import sys, dvergr_nb; dvergr_nb.Session; sys.exit('anywidget' in sys.modules or 'ipywidgets' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


async def test_script_and_style_are_text_and_not_paths() -> None:
    with Session(":memory:") as here:
        board = RunBoard(here)
        assert "export" in board._esm
        assert ".dvergr" in board._css
        board.close()


async def test_a_card_holds_its_run_from_the_first_moment() -> None:
    with Session(":memory:") as here:
        gate = Gate()
        run = here.job(gate.body, label="x")
        card = RunCard(run, session=here)
        assert [row["label"] for row in json.loads(card.snapshot)["rows"]] == ["x"]
        gate.open()
        await run.wait()
        await changed(card, lambda rows: rows[0]["status"] == "completed")


async def test_a_card_of_a_run_that_ended_saves_its_result() -> None:
    with Session(":memory:") as here:
        run = here.job(quick, label="x")
        card = RunCard(run, session=here)
        await run
        await changed(card, lambda rows: "result" in rows[0])
        assert json.loads(card.snapshot)["rows"][0]["result"] == "{'mean': 0.5}"


async def test_a_card_of_an_old_run_shows_its_result_and_listens_no_more() -> None:
    with Session(":memory:") as here:
        run = here.job(quick, label="x")
        await run
        card = RunCard(run.id[-8:], session=here)
        await changed(card, lambda rows: "result" in rows[0])
        assert not card.feed.hub._cards


async def test_a_card_of_a_used_key_is_the_card_of_the_first_run() -> None:
    with Session(":memory:") as here:
        first = here.job(quick, label="first", key="k")
        await first
        again = here.job(quick, label="again", key="k")
        card = RunCard(again, session=here)
        await again.admitted
        await changed(card, lambda rows: [row["label"] for row in rows] == ["first"])
        assert card.run_id == first.id


async def test_a_card_needs_a_run_that_exists() -> None:
    with Session(":memory:") as here, pytest.raises(NoSuchRun):
        RunCard("deadbeef", session=here)


@pytest.mark.parametrize("limit", [0, -1, 2.5, "many"])
async def test_a_board_needs_a_limit_of_at_least_one(limit: Any) -> None:
    with Session(":memory:") as here, pytest.raises(BadInput, match="limit"):
        RunBoard(here, limit=limit)


async def test_a_run_is_shown_as_one_card_wherever_it_is_shown() -> None:
    with Session(":memory:") as here:
        here.display = display = RunDisplay(here)
        run = here.job(quick, label="x")
        first, second = run._repr_mimebundle_(), run._repr_mimebundle_()
        assert first[VIEW_MIME] == second[VIEW_MIME]
        assert run.card() is display.card(run)
        await run


async def test_a_bundle_holds_what_is_asked_for() -> None:
    with Session(":memory:") as here:
        display, run = RunDisplay(here), here.job(quick, label="x")
        assert set(display.bundle(run)) == {"text/plain", "text/html", VIEW_MIME}
        assert set(display.bundle(run, include={"text/plain"})) == {"text/plain"}
        assert set(display.bundle(run, exclude={VIEW_MIME})) == {"text/plain", "text/html"}
        await run


async def test_text_and_html_are_constant_while_a_run_lives() -> None:
    async def busy(ctx: Any) -> None:
        ctx.progress(1, 2, label="half")
        print("a line")
        await gate.body(ctx)

    with Session(":memory:") as here:
        gate, display = Gate(), RunDisplay(here)
        run = here.job(busy, label="x")
        texts = {"text/plain", "text/html"}
        queued = display.bundle(run, include=texts)
        await run.admitted
        await asyncio.sleep(0)
        running = display.bundle(run, include=texts)
        run.cancel()
        assert queued == running == display.bundle(run, include=texts)
        await run.wait()
        assert "cancelled" in display.bundle(run)["text/plain"]


async def test_names_are_escaped_in_html() -> None:
    evil = '<script>alert("x")</script>'
    with Session(":memory:") as here:
        display = RunDisplay(here)
        run = here.job(quick, label=evil, actor="<b>me</b>")
        html = display.bundle(run)["text/html"]
        assert "<script" not in html
        assert "<b>" not in html
        assert "&lt;script&gt;" in html
        assert "<script" not in RunBoard(here, room=evil).bundle()["text/html"]
        await run


async def test_a_room_is_shown_as_one_view_wherever_it_is_shown() -> None:
    with Session(":memory:") as here:
        display = RunDisplay(here)
        view = display.room_view("research")
        assert display.room_view("research") is view
        bundle = display.room_bundle("research")
        assert bundle[VIEW_MIME]["model_id"] == view.model_id
        assert bundle["text/plain"] == repr(view) == "Room research"
        assert set(display.room_bundle("research", include={"text/html"})) == {"text/html"}
        view.close()
        assert display.room_view("research") is not view


async def test_a_room_view_saves_who_is_there_and_what_was_said() -> None:
    with Session(":memory:") as here:
        here.rooms.open("research").join("echo", d.echo())
        view = RoomView(here, "research")
        here.rooms.post("research", "hello")
        await here.drain()
        await changed(view, lambda rows: [row["status"] for row in rows] == ["completed"])
        room = json.loads(view.snapshot)["room"]
        assert [said["who"] for said in room["said"]] == ["user", "echo"]
        assert room["present"] == [{"actor": "echo", "program": "echo"}]


@pytest.mark.parametrize("limit", [0, -1, 2.5, "many"])
async def test_a_room_view_needs_a_limit_of_at_least_one(limit: Any) -> None:
    with Session(":memory:") as here, pytest.raises(BadInput, match="limit"):
        RoomView(here, "research", limit=limit)


@pytest.mark.parametrize("room", ["", " ", "a\nb", "x" * 201, None])
async def test_a_room_view_needs_the_name_of_a_room(room: Any) -> None:
    with Session(":memory:") as here, pytest.raises(ValueError, match="room must be a line"):
        RoomView(here, room)


async def test_a_room_is_escaped_in_html_and_moves_no_cursor_in_text() -> None:
    with Session(":memory:") as here:
        bundle = RoomView(here, "<script>\x1b[2J\u202e").bundle()
        assert "<script" not in bundle["text/html"]
        assert "\x1b" not in bundle["text/plain"]
        assert "\u202e" not in bundle["text/plain"]


async def test_a_view_that_was_closed_is_forgotten() -> None:
    with Session(":memory:") as here:
        card = RunCard(here.job(quick, label="x"), session=here)
        await here.drain()
        await changed(card, lambda rows: "result" in rows[0])
        card.unobserve_all()
        card.close()
        ghost = weakref.ref(card)
        del card
        for _ in range(3):
            await asyncio.sleep(0)
        gc.collect()
        assert ghost() is None


async def test_a_message_that_is_not_known_is_logged_and_does_nothing(caplog: pytest.LogCaptureFixture) -> None:
    with Session(":memory:") as here:
        board = RunBoard(here)
        board._on_view_message(board, {"type": "launch", "id": "1"}, [])
        assert "not known" in caplog.text


def ended_run(**fields: Any) -> Run:
    now = SystemClock().now()
    ids = SystemIds(SystemClock())
    known: dict[str, Any] = {"id": ids.run(), "tenant_id": "t", "user_id": "u", "room": "main", "actor": "ann"}
    times = {"created_at": now, "started_at": now, "updated_at": now, "ended_at": now}
    known |= times | {"trigger": ids.message(), "boot_id": ids.message(), "status": RunStatus.COMPLETED}
    return Run(**known | fields)


def test_what_stands_in_for_a_card_says_what_was_spent_once_it_has_ended() -> None:
    texts = [
        fallback.card_text(ended_run(**each))
        for each in ({}, {"cost": 12_345}, {"unpriced": 1}, {"cost": 20_000, "unpriced": 2})
    ]
    assert [text.partition("completed")[2] for text in texts] == [
        "",
        ", $0.0123",
        ", price unknown",
        ", $0.02 + 2 calls of unknown price",
    ]
    assert ", $0.0123" in fallback.card_html(ended_run(cost=12_345))


def test_what_stands_in_for_a_card_is_constant_while_money_is_spent() -> None:
    lives: dict[str, Any] = {"status": RunStatus.RUNNING, "ended_at": None}
    run = ended_run(**lives)
    assert fallback.card_text(dataclasses.replace(run, cost=5, unpriced=1)) == fallback.card_text(run)
    assert fallback.card_html(dataclasses.replace(run, cost=5, unpriced=1)) == fallback.card_html(run)


def test_what_stands_in_for_a_card_names_the_version_of_the_profile() -> None:
    run = ended_run(provenance=Provenance(profile_id="researcher", profile_version=3))
    assert "researcher v3" in fallback.card_html(run)
