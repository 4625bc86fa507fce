"""The episode: a bounded conversation of several actors, as the body of one Run. The talk itself happens on a stage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from typing import Final, Protocol

from dvergr_nb.actors.debate import Transcript, counted
from dvergr_nb.errors import BadInput
from dvergr_nb.records.text import shown
from dvergr_nb.runtime.body import Done, Outcome
from dvergr_nb.runtime.context import Context

MAX_TURNS: Final = 10


class Stage(Protocol):
    """Where the actors of an episode are: a room of its own."""

    async def say(self, actor: str, text: str) -> str | None:
        """Gives the text to the actor; its reply, None where it stays silent. What it raises fails the episode."""


Pick = Callable[[Sequence[str], Transcript], str | None]
"""Who speaks next, None for nobody: then the episode is over."""
Stop = Callable[[Transcript], bool]
"""Whether the episode is over, asked after each line."""
OpenStage = Callable[[Context], AbstractAsyncContextManager[Stage]]
"""Makes the stage when the Run begins, and takes it down when the talk is over, however it ends."""


def round_robin(actors: Sequence[str], said: Transcript) -> str:
    """The one after who spoke last; the first to begin with."""
    if not said.lines or said.lines[-1].actor not in actors:
        return actors[0]
    return actors[(list(actors).index(said.lines[-1].actor) + 1) % len(actors)]


def never(_said: Transcript) -> bool:
    """Goes on until the turns are used up."""
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Talk:
    """The bounds of a conversation."""

    actors: Sequence[str]
    opening: str
    """What the first one to speak is told."""
    max_turns: int = MAX_TURNS
    pick: Pick | None = None
    """Round robin where there is none."""
    stop: Stop = never

    def __post_init__(self) -> None:
        counted(self.max_turns, "max_turns")
        for name, asked in (("pick", self.pick or never), ("stop", self.stop)):
            if not callable(asked):
                raise BadInput(f"{name} is a function of what was said, not {shown(asked)}")
        if isinstance(self.actors, str) or not self.actors or len(set(self.actors)) < len(self.actors):
            raise BadInput(f"an episode needs actors, each named once, not {shown(self.actors)}")


class EpisodeBody:
    """Has the actors speak in turn, each told what the last one said; a checkpoint lies before every turn."""

    place = "loop"

    def __init__(self, talk: Talk, open_stage: OpenStage) -> None:
        self._talk = talk
        self._open_stage = open_stage

    async def execute(self, ctx: Context) -> Outcome:
        """The talk, to one of its bounds. Its value is the `Transcript`."""
        async with self._open_stage(ctx) as stage:
            said, why = await self._all_turns(stage, ctx)
        turns = len(said.lines)
        ctx.progress(turns, turns, why)
        return Done(value=said, reply=f"{turns} {'line' if turns == 1 else 'lines'}, {why}\n{said}".rstrip())

    async def _all_turns(self, stage: Stage, ctx: Context) -> tuple[Transcript, str]:
        talk, said, text = self._talk, Transcript(), self._talk.opening
        turns = _Turns(talk)
        for turn in range(talk.max_turns):
            await ctx.checkpoint()
            if (actor := turns.next(said)) is None:
                return said, "nobody is next"
            ctx.progress(turn, talk.max_turns, actor)
            reply = await stage.say(actor, text)
            if turns.heard(reply):
                return said, "all stayed silent"
            if reply is not None:
                said, text = said.with_line(actor, reply), reply
                if talk.stop(said):
                    return said, "stopped"
        return said, "all turns used"


class _Turns:
    """Whose turn it is, also where somebody stays silent."""

    def __init__(self, talk: Talk) -> None:
        self._talk = talk
        self._silent = 0

    def next(self, said: Transcript) -> str | None:
        """The actor. Raises `BadInput` where the pick is none of them."""
        actors = tuple(self._talk.actors)
        if self._talk.pick is None:
            return actors[(actors.index(round_robin(actors, said)) + self._silent) % len(actors)]
        picked = self._talk.pick(actors, said)
        if picked is not None and picked not in actors:
            raise BadInput(f"the episode's next speaker is one of {', '.join(actors)}, not {shown(picked)}")
        return picked

    def heard(self, reply: str | None) -> bool:
        """Whether as many turns in a row were silent as there are actors."""
        self._silent = 0 if reply is not None else self._silent + 1
        return self._silent == len(self._talk.actors)
