"""How answers reach the home loop, and what a store says when it is closed."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dvergr_nb.errors import SessionClosed
from dvergr_nb.records.operation import Post, Posted
from dvergr_nb.records.query import MessageFilter, RunFilter
from dvergr_nb.store.store import Store
from dvergr_nb.store.writer import TOLD_AT_ONCE
from tests.store.making import admit, done, held, here, message, opened, said


def test_then_is_called_in_the_order_of_submission_when_the_unit_is_settled(store: Store) -> None:
    seen: list[tuple[int, object]] = []
    unit = admit()
    for n in range(300):
        store.note(said(unit.run) if n else unit, lambda settled, n=n: seen.append((n, settled.exception())))  # type: ignore[misc]
    assert store.flush(30)
    assert seen == [(n, None) for n in range(300)]


def test_a_large_batch_is_told_in_several_turns_of_the_loop_and_in_order() -> None:
    turns: list[Callable[[], None]] = []
    store = opened(deliver=turns.append)
    heard: list[int] = []
    with held(store):
        for n in range(150):
            store.note(Post(message=message()), lambda _, n=n: heard.append(n))  # type: ignore[misc]
    assert store.flush(30)
    lengths = []
    while turns:
        turns.pop(0)()
        lengths.append(len(heard))
    assert lengths == [*range(TOLD_AT_ONCE, 150, TOLD_AT_ONCE), 150]
    assert heard == list(range(150))
    store.close()


def test_the_future_of_a_noted_unit_can_be_asked_for_before_and_after_it_is_settled(store: Store) -> None:
    early, late = store.note(Post(message=message())), store.note(Post(message=message()))
    assert isinstance(early.future.result(30), Posted)
    assert store.flush(30)
    assert isinstance(late.future.result(0), Posted)


def test_all_that_a_batch_has_to_tell_is_one_wake_up() -> None:
    calls = []

    def deliver(fn: Callable[[], None]) -> None:
        calls.append(1)
        here(fn)

    store = opened(deliver=deliver)
    heard: list[object] = []
    with held(store):
        for _ in range(TOLD_AT_ONCE - 1):
            store.submit(Post(message=message()), lambda future: heard.append(future.result()))
    assert store.flush(30)
    assert (len(calls), len(heard)) == (1, TOLD_AT_ONCE - 1)
    store.close()


def test_a_listener_that_raises_does_not_keep_the_others_from_being_told(store: Store) -> None:
    heard = []
    problems = []

    def deliver(fn: Callable[[], None]) -> None:
        try:
            fn()
        except ZeroDivisionError as problem:
            problems.append(problem)

    other = opened(deliver=deliver)
    with held(other):
        other.submit(Post(message=message()), lambda _: 1 / 0)  # type: ignore[arg-type]
        other.submit(Post(message=message()), lambda _: heard.append(1))
    assert other.flush(30)
    assert (len(heard), len(problems)) == (1, 1)
    other.close()


def test_a_closed_store_answers_with_session_closed() -> None:
    store = opened()
    store.close()
    store.close()
    with pytest.raises(SessionClosed):
        done(store, Post(message=message()))
    with pytest.raises(SessionClosed):
        store.runs(RunFilter())


def test_what_was_queued_before_close_is_written(tmp_store_path: Path) -> None:
    store = opened(tmp_store_path)
    futures = [store.submit(Post(message=message())) for _ in range(500)]
    store.close()
    assert all(isinstance(future.result(0), Posted) for future in futures)
    again = opened(tmp_store_path)
    assert len(again.messages(MessageFilter())) == 500
    again.close()


def test_a_store_that_nobody_closed_is_closed_when_python_ends(tmp_store_path: Path) -> None:
    program = """
import sys
from dvergr_nb.records.operation import Post
from tests.store.making import message, opened
store = opened(sys.argv[1])
for _ in range(3000):
    store.submit(Post(message=message()))
"""
    command = [sys.executable, "-c", program, str(tmp_store_path)]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=Path(__file__).parents[2])
    assert (ended.returncode, ended.stderr) == (0, "")
    store = opened(tmp_store_path)
    assert len(store.messages(MessageFilter())) == 3000
    store.close()


def test_a_unit_that_comes_after_close_is_answered_to_its_listener_too() -> None:
    store = opened()
    store.close()
    heard: list[object] = []
    store.submit(Post(message=message()), lambda future: heard.append(type(future.exception())))
    assert heard == [SessionClosed]


def test_a_queue_of_long_texts_counts_as_full_sooner(store: Store) -> None:
    with held(store):
        store.submit(Post(message=message(content="short")))
        assert store.backlog() == 1
        store.submit(Post(message=message(content="x" * 1_000_000)))
        assert store.backlog() == 102
    assert store.flush(30)
    assert store.backlog() == 0
