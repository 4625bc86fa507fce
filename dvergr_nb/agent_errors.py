"""What can go wrong with agents, their models, tools and money: branches of the tree in `errors.py`.

    DvergrError
    ├── BadInput (ValueError)
    │   ├── BadModel                     a model that cannot be asked: unknown, without its key or its package
    │   └── BadTool                      a function that cannot be a tool, or a tool that nobody has defined
    ├── NotFound (LookupError)
    │   └── NoSuchProfile                no agent of that name or version was defined
    ├── Refused
    │   ├── ProfileConflict              that version of the profile says something else
    │   └── WalletShort                  the wallet does not hold what was to be given
    ├── StepLimit                        a Run has used all the rounds that its profile allows
    └── ModelError                       a call of a model that gave no answer
        ├── ModelRefused                 the provider refuses the request, its key or its model
        ├── ModelBusy                    too many requests, or the provider has trouble; worth another try
        ├── ModelUnreachable             the connection failed or broke
        ├── ModelTimedOut                no answer within the limit
        └── ModelConfused                an answer that cannot be used

Apart from the others, because most kernels never meet them.
"""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from dvergr_nb.errors import BadInput, DvergrError, NotFound, Refused, brief


class BadModel(BadInput):
    """A model that cannot be asked; `model` is what was named."""

    def __init__(self, model: str, sentence: str) -> None:
        super().__init__(sentence)
        self.model = model


class BadTool(BadInput):
    """What cannot be a tool, or a tool that a profile names and nobody has defined; `tool` is its name."""

    def __init__(self, tool: str, sentence: str) -> None:
        super().__init__(sentence)
        self.tool = tool


class NoSuchProfile(NotFound):
    """No agent of that name, or not in that version, was defined; `known` are names that were."""

    def __init__(self, profile: str, version: int | None = None, known: Sequence[str] = ()) -> None:
        which = brief(profile) if version is None else f"{brief(profile)} in version {version}"
        near = difflib.get_close_matches(profile, known, 1, 0.6)
        hint = f"did you mean {brief(near[0])}?" if near else f"define it: d.agent({brief(profile)}, model=…, instructions=…)"
        super().__init__(f"no agent {which} in this store; {hint}")
        self.profile = profile
        self.version = version
        self.known = tuple(known)


class ProfileConflict(Refused):
    """That version of the profile is there and says something else; `profile` and `version` name it."""

    def __init__(self, profile: str, version: int) -> None:
        super().__init__(
            f"{brief(profile)} version {version} is there and says something else, and versions never change; "
            "leave version out to make the next one"
        )
        self.profile = profile
        self.version = version


class WalletShort(Refused):
    """A wallet does not hold what was to be given; `wanted` and `there` are micro-dollars."""

    def __init__(self, whose: str, wanted: int, there: int) -> None:
        super().__init__(
            f"{whose} has ${there / 1e6:,.6g} left and ${wanted / 1e6:,.6g} was to be given; "
            "give less with budget=, or add money with room.fund(USD)"
        )
        self.wanted = wanted
        self.there = there


class StepLimit(DvergrError):
    """A Run has used all the rounds that its profile allows: it ends failed, `step-limit`."""

    def __init__(self, actor: str, max_steps: int) -> None:
        rounds = "1 model round" if max_steps == 1 else f"{max_steps:,} model rounds"
        super().__init__(f"{brief(actor)} has used its {rounds} without an end; give it more with max_steps=")
        self.max_steps = max_steps


class ModelError(DvergrError):
    """A call of a model gave no answer; `model` is the one that was asked, `status` the HTTP status where there was one."""

    def __init__(self, model: str, sentence: str, *, status: int | None = None, retry_after_s: float | None = None) -> None:
        super().__init__(sentence)
        self.model = model
        self.status = status
        self.retry_after_s = retry_after_s
        """How long the provider asks to wait before another try, in seconds."""


class ModelRefused(ModelError):
    """The provider refuses the request, its key, its model or its length: the same again is refused again."""


class ModelBusy(ModelError):
    """Too many requests, or the provider has trouble of its own: another try may work."""


class ModelUnreachable(ModelError):
    """The connection could not be made, or broke while the answer came."""


class ModelTimedOut(ModelError):
    """The provider gave no answer within the limit."""


class ModelConfused(ModelError):
    """An answer that cannot be used: no JSON, none of the wanted type, or nothing at all."""
