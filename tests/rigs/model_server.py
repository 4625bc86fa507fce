"""A provider's HTTP server on 127.0.0.1 that does what a test says, request by request; wire formats are its subclasses.

    async with OpenAIServer(Fail(429, retry_after=0), Say("Hello")) as server:
        profile = Profile(id="a", model="openai:local", endpoint=server.url)
        ...
        assert len(server.requests) == 2

The script is a row of acts, one per request, the last for all that follow, or a function from the request to its act, plain or
async. A test that wants an answer to wait gives it an `asyncio.Event`.
"""

from __future__ import annotations

import asyncio
import inspect
import json
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """One request as it came."""

    path: str
    headers: Mapping[str, str]
    """Names in lower case."""
    body: Any
    """Parsed JSON."""

    @property
    def key(self) -> str:
        """The API key that it carries, whichever way."""
        return (
            self.headers.get("authorization", "").removeprefix("Bearer ")
            or self.headers.get("x-api-key", "")
            or self.headers.get("x-goog-api-key", "")
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """What an answer says was used. `input` holds those of the cache, as this package counts them."""

    input: int = 11
    output: int = 7
    cache_read: int = 0
    cache_write: int = 0


MEASURED = Tokens()


@dataclass(frozen=True, slots=True)
class Say:
    """Answers with a text, streamed word by word where it is asked to stream."""

    text: str = "Hello from the fake model."
    _: KW_ONLY
    tokens: Tokens | None = MEASURED
    """None omits the usage."""
    model: str | None = None
    """Under which name it answers; None for the one that was asked."""
    when: asyncio.Event | None = None
    """It answers once that is set."""
    cut_after: int | None = None
    """Closes the connection after so many events of the stream; 0 before the first byte."""
    hang_after: int | None = None
    """Sends nothing more after so many events; 0 before the first byte."""
    calls: tuple[tuple[str, Any], ...] = ()
    """Tools and their arguments, as data, or as text where that is to be broken."""


@dataclass(frozen=True, slots=True)
class Fail:
    """Answers with an error. `{key}` in the message becomes the key that was sent."""

    status: int
    message: str = "fake trouble"
    _: KW_ONLY
    code: str | None = None
    retry_after: float | None = None
    in_stream: bool = False
    """Whether it comes after the stream has begun well."""


@dataclass(frozen=True, slots=True)
class Raw:
    """Answers 200 with this body, whatever it is."""

    body: str = "{this is no JSON"
    content_type: str = "application/json"


Act = Say | Fail | Raw


def use(*calls: tuple[str, Any], text: str = "", **more: Any) -> Say:
    """Answers with calls of tools: `use(("lookup", {"q": "ducks"}))`."""
    return Say(text, calls=calls, **more)


def hang(after: int = 0) -> Say:
    """Never answers, or stops after so many events of a stream."""
    return Say(hang_after=after)


def cut(after: int = 2) -> Say:
    """Breaks the connection after so many events of a stream."""
    return Say(cut_after=after)


Script = Callable[[Request], Any]


class ModelServer(ABC):
    """One server; `async with` starts and stops it."""

    base: ClassVar[str] = ""
    """What stands before the provider's own paths in its base URL."""

    def __init__(self, *acts: Act | Script) -> None:
        self.requests: list[Request] = []
        self.disconnects = 0
        self.open = 0
        """Connections that are open now."""
        self.most_open = 0
        self._script: list[Act | Script] = list(acts) or [Say()]
        self._changed = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._server: asyncio.Server | None = None

    @property
    def root(self) -> str:
        """Its address."""
        assert self._server is not None
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    @property
    def url(self) -> str:
        """The endpoint that a profile names."""
        return self.root + self.base

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._connected, "127.0.0.1", 0)
        return self

    async def __aexit__(self, *_exc: object) -> None:
        await self.stop()

    async def stop(self) -> None:
        """Closes all connections and takes no more."""
        assert self._server is not None
        self._server.close()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._server.wait_closed()

    # Waiting ---------------------------------------------------------------------------------------------------------

    async def requested(self, times: int = 1) -> None:
        """Returns once so many requests have come."""
        await self._until(lambda: len(self.requests) >= times)

    async def disconnected(self, times: int = 1) -> None:
        """Returns once so many clients have gone away while they were served."""
        await self._until(lambda: self.disconnects >= times)

    async def idle(self) -> None:
        """Returns once no connection is open."""
        await self._until(lambda: self.open == 0)

    async def _until(self, enough: Callable[[], bool]) -> None:
        while not enough():
            self._changed.clear()
            await self._changed.wait()

    # Connections -----------------------------------------------------------------------------------------------------

    async def _connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        try:
            await self._serve(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            self.disconnects += 1
        except asyncio.CancelledError:
            if self._server is not None and self._server.is_serving():
                raise
        finally:
            writer.close()
            self.open -= 1
            self._tasks.discard(task)
            self._changed.set()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        first = b""
        while (request := await _read(reader, first)) is not None:
            self.requests.append(request)
            self._changed.set()
            answer = asyncio.create_task(self._answered(request, writer))
            gone = asyncio.create_task(reader.read(1))
            try:
                await asyncio.wait({answer, gone}, return_when=asyncio.FIRST_COMPLETED)
                if not answer.done():
                    self.disconnects += 1
                    return
                if not answer.result():
                    return
                first = gone.result() if gone.done() else b""
            finally:
                await _ended(answer, gone)

    async def _answered(self, request: Request, writer: asyncio.StreamWriter) -> bool:
        """Does what the script says. Whether the connection is kept."""
        act: Any = self._script.pop(0) if len(self._script) > 1 else self._script[0]
        if callable(act):
            act = act(request)
            act = await act if inspect.isawaitable(act) else act
        match act:
            case Fail(in_stream=True):
                return await self._stream(
                    writer, [*list(self.events(request, Say()))[:3], self.event_of(self.error(act, request))]
                )
            case Fail():
                return await _send(writer, act.status, json.dumps(self.error(act, request)), retry_after=act.retry_after)
            case Raw():
                return await _send(writer, 200, act.body, content_type=act.content_type)
            case Say():
                return await self._said(act, request, writer)
            case _:
                raise TypeError(f"no act: {act!r}")

    async def _said(self, act: Say, request: Request, writer: asyncio.StreamWriter) -> bool:
        if act.when is not None:
            await act.when.wait()
        if act.hang_after == 0:
            await asyncio.Event().wait()
        if act.cut_after == 0:
            return False
        if not self.streams(request):
            return await _send(writer, 200, json.dumps(self.whole(request, act)))
        return await self._stream(writer, list(self.events(request, act)), act)

    async def _stream(self, writer: asyncio.StreamWriter, events: Sequence[str], act: Say | None = None) -> bool:
        head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
        writer.write(head.encode())
        for number, event in enumerate(events):
            if act is not None and act.cut_after == number:
                return False
            if act is not None and act.hang_after == number:
                await asyncio.Event().wait()
            data = event.encode()
            writer.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")
            await writer.drain()
        writer.write(b"0\r\n\r\n")
        await writer.drain()
        return True

    # The wire format -------------------------------------------------------------------------------------------------

    @abstractmethod
    def streams(self, request: Request) -> bool:
        """Whether a stream was asked for."""

    @abstractmethod
    def whole(self, request: Request, act: Say) -> Any:
        """The answer as one JSON value."""

    @abstractmethod
    def events(self, request: Request, act: Say) -> Iterator[str]:
        """The answer as events of a stream."""

    @abstractmethod
    def error(self, act: Fail, request: Request) -> Any:
        """The JSON value of an error."""

    def event_of(self, error: Any) -> str:
        """An error within a stream."""
        return f"data: {json.dumps(error)}\n\n"


def words_of(text: str) -> list[str]:
    """A text as a stream brings it."""
    return [word if number == 0 else f" {word}" for number, word in enumerate(text.split(" "))] if text else []


def arguments_of(arguments: Any) -> str:
    """The arguments of a call as JSON, or as they are where they are text."""
    return arguments if isinstance(arguments, str) else json.dumps(arguments)


async def _read(reader: asyncio.StreamReader, first: bytes) -> Request | None:
    line = first + await reader.readline()
    if not line.strip():
        return None
    headers: dict[str, str] = {}
    while (header := await reader.readline()).strip():
        name, _, value = header.decode().partition(":")
        headers[name.strip().lower()] = value.strip()
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    return Request(path=line.decode().split()[1], headers=headers, body=json.loads(body or b"{}"))


async def _send(
    writer: asyncio.StreamWriter,
    status: int,
    body: str,
    *,
    content_type: str = "application/json",
    retry_after: float | None = None,
) -> bool:
    data = body.encode()
    more = "" if retry_after is None else f"retry-after: {retry_after:g}\r\n"
    head = f"HTTP/1.1 {status} X\r\ncontent-type: {content_type}\r\ncontent-length: {len(data)}\r\n{more}\r\n"
    writer.write(head.encode() + data)
    await writer.drain()
    return True


async def _ended(*tasks: asyncio.Task[Any]) -> None:
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
