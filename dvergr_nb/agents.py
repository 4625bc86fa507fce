"""The module functions of agents: `d.agent(…)`, `d.hire(…)`, `d.tune(…)`, each on the current session."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from dvergr_nb.api import current_session
from dvergr_nb.errors import BadInput
from dvergr_nb.lookup import RoomRef, RunRef
from dvergr_nb.records.run import RunKind
from dvergr_nb.records.text import first_line, shown
from dvergr_nb.runtime.dials import Dials
from dvergr_nb.runtime.handle import RunHandle
from dvergr_nb.runtime.handler import PROVENANCE, check, provenance_of
from dvergr_nb.runtime.paying import grant_of
from dvergr_nb.runtime.room import LABEL_CHARS
from dvergr_nb.runtime.rooms import name_of
from dvergr_nb.runtime.wanted import Wanted, several
from dvergr_nb.session import Session

if TYPE_CHECKING:
    from dvergr_nb.records.money import Price
    from dvergr_nb.records.profile import OnToolError, Profile, Skill
    from dvergr_nb.records.tool_use import Blob, Citation, ToolUse


def agent(
    name: str,
    *,
    model: Any,
    instructions: str = "",
    tools: Sequence[Any] = (),
    skills: Sequence[Skill] = (),
    version: int | None = None,
    max_steps: int | None = None,
    budget: float | None = 1.0,
    tool_calls: int | None = None,
    settings: Mapping[str, Any] | None = None,
    prices: Mapping[str, Price] | None = None,
    endpoint: str | None = None,
    key_env: str | None = None,
    on_tool_error: OnToolError = "tell",
    retries: int = 2,
) -> Profile:
    """Defines an agent, or revises it, and gives its profile. From then on it takes part in every room where it is named.

    `model` is `provider:name`, with `endpoint` for a server of your own, or a model object. `tools` are typed functions, what
    `d.tool` and `d.tools` give, or names of those. The same content again is the same version, other content the next one;
    the definition that ran last is the one that acts.
    `budget` is in dollars per Run, None for no limit; `prices` are dollars per million tokens by the model's name. Raises
    `BadInput`, `BadModel`, `BadTool` or `ProfileConflict`, and changes nothing then.
    """
    from dvergr_nb.actors.agents.instructions import TEMPLATE_VERSION
    from dvergr_nb.actors.models.reference import name_of as name_of_model
    from dvergr_nb.records.money import micro
    from dvergr_nb.records.profile import MAX_STEPS, Caps, Profile, checked

    session = current_session()
    profile = checked(
        Profile(
            id=name,
            version=_version(version),
            instructions=instructions,
            template_version=TEMPLATE_VERSION,
            model=name_of_model(model),
            endpoint=endpoint,
            key_env=key_env,
            tools=session.cast.tools.names(name, tools),
            skills=several(skills),
            caps=Caps(
                max_steps=MAX_STEPS if max_steps is None else max_steps,
                budget=None if budget is None else micro(budget),
                tool_calls=tool_calls,
            ),
            settings={} if settings is None else settings,
            prices={} if prices is None else prices,
            on_tool_error=on_tool_error,
            retries=retries,
        )
    )
    made = session.cast.define(profile, model)
    session.cast.tools.bind(name, tools)
    _take_part(session, made)
    return made


def _version(version: object) -> int:
    if version is None:
        return 0
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise BadInput(f"a version is a whole number from 1, or left out for the next one, not {shown(version)}")
    return version


def _take_part(session: Session, profile: Profile) -> None:
    """Where it takes part already, its next message is answered by that version."""
    for room in session.rooms.live():
        there = room.delivery.participants.get(profile.id)
        if there is not None and getattr(there.handler, PROVENANCE, {}).get("profile_id") == profile.id:
            room.join(profile.id, session.cast.handler(profile))


def profile(name: str, version: int | None = None) -> Profile:
    """The profile of an agent, the version that acts unless told otherwise. Raises `NoSuchProfile`."""
    if not isinstance(name, str):
        raise BadInput(f"an agent is named by its id, or given as its profile, not {shown(name)}")
    return current_session().cast.profile(name, None if version is None else _version(version))


def profiles() -> list[Profile]:
    """The latest version of every agent, by name."""
    return list(current_session().store.profiles())


def tool_uses(run: RunRef) -> list[ToolUse]:
    """What the tools of a Run were given and gave, in the order of their ends; `blob` has what is kept as bytes."""
    session = current_session()
    return list(session.store.tool_uses(session.resolve(run)))


def citations(run: RunRef) -> list[Citation]:
    """The chunks of text that a Run has used, in order."""
    session = current_session()
    return list(session.store.citations(session.resolve(run)))


def blob(what: Blob | str) -> bytes:
    """The bytes that a record names, by itself or by their SHA-256. Raises `BlobMissing` where they are gone."""
    return current_session().store.blob(what if isinstance(what, str) else what.sha256)


def hire(
    who: str | Profile,
    task: str,
    *,
    room: RoomRef | None = None,
    parent: RunRef | None = None,
    budget: float | None = None,
    max_steps: int | None = None,
    model: Any = None,
    skills: Sequence[Skill] = (),
    output_type: Any = None,
    label: str | None = None,
    tags: Sequence[str] = (),
    key: str | None = None,
    timeout: float | None = None,
) -> RunHandle:
    """Has an agent do one task as a Run of its own, apart from any conversation; `await run` gives what it came to.

    Input and output are private to the Run. `budget`, in dollars, and `max_steps` lower what its profile allows; more is cut
    to that. With a `parent` that has a wallet the money comes from there. Raises `BadInput` before a Run exists.
    """
    from dvergr_nb.actors.agents.hiring import Hiring
    from dvergr_nb.records.profile import Profile

    session = current_session()
    if not isinstance(task, str) or not task.strip():
        raise BadInput(f"a task is text that says what to do, not {shown(task)}")
    found = session.cast.on_record(who) if isinstance(who, Profile) else profile(who)
    wanted = Wanted(model=model, skills=several(skills), output_type=output_type, max_steps=max_steps)
    session.cast.check(found, wanted)
    handler = session.cast.handler(found)
    return session.start(
        Hiring(handler, found.model),
        actor=found.id,
        text=task,
        label=first_line(task, LABEL_CHARS) if label is None else label,
        kind=RunKind.AGENT_TASK,
        room=room,
        parent=parent,
        tags=tags,
        key=key,
        timeout=timeout,
        provenance=provenance_of(handler),
        grant=_narrowed(found, budget),
        wanted=wanted,
    )


def _narrowed(found: Profile, budget: float | None) -> Any:
    """The smaller of what the profile and the caller allow."""
    given, most = grant_of(budget), found.caps.budget
    if given is None or (most is not None and given.amount >= most):
        return grant_of(None, most)
    return given


def tune(
    actor: str,
    *,
    room: RoomRef | None = None,
    model: Any = None,
    temperature: float | None = None,
    tool_cap: int | None = None,
) -> None:
    """Sets another model, temperature or cap of tool uses for an actor of a room, from its next round on; what is None, goes
    back to its profile's. A running call of another model is cut, and that round begun again with the new one.
    """
    session = current_session()
    where = session.rooms.here(session.room) if room is None else session.rooms.find(name_of(room))
    participant = where.found(actor)
    check(participant.handler, Wanted(model=model))
    dials = Dials(model=model, temperature=temperature, tool_cap=tool_cap)
    session.home.call(lambda: participant.tune(dials))
