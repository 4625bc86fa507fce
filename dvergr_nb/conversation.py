"""The module functions of rooms: what a person calls as `d.room(…)`, `d.turn(…)`, `d.ask(…)`, each on the current session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dvergr_nb.actors import debate as debates
from dvergr_nb.actors.debate import Accept, Refinement, Transcript
from dvergr_nb.actors.episode import MAX_TURNS, EpisodeBody, Pick, Stop, Talk, never
from dvergr_nb.actors.stage import ENVIRONMENT, Cast, child_room, handlers_of
from dvergr_nb.api import current_session
from dvergr_nb.lookup import RoomRef, RunRef
from dvergr_nb.records.message import PERSON
from dvergr_nb.records.room import Unanswered
from dvergr_nb.records.run import RunKind
from dvergr_nb.runtime.asking import ASK_S
from dvergr_nb.runtime.handle import RunHandle
from dvergr_nb.runtime.paying import grant_of
from dvergr_nb.runtime.posting import Posting
from dvergr_nb.runtime.room import Room
from dvergr_nb.runtime.rooms import name_of
from dvergr_nb.runtime.speaking import OnBusy, ThreadRef
from dvergr_nb.runtime.wanted import Wanted, several
from dvergr_nb.session import Session

if TYPE_CHECKING:
    from dvergr_nb.records.profile import Skill


def room(name: str | None = None, *, title: str | None = None, exclusive_threads: bool | None = None) -> Room:
    """The room of that name, made where there is none; the session's own unless told otherwise.

    With `exclusive_threads` a thread has at most one open Run, whoever acts; that is fixed when the room is made, and asking
    for the other kind raises `Refused`.
    """
    session = current_session()
    return session.rooms.open(name or session.room, title=title, exclusive_threads=exclusive_threads)


def turn(
    actor: str,
    text: str,
    *,
    room: RoomRef | None = None,
    thread: ThreadRef | None = None,
    on_busy: OnBusy | None = None,
    label: str | None = None,
    tags: Sequence[str] = (),
    key: str | None = None,
    parent: RunRef | None = None,
    budget: float | None = None,
    model: Any = None,
    skills: Sequence[Skill] = (),
    output_type: Any = None,
) -> RunHandle:
    """Says something to an actor and gives the Run that answers; `await run` gives the reply.

    Without `thread`, a message, Run or id of it, the message begins one. A message on the thread of the actor's running turn
    joins that Run, and the open Run is given back, unless the actor's attention says otherwise; any other waits in order.
    `on_busy="steer"` has it join in any case, `"queue"` wait in any case, and `"refuse"` raises `ActorBusy` where it could not
    begin at once. Used again, a `key` gives the first Run.

    `budget` is what the Run may spend, in dollars. For agents: another `model`, more `skills`, and the `output_type` that the
    reply is to be, which `await run` gives then.
    """
    session = current_session()
    return _where(session, room).turn(
        actor,
        text,
        thread=thread,
        on_busy=on_busy,
        label=label,
        tags=tags,
        key=key,
        parent=None if parent is None else session.resolve(parent),
        grant=grant_of(budget),
        wanted=Wanted(model=model, skills=several(skills), output_type=output_type),
    )


def post(
    room: RoomRef,
    content: str,
    *,
    to: str | None = None,
    reply_to: ThreadRef | None = None,
    sender: str = PERSON,
    key: str | None = None,
    metadata: Mapping[str, Any] | None = None,
) -> Posting:
    """Says something in a room: to an actor, or to `"*"`, everyone. Without `to`: to the only agent there, or else everyone.

    Await it to know that it is stored and delivered; `.runs` are then the Runs that answer. `key` stores it once.
    """
    session = current_session()
    return _where(session, room).post(content, to=to, reply_to=reply_to, sender=sender, key=key, metadata=metadata)


async def ask(
    actor: str,
    text: str,
    *,
    room: RoomRef | None = None,
    thread: ThreadRef | None = None,
    timeout: float = ASK_S,  # noqa: ASYNC109  # as asyncio.wait_for names it
    parent: RunRef | None = None,
) -> str:
    """The reply of an actor. Raises what its Run ends with, or after `timeout` seconds `NoReply`: silence never answers.

    Where nobody waits any more, also because the cell was interrupted, the Run that was to answer is cancelled.
    """
    session = current_session()
    of = None if parent is None else session.resolve(parent)
    return await _where(session, room).ask(actor, text, thread=thread, timeout=timeout, parent=of)


def _where(session: Session, room: RoomRef | None) -> Room:
    """The room meant; only the session's own is made by being named."""
    is_own = room is None or name_of(room) == session.room
    return session.rooms.here(session.room) if is_own else session.rooms.find(room or session.room)


def unanswered(room: RoomRef | None = None, limit: int = 100) -> list[Unanswered]:
    """Messages that were given to an actor and that no Run answers, oldest first: what a dead kernel has left undone."""
    return current_session().unanswered(room, limit)


def episode(
    actors: Cast,
    opening: str,
    *,
    room: RoomRef | None = None,
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
    host = _where(session, room)
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


async def debate(first: str, second: str, topic: str, *, rounds: int = 2, room: RoomRef | None = None) -> Transcript:
    """Has two actors of a room answer each other: `first` begins with the topic, and each speaks once a round."""
    return await debates.debate(lambda actor, text: ask(actor, text, room=room), first, second, topic, rounds)


async def iterative_refinement(
    author: str, reviewer: str, task: str, accept: Accept, *, max_iterations: int = 5, room: RoomRef | None = None
) -> Refinement:
    """Has the author work on the task until `accept` takes the reviewer's review, or so many reviews have rejected it."""

    async def asked(actor: str, text: str) -> str:
        return await ask(actor, text, room=room)

    return await debates.iterative_refinement(asked, author, reviewer, task, accept, max_iterations=max_iterations)
