"""Messages and people as a room view gets them, and what it may say."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dvergr_nb.clock import SystemClock
from dvergr_nb.ids import SystemIds
from dvergr_nb.records.message import ACTIVITY, RUNS, Message
from dvergr_nb.records.room import Present
from dvergr_nb.records.wire_room import (
    LINES_LIMIT,
    PRESENT_LIMIT,
    TEXT_LIMIT,
    WHOLE_LIMIT,
    from_room_view,
    is_said,
    present_wire,
    said_wire,
    whole,
)

IDS = SystemIds(SystemClock())


def message(content: str = "hello", **fields: Any) -> Message:
    own = IDS.message()
    known: dict[str, Any] = {
        "id": own,
        "tenant_id": "t",
        "user_id": "u",
        "room": "main",
        "sender": "user",
        "content": content,
        "thread_root_id": own,
        "created_at": SystemClock().now(),
    }
    return Message(**known | fields)


def test_what_is_empty_is_left_out_of_a_message() -> None:
    assert set(said_wire(message())) == {"id", "thread", "who", "at", "text", "person"}


def test_an_actor_that_is_called_like_the_person_is_no_person() -> None:
    assert "person" not in said_wire(message(run_id=IDS.run()))
    assert "person" not in said_wire(message(sender="users"))


def test_a_long_message_comes_as_its_beginning_and_its_length() -> None:
    wire = said_wire(message("x" * 5_000))
    assert (len(wire["text"]), wire["length"]) == (TEXT_LIMIT, 5_000)


def test_a_hundred_thousand_lines_come_as_the_first_few() -> None:
    text = "\n".join(["line"] * 100_000)
    wire = said_wire(message(text))
    assert (wire["text"].count("\n") + 1, wire["length"]) == (LINES_LIMIT, len(text))
    assert len(whole(text)) == WHOLE_LIMIT


def test_text_stays_text_whatever_it_holds() -> None:
    evil = "\u202egnp.txt\u202c <img src=x onerror=alert(1)> {{7*7}} \u2066"
    assert said_wire(message(evil))["text"] == evil
    json.dumps(said_wire(message(evil, sender=evil, to=evil)), ensure_ascii=False).encode()


@pytest.mark.parametrize(("to", "said"), [(None, True), ("critic", True), (ACTIVITY, False), (RUNS, False)])
def test_what_runs_report_is_not_said(to: str | None, said: bool) -> None:
    assert is_said(message(to=to)) is said


def test_of_many_participants_those_that_work_or_have_work_are_named_first() -> None:
    idle = [Present(actor=f"idle {number}", program="echo") for number in range(200)]
    busy = Present(actor="busy", program="echo", working=IDS.run())
    asked = Present(actor="asked", program="echo", queued=(IDS.run(), IDS.run()))
    present, others = present_wire([*idle, busy, asked])
    assert (len(present), others) == (PRESENT_LIMIT, 202 - PRESENT_LIMIT)
    assert [each["actor"] for each in present[-2:]] == ["busy", "asked"]
    assert present[-1]["queued"] == list(asked.queued)


@pytest.mark.parametrize(
    "content",
    [
        {"type": "post", "id": "a", "text": "hello"},
        {"type": "post", "id": "a", "text": None, "to": None, "reply_to": None},
        {"type": "post", "id": "", "text": "hello", "to": None, "reply_to": None},
        {"type": "post", "id": "a", "text": "hello", "to": 1, "reply_to": None},
        {"type": "post", "id": "a", "text": "hello", "to": "x" * 201, "reply_to": None},
        {"type": "post", "id": "a", "text": "hello", "to": None, "reply_to": "x" * 65},
        {"type": "answer", "id": "a", "message_id": "m"},
        {"type": "answer", "id": "a", "message_id": "m", "actor": ""},
        {"type": "answer", "id": "a", "message_id": "m", "actor": "x" * 201},
        {"type": "older", "id": "x" * 65},
        {"type": "whole", "id": "a"},
        {"type": "join", "id": "a"},
    ],
    ids=repr,
)
def test_what_a_room_view_may_not_say_is_nothing(content: object) -> None:
    assert from_room_view(content) is None


@pytest.mark.parametrize(
    "content",
    [
        {"type": "post", "id": "a", "text": "hello", "to": None, "reply_to": None},
        {"type": "post", "id": "a", "text": "hello", "to": "*", "reply_to": "m"},
        {"type": "answer", "id": "a", "message_id": "m", "actor": "critic"},
        {"type": "older", "id": "a"},
        {"type": "whole", "id": "a", "message_id": "m"},
        {"type": "cancel", "id": "a", "run_id": "r"},
        {"type": "resync", "have": -1},
    ],
    ids=repr,
)
def test_what_a_room_view_may_say_is_taken_without_what_else_it_holds(content: dict[str, object]) -> None:
    assert from_room_view({**content, "x": 1}) == content
