"""One use of a tool: what its model is told, what is kept, and what stands in the facts."""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import datetime as dt
import json
import threading

import pandas as pd
import pytest
from pydantic import BaseModel

from dvergr_nb.actors.tools.defining import tool_of
from dvergr_nb.actors.tools.tool import Rich, ToolFailed
from dvergr_nb.errors import RunEnd
from dvergr_nb.records.tool_use import ARGUMENTS_LIMIT, RESULT_LIMIT, Blob
from dvergr_nb.runtime.body import Done
from dvergr_nb.runtime.cancel import Aborted
from dvergr_nb.runtime.context import current
from tests.actors.turns import Gate
from tests.rigs.session import Body
from tests.tools.uses import Uses, told, used


def add(a: int, b: int) -> int:
    """Adds."""
    return a + b


ADD = tool_of(add)


async def test_a_use_is_told_kept_and_on_record():
    turn = await used(ADD, '{"a": 1, "b": 2}')
    assert turn.told == ["3"]
    (kept,) = turn.kept
    assert (kept.name, kept.tool_use_id, kept.round) == ("add", "call-0", 0)
    assert (kept.arguments, kept.result, kept.status) == ('{"a": 1, "b": 2}', "3", "completed")
    assert kept.started_at <= kept.ended_at
    begun = next(fact for entry in turn.activity for fact in entry.facts if fact.verb == "invoke")
    assert kept.id == begun.id
    assert turn.outcome == ("completed", None)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ("{", "the arguments are no JSON"),
        ("[1, 2]", "one JSON object"),
        ('{"a": NaN, "b": 1}', "NaN is no JSON value"),
        ('{"a": "1", "b": 2}', "a should be a valid integer, not '1'"),
        ('{"a": 1}', "b is missing"),
        ('{"a": 1, "b": 2, "c": 3}', "it takes no c"),
        ({"a": 1, "b": []}, "b should be a valid integer"),
    ],
)
@pytest.mark.parametrize("on_error", ["tell", "fail"])
async def test_wrong_arguments_are_told_and_the_function_is_not_called(arguments, sentence, on_error):
    turn = await used(ADD, arguments, on_error=on_error)
    assert sentence in turn.told[0]
    assert turn.outcome == ("failed", "invalid-arguments")
    assert turn.kept[0].status == "failed"


async def test_no_arguments_at_all_are_an_empty_object():
    def nothing() -> str:
        return "ok"

    assert (await used(tool_of(nothing), "  ")).told == ["ok"]


async def test_what_a_tool_raises_is_told_with_its_type():
    def broken() -> None:
        raise LookupError("no such row")

    turn = await used(tool_of(broken))
    assert turn.told == ["LookupError: no such row"]
    assert turn.outcome == ("failed", "LookupError")
    assert (turn.kept[0].status, turn.kept[0].result) == ("failed", "LookupError: no such row")


async def test_what_a_tool_raises_ends_the_turn_where_the_profile_says_so():
    async def broken() -> None:
        raise LookupError("no such row")

    turn = Uses((tool_of(broken), ""), on_error="fail")
    with pytest.raises(LookupError, match="no such row"):
        await turn.given()
    assert turn.kept[0].status == "failed"
    assert ("tool", "fail", "broken", "call-0", "failed") in turn.facts


@pytest.mark.parametrize("ending", [SystemExit, KeyboardInterrupt, StopIteration, asyncio.CancelledError])
@pytest.mark.parametrize("is_async", [True, False])
async def test_no_exception_of_a_tool_ends_more_than_its_use(ending, is_async):
    def broken() -> None:
        raise ending("by hand")

    async def broken_async() -> None:
        raise ending("by hand")

    turn = await used(tool_of(broken_async if is_async else broken))
    assert turn.outcome[0] == "failed"
    assert "by hand" in turn.told[0] or "StopIteration" in turn.told[0]


async def test_a_tool_can_fail_with_a_word_and_a_sentence_of_its_own():
    async def broken() -> None:
        raise ToolFailed("refused", "not that file")

    turn = await used(tool_of(broken))
    assert (turn.told, turn.outcome) == (["not that file"], ("failed", "refused"))


@pytest.mark.parametrize("is_async", [True, False])
async def test_a_tool_that_takes_too_long_is_given_up(is_async):
    let_go = threading.Event()

    def slow() -> None:
        let_go.wait(30)

    async def slow_async() -> None:
        await asyncio.sleep(30)

    turn = await used(tool_of(slow_async if is_async else slow, name="slow", timeout=0.05))
    let_go.set()
    assert turn.told == ["slow took longer than 0.05 s and was given up"]
    assert turn.outcome == ("failed", "timeout")


async def test_a_timeout_of_the_tools_own_is_an_error_like_any_other():
    async def slow() -> None:
        raise TimeoutError("the database")

    turn = await used(tool_of(slow, timeout=30))
    assert (turn.told, turn.outcome) == (["TimeoutError: the database"], ("failed", "TimeoutError"))


async def test_a_stopped_turn_keeps_what_the_tool_was_given():
    gate = Gate()

    async def wait(what: str) -> None:
        await gate()

    turn = Uses((tool_of(wait), {"what": "that"})).begin()
    await gate.reached.wait()
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn.given()
    (kept,) = turn.kept
    assert (kept.status, kept.arguments, kept.result) == ("cancelled", '{"what": "that"}', "")
    assert ("tool", "fail", "wait", "call-0", "cancelled") in turn.facts


async def test_a_stopped_turn_does_not_wait_for_the_thread_of_a_tool():
    begun, let_go, ended = asyncio.Event(), threading.Event(), asyncio.Event()
    loop = asyncio.get_running_loop()

    def work() -> str:
        loop.call_soon_threadsafe(begun.set)
        let_go.wait(30)
        loop.call_soon_threadsafe(ended.set)
        return "late"

    turn = Uses((tool_of(work), "")).begin()
    await begun.wait()
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn.given()
    assert not let_go.is_set()
    assert (turn.kept[0].status, turn.told) == ("cancelled", [])
    let_go.set()
    await ended.wait()


async def test_a_thread_that_looks_at_its_stopped_run_stops():
    looked, loop = threading.Event(), asyncio.get_running_loop()

    def work(ctx) -> None:
        loop.call_soon_threadsafe(turn.cancel)
        while True:
            ctx.raise_if_cancelled()
            looked.wait(0.001)

    turn = Uses((tool_of(work), ""))
    with pytest.raises(asyncio.CancelledError):
        await turn.given()
    assert turn.kept[0].status == "cancelled"


async def test_an_aborted_turn_is_told_so_within_its_tool():
    gate, heard = Gate(), []

    async def wait() -> None:
        try:
            await gate()
        except asyncio.CancelledError as stop:
            heard.append(type(stop))
            raise

    turn = Uses((tool_of(wait), "")).begin()
    await gate.reached.wait()
    turn.cancel("aborted", "enough")
    with pytest.raises(Aborted):
        await turn.given()
    assert heard == [Aborted]


async def test_the_thread_of_a_tool_belongs_to_the_run():
    def where() -> str:
        found = current()
        return f"{found is not None} {threading.current_thread().daemon}"

    assert await told(tool_of(where)) == "True True"


async def test_what_a_function_returns_to_be_awaited_is_awaited():
    async def later() -> str:
        return "later"

    def now():
        return later()

    assert await told(tool_of(now)) == "later"


# Results ---------------------------------------------------------------------------------------------------------------


class Point(BaseModel):
    x: int


@dataclasses.dataclass
class Size:
    width: int
    at: dt.date


class Hostile:
    def __repr__(self):
        raise RuntimeError("no repr")


ITSELF: list[object] = []
ITSELF.append(ITSELF)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("as it is\n", "as it is\n"),
        ("", ""),
        (None, "done"),
        (3.5, "3.5"),
        (True, "true"),
        ({"a": [1, None, "é"]}, '{"a": [1, null, "é"]}'),
        (Point(x=1), '{"x": 1}'),
        ([Point(x=1), Size(2, dt.date(2026, 1, 2))], '[{"x": 1}, {"width": 2, "at": "2026-01-02"}]'),
        ({1}, "[1]"),
        ({(1, 2): 3}, "{(1, 2): 3}"),
        (ITSELF, "[[...]]"),
        (pd.Series([1, 2]).to_numpy(), "[1, 2]"),
        (pd.Series([1]).to_numpy()[0], "1"),
        ("nul \0 and \ud800", "nul \ufffd and \ufffd"),
    ],
)
async def test_a_result_is_told_as_text(value, text):
    def give() -> object:
        return value

    turn = await used(tool_of(give))
    assert turn.told == [text]
    assert turn.kept[0].result == text


async def test_a_result_that_cannot_be_told_is_an_error_of_its_tool():
    def give() -> object:
        return {(1, 2): Hostile()}

    turn = await used(tool_of(give))
    assert (turn.told, turn.outcome) == (["RuntimeError: no repr"], ("failed", "RuntimeError"))


async def test_a_result_becomes_text_in_a_thread_so_that_a_large_one_holds_nothing_up():
    made_in: list[threading.Thread] = []

    class Thing:
        def __str__(self) -> str:
            made_in.append(threading.current_thread())
            return "a thing"

    async def give() -> object:
        """Gives."""
        return [Thing()]

    assert await told(tool_of(give)) == '["a thing"]'
    assert made_in[0] is not threading.current_thread()


async def test_a_long_result_is_cut_for_the_model_and_kept_whole():
    whole = "0123456789" * 10_000

    def give() -> str:
        return whole

    turn = await used(tool_of(give))
    (text,), (kept,) = turn.told, turn.kept
    assert len(text) == RESULT_LIMIT
    assert text.startswith(whole[:1000])
    assert "100,000 characters in all" in text
    (blob,) = kept.blobs
    assert turn.blobs[blob.sha256].decode() == whole
    assert blob.sha256[:12] in text
    assert kept.result == text


async def test_long_arguments_are_cut_in_what_is_kept_only():
    def measure(text: str) -> int:
        return len(text)

    turn = await used(tool_of(measure), json.dumps({"text": "x" * 100_000}))
    assert turn.told == ["100000"]
    assert len(turn.kept[0].arguments) == ARGUMENTS_LIMIT


async def test_a_small_table_is_told_whole():
    turn = await used(tool_of(frame_of(3)))
    assert "3 rows × 2 columns" in turn.told[0]
    assert turn.kept[0].blobs == ()


async def test_a_large_table_is_told_by_its_first_rows_and_kept_whole():
    turn = await used(tool_of(frame_of(5_000)))
    assert "5,000 rows × 2 columns; the first 20 are shown" in turn.told[0]
    assert len(turn.told[0]) < 2_000
    (blob,) = turn.kept[0].blobs
    assert blob.media_type == "text/csv"
    assert turn.blobs[blob.sha256].count(b"\n") == 5_001


def frame_of(rows: int):
    def frame() -> pd.DataFrame:
        return pd.DataFrame({"n": range(rows), "word": "w"})

    return frame


async def test_bytes_are_kept_and_told_by_their_size():
    def give() -> bytes:
        return b"\xff\x00\x01"

    turn = await used(tool_of(give))
    assert turn.told[0].startswith("3 bytes, kept as ")
    assert turn.blobs[turn.kept[0].blobs[0].sha256] == b"\xff\x00\x01"


async def test_what_is_rich_keeps_its_pictures():
    picture = Blob(sha256="ab" * 32, media_type="image/png", size=3)

    async def draw() -> Rich:
        return Rich(text="a plot", blobs=(picture,))

    turn = await used(tool_of(draw))
    assert (turn.told, turn.kept[0].blobs) == (["a plot"], (picture,))


# Secrets ---------------------------------------------------------------------------------------------------------------


async def test_a_secret_in_arguments_results_errors_and_blobs_is_kept_nowhere(monkeypatch):
    key = "q7Zr-55d1-0c93"
    monkeypatch.setenv("SOME_API_KEY", key)
    seen = []

    def leak(key: str, how: str) -> object:
        seen.append(key)
        if how == "raise":
            raise ValueError(f"bad key {key}")
        if how == "bytes":
            return key.encode()
        if how == "table":
            return pd.DataFrame({"k": [key] * 50})
        return key if how == "short" else f"{key} " * 5_000

    leaky = tool_of(leak)
    turn = Uses(*((leaky, {"key": key, "how": how}) for how in ("raise", "bytes", "table", "short", "long")))
    await turn.given()
    assert seen == [key] * 5
    everything = repr(turn.told) + repr(turn.kept) + repr(list(turn.blobs.values())) + repr(turn.activity)
    assert key not in everything
    assert "***" in turn.told[3]


# The end of the Run ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ending", ["completed", "failed", "cancelled"])
async def test_what_a_tool_leaves_for_the_end_of_its_run_is_done_whatever_that_end_is(opened, caplog, ending):
    done, begun = [], asyncio.Event()

    def broken() -> None:
        raise ValueError("a hook")

    async def work(ctx) -> Done:
        ctx.at_end(broken)
        ctx.at_end(lambda: done.append(ctx.run.id))
        begun.set()
        if ending == "failed":
            raise LookupError("as planned")
        if ending == "cancelled":
            await asyncio.Event().wait()
        return Done()

    async with opened() as session:
        run = session.start(Body(work), actor="a")
        await begun.wait()
        if ending == "cancelled":
            run.cancel()
        with contextlib.suppress(RunEnd):
            await run
        assert session.store.run(run.id).status.value == ending
    assert done == [run.id]
    assert "a hook of a Run failed" in caplog.text
