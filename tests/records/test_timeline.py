"""The timeline of a Run: lanes from the times of its messages, and the same in words."""

from __future__ import annotations

import datetime as dt
from typing import Any

from dvergr_nb.clock import SystemClock
from dvergr_nb.ids import BootId, SystemIds
from dvergr_nb.records.message import ACTIVITY, RUNS, Fact, Message
from dvergr_nb.records.money import Spend, Usage
from dvergr_nb.records.run import Run, RunStatus
from dvergr_nb.records.timeline import HEAD_ITEMS, TAIL_ITEMS, Entry, Lane, Timeline, timeline
from dvergr_nb.records.tool_use import Citation

IDS = SystemIds(SystemClock())
START = dt.datetime(2026, 5, 1, 12, tzinfo=dt.UTC)
RUN = Run(
    id=IDS.run(),
    tenant_id="t",
    user_id="u",
    kind="workflow",
    room="main",
    actor="dvergr",
    trigger=IDS.message(),
    created_at=START,
    started_at=START,
    updated_at=START,
    boot_id=BootId(IDS.message()),
)


def after(seconds: float) -> dt.datetime:
    return START + dt.timedelta(seconds=seconds)


def said(seconds: float, content: str = "", *, kind: str | None = None, to: str = ACTIVITY, **fields: Any) -> Message:
    known: dict[str, Any] = {
        "id": IDS.message(),
        "tenant_id": "t",
        "user_id": "u",
        "room": "main",
        "sender": "dvergr",
        "to": to,
        "content": content,
        "thread_root_id": RUN.trigger,
        "run_id": RUN.id,
        "kind": kind,
        "created_at": after(seconds),
    }
    return Message(**known | fields)


def trigger() -> Message:
    return said(0, "train()\nsave()", to=RUNS, id=RUN.trigger, sender="user", run_id=None)


def fact(seconds: float, verb: str, use: str | None = None, tool: str = "sql", **fields: Any) -> Fact:
    known: dict[str, Any] = {"id": IDS.message(), "run_id": RUN.id, "kind": "tool", "verb": verb, "tool_name": tool}
    return Fact(**known | {"tool_use_id": use, "at": after(seconds)} | fields)


def ended(seconds: float, status: RunStatus = RunStatus.COMPLETED) -> Run:
    import dataclasses

    return dataclasses.replace(RUN, status=status, ended_at=after(seconds), updated_at=after(seconds))


def lane(drawn: Timeline, name: str) -> Lane:
    return next(each for each in drawn.lanes if each.name == name)


def test_a_phase_lasts_from_the_first_report_of_a_label_to_the_next_label() -> None:
    reports = [said(1, "load", kind="progress"), said(2, "load", kind="progress"), said(5, "fit", kind="progress")]
    marks = lane(timeline(ended(9), reports, after(99)), "progress").marks
    assert [(mark.at, mark.took, mark.title) for mark in marks] == [(1, 4, "load"), (5, 4, "fit")]


def test_the_last_phase_of_a_run_that_lives_goes_on() -> None:
    drawn = timeline(RUN, [said(1, "load", kind="progress")], after(9))
    assert lane(drawn, "progress").marks[0].took is None
    assert lane(drawn, "progress").took == 8
    assert drawn.entries[0].goes_on
    assert (drawn.took, drawn.lives) == (9, True)


def test_a_label_that_comes_back_is_a_new_phase() -> None:
    reports = [said(number, label, kind="progress") for number, label in enumerate(["a", "b", "a"])]
    assert len(lane(timeline(ended(9), reports, after(9)), "progress").marks) == 3


def test_the_figure_of_a_progress_report_is_no_phase_of_its_own() -> None:
    facts = (fact(1, "report", kind="progress", tool_name=None, outcome="1/2"),)
    drawn = timeline(ended(9), [said(1, "load", kind="progress", facts=facts)], after(9))
    assert [each.name for each in drawn.lanes] == ["progress"]
    assert len(drawn.entries) == 1


def test_a_tool_call_is_a_bar_from_its_first_fact_to_its_last_and_a_tick_where_there_is_one() -> None:
    messages = [
        said(1, facts=(fact(1, "invoke", "use 1"),)),
        said(4, facts=(fact(4, "finish", "use 1", outcome="3 rows"),)),
        said(5, facts=(fact(5, "invoke", "use 2"),)),
    ]
    marks = lane(timeline(ended(9), messages, after(9)), "sql").marks
    assert [(mark.shape, mark.at, mark.took) for mark in marks] == [("tool", 1, 3), ("tick", 5, None)]


def test_a_call_that_failed_is_red_and_says_so_in_words() -> None:
    messages = [said(1, facts=(fact(1, "invoke", "use"),)), said(2, facts=(fact(2, "fail", "use", outcome="no column"),))]
    drawn = timeline(ended(9), messages, after(9))
    assert lane(drawn, "sql").marks[0].shape == "failed"
    assert (drawn.entries[0].tone, drawn.entries[0].text) == ("bad", "no column")


def test_lanes_stand_in_one_order_and_end_with_a_sum_or_a_count() -> None:
    messages = [
        said(4, "late", kind="note"),
        said(3, "line", kind="print"),
        said(2, facts=(fact(2, "invoke", "u"),)),
        said(3, facts=(fact(3, "finish", "u"),)),
        said(1, "load", kind="progress"),
        trigger(),
    ]
    lanes = timeline(ended(9), messages, after(9)).lanes
    assert [(each.name, each.took, each.count) for each in lanes] == [
        ("progress", 8, 1),
        ("sql", 1, 1),
        ("printed", None, 1),
        ("notes", None, 1),
        ("messages", None, 1),
    ]


def test_what_a_person_asked_comes_first_and_opens_to_all_of_it() -> None:
    first = timeline(ended(9), [said(1, "line", kind="print"), trigger()], after(9)).entries[0]
    assert (first.who, first.at, first.text, first.tone, first.more) == ("you", 0, "train()", "person", "train()\nsave()")


def test_the_result_is_the_output_and_is_no_activity() -> None:
    drawn = timeline(ended(9), [said(8, "0.94", kind="result", to=RUNS), said(1, "line", kind="print")], after(9))
    assert (drawn.result, drawn.activities) == ("0.94", 1)
    assert [entry.who for entry in drawn.entries] == ["printed", "result"]


def test_time_stands_still_after_the_end() -> None:
    assert timeline(ended(9), [], after(9_999)).took == 9


def test_a_run_that_did_a_lot_keeps_its_beginning_and_its_end_and_says_what_is_left_out() -> None:
    count = HEAD_ITEMS + TAIL_ITEMS + 700
    drawn = timeline(ended(9_999), [said(number, f"line {number}", kind="print") for number in range(count)], after(9_999))
    texts = [entry.text for entry in drawn.entries]
    assert drawn.left_out == 700
    assert texts[0] == "line 0"
    assert texts[-1] == f"line {count - 1}"
    assert texts[HEAD_ITEMS] == "700 items before this are left out"
    assert lane(drawn, "printed").count == count
    assert len(lane(drawn, "printed").marks) == HEAD_ITEMS + TAIL_ITEMS


def test_the_same_messages_in_any_order_give_the_same_picture() -> None:
    messages = [trigger(), *(said(number, f"line {number}", kind="print") for number in range(9))]
    assert timeline(ended(9), messages, after(9)) == timeline(ended(9), list(reversed(messages)), after(9))


def test_keys_of_entries_are_unique_and_stay_the_same() -> None:
    messages = [said(number % 3, "same", kind="print") for number in range(9)]
    keys = [entry.key for entry in timeline(ended(9), messages, after(9)).entries]
    assert len(set(keys)) == 9
    assert keys == [entry.key for entry in timeline(ended(9), messages, after(9)).entries]


def test_reports_that_were_not_read_count_among_what_is_left_out() -> None:
    drawn = timeline(RUN, [trigger(), said(1, "one", kind="print"), said(9, "last", kind="print")], after(10), unread=5_000)
    assert drawn.left_out == 5_000
    assert drawn.activities == 5_002


def round_of(number: int, begun: float, ended: float | None, status: str = "completed") -> tuple[Fact, ...]:
    named: dict[str, Any] = {"kind": "round", "tool": "scripted", "use": f"round {number}"}
    begin = fact(begun, "begin", **named)
    return (begin,) if ended is None else (begin, fact(ended, "end", status=status, **named))


def test_rounds_are_numbered_bars_on_a_lane_of_what_answered_and_come_before_tools() -> None:
    messages = [
        said(1, facts=(fact(1, "invoke", "call 1"), fact(2, "complete", "call 1"))),
        said(3, facts=round_of(1, 0, 3)),
        said(9, "the answer", to="user", kind="result", facts=round_of(2, 3, 8)),
    ]
    drawn = timeline(ended(9), messages, after(9))
    assert [each.name for each in drawn.lanes] == ["scripted", "sql", "messages"]
    bars = [(mark.shape, mark.at, mark.took, mark.text) for mark in lane(drawn, "scripted").marks]
    assert bars == [("round", 0, 3, "1"), ("round", 3, 5, "2")]
    assert lane(drawn, "scripted").took == 8
    assert [entry.who for entry in drawn.entries] == ["round 1", "sql", "round 2", "dvergr"]


def test_a_round_that_was_cut_short_is_hollow_and_says_so() -> None:
    messages = [said(5, facts=(*round_of(1, 0, 2, "cut"), *round_of(2, 2, 5)))]
    drawn = timeline(ended(9), messages, after(9))
    assert [mark.shape for mark in lane(drawn, "scripted").marks] == ["cut", "round"]
    assert drawn.entries[0].text == "scripted, cut short"


def test_a_round_that_failed_is_red() -> None:
    drawn = timeline(ended(9), [said(5, facts=round_of(1, 0, 2, "failed"))], after(9))
    assert lane(drawn, "scripted").marks[0].shape == "failed"
    assert drawn.entries[0].tone == "bad"


def test_the_round_of_a_turn_that_lives_goes_on_and_that_of_one_that_ended_was_cut() -> None:
    begun = [said(1, facts=round_of(1, 1, None))]
    alive, over = timeline(RUN, begun, after(9)), timeline(ended(9), begun, after(99))
    assert lane(alive, "scripted").marks[0].took is None
    assert alive.entries[0].goes_on
    assert (lane(over, "scripted").marks[0].shape, lane(over, "scripted").marks[0].took) == ("cut", 8)


def test_rounds_of_a_turn_that_went_on_are_counted_again_and_stay_apart() -> None:
    messages = [said(9, facts=(*round_of(1, 0, 2), *round_of(1, 5, 9)))]
    marks = lane(timeline(ended(9), messages, after(9)), "scripted").marks
    assert [(mark.at, mark.took) for mark in marks] == [(0, 2), (5, 4)]


def test_what_a_person_said_while_a_turn_worked_is_a_dot_among_its_messages() -> None:
    steer = said(3, "only paying plans", to="dvergr", sender="user", run_id=None)
    reply = said(9, "the answer", to="user", kind="result")
    drawn = timeline(ended(9), [trigger(), reply, steer], after(9))
    assert [mark.shape for mark in lane(drawn, "messages").marks] == ["said", "said", "tick"]
    assert [(entry.who, entry.tone) for entry in drawn.entries] == [("you", "person"), ("you", "person"), ("dvergr", "")]


def test_what_another_actor_said_is_listed_under_its_name_and_is_no_dot() -> None:
    asked = said(0, "go", to="dvergr", sender="critic", id=RUN.trigger, run_id=None)
    drawn = timeline(ended(9), [asked], after(9))
    assert [mark.shape for mark in lane(drawn, "messages").marks] == ["tick"]
    assert (drawn.entries[0].who, drawn.entries[0].tone) == ("critic", "")


def test_the_reply_of_a_turn_is_its_result_and_what_its_actor_said() -> None:
    drawn = timeline(ended(9), [said(9, "the answer\nin full", to="user", kind="result", facts=round_of(1, 0, 8))], after(9))
    assert drawn.result == "the answer\nin full"
    assert (drawn.entries[-1].who, drawn.entries[-1].text, drawn.entries[-1].more) == (
        "dvergr",
        "the answer",
        "the answer\nin full",
    )
    assert drawn.activities == 0


def spent(seconds: float, number: int = 0, **usage: Any) -> Spend:
    known: dict[str, Any] = {"model": "big", "input_tokens": 4_112, "output_tokens": 188, "cost": 6_100}
    return Spend(
        id=IDS.message(),
        tenant_id="t",
        user_id="u",
        room="main",
        run_id=RUN.id,
        actor="dvergr",
        round=number,
        usage=Usage(**known | usage),
        at=after(seconds),
    )


def whole_round(first: float, last: float, number: int = 1, *others: Fact, **end: Any) -> Message:
    name = f"round {number}"
    facts = (
        fact(first, "begin", name, "scripted", kind="round"),
        *others,
        fact(last, "end", name, "scripted", kind="round", **{"status": "completed"} | end),
    )
    return said(last, facts=facts)


def entry(drawn: Timeline, who: str) -> Entry:
    return next(each for each in drawn.entries if each.who == who)


def test_a_round_says_which_model_answered_and_what_it_took() -> None:
    told = entry(timeline(ended(9), [whole_round(1, 3)], after(9), spends=[spent(3)]), "round 1")
    assert (told.text, told.cost, told.is_unpriced) == ("big, 4,112 tokens in, 188 out", 6_100, False)
    assert told.more == "big, 4,112 tokens in, 188 out, $0.0061, completed"


def test_a_round_without_calls_is_said_as_before() -> None:
    told = entry(timeline(ended(9), [whole_round(1, 3)], after(9)), "round 1")
    assert (told.text, told.cost, told.more) == ("scripted, completed", None, "")


def test_the_calls_of_a_round_are_summed_and_told_one_by_one() -> None:
    failed = spent(2, outcome="ModelBusy", is_measured=False, cost=None, input_tokens=0, output_tokens=0)
    other = spent(3, model="small", answered_as="small-2", provider="local", cache_read_tokens=4_000)
    told = entry(timeline(ended(9), [whole_round(1, 3)], after(9), spends=[failed, other]), "round 1")
    assert told.text == "big, small, 2 calls, 4,112 tokens in, 188 out"
    assert (told.cost, told.is_unpriced) == (6_100, True)
    assert told.more.splitlines() == [
        "big, usage unknown, price unknown, ModelBusy",
        "small of local, answered as small-2, 4,112 tokens in, 188 out, 4,000 read from a cache, $0.0061, completed",
    ]


def test_a_round_that_was_cut_says_so_beside_what_it_cost() -> None:
    drawn = timeline(ended(9), [whole_round(1, 3, status="cut")], after(9), spends=[spent(3)])
    assert entry(drawn, "round 1").text == "big, cut short, 4,112 tokens in, 188 out"


def test_a_call_whose_round_is_not_on_record_yet_is_a_tick_of_its_model() -> None:
    drawn = timeline(RUN, [whole_round(1, 3)], after(9), spends=[spent(3), spent(5, 1)])
    assert (entry(drawn, "round 2").at, entry(drawn, "round 2").cost) == (5, 6_100)
    assert [mark.shape for mark in lane(drawn, "big").marks] == ["tick"]


def test_a_retry_is_an_entry_of_its_own_and_the_round_is_whole() -> None:
    retry = fact(2, "retry", "round 1", "scripted", kind="round", status="noted", outcome="ModelBusy")
    drawn = timeline(ended(9), [whole_round(1, 4, 1, retry)], after(9))
    assert [(mark.shape, mark.at, mark.took) for mark in lane(drawn, "scripted").marks] == [("round", 1, 3)]
    assert (entry(drawn, "retry").text, entry(drawn, "retry").at) == ("ModelBusy, in round 1", 2)


def test_a_retry_does_not_end_the_round_of_a_run_that_lives() -> None:
    begun = fact(1, "begin", "round 1", "scripted", kind="round")
    retry = fact(2, "retry", "round 1", "scripted", kind="round", status="noted", outcome="ModelBusy")
    drawn = timeline(RUN, [said(2, facts=(begun, retry))], after(9))
    assert entry(drawn, "round 1").goes_on


def test_a_notice_about_the_budget_is_told_in_its_own_words() -> None:
    notice = fact(2, "notice", kind="budget", tool_name=None, outcome="75")
    spent_all = fact(3, "exhaust", kind="budget", tool_name=None, outcome="blocked")
    messages = [
        said(2, "75 % of the budget is spent, $0.75 of $1.00", kind="budget", facts=(notice,)),
        said(3, "the budget of $1 is spent", kind="budget", facts=(spent_all,)),
    ]
    told = [each for each in timeline(ended(9), messages, after(9)).entries if each.who == "budget"]
    assert [(each.text, each.tone) for each in told] == [
        ("75 % of the budget is spent, $0.75 of $1.00", ""),
        ("the budget of $1 is spent", "bad"),
    ]


def test_chunks_that_were_cited_are_named_by_title_and_open_to_their_ids() -> None:
    def cited(seconds: float, chunk: str, title: str = "", number: int = 0) -> Citation:
        ids = {"tenant_id": "t", "room": "main", "run_id": RUN.id}
        return Citation(**ids, round=number, chunk_id=chunk, title=title, at=after(seconds))  # type: ignore[arg-type]

    drawn = timeline(ended(9), [], after(9), citations=[cited(1, "c1", "Refunds"), cited(1, "c2"), cited(4, "c9", "Plans", 1)])
    told = [each for each in drawn.entries if each.who == "cited"]
    assert [(each.at, each.text, each.more) for each in told] == [
        (1, "Refunds, c2", "c1  Refunds\nc2"),
        (4, "Plans", "c9  Plans"),
    ]


def test_a_use_of_a_tool_can_be_asked_for_by_the_fact_it_began_with() -> None:
    began = fact(1, "invoke", "call 1")
    messages = [said(4, facts=(began, fact(4, "fail", "call 1", status="failed", outcome="NoColumn")))]
    told = entry(timeline(ended(9), messages, after(9)), "sql")
    assert (told.key, told.is_use, told.text, told.took) == (began.id, True, "failed, NoColumn", 3)


def test_a_call_that_took_no_tokens_says_none() -> None:
    drawn = timeline(ended(9), [whole_round(1, 3)], after(9), spends=[spent(3, input_tokens=0, output_tokens=0)])
    assert entry(drawn, "round 1").text == "big"
