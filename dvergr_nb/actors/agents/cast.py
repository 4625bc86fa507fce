"""The agents of a session: their profiles on record, and what cells of this kernel have given them to work with."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, Final

from dvergr_nb.actors.program import Program, Rounds
from dvergr_nb.actors.turn import turn_of
from dvergr_nb.agent_errors import NoSuchProfile, ProfileConflict
from dvergr_nb.errors import BadInput, StoreFailed
from dvergr_nb.records.message import RUNS, Message
from dvergr_nb.records.operation import Define, Defined
from dvergr_nb.records.query import MessageFilter
from dvergr_nb.runtime.context import Context
from dvergr_nb.runtime.handler import BUDGET, CHECK, PROVENANCE
from dvergr_nb.runtime.ports import Store
from dvergr_nb.runtime.reply import Handler
from dvergr_nb.runtime.request import Asker
from dvergr_nb.runtime.secrets import scrub
from dvergr_nb.runtime.wanted import Wanted

if TYPE_CHECKING:
    from dvergr_nb.actors.models.asked import Asked
    from dvergr_nb.actors.models.clients import Clients
    from dvergr_nb.actors.tools.tool import Tool
    from dvergr_nb.actors.tools.toolbox import Toolbox
    from dvergr_nb.records.profile import Profile, Skill

DEFINE_S: Final = 10.0
"""How long the definition of an agent waits for its row."""
READ_MESSAGES: Final = 500
"""How many messages of a thread are looked through for what a model is shown."""


class Cast(Mapping[str, Callable[[], Handler]]):
    """Actors that take part in a room as soon as somebody names them: those built in, and all agents on record."""

    def __init__(self, store: Store, asker: Callable[[], Asker], built_in: Mapping[str, Callable[[], Handler]]) -> None:
        self._store, self._asker, self._built_in = store, asker, built_in
        self._latest: dict[str, Profile] | None = None
        self._handlers: dict[tuple[str, int], Handler] = {}
        self._models: dict[str, dict[str, Any]] = {}
        """By agent, models that cells have given as objects, by the name its profile keeps."""
        self._tools: Toolbox | None = None
        self._clients: Clients | None = None

    # Names -----------------------------------------------------------------------------------------------------------

    def __getitem__(self, name: str) -> Callable[[], Handler]:
        if name in self._built_in:
            return self._built_in[name]
        profile = self._profiles()[name]
        return lambda: self.handler(profile)

    def __iter__(self) -> Iterator[str]:
        return iter(dict.fromkeys([*self._built_in, *self._profiles()]))

    def __len__(self) -> int:
        return len(list(iter(self)))

    def _profiles(self) -> dict[str, Profile]:
        """The version of each that acts: the one that was defined last here, else the latest."""
        if self._latest is None:
            self._latest = {profile.id: profile for profile in self._store.profiles()}
        return self._latest

    def profile(self, name: str, version: int | None = None) -> Profile:
        """That version, the one that acts unless told otherwise. Raises `NoSuchProfile`."""
        latest = self._profiles()
        if version is None and name in latest:
            return latest[name]
        found = None if version is None else self._store.profile(name, version)
        if found is None:
            raise NoSuchProfile(name, version, list(latest))
        return found

    def on_record(self, profile: Profile) -> Profile:
        """That very profile, as it is on record. Raises `NoSuchProfile`, or `ProfileConflict` where it was changed since."""
        found = self.profile(profile.id, profile.version)
        if found.hash != profile.hash:
            raise ProfileConflict(profile.id, profile.version)
        return found

    # Defining --------------------------------------------------------------------------------------------------------

    @property
    def tools(self) -> Toolbox:
        """The tools that cells of this kernel have defined."""
        if self._tools is None:
            from dvergr_nb.actors.tools.toolbox import Toolbox

            self._tools = Toolbox()
        return self._tools

    def define(self, profile: Profile, model: Any) -> Profile:
        """Stores the profile, whose version the store decides, and waits for it. Raises `BadInput`, `BadModel` or
        `ProfileConflict`.
        """
        from dvergr_nb.actors.models.resolving import usable

        given = {} if isinstance(model, str) else {profile.model: model}
        usable(profile, None, self._bound(profile.id) | given)
        _check_secrets(profile)
        latest, asker = self._profiles(), self._asker()
        unit = Define(tenant_id=asker.tenant_id, user_id=asker.user_id, profile=profile, at=asker.clock.now())
        answer = self._store.submit(unit).result(DEFINE_S)
        if not isinstance(answer, Defined):
            raise StoreFailed("", f"the definition of {profile.id!r} was answered with {answer!r}")
        self._models.setdefault(profile.id, {}).update(given)
        made = answer.profile
        latest[made.id] = made  # the definition that ran last acts, also where it is an older version again
        return made

    def _bound(self, agent: str) -> dict[str, Any]:
        """Models by name: those of other agents may be named, its own come first."""
        every = {name: model for models in self._models.values() for name, model in models.items()}
        return every | self._models.get(agent, {})

    def is_scripted(self, profile: Profile) -> bool:
        """Whether its model is a script, which is said wherever its Runs are shown."""
        return getattr(self._bound(profile.id).get(profile.model), "system", None) == "scripted"

    def close(self) -> None:
        """Lets go of the connections to providers, soon. On the loop."""
        clients, self._clients = self._clients, None
        if clients is not None:
            clients.close()

    async def aclose(self) -> None:
        """Closes the connections to providers."""
        clients, self._clients = self._clients, None
        if clients is not None:
            await clients.aclose()

    # Working ---------------------------------------------------------------------------------------------------------

    def handler(self, profile: Profile) -> Handler:
        """What answers messages by that version of a profile; the same one each time."""
        known = self._handlers.get((profile.id, profile.version))
        return known if known is not None else self._made(profile)

    def _made(self, profile: Profile) -> Handler:
        handler = turn_of(_Late(self, profile))
        attributes = {
            PROVENANCE: {
                "profile_id": profile.id,
                "profile_version": profile.version,
                "profile_hash": profile.hash,
                "template_version": profile.template_version,
            },
            BUDGET: profile.caps.budget,
            CHECK: lambda wanted: self.check(profile, wanted),
        }
        for name, value in attributes.items():
            setattr(handler, name, value)
        self._handlers[profile.id, profile.version] = handler
        return handler

    def check(self, profile: Profile, wanted: Wanted) -> None:
        """Raises `BadInput`, `BadModel` or `BadTool` where a turn could not be played in this kernel; there is no Run yet."""
        from dvergr_nb.actors.agents.wishes import check_wishes
        from dvergr_nb.actors.models.resolving import usable

        usable(profile, wanted.model, self._bound(profile.id))
        check_wishes(profile, wanted)
        self.tools_of(profile, (*profile.skills, *wanted.skills))

    def tools_of(self, profile: Profile, skills: Sequence[Skill]) -> Mapping[str, Tool]:
        """Its tools by name, as the cells that ran last have defined them. Raises `BadTool`."""
        found = {name: self.tools.found(profile.id, name) for name in profile.tools}
        if skills:
            from dvergr_nb.actors.tools.skills import load_skill

            found["load_skill"] = load_skill(skills)
        return found

    async def asked(self, profile: Profile, given: Any) -> Asked:
        """The model of that reference, the profile's for None. On the loop that will ask it. Raises `BadModel`."""
        from dvergr_nb.actors.models.clients import Clients
        from dvergr_nb.actors.models.resolving import loaded, resolved

        bound = self._bound(profile.id)
        await loaded(profile, given, bound)
        self._clients = self._clients or Clients()
        return resolved(profile, given, bound, clients=self._clients)

    async def thread(self, message: Message) -> Sequence[Message]:
        """The messages on its thread; none for a private task, nor for a message that begins one."""
        if message.to == RUNS or message.reply_to is None:
            return ()
        return await asyncio.to_thread(self._read, message)

    def _read(self, message: Message) -> Sequence[Message]:
        """What was said on the thread; one that goes on from a hired task begins with that."""
        wanted = MessageFilter(room=message.room, thread=message.thread_root_id, only_said=True, limit=READ_MESSAGES)
        said = self._store.messages(wanted)
        root = self._store.message(message.thread_root_id)
        return [root, *said] if root is not None and root.to == RUNS else said


def _check_secrets(profile: Profile) -> None:
    """A profile is on record for good, so no key may be in it. Raises `BadInput`."""
    for name, value in profile.content().items():
        text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        if scrub(text) != text:
            raise BadInput(
                f"{name} of {profile.id!r} would store a key; keep it in an environment variable, and name that with key_env="
            )


class _Late:
    """A profile as a program. What asks models is loaded when its first turn begins."""

    def __init__(self, cast: Cast, profile: Profile) -> None:
        self._cast, self._profile = cast, profile
        self.kind = "scripted" if cast.is_scripted(profile) else "llm"
        self.name = profile.model
        self._program: Program | None = None

    @asynccontextmanager
    async def begin(self, message: Message, ctx: Context) -> AsyncIterator[Rounds]:
        """The work on one message."""
        if self._program is None:
            self._program = await asyncio.to_thread(self._loaded)
        async with self._program.begin(message, ctx) as rounds:
            yield rounds

    def _loaded(self) -> Program:
        """In a thread: the first import of what asks models takes long enough to be felt by everything on the loop."""
        from dvergr_nb.actors.agents.history import conversation
        from dvergr_nb.actors.agents.program import Kit, ModelProgram

        cast, profile = self._cast, self._profile

        async def heard(message: Message) -> Any:
            return conversation(profile.id, await cast.thread(message), message)

        return ModelProgram(
            Kit(
                profile=profile,
                tools=lambda skills: cast.tools_of(profile, skills),
                asked=lambda given: cast.asked(profile, given),
                conversation=heard,
            )
        )
