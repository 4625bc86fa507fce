"""Rows and messages as views get them, and what views may say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from dvergr_nb.clock import SystemClock
from dvergr_nb.ids import BootId, SystemIds
from dvergr_nb.records.run import LiveRun, Progress, Provenance, Run, RunStatus
from dvergr_nb.records.wire import STREAM_LIMIT, from_view, row
from tests.records.wire_types import as_typescript

IDS = SystemIds(SystemClock())
NOW = SystemClock().now()
TYPES = Path(__file__).parents[2] / "js" / "src" / "shared" / "wire.d.ts"


def made(record: type[Run] = Run, /, **fields: Any) -> Run:
    facts: dict[str, Any] = {
        "id": IDS.run(),
        "tenant_id": "t",
        "user_id": "u",
        "kind": "workflow",
        "room": "main",
        "actor": "dvergr",
        "trigger": IDS.message(),
        "created_at": NOW,
        "started_at": NOW,
        "updated_at": NOW,
        "boot_id": BootId(IDS.message()),
    }
    return record(**facts | fields)


def test_views_and_python_mean_the_same_messages() -> None:
    assert TYPES.read_text() == as_typescript(), "type: python -m tests.records.wire_types > js/src/shared/wire.d.ts"


def test_what_is_not_known_or_empty_is_left_out_of_a_row() -> None:
    wire = row(made())
    assert set(wire) == {"id", "short", "name", "label", "actor", "kind", "room", "status", "created", "started"}


def test_a_live_row_says_what_only_the_kernel_knows() -> None:
    run = made(LiveRun, activities=3, place="thread", checks=False, said="line", progress=Progress(done=1, total=4, label="x"))
    wire = row(run)
    assert (wire["activities"], wire["place"], wire["checks"], wire["said"]) == (3, "thread", False, "line")
    assert wire["progress"] == {"label": "x", "done": 1, "total": 4, "fraction": 0.25}


@pytest.mark.parametrize("number", [float("nan"), float("inf"), float("-inf")])
def test_a_row_is_json_whatever_a_body_counts(number: float) -> None:
    wire = row(made(LiveRun, progress=Progress(done=number, total=number)))
    json.dumps(wire, allow_nan=False)


def test_a_row_has_a_utf_8_form_whatever_a_body_prints() -> None:
    wire = row(made(LiveRun, said="\ud800", progress=Progress(label="\udfff\0")))
    json.dumps(wire, ensure_ascii=False).encode()


def test_long_texts_are_clipped() -> None:
    wire = row(made(LiveRun, said="x" * 10_000, error="x" * 10_000, tags=tuple(map(str, range(99)))), result="x" * 10_000)
    assert len(json.dumps(wire)) < 4_000


def test_a_run_that_waits_took_until_it_stopped() -> None:
    assert row(made(status=RunStatus.WAITING, reason="approval"))["ended"] == row(made())["started"]


@pytest.mark.parametrize(
    "content",
    [
        None,
        "cancel",
        [],
        {},
        {"type": "cancel"},
        {"type": "cancel", "id": 1, "run_id": "r"},
        {"type": "cancel", "id": "", "run_id": "r"},
        {"type": "cancel", "id": "x" * 65, "run_id": "r"},
        {"type": "resync"},
        {"type": "resync", "have": "1"},
        {"type": "delete", "id": "a", "run_id": "r"},
        {"type": "use", "id": "a", "run_id": "r"},
        {"type": "use", "id": "a", "run_id": "r", "use_id": "x" * 65},
        {"type": "reply", "id": "a"},
    ],
    ids=repr,
)
def test_what_a_view_may_not_say_is_nothing(content: object) -> None:
    assert from_view(content) is None


def test_what_a_view_may_say_is_taken_without_what_else_it_holds() -> None:
    assert from_view({"type": "cancel", "id": "a", "run_id": "r", "x": 1}) == {"type": "cancel", "id": "a", "run_id": "r"}
    assert from_view({"type": "details", "id": "a", "run_id": "r"}) == {"type": "details", "id": "a", "run_id": "r"}
    assert from_view({"type": "resync", "have": -1}) == {"type": "resync", "have": -1}
    assert from_view({"type": "ping"}) == {"type": "ping"}
    use = {"type": "use", "id": "a", "run_id": "r", "use_id": "u"}
    assert from_view(use | {"x": 1}) == use
    assert from_view({"type": "reply", "id": "a", "run_id": "r", "x": 1}) == {"type": "reply", "id": "a", "run_id": "r"}


def test_a_turn_shows_the_end_of_what_it_streams() -> None:
    words = " ".join(f"word{number}" for number in range(1_000))
    said = row(made(LiveRun, kind="agent-turn", said=words))["said"]
    assert said.startswith("\u2026word")
    assert said.endswith("word999")
    assert len(said) <= STREAM_LIMIT + 1


def test_a_stream_without_a_gap_is_cut_all_the_same() -> None:
    assert row(made(LiveRun, kind="agent-turn", said="x" * 10_000))["said"] == "\u2026" + "x" * STREAM_LIMIT


def test_a_short_stream_keeps_its_lines() -> None:
    assert row(made(LiveRun, kind="agent-turn", said="one\n\ntwo"))["said"] == "one\n\ntwo"


def test_a_turn_says_what_answers_and_which_message_caused_it() -> None:
    run = made(kind="agent-turn", provenance=Provenance(program_kind="scripted"))
    assert (row(run)["program"], row(run)["trigger"]) == ("scripted", run.trigger)
    assert "trigger" not in row(made())


def test_only_a_turn_that_is_known_to_have_completed_without_a_reply_is_mute() -> None:
    done = made(status=RunStatus.COMPLETED, kind="agent-turn")
    assert row(done, activities=0).get("mute") is True
    known = (
        row(done),
        row(done, result="yes", activities=0),
        row(made(status=RunStatus.FAILED, kind="agent-turn"), activities=0),
    )
    assert [wire.get("mute") for wire in known] == [None] * 3
    assert "mute" not in row(made(status=RunStatus.COMPLETED, kind="workflow"), activities=0)


def test_a_row_says_what_was_spent_and_of_what() -> None:
    wire = row(made(LiveRun, cost=12_345, unpriced=2, budget=1_000_000, balance=987_655))
    assert (wire["cost"], wire["unpriced"], wire["budget"], wire["balance"]) == (12_345, 2, 1_000_000, 987_655)


def test_what_came_back_at_the_end_is_no_balance_any_more() -> None:
    wire = row(made(LiveRun, status=RunStatus.COMPLETED, ended_at=NOW, cost=5, budget=1_000_000, balance=0))
    assert (wire["budget"], "balance" in wire) == (1_000_000, False)


def test_a_row_says_which_version_of_which_profile_acted() -> None:
    assert row(made(provenance=Provenance(profile_id="researcher", profile_version=3)))["profile"] == "researcher v3"
    assert "profile" not in row(made(provenance=Provenance(profile_id="researcher")))


def test_the_tools_at_work_are_named_and_clipped() -> None:
    assert row(made(LiveRun, doing="sql"))["doing"] == "sql"
    assert len(row(made(LiveRun, doing="x" * 9_999))["doing"]) == 100


def test_a_result_that_is_cut_says_how_long_it_is() -> None:
    assert row(made(), result="x" * 5_000)["length"] == 5_000
    assert "length" not in row(made(), result="short")
