"""What views ask for is done once and answered."""

from __future__ import annotations

from typing import Any

import pytest

from dvergr_nb.ids import RunId
from dvergr_nb.records.run import Run
from dvergr_nb.records.tool_use import ToolUse
from dvergr_nb.records.wire import AskDetails, Cancel, Resync
from dvergr_nb.records.wire_use import AskReply, AskUse
from dvergr_nb.session import Session
from dvergr_nb.widgets.acts import Acts
from tests.widgets.told import Gate, Told, feed_of


async def test_a_press_of_cancel_that_arrives_twice_acts_once() -> None:
    with Session(":memory:") as here:
        gate, told = Gate(), Told()
        run = here.job(gate.body, label="x")
        await run.admitted
        acts = Acts(feed_of(here, told))
        await told.until(told.rows)
        for _ in range(2):
            acts.do(Cancel(type="cancel", id="press", run_id=run.id))
        assert [(ack["id"], ack["outcome"]) for ack in told.of("ack")] == [("press", "requested")]
        await run.wait()
        await told.until(lambda: told.rows()["x"]["status"] == "cancelled")
        acts.do(Cancel(type="cancel", id="another", run_id=run.id))
        await told.until(lambda: told.of("ack")[-1]["id"] == "another")
        assert told.of("ack")[-1]["outcome"] == "over"


async def test_a_run_that_the_view_does_not_show_cannot_be_cancelled_through_it() -> None:
    with Session(":memory:") as here:
        gate, told = Gate(), Told()
        run = here.job(gate.body, label="x", room="other")
        await run.admitted
        acts = Acts(feed_of(here, told, room="mine"))
        acts.do(Cancel(type="cancel", id="press", run_id=run.id))
        assert told.of("ack")[-1]["outcome"] == "unknown"
        assert here.active_runs()
        gate.open()
        await run.wait()


async def test_details_are_read_and_answered_under_the_id_of_the_question() -> None:
    async def body(ctx: Any) -> str:
        ctx.progress(1, 2, label="half")
        print("a line")
        return "the result"

    with Session(":memory:") as here:
        told = Told()
        feed = feed_of(here, told)
        run = here.job(body, label="x")
        await run
        await told.until(lambda: told.rows().get("x", {}).get("status") == "completed")
        Acts(feed).do(AskDetails(type="details", id="question", run_id=run.id))
        await told.until(lambda: told.of("details"))
        answer = told.of("details")[0]
        assert (answer["id"], answer["run_id"]) == ("question", run.id)
        assert {lane["name"] for lane in answer["timeline"]["lanes"]} == {"progress", "printed", "messages"}
        assert "the result" in answer["timeline"]["result"]


async def test_an_act_that_fails_is_logged_and_answered(caplog: pytest.LogCaptureFixture) -> None:
    with Session(":memory:") as here:
        told = Told()
        feed = feed_of(here, told)
        run = here.job(Gate().body, label="x")
        await run.admitted
        await told.until(told.rows)
        acts = Acts(feed)
        run.cancel()
        await run.wait()
        here.close()
        acts.do(Cancel(type="cancel", id="press", run_id=run.id))
        await told.until(lambda: told.of("ack"))
        ack = told.of("ack")[-1]
        assert ack["outcome"] == "failed"
        assert "SessionClosed" in ack["error"]
        assert "an act of a view failed" in caplog.text


async def test_a_resync_may_be_asked_again_and_again() -> None:
    with Session(":memory:") as here:
        told = Told()
        acts = Acts(feed_of(here, told))
        acts.do(Resync(type="resync", have=-1))
        acts.do(Resync(type="resync", have=-1))
        assert len(told.of("snapshot")) == 2


async def test_a_card_may_ask_for_its_run_before_it_has_heard_of_it() -> None:
    with Session(":memory:") as here:
        run = await here.job(lambda: "the result").wait()
        told = Told()
        Acts(feed_of(here, told, only=run.id)).do(AskDetails(type="details", id="question", run_id=run.id))
        await told.until(lambda: told.of("details") or told.of("ack"))
        assert [answer["timeline"]["result"] for answer in told.of("details")] == ["the result"]


async def test_a_cancel_that_needs_the_store_does_not_hold_the_loop() -> None:
    with Session(":memory:") as here:
        run = await here.job(lambda: 1, label="x").wait()
        told = Told()
        acts = Acts(feed_of(here, told, only=run.id))
        asked_in: list[bool] = []
        read = here.store.run

        def seen(run_id: RunId) -> Run | None:
            asked_in.append(here.home.is_here)
            return read(run_id)

        here.store.run = seen  # type: ignore[method-assign]
        acts.do(Cancel(type="cancel", id="press", run_id=run.id))
        await told.until(lambda: told.of("ack"))
        assert (told.of("ack")[0]["outcome"], asked_in) == ("over", [False])


ARGUMENTS = '{"of": "sales"}'  # not in the body, whose source is the message that causes its Run
PIXEL = b"\x89PNG\r\n\x1a\n not much of a picture"


async def uses_a_tool(ctx: Any) -> None:
    """Does by hand what a model's turn does: a fact, and apart from it what the tool was given and gave."""
    invoked = ctx.fact(kind="tool", verb="invoke", tool_name="plot", tool_use_id="call 1")
    await ctx.report("plot", [invoked])
    picture, page = await ctx.blob(PIXEL, "image/png"), await ctx.blob(b"<script>", "text/html")
    await ctx.keep(
        ToolUse(
            id=invoked.id,
            tenant_id=ctx.run.tenant_id,
            room=ctx.run.room,
            run_id=ctx.run.id,
            round=0,
            name="plot",
            tool_use_id="call 1",
            arguments=ARGUMENTS,
            result="a picture",
            status="completed",
            blobs=(picture, page),
            started_at=invoked.at,
            ended_at=invoked.at,
        )
    )
    ctx.reply("line\n" * 5_000)


async def test_arguments_and_result_are_told_to_who_asks_for_that_use_and_to_nobody_before() -> None:
    with Session(":memory:") as here:
        told = Told()
        acts = Acts(feed_of(here, told))
        run = await here.job(uses_a_tool, label="x").wait()
        await told.until(lambda: told.rows().get("x", {}).get("status") == "completed")
        acts.do(AskDetails(type="details", id="look", run_id=run.id))
        await told.until(lambda: told.of("details"))
        (entry,) = [each for each in told.of("details")[0]["timeline"]["entries"] if each.get("use")]
        assert "sales" not in str(told.messages)
        for _ in range(2):
            acts.do(AskUse(type="use", id="press", run_id=run.id, use_id=entry["key"]))
        acts.do(AskUse(type="use", id="other", run_id=run.id, use_id=here.ids.message()))
        await told.until(lambda: told.of("use") and told.of("ack"))
        (answer,) = told.of("use")
        assert (answer["arguments"], answer["result"]) == (ARGUMENTS, "a picture")
        assert [(each["media_type"], each["size"]) for each in answer["blobs"]] == [("image/png", len(PIXEL)), ("text/html", 8)]
        assert ["picture" in each for each in answer["blobs"]] == [True, False]
        assert [(ack["id"], ack["error"]) for ack in told.of("ack")] == [("other", "nothing was kept of this call")]


async def test_all_of_a_long_reply_is_told_on_demand() -> None:
    with Session(":memory:") as here:
        told = Told()
        acts = Acts(feed_of(here, told))
        run = await here.job(uses_a_tool, label="x").wait()
        silent = await here.job(lambda: None, label="silent").wait()
        await told.until(lambda: [row["status"] for row in told.runs()] == ["completed"] * 2)
        acts.do(AskReply(type="reply", id="press", run_id=run.id))
        acts.do(AskReply(type="reply", id="none", run_id=silent.id))
        await told.until(lambda: told.of("reply") and told.of("ack"))
        assert told.of("reply")[0]["text"].count("line") == 2_000
        assert told.of("reply")[0]["cut"] is True
        assert [(ack["id"], ack["error"]) for ack in told.of("ack")] == [("none", "it has no reply")]


async def test_a_use_of_a_run_that_the_view_does_not_show_is_not_told() -> None:
    with Session(":memory:") as here:
        run = await here.job(uses_a_tool, label="x", room="other").wait()
        told = Told()
        Acts(feed_of(here, told, room="mine")).do(
            AskUse(type="use", id="press", run_id=run.id, use_id=here.tool_uses(run)[0].id)
        )
        assert told.of("ack")[-1]["outcome"] == "unknown"
