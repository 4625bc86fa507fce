"""Episodes: a bounded conversation as the body of one Run, on a stage whose actors really answer."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

import pytest

from dvergr_nb.actors.episode import EpisodeBody, Talk
from dvergr_nb.errors import BadInput
from dvergr_nb.runtime.handle import RunHandle


class Stage:
    """A stage of functions; it notes what they heard and whether it was taken down."""

    def __init__(self, **actors):
        self.actors = actors
        self.heard = []
        self.is_down = False

    @asynccontextmanager
    async def open(self, ctx):
        try:
            yield self
        finally:
            self.is_down = True

    async def say(self, actor, text):
        self.heard.append((actor, text))
        given = self.actors[actor](text)
        return await given if asyncio.iscoroutine(given) else given


def adds(letter):
    """An actor that adds its letter to what it hears."""
    return lambda text: text + letter


def start(session, stage, **bounds):
    """The Run of an episode."""
    talk = Talk(**{"actors": tuple(stage.actors), "opening": "-", **bounds})
    return session.start(EpisodeBody(talk, stage.open), actor="environment", kind="episode")


async def test_each_is_told_what_the_last_one_said_until_the_turns_are_used(opened):
    async with opened() as session:
        stage = Stage(ann=adds("a"), bob=adds("b"), cleo=adds("c"))
        said = await start(session, stage, max_turns=4)
        assert stage.heard == [("ann", "-"), ("bob", "-a"), ("cleo", "-ab"), ("ann", "-abc")]
        assert str(said) == "ann: -a\nbob: -ab\ncleo: -abc\nann: -abca"
        assert stage.is_down


async def test_an_episode_stops_where_its_predicate_says(opened):
    async with opened() as session:
        stage = Stage(ann=adds("a"), bob=adds("b"))
        run = await start(session, stage, stop=lambda said: said.lines[-1].text == "-aba").wait()
        assert len(run.result.lines) == 3
        assert session.store.messages(of(run))[-1].content == "3 lines, stopped\nann: -a\nbob: -ab\nann: -aba"


def of(run):
    """The messages of that Run."""
    from dvergr_nb.records.query import MessageFilter

    return MessageFilter(run=run.id)


async def test_an_episode_ends_when_the_pick_names_nobody(opened):
    async with opened() as session:
        stage = Stage(ann=adds("a"), bob=adds("b"))
        said = await start(session, stage, pick=lambda actors, said: None if said.lines else actors[1])
        assert [line.actor for line in said.lines] == ["bob"]


async def test_a_silent_actor_is_passed_over_and_a_round_of_silence_ends_the_episode(opened):
    async with opened() as session:
        left = ["-a"]
        stage = Stage(ann=lambda _: left.pop() if left else None, bob=lambda _: None, cleo=lambda _: None)
        said = await start(session, stage)
        assert [actor for actor, _ in stage.heard] == ["ann", "bob", "cleo", "ann"]
        assert len(said.lines) == 1


async def test_a_pick_of_somebody_else_fails_the_episode_and_takes_the_stage_down(opened):
    async with opened() as session:
        stage = Stage(ann=adds("a"))
        run = await start(session, stage, pick=lambda actors, said: "dora").wait()
        assert (run.row.status, stage.is_down) == ("failed", True)
        assert "'dora'" in (run.row.error or "")


async def test_an_episode_can_be_cancelled_while_an_actor_thinks_and_takes_the_stage_down(opened):
    async with opened() as session:
        thinking = asyncio.Event()

        async def think(_text):
            thinking.set()
            await asyncio.Event().wait()

        stage = Stage(ann=think)
        run = start(session, stage)
        await thinking.wait()
        run.cancel()
        await run.wait()
        assert (run.row.status, stage.is_down) == ("cancelled", True)


async def test_nobody_is_asked_any_more_once_the_episode_was_asked_to_stop(opened):
    async with opened() as session:
        stage = Stage(ann=lambda text: run.cancel() and text, bob=adds("b"))
        run: RunHandle = start(session, stage)
        await run.wait()
        assert (run.row.status, stage.heard) == ("cancelled", [("ann", "-")])


async def test_an_episode_says_whose_turn_it_is(opened):
    async with opened() as session:
        run = await start(session, Stage(ann=adds("a"), bob=adds("b")), max_turns=2).wait()
        told = [(each.content, each.facts[0].outcome) for each in session.store.messages(of(run)) if each.kind == "progress"]
        assert told == [("ann", "0/2"), ("bob", "1/2"), ("all turns used", "2/2")]


@pytest.mark.parametrize(
    "bounds",
    [{"actors": ()}, {"actors": "ann"}, {"actors": ("ann", "ann")}, {"actors": ("ann",), "max_turns": 0}],
)
def test_a_talk_without_actors_or_bounds_is_refused(bounds):
    with pytest.raises(BadInput):
        Talk(opening="-", **bounds)
