"""What a card is told on demand: texts cut, pictures only of four types, nothing else but type and size."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest

from dvergr_nb.clock import SystemClock
from dvergr_nb.ids import SystemIds
from dvergr_nb.records.tool_use import Blob, ToolUse
from dvergr_nb.records.wire_use import (
    PICTURES_LIMIT,
    REPLY_LIMIT,
    REPLY_LINES,
    TEXT_LIMIT,
    AskReply,
    AskUse,
    reply_told,
    shown_pictures,
    use_told,
)

IDS = SystemIds(SystemClock())
NOW = SystemClock().now()
ASK = AskUse(type="use", id="press", run_id="r", use_id="u")


def used(**fields: Any) -> ToolUse:
    known: dict[str, Any] = {
        "id": IDS.message(),
        "tenant_id": "t",
        "room": "main",
        "run_id": IDS.run(),
        "round": 0,
        "name": "sql",
        "tool_use_id": "call 1",
        "arguments": '{"query": "select 1"}',
        "result": "1",
        "status": "completed",
        "started_at": NOW,
        "ended_at": NOW,
    }
    return ToolUse(**known | fields)


def blob(media_type: str, size: int = 3, name: str = "a") -> Blob:
    return Blob(sha256=name * 64, media_type=media_type, size=size)


def test_arguments_and_result_are_told_as_they_are() -> None:
    told = use_told(ASK, used(), {}, 1.0)
    assert told == {
        "type": "use",
        "id": "press",
        "run_id": "r",
        "use_id": "u",
        "at": 1.0,
        "arguments": '{"query": "select 1"}',
        "result": "1",
    }


def test_what_is_long_is_cut_and_said_to_be() -> None:
    told = use_told(ASK, used(arguments="x" * 99_999, result="\ud800\0" * TEXT_LIMIT), {}, 1.0)
    assert (len(told["arguments"]), len(told["result"])) == (TEXT_LIMIT, TEXT_LIMIT)
    assert told["cut"] == ["arguments", "result"]
    json.dumps(told, ensure_ascii=False).encode()


@pytest.mark.parametrize("media_type", ["image/png", "image/jpeg", "image/gif", "image/webp"])
def test_a_picture_is_told_as_a_data_url(media_type: str) -> None:
    use = used(blobs=(blob(media_type),))
    assert [each.media_type for each in shown_pictures(use)] == [media_type]
    (told,) = use_told(ASK, use, {"a" * 64: b"abc"}, 1.0)["blobs"]
    assert told == {
        "media_type": media_type,
        "size": 3,
        "picture": f"data:{media_type};base64,{base64.b64encode(b'abc').decode()}",
    }


@pytest.mark.parametrize("media_type", ["image/svg+xml", "text/html", "image/PNG", "application/pdf", "image/png;x=<svg>", ""])
def test_what_may_hold_markup_or_anything_else_is_told_by_type_and_size(media_type: str) -> None:
    use = used(blobs=(blob(media_type),))
    assert list(shown_pictures(use)) == []
    assert use_told(ASK, use, {}, 1.0)["blobs"] == [{"media_type": media_type, "size": 3}]


def test_pictures_are_shown_as_long_as_they_are_not_too_much_together() -> None:
    half = PICTURES_LIMIT // 2
    sizes = {"a": half + 1, "b": half, "c": 10, "d": PICTURES_LIMIT + 1}
    use = used(blobs=tuple(blob("image/png", size, name) for name, size in sizes.items()))
    assert [each.sha256[0] for each in shown_pictures(use)] == ["a", "c"]


def test_a_picture_whose_bytes_are_gone_is_told_by_its_size() -> None:
    assert "picture" not in use_told(ASK, used(blobs=(blob("image/png"),)), {}, 1.0)["blobs"][0]


def test_a_reply_is_told_whole_up_to_a_number_of_characters_and_lines() -> None:
    ask = AskReply(type="reply", id="press", run_id="r")
    assert reply_told(ask, "all\nof it", 1.0) == {
        "type": "reply",
        "id": "press",
        "run_id": "r",
        "at": 1.0,
        "text": "all\nof it",
    }
    many = reply_told(ask, "line\n" * 100_000, 1.0)
    assert (many["text"].count("\n"), many["cut"]) == (REPLY_LINES - 1, True)
    long = reply_told(ask, "x" * 1_000_000, 1.0)
    assert (len(long["text"]), long["cut"]) == (REPLY_LIMIT, True)
