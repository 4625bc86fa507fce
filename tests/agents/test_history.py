"""What a model is shown of a thread that it has begun itself."""

from __future__ import annotations

import datetime as dt

from dvergr_nb.actors.agents.history import conversation
from tests.store.making import ids, message, now


def thread(*said):
    """Messages on one thread, a second apart."""
    first = message(id=ids.message())
    made = [
        message(
            id=ids.message(),
            sender=sender,
            content=content,
            reply_to=first.id,
            thread_root_id=first.id,
            created_at=now() + dt.timedelta(seconds=place),
        )
        for place, (sender, content) in enumerate(said)
    ]
    return made[:-1], made[-1]


def kinds(history):
    return [(each.kind, str(each.parts[0].content)[-5:]) for each in history.shown]


def test_what_an_agent_says_after_somebody_else_is_its_answer():
    before, last = thread(("user", "go on"), ("writer", "I did"), ("user", "more?"))
    assert kinds(conversation("writer", before, last)) == [("request", "go on"), ("response", "I did")]


def test_a_thread_that_the_agent_has_begun_does_not_begin_with_an_answer_of_a_model():
    before, last = thread(("writer", "hello"), ("writer", "again"), ("user", "yes?."), ("writer", "done."), ("user", "more?"))
    assert kinds(conversation("writer", before, last)) == [
        ("request", "hello"),
        ("request", "again"),
        ("request", "yes?."),
        ("response", "done."),
    ]
