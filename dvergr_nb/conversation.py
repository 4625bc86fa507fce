"""The module functions of rooms: what a person calls as `d.room(…)`, `d.turn(…)`, `d.ask(…)`, each on the current session."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from dvergr_nb.actors import debate as debates
from dvergr_nb.actors.debate import Accept, Refinement, Transcript
from dvergr_nb.actors.episode import MAX_TURNS, EpisodeBody, Pick, Stop, Talk, never
from dvergr_nb.actors.stage import ENVIRONMENT, Cast, child_room, handlers_of
from dvergr_nb.api import current_session
from dvergr_nb.lookup import RunRef
from dvergr_nb.records.room import Unanswered
from dvergr_nb.records.run import RunKind
from dvergr_nb.runtime.asking import ASK_S
from dvergr_nb.runtime.handle import RunHandle
from dvergr_nb.runtime.room import Posting, Room


def room(name: str | None = None, *, title: str | None = None, exclusive_threads: bool | None = None) -> Room:
    """The room of that name, made where there is none; the session's own unless told otherwise.

    With `exclusive_threads` a thread has at most one open Run, whoever acts; that is fixed when the room is made, and asking
    for the other kind raises `Refused`.
    """
    session = current_session()
    return session.rooms.open(name or session.room, title=title, exclusive_threads=exclusive_threads)


def turn(actor: str, text: str, *, room: str | None = None, parent: RunRef | None = None, **options: Any) -> RunHandle:
    """Says something to an actor and gives the Run that answers. Options: `thread on_busy label tags key`.

    Without `thread`, a message, Run or id of it, the message begins one. A message on the thread of the actor's running turn
    joins that Run and the open Run is given back (`on_busy="steer"`); any other waits in order. `await run` gives the reply.
    """
    session = current_session()
    of = None if parent is None else session.resolve(parent)
    return session.rooms.open(room or session.room).turn(actor, text, parent=of, **options)


def post(room: str, content: str, **options: Any) -> Posting:
    """Says something in a room, to an actor, to `"*"` for everyone, or without `to` to the only agent there or else everyone.

    Options: `to reply_to sender key metadata`. Await it to know that it is stored and delivered, and which Runs it caused.
    """
    return current_session().rooms.open(room).post(content, **options)


async def ask(
    actor: str,
    text: str,
    *,
    room: str | None = None,
    timeout: float = ASK_S,  # noqa: ASYNC109  # as asyncio.wait_for names it
    parent: RunRef | None = None,
    **options: Any,
) -> str:
    """The reply of an actor. Raises what its Run ends with, or `TimeoutError`: silence never answers. Option: `thread`."""
    session = current_session()
    of = None if parent is None else session.resolve(parent)
    return await session.rooms.open(room or session.room).ask(actor, text, timeout=timeout, parent=of, **options)


def unanswered(room: str | None = None, limit: int = 100) -> list[Unanswered]:
    """Messages that were given to an actor and that no Run answers, oldest first: what a dead kernel has left undone."""
    return current_session().unanswered(room, limit)


def episode(
    actors: Cast,
    opening: str,
    *,
    room: str | None = None,
    max_turns: int = MAX_TURNS,
    pick: Pick | None = None,
    stop: Stop = never,
    label: str = "",
    timeout: float | None = None,
    parent: RunRef | None = None,
    tags: Sequence[str] = (),
) -> RunHandle:
    """Has actors talk in a room of their own, each told what the last one said, and gives the Run of the whole talk.

    `actors` are names with handlers, or names of those who take part in the room. `pick(actors, transcript)` says who is next,
    round robin unless told otherwise; `stop(transcript)` ends it early. `await run` gives the `Transcript`.
    """
    session = current_session()
    host = session.rooms.open(room or session.room)
    handlers = handlers_of(host, actors)
    talk = Talk(actors=tuple(handlers), opening=opening, max_turns=max_turns, pick=pick, stop=stop)
    return session.start(
        EpisodeBody(talk, lambda ctx: child_room(session.rooms, host.name, handlers, ctx)),
        actor=ENVIRONMENT,
        text=opening,
        label=label or f"{', '.join(handlers)}",
        kind=RunKind.EPISODE,
        room=host.name,
        timeout=timeout,
        parent=parent,
        tags=tags,
    )


async def debate(first: str, second: str, topic: str, *, rounds: int = 2, room: str | None = None) -> Transcript:
    """Has two actors of a room answer each other: `first` begins with the topic, and each speaks once a round."""
    return await debates.debate(lambda actor, text: ask(actor, text, room=room), first, second, topic, rounds)


async def iterative_refinement(
    author: str, reviewer: str, task: str, accept: Accept, *, max_iterations: int = 5, room: str | None = None
) -> Refinement:
    """Has the author work on the task until `accept` takes the reviewer's review, or so many reviews have rejected it."""

    async def asked(actor: str, text: str) -> str:
        return await ask(actor, text, room=room)

    return await debates.iterative_refinement(asked, author, reviewer, task, accept, max_iterations=max_iterations)
