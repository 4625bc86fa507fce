"""What is wrong with an agent, a turn or a hired task is said before there is a Run, a message or a version of it."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import contextmanager
from decimal import Decimal
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import dvergr_nb as d
from dvergr_nb.agent_errors import BadModel, BadTool, NoSuchProfile
from dvergr_nb.errors import BadInput, NoSuchActor
from tests.agents.stage import agent, stage
from tests.rigs.model_server import Say


@contextmanager
def nothing_changes():
    """Whatever happens within, no Run, message, profile, transfer or room comes of it."""
    before = state()
    yield
    assert state() == before


def state():
    """All that a store has to show."""
    queries = (
        "select * exclude (took) from runs order by all",
        "select * from messages order by all",
        "select * from profiles order by all",
        "select * from ledger order by all",
    )
    return [d.sql(query).to_csv() for query in queries]


def typed(n: int) -> str:
    """Is a tool."""
    return str(n)


def untyped(n) -> str:
    """Is no tool."""
    return str(n)


AGENTS = [
    (BadModel, {"model": "opnai:gpt-6.1-terra"}, "did you mean"),
    (BadModel, {"model": "gpt-6.1-terra"}, "no model 'gpt-6.1-terra' is known in this kernel"),
    (BadModel, {"model": "openai:"}, "names a provider and no model"),
    (BadModel, {"model": 3}, "a model is 'provider:name'"),
    (BadModel, {"model": "openai:gpt-6.1-terra"}, "OPENAI_API_KEY"),
    (BadModel, {"model": "anthropic:claude-sonnet-4-5", "key_env": "NO_SUCH_KEY"}, "NO_SUCH_KEY"),
    (BadModel, {"model": "openai:x", "endpoint": "127.0.0.1:8000"}, "an endpoint is a base URL"),
    (BadModel, {"model": "openai:x", "endpoint": "http://user:secret@127.0.0.1:8000/v1"}, "no user, password or query"),
    (BadInput, {"model": "openai:x", "tools": ["nobody_made_this"]}, "nobody_made_this"),
    (BadTool, {"model": "openai:x", "tools": [untyped]}, "n"),
    (BadInput, {"model": "openai:x", "tools": [typed, typed]}, "typed"),
    (BadInput, {"model": "openai:x", "prices": {"x": {"input": 1}}}, "dollars per million tokens"),
    (BadInput, {"model": "openai:x", "prices": {"x": {"input": -1, "output": 1}}}, "a number of dollars from 0"),
    (BadInput, {"model": "openai:x", "prices": {"x": {"input": "cheap", "output": 1}}}, "a number of dollars from 0"),
    (BadInput, {"model": "openai:x", "prices": 3}, "prices"),
    (BadInput, {"model": "openai:x", "budget": -1}, "-1"),
    (BadInput, {"model": "openai:x", "budget": 0}, "0"),
    (BadInput, {"model": "openai:x", "budget": float("nan")}, "nan"),
    (BadInput, {"model": "openai:x", "budget": "much"}, "much"),
    (BadInput, {"model": "openai:x", "max_steps": 0}, "max_steps"),
    (BadInput, {"model": "openai:x", "tool_calls": -1}, "tool_calls"),
    (BadInput, {"model": "openai:x", "retries": 99}, "retries"),
    (BadInput, {"model": "openai:x", "version": 0}, "a version is a whole number from 1"),
    (BadInput, {"model": "openai:x", "on_tool_error": "explode"}, "on_tool_error"),
    (BadInput, {"model": "openai:x", "settings": {"f": lambda: 1}}, "settings are plain data"),
    (BadInput, {"model": "openai:x", "settings": {"max_retries": 3}}, "max_retries"),
    (BadInput, {"model": "openai:x", "skills": ["cooking"]}, "skills are a list of d.Skill"),
    (BadInput, {"model": "openai:x", "instructions": 3}, "instructions"),
]


@pytest.mark.parametrize(("kind", "given", "sentence"), AGENTS)
async def test_what_is_wrong_with_an_agent_is_said_when_it_is_defined(kind, given, sentence, monkeypatch):
    for key in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY"):
        monkeypatch.delenv(key, raising=False)
    async with stage() as server:
        local = {} if given["model"] != "openai:x" or "endpoint" in given else {"endpoint": server.url}
        with nothing_changes(), pytest.raises(kind) as caught:
            d.agent("wrong", **{**local, **given})
        assert sentence in str(caught.value)
        assert "secret" not in str(caught.value)
        assert server.requests == []


@pytest.mark.parametrize(
    ("field", "given"),
    [
        ("settings", {"settings": {"extra_headers": {"X-Api-Key": "a-key-of-the-environment"}}}),
        ("settings", {"settings": {"extra_headers": {"Authorization": "Bearer abcdefgh12345678"}}}),
        ("instructions", {"instructions": "Use sk-abcdefghijklmnop1234 for it."}),
        ("skills", {"skills": [d.Skill(id="pay", description="Pays.", instructions="It is a-key-of-the-environment.")]}),
    ],
)
async def test_a_key_in_a_profile_is_refused_and_not_repeated(field, given, monkeypatch):
    monkeypatch.setenv("SHOP_API_KEY", "a-key-of-the-environment")
    async with stage() as server:
        with nothing_changes(), pytest.raises(BadInput, match=f"{field} of 'wrong' would store a key") as caught:
            agent(server, "wrong", **given)
        assert not any(key in str(caught.value) for key in ("a-key-of-the-environment", "abcdefgh"))


@pytest.mark.parametrize("name", ["", "_runs", "user", 3])
async def test_an_agent_has_a_name_that_can_be_addressed(name):
    async with stage() as server:
        with nothing_changes(), pytest.raises(BadInput):
            agent(server, name)


TURNS = [
    (BadInput, {"budget": -1}, "-1"),
    (BadInput, {"budget": 0}, "0"),
    (BadInput, {"budget": "much"}, "much"),
    (BadModel, {"model": "opnai:gpt-5"}, "did you mean"),
    (BadModel, {"model": 3}, "a model is 'provider:name'"),
    (BadInput, {"skills": ["cooking"]}, "skills"),
    (BadInput, {"output_type": 3}, "output_type"),
    (BadInput, {"output_type": "City"}, "output_type"),
]


@pytest.mark.parametrize(("kind", "given", "sentence"), TURNS)
async def test_what_is_wrong_with_a_turn_is_said_before_there_is_a_run(kind, given, sentence):
    async with stage() as server:
        with nothing_changes(), pytest.raises(kind) as caught:
            d.turn("researcher", "go", **given)
        assert sentence in str(caught.value)
        assert server.requests == []


@pytest.mark.parametrize(("kind", "given", "sentence"), [*TURNS, (BadInput, {"max_steps": 0}, "max_steps")])
async def test_case_63_what_is_wrong_with_a_hired_task_is_said_before_there_is_a_run(kind, given, sentence):
    async with stage() as server:
        with nothing_changes(), pytest.raises(kind) as caught:
            d.hire("researcher", "go", **given)
        assert sentence in str(caught.value)
        assert server.requests == []


@pytest.mark.parametrize("task", ["", "  ", None, 3])
async def test_case_63_a_task_that_says_nothing_is_refused(task):
    async with stage():
        with nothing_changes(), pytest.raises(BadInput, match="a task is text"):
            d.hire("researcher", task)


async def test_case_63_an_agent_that_nobody_has_defined_and_an_unknown_option_are_refused():
    async with stage():
        with nothing_changes(), pytest.raises(NoSuchProfile):
            d.hire("resaercher", "go")
        with nothing_changes(), pytest.raises(TypeError):
            d.hire("researcher", "go", bugdet=1)
        with nothing_changes(), pytest.raises(NoSuchActor):
            d.turn("resaercher", "go")


async def test_wishes_that_only_an_agent_can_fulfil_are_refused_for_other_actors():
    async with stage():
        with nothing_changes(), pytest.raises(BadInput, match="is for agents"):
            d.turn("echo", "go", output_type=int)


async def test_a_missing_key_is_said_at_the_turn_too_where_it_was_there_when_the_agent_was_defined(monkeypatch):
    async with stage(Say("Hi.")) as server:
        monkeypatch.setenv("A_KEY", "sk-1234567890")
        agent(server, "keyed", key_env="A_KEY")
        assert await d.turn("keyed", "go") == "Hi."
        assert server.requests[0].key == "sk-1234567890"
        monkeypatch.delenv("A_KEY")
        with nothing_changes(), pytest.raises(BadModel, match="A_KEY"):
            d.turn("keyed", "go")


MISSING = """
import asyncio, sys
sys.modules[{package!r}] = None
import dvergr_nb as d
async def main():
    async with d.connect(":memory:"):
        try:
            d.agent("a", model={model!r})
        except d.BadModel as problem:
            print(problem)
        print(len(d.profiles()), len(d.runs()))
asyncio.run(main())
"""


@pytest.mark.parametrize(
    ("package", "model", "extra"),
    [("openai", "openai:x", "openai"), ("anthropic", "anthropic:x", "anthropic"), ("google.genai", "google:x", "google")],
)
def test_a_missing_extra_is_named_with_the_command_that_installs_it(package, model, extra, tmp_path: Path):
    env = {**os.environ, "OPENAI_API_KEY": "k", "ANTHROPIC_API_KEY": "k", "GOOGLE_API_KEY": "k"}
    program = MISSING.format(package=package, model=model)
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=env, cwd=tmp_path, timeout=60, check=True
    )
    assert f'pip install "dvergr_nb[{extra}]"' in done.stdout
    assert done.stdout.splitlines()[-1] == "0 0"


NEVER = [
    float("nan"),
    10**400,
    True,
    b"x",
    [None],
    {1: 2},
    np.array([1, 2]),
    pd.DataFrame({"a": [1]}),
    Decimal("sNaN"),
    iter(()),
]
"""What no option of an agent can be."""
EACH = pytest.mark.parametrize("value", NEVER, ids=lambda value: type(value).__name__)


@EACH
@pytest.mark.parametrize("option", ["budget", "skills", "settings", "prices", "on_tool_error", "endpoint", "retries"])
async def test_what_can_be_no_option_of_an_agent_is_refused_in_words_whatever_it_is(option, value):
    async with stage(Say("never")):
        with nothing_changes(), pytest.raises(d.DvergrError):
            d.agent("other", model=d.scripted_model("hi"), **{option: value})


@EACH
async def test_what_can_be_no_price_is_refused_in_words_whatever_it_is(value):
    async with stage(Say("never")):
        with nothing_changes(), pytest.raises(BadInput):
            d.agent("other", model=d.scripted_model("hi"), prices={"scripted-1": {"input": value, "output": 1}})


@EACH
async def test_what_can_be_no_option_of_a_turn_or_a_task_is_refused_in_words_whatever_it_is(value):
    async with stage(Say("never")) as server:
        for option in ("budget", "skills"):
            for speak in (d.turn, d.hire):
                with nothing_changes(), pytest.raises(BadInput):
                    speak("researcher", "go", **{option: value})
        with nothing_changes(), pytest.raises(BadInput):
            d.hire(value, "go")
        with nothing_changes(), pytest.raises(BadInput):
            d.profile(value)
        assert server.requests == []


async def test_a_type_of_output_that_breaks_what_checks_it_is_refused_in_words():
    endless: list[object] = []
    endless.append(endless)

    class Mapped(dict[str, object]):
        """Nothing pydantic could make a schema of."""

    async with stage(Say("never")):
        for output_type in (endless, Mapped(a=1)):
            with nothing_changes(), pytest.raises(BadInput, match="output_type is a type"):
                d.hire("researcher", "go", output_type=output_type)
