"""Versions of profiles: the same content is the same version, and no version ever says something else."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import Any

import pytest

from dvergr_nb.agent_errors import ProfileConflict
from dvergr_nb.errors import BadInput
from dvergr_nb.records.money import MICRO
from dvergr_nb.records.operation import Define
from dvergr_nb.records.profile import Caps, Profile, Skill
from dvergr_nb.store.store import Store
from tests.store.faults import Alone, alone, fatal
from tests.store.making import done, now, opened, together

FULL = Profile(
    id="ann",
    instructions="Read it.",
    model="openai:m",
    endpoint="http://127.0.0.1:1/v1",
    key_env="KEY",
    tools=("read", "write"),
    skills=(Skill(id="sums", description="adds", instructions="add"),),
    caps=Caps(max_steps=3, budget=2 * MICRO, tool_calls=5),
    settings={"temperature": 0.5, "stop": ["x"]},
    prices={"m": {"input": 1.0, "output": 2.5}},
    on_tool_error="fail",
    retries=0,
)


def define(profile: Profile, **facts: Any) -> Define:
    known: dict[str, Any] = {"tenant_id": "t", "user_id": "u", "profile": profile, "at": now()}
    return Define(**(known | facts))


def test_a_profile_is_read_again_as_it_was_defined(store: Store) -> None:
    unit = define(FULL)
    made = done(store, unit)
    assert made.inserted
    assert made.profile == dataclasses.replace(FULL, version=1, created_at=unit.at)
    assert store.profile("ann") == store.profile("ann", 1) == made.profile
    assert made.profile.hash == FULL.hash
    assert store.profile("bob") is store.profile("ann", 2) is None


def test_other_content_is_the_next_version_and_the_same_content_the_same(store: Store) -> None:
    first = done(store, define(FULL)).profile
    second = done(store, define(dataclasses.replace(FULL, instructions="Other."))).profile
    assert (second.version, done(store, define(second)).inserted) == (2, False)
    assert done(store, define(dataclasses.replace(second, version=0))).profile == second
    third = done(store, define(FULL)).profile
    assert third.version == 3
    assert (store.profile("ann", 1), store.profile("ann")) == (first, third)


def test_a_version_that_is_named_must_be_the_next_or_say_the_same(store: Store) -> None:
    done(store, define(dataclasses.replace(FULL, version=1)))
    other = dataclasses.replace(FULL, retries=1)
    assert not done(store, define(dataclasses.replace(FULL, version=1))).inserted
    with pytest.raises(ProfileConflict, match="version 1 is there and says something else"):
        done(store, define(dataclasses.replace(other, version=1)))
    with pytest.raises(BadInput, match="has no version 3 yet, and the next one is 2"):
        done(store, define(dataclasses.replace(other, version=3)))
    with pytest.raises(BadInput, match="the version of a profile"):
        done(store, define(dataclasses.replace(other, version=-1)))
    assert done(store, define(dataclasses.replace(other, version=2))).inserted
    assert done(store, define(dataclasses.replace(FULL, version=1))).profile.version == 1


def test_a_profile_that_breaks_a_rule_is_refused(store: Store) -> None:
    with pytest.raises(BadInput, match="a model is a line"):
        done(store, define(dataclasses.replace(FULL, model="")))
    assert store.profiles() == []


def test_profiles_of_one_batch_see_each_other(store: Store) -> None:
    other = dataclasses.replace(FULL, retries=1)
    units = [define(FULL), define(FULL), define(other), define(dataclasses.replace(FULL, version=1))]
    answers = together(store, units)
    assert [getattr(answer, "inserted", answer) for answer in answers] == [True, False, True, False]
    assert [each.version for each in store.profiles()] == [2]


def test_the_latest_of_each_are_known_when_the_store_is_opened_again(tmp_store_path: Path) -> None:
    store = opened(tmp_store_path)
    for profile in (FULL, dataclasses.replace(FULL, retries=1), Profile(id="bob", model="m")):
        done(store, define(profile))
    store.close()
    store = opened(tmp_store_path)
    assert [(each.id, each.version) for each in store.profiles()] == [("ann", 2), ("bob", 1)]
    assert not done(store, define(dataclasses.replace(FULL, retries=1))).inserted
    store.close()


def test_text_that_is_no_unicode_is_mended_before_it_is_hashed_and_can_be_queried(store: Store) -> None:
    odd = dataclasses.replace(
        FULL,
        instructions="a\ud800\0b",
        skills=(Skill(id="s", description="d\0\udfff", instructions="i\ud800"),),
        settings={"k\0": ["\0", {"x": "\ud800"}]},
    )
    made = done(store, define(odd)).profile
    again = store.profile("ann")
    assert again == made
    assert again.hash == made.hash
    assert not done(store, define(odd)).inserted
    assert store.sql("SELECT model, budget_usd, is_latest, instructions FROM profiles").rows == (
        ("openai:m", 2.0, True, "a\ufffd\ufffdb"),
    )


def test_another_tenant_has_profiles_of_its_own(tmp_store_path: Path) -> None:
    store = opened(tmp_store_path)
    done(store, define(FULL))
    store.close()
    store = opened(tmp_store_path, tenant_id="other")
    assert store.profiles() == []
    assert done(store, define(FULL, tenant_id="other")).profile.version == 1
    store.close()


def test_definitions_whose_answer_was_lost_make_no_second_version(tmp_store_path: Path) -> None:
    from dvergr_nb.store.connect import Instance

    tmp_store_path.parent.mkdir()
    units = [define(FULL), define(dataclasses.replace(FULL, retries=1), at=now())]
    with alone(Instance(tmp_store_path, "t")) as one:
        _lose_answer(one)
        answers = one.together(units)
        assert [getattr(answer, "profile", answer).version for answer in answers] == [1, 2]
        assert one.rows("SELECT version FROM dv.profiles ORDER BY version") == [(1,), (2,)]


def _lose_answer(one: Alone) -> None:
    """The next COMMIT is durable, and the database dies before it says so."""

    def refuse(_: int, text: str, __: Any) -> Exception | None:
        if text != "COMMIT":
            return None
        one.faulty.con.execute("COMMIT")
        return fatal()

    one.faulty.refuse = refuse
