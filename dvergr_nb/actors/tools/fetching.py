"""`http_get`: a page from a host on a list, asked at the very address that was checked, within limits of size and time."""

from __future__ import annotations

import math
import ssl
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from dvergr_nb.actors.tools.addresses import checked_hosts, is_allowed, resolved
from dvergr_nb.actors.tools.defining import tool_of
from dvergr_nb.actors.tools.thread import in_own_thread
from dvergr_nb.actors.tools.tool import Rich, Tool, ToolFailed
from dvergr_nb.errors import BadInput
from dvergr_nb.records.text import clipped, printable, shown
from dvergr_nb.runtime.context import Context

if TYPE_CHECKING:
    from httpx2 import URL, AsyncClient, Response

MAX_BYTES: Final = 1_000_000
TIMEOUT_S: Final = 20.0
REDIRECTS: Final = 5
MOVED: Final = (301, 302, 303, 307, 308)
HEADERS: Final = {"Accept": "text/*, application/json, */*;q=0.5", "Accept-Encoding": "identity", "User-Agent": "dvergr_nb"}


def http_get(
    hosts: Sequence[str], *, allow_private: bool = False, max_bytes: int = MAX_BYTES, timeout: float = TIMEOUT_S
) -> Tool:
    """A tool that gets pages from `hosts`, such as `["example.org", "*.example.org"]`; `["*"]` stands for all of them.

    An address of this machine, of a private network or of no network at all is refused unless `allow_private`, also where a
    redirect or the name of a host leads there. At most `max_bytes` of an answer are read, and `timeout` seconds waited in all.
    """
    allowed = checked_hosts(hosts)
    if not isinstance(allow_private, bool):
        raise BadInput(f"allow_private is True or False, not {shown(allow_private)}")
    if isinstance(max_bytes, bool) or not isinstance(max_bytes, int) or not 1 <= max_bytes <= 100_000_000:
        raise BadInput(f"max_bytes is a whole number from 1 to 100,000,000, not {shown(max_bytes)}")
    is_number = isinstance(timeout, int | float) and not isinstance(timeout, bool)
    if not is_number or not math.isfinite(timeout) or timeout <= 0:
        raise BadInput(f"the timeout of http_get is a number of seconds above 0, not {shown(timeout)}")
    fetcher = _Fetcher(allowed, max_bytes, allow_private=allow_private)

    async def http_get(url: str, ctx: Context) -> Rich:
        return await fetcher.get(url, ctx)

    known = "any public host" if "*" in allowed else ", ".join(allowed)
    about = f"Gets a page over http or https and gives its status and text. Hosts: {known}"
    return tool_of(http_get, description=about, timeout=timeout)


class _Fetcher:
    def __init__(self, hosts: Sequence[str], max_bytes: int, *, allow_private: bool) -> None:
        self._hosts = hosts
        self._max_bytes = max_bytes
        self._allow_private = allow_private
        self._trust: ssl.SSLContext | None = None

    async def get(self, url: str, ctx: Context) -> Rich:
        """What the page says, after at most so many redirects."""
        import httpx2

        if self._trust is None:
            self._trust = await in_own_thread(ssl.create_default_context)
        at = self._checked(url)
        whole = httpx2.Timeout(None)  # the tool as a whole is limited
        async with httpx2.AsyncClient(verify=self._trust, trust_env=False, follow_redirects=False, timeout=whole) as client:
            for _ in range(REDIRECTS + 1):
                try:
                    answer = await self._asked(client, at, ctx)
                except (httpx2.HTTPError, httpx2.StreamError, ssl.SSLError) as problem:
                    said = printable(clipped(str(problem), 300)) or type(problem).__name__
                    raise ToolFailed("unreachable", f"{at.host} gave no answer: {said}") from None
                if isinstance(answer, Rich):
                    return answer
                at = self._joined(at, answer)
        raise ToolFailed("refused", f"{shown(url, 200)} redirects more than {REDIRECTS} times")

    def _joined(self, at: URL, location: str) -> URL:
        """The address that a redirect leads to. Raises `ToolFailed`."""
        import httpx2

        try:
            return self._checked(at.join(location))
        except httpx2.InvalidURL as problem:
            raise ToolFailed("refused", f"{at.host} redirects to {shown(location, 200)}, which is no URL: {problem}") from None

    def _checked(self, url: object) -> URL:
        """The address of a page that may be asked for. Raises `ToolFailed`."""
        import httpx2

        try:
            at = httpx2.URL(url)  # type: ignore[arg-type]  # it says itself what it takes
        except (httpx2.InvalidURL, TypeError, ValueError) as problem:
            raise ToolFailed("refused", f"{shown(url, 200)} is no URL: {problem}") from None
        if not 0 <= (at.port or 0) <= 65_535:
            raise ToolFailed("refused", f"{shown(url, 200)} is no URL: there is no port {at.port}")
        if at.scheme not in ("http", "https") or not at.host:
            raise ToolFailed("refused", f"{shown(url, 200)}: only http:// and https:// with a host are fetched")
        if at.userinfo:
            raise ToolFailed("refused", "a URL with a name or a password in it is not fetched")
        if not is_allowed(at.raw_host.decode("ascii"), self._hosts):
            raise ToolFailed("refused", f"the host {printable(at.host)!r} is not on the list: {', '.join(self._hosts)}")
        return at

    async def _asked(self, client: AsyncClient, at: URL, ctx: Context) -> Rich | str:
        """One request: what the page says, or where it has moved."""
        import httpx2

        host, port = at.raw_host.decode("ascii"), at.port or (443 if at.scheme == "https" else 80)
        addresses = await resolved(host, port, allow_private=self._allow_private)
        for number, address in enumerate(addresses):
            asked = client.build_request(
                "GET",
                at.copy_with(host=address),
                headers={**HEADERS, "Host": at.netloc.decode("ascii")},
                extensions={"sni_hostname": host},
            )
            try:
                answer = await client.send(asked, stream=True)
            except httpx2.ConnectError:
                if number + 1 == len(addresses):
                    raise
                continue
            try:
                if answer.status_code in MOVED and "location" in answer.headers:
                    return str(answer.headers["location"])
                return await self._told(answer, ctx)
            finally:
                await answer.aclose()
        raise ToolFailed("no-such-host", f"the host {host!r} has no address")

    async def _told(self, answer: Response, ctx: Context) -> Rich:
        data = bytearray()
        async for piece in answer.aiter_bytes(65_536):
            data += piece
            if len(data) > self._max_bytes:
                break
        is_cut, data = len(data) > self._max_bytes, data[: self._max_bytes]
        kind = printable(clipped(answer.headers.get("content-type", ""), 200))
        cut = f"\n[cut after {self._max_bytes:,} bytes]" if is_cut else ""
        text = _text(bytes(data), answer.encoding)
        if text is None:
            media_type = kind.partition(";")[0].strip() or "application/octet-stream"
            blob = await ctx.blob(bytes(data), media_type)
            said = f"HTTP {answer.status_code} {kind}\n{len(data):,} bytes that are no text, kept as {blob.sha256[:12]}{cut}"
            return Rich(text=said, blobs=(blob,))
        return Rich(text=f"HTTP {answer.status_code} {kind}\n\n{text}{cut}")


def _text(data: bytes, encoding: str | None) -> str | None:
    """The text in the charset that the answer names; None where it is none."""
    if b"\0" in data[:8_000] and not (encoding or "").lower().startswith("utf-16"):
        return None
    try:
        text = data.decode(encoding or "utf-8", "replace")
    except (LookupError, UnicodeError):  # no charset at all, or one that is no text's
        text = data.decode("utf-8", "replace")
    return None if text.count("\ufffd") > len(text) // 10 else text
