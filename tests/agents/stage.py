"""An agent on a stage: a session, and a provider's server on 127.0.0.1 that its model is asked at."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Coroutine, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final, NamedTuple

import dvergr_nb as d
from dvergr_nb.api import KERNEL
from dvergr_nb.records.message import ACTIVITY, Message
from dvergr_nb.records.money import Spend
from dvergr_nb.records.query import MessageFilter
from tests.rigs.model_server import Act, ModelServer, Request, Script
from tests.rigs.openai_server import OpenAIServer

PRICES = {"local": {"input": 1.0, "output": 10.0}, "other": {"input": 2.0, "output": 20.0}}
"""Dollars per million tokens, so micro-dollars per token."""
CALL = 11 * 1 + 7 * 10
"""What a call costs that says what the server says unless told otherwise, in micro-dollars."""
LONGEST_S: Final = 300.0
"""How long many turns at once may take on a busy machine."""
PROVIDERS = {"OpenAIServer": "openai", "AnthropicServer": "anthropic", "GoogleServer": "google"}


def agent(server: ModelServer, name: str = "researcher", *, model: str = "local", **more: Any) -> Any:
    """Defines an agent whose model is asked at that server; the profile."""
    provider = PROVIDERS[type(server).__name__]
    given: dict[str, Any] = {"prices": PRICES, **more}
    return d.agent(name, model=f"{provider}:{model}", endpoint=server.url, **given)


@asynccontextmanager
async def stage(
    *acts: Act | Script, speaks: type[ModelServer] = OpenAIServer, path: str | Path = ":memory:", **more: Any
) -> AsyncIterator[ModelServer]:
    """A current session with an agent called researcher, whose model does these acts."""
    async with speaks(*acts) as server, d.connect(path):
        try:
            agent(server, **more)
            yield server
        finally:
            await let_go()


async def let_go() -> None:
    """Returns once the connections to providers that the session's agents have are closed."""
    session = KERNEL.session
    if session is not None and session.cast._clients is not None:
        await session.cast._clients.aclose()


def quickly(test: Coroutine[Any, Any, object]) -> None:
    """Runs a coroutine on a loop without debugging, which costs more than the turns themselves where there are many."""

    async def limited() -> None:
        async with asyncio.timeout(LONGEST_S):
            await test

    asyncio.run(limited())


# Looking -------------------------------------------------------------------------------------------------------------


class Line(NamedTuple):
    """One message of a request, in whichever wire format."""

    role: str
    text: str


def lines(request: Request) -> list[Line]:
    """What a request says, in order; results of tools and calls of them as text."""
    body = request.body
    system = body.get("system")
    head = [Line("system", system if isinstance(system, str) else _text(system))] if system else []
    return head + [Line(each["role"], _text(each.get("content")) or _calls(each)) for each in body["messages"]]


def _text(content: Any) -> str:
    if isinstance(content, str) or content is None:
        return content or ""
    return "\n".join(str(part.get("text") or part.get("content") or part.get("input") or "") for part in content)


def _calls(message: dict[str, Any]) -> str:
    return " ".join(call["function"]["name"] for call in message.get("tool_calls", ()))


def offered(request: Request) -> list[str]:
    """The names of the tools that a request offers."""
    return sorted(tool.get("name") or tool["function"]["name"] for tool in request.body.get("tools", ()))


def end_of(run: Any) -> tuple[str, str | None]:
    """How a Run stands: status and reason."""
    return run.row.status.value, run.row.reason


def spends(run: Any) -> Sequence[Spend]:
    """The calls of models of a Run on record, in order."""
    return list(d.current_session().store.spends(run.id))


def outcomes(run: Any) -> list[str]:
    """How they went."""
    return [spend.usage.outcome for spend in spends(run)]


def uses(run: Any) -> Sequence[Any]:
    """What its tools were given and gave."""
    return list(d.current_session().store.tool_uses(run.id))


def activity(run: Any) -> list[Message]:
    """The activity messages of a Run."""
    return [each for each in d.current_session().store.messages(MessageFilter(run=run.id)) if each.to == ACTIVITY]


def facts(run: Any) -> list[tuple[str, str, str | None, str | None]]:
    """Kind, verb, status and outcome of all facts of a Run, in the order of their messages."""
    every = d.current_session().store.messages(MessageFilter(run=run.id))
    return [(fact.kind, fact.verb, fact.status, fact.outcome) for each in every for fact in each.facts]


def said(room: Any = None) -> list[str]:
    """What the researcher has said in a room."""
    return [each.content for each in (room or d.room()).messages(limit=None) if each.sender == "researcher"]
