"""The rules of a Run's shape, of its text, and of messages."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from dvergr_nb.clock import SeededClock, SystemClock
from dvergr_nb.errors import BadFilter, BadInput, BadMessage, BadRun, DvergrError
from dvergr_nb.ids import BootId, MessageId, RunId, SystemIds, is_id, named, short
from dvergr_nb.records import message as messages
from dvergr_nb.records import run as runs
from dvergr_nb.records.message import Fact, Message
from dvergr_nb.records.query import RunFilter
from dvergr_nb.records.run import MOVES, Progress, Run, RunStatus
from dvergr_nb.records.text import clipped, mended

IDS = SystemIds(SystemClock())
NOW = SystemClock().now()


def run(**fields):
    facts: dict[str, Any] = {
        "id": IDS.run(),
        "tenant_id": "t",
        "user_id": "u",
        "room": "main",
        "actor": "a",
        "trigger": IDS.message(),
        "created_at": NOW,
        "started_at": NOW,
        "updated_at": NOW,
        "boot_id": BootId(IDS.message()),
    }
    return Run(**facts | fields)


def message(**fields):
    new = IDS.message()
    facts: dict[str, Any] = {
        "id": new,
        "tenant_id": "t",
        "user_id": "u",
        "room": "main",
        "sender": "a",
        "thread_root_id": new,
        "created_at": NOW,
    }
    return Message(**facts | fields)


def fact(**fields: Any) -> Fact:
    facts: dict[str, Any] = {"id": IDS.message(), "kind": "tool", "verb": "invoke"}
    return Fact(**facts | fields)


def test_ids_are_ordered_by_time_even_within_one_millisecond():
    made = [IDS.run() for _ in range(10_000)]
    assert made == sorted(made)
    assert len(set(made)) == len(made)
    assert all(is_id(one) and one[14] == "7" for one in made)


def test_seeded_ids_repeat_and_each_life_has_its_own():
    first, again, other = (SystemIds(SystemClock(), life) for life in (0, 0, 1))
    lives = [[ids.run() for _ in range(5)] for ids in (first, again, other)]
    assert lives[0] == lives[1]
    assert not set(lives[0]) & set(lives[2])


def test_drawing_message_ids_does_not_shift_run_ids():
    quiet, busy = SystemIds(SystemClock(), 0), SystemIds(SystemClock(), 0)
    for _ in range(100):
        busy.message()
    assert quiet.run() == busy.run()


def test_a_seeded_clock_begins_a_day_later_in_each_life():
    assert (SeededClock(1).now() - SeededClock(0).now()).days == 1


def test_the_same_text_has_the_same_id():
    assert named("hello") == "5d41402a-bc4b-3a76-b971-9d911017c592"


def test_what_is_shown_of_an_id_is_its_end():
    assert short("01a22cf3-dd67-7002-bf27-c27fca5c8c88") == "ca5c8c88"


@pytest.mark.parametrize("status", list(RunStatus))
def test_only_running_and_waiting_runs_can_move(status):
    assert bool(MOVES.get(status)) == (status in (RunStatus.RUNNING, RunStatus.WAITING))


def test_a_waiting_run_can_only_go_on_or_be_cancelled():
    assert MOVES[RunStatus.WAITING] == {RunStatus.RUNNING, RunStatus.CANCELLED}


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"status": RunStatus.CANCELLING}, "invalid-run-status"),
        ({"status": RunStatus.COMPLETED}, "invalid-run"),
        ({"ended_at": NOW}, "invalid-run"),
        ({"trigger": MessageId("nothing")}, "invalid-run"),
        ({"parent": RunId("nothing")}, "invalid-run"),
        ({"room": ""}, "invalid-run"),
        ({"actor": "x" * 201}, "invalid-run"),
        ({"kind": "two\nlines"}, "invalid-run"),
        ({"tags": ("",)}, "invalid-run"),
        ({"tags": ("x" * 65,)}, "invalid-run"),
    ],
    ids=lambda value: value if isinstance(value, str) else next(iter(value)),
)
def test_case_12_a_run_whose_shape_breaks_a_rule_is_refused(fields, code):
    with pytest.raises(BadRun) as refused:
        runs.checked(run(**fields))
    assert refused.value.code == code


def test_a_label_of_several_lines_becomes_one_and_is_clipped():
    label = runs.checked(run(label="two\n  lines " + "x" * 500)).label
    assert label.startswith("two lines x")
    assert len(label) == runs.LABEL_LIMIT


def test_a_fraction_is_known_only_where_there_is_an_end():
    assert Progress(done=3, total=4).fraction == 0.75
    assert Progress(done=9, total=4).fraction == 1.0
    assert Progress(done=3).fraction is None
    assert Progress(done=3, total=0).fraction is None


def test_a_tree_goes_with_no_other_filter():
    with pytest.raises(BadFilter, match="incompatible-run-filters"):
        RunFilter(tree=IDS.run(), status="failed")


@pytest.mark.parametrize("limit", [0, -1, 1.5])
def test_a_limit_is_a_whole_number_from_one(limit):
    with pytest.raises(BadFilter):
        RunFilter(limit=limit)


def test_text_that_is_no_unicode_is_mended_and_the_rest_is_left_alone():
    assert mended("a\ud800b\0c") == "a\ufffdb\ufffdc"
    assert mended("ünïcödé 🙂") == "ünïcödé 🙂"
    assert clipped("abcdef", 4) == "abc…"


def test_a_surrogate_pair_split_in_two_is_one_character_again():
    assert mended("\ud83d\ude42") == "🙂"


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"metadata": {"colour": "red"}}, "unknown-message-metadata"),
        ({"metadata": {"attachment": {"path": "/etc"}}}, "unknown-message-metadata"),
        ({"metadata": {"run-id": "x"}}, "unknown-message-metadata"),
        ({"metadata": {"kind": object()}}, "invalid-message-metadata"),
        ({"metadata": {"kind": float("nan")}}, "invalid-message-metadata"),
        ({"reply_to": MessageId("x")}, "invalid-reply-to"),
        ({"run_id": RunId("x")}, "invalid-run-id"),
        ({"thread_root_id": IDS.message()}, "invalid-thread-root"),
        ({"content": "x" * 4_000_001}, "invalid-content"),
        ({"facts": (Fact(id="x", kind="tool", verb="invoke"),)}, "invalid-activity"),
        ({"facts": (Fact(id=IDS.message(), kind="", verb="invoke"),)}, "invalid-activity"),
        ({"facts": (fact(critical="yes"),)}, "invalid-activity"),
        ({"run_id": IDS.run(), "facts": (Fact(id=IDS.message(), run_id=IDS.run(), kind="a", verb="b"),)}, "invalid-activity"),
    ],
    ids=lambda value: value if isinstance(value, str) else next(iter(value)),
)
def test_case_59_a_message_whose_shape_breaks_a_rule_is_refused(fields, code):
    with pytest.raises(BadMessage) as refused:
        messages.checked(message(**fields))
    assert refused.value.code == code


def test_a_message_is_mended_in_content_and_metadata():
    fixed = messages.checked(message(content="a\ud800", metadata={"kind": "b\ud800"}))
    assert (fixed.content, fixed.metadata) == ("a\ufffd", {"kind": "b\ufffd"})


def test_values_are_frozen():
    with pytest.raises(dataclasses.FrozenInstanceError):
        run().status = RunStatus.FAILED


def test_an_error_shows_itself_as_one_line():
    assert BadInput("what is wrong")._render_traceback_() == ["BadInput: what is wrong"]
    assert issubclass(BadInput, DvergrError)
