"""Pages over http, from a real server, and everything that is refused."""

from __future__ import annotations

import asyncio
import gzip
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from dvergr_nb.actors.tools import addresses
from dvergr_nb.actors.tools.fetching import http_get
from dvergr_nb.errors import BadInput
from tests.tools.uses import Uses, told, used


class Site(ThreadingHTTPServer):
    """A server of fixed pages, which notes what it was asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Pages)
        self.pages: dict[str, tuple[int, dict[str, str], bytes]] = {}
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.hanging, self.left = threading.Event(), threading.Event()
        self.at = f"http://127.0.0.1:{self.server_port}"


class Pages(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        server = self.server
        assert isinstance(server, Site)
        server.asked.append((self.path, dict(self.headers)))
        status, headers, body = server.pages.get(self.path, (404, {}, b"nothing here"))
        if self.path == "/hang":
            server.hanging.set()
            self.rfile.read(1)
            server.left.set()
            return
        if self.path == "/endless":
            self.send_response(200)
            self.send_header("Content-Type", "text/plain")
            self.end_headers()
            try:
                while True:
                    self.wfile.write(b"x" * 10_000)
            except OSError:
                server.left.set()
            self.close_connection = True
            return
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *args):
        pass


@pytest.fixture
def server() -> Iterator[Site]:
    with Site() as running:
        serving = threading.Thread(target=running.serve_forever, kwargs={"poll_interval": 0.01})
        serving.start()
        yield running
        running.shutdown()
        serving.join()


LOCAL = http_get(["127.0.0.1"], allow_private=True, timeout=30)


async def test_a_page_is_told_with_its_status_and_type(server):
    server.pages["/a?b=c"] = (200, {"Content-Type": "text/html; charset=latin-1"}, "<p>é".encode("latin-1"))
    assert await told(LOCAL, url=f"{server.at}/a?b=c") == "HTTP 200 text/html; charset=latin-1\n\n<p>é"
    assert (await told(LOCAL, url=f"{server.at}/none")).startswith("HTTP 404")
    _, headers = server.asked[0]
    assert headers["Host"] == f"127.0.0.1:{server.server_port}"
    assert headers["Accept-Encoding"] == "identity"
    assert not {"Cookie", "Authorization"} & set(headers)


async def test_the_environment_has_no_say(server, monkeypatch):
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    server.pages["/a"] = (200, {}, b"there")
    assert "there" in await told(LOCAL, url=f"{server.at}/a")


async def test_what_is_no_text_is_said_and_kept(server):
    server.pages["/p"] = (200, {"Content-Type": "image/png"}, b"\x89PNG\0\0\xff")
    turn = await used(LOCAL, {"url": f"{server.at}/p"})
    assert "7 bytes that are no text" in turn.told[0]
    (blob,) = turn.kept[0].blobs
    assert (blob.media_type, turn.blobs[blob.sha256]) == ("image/png", b"\x89PNG\0\0\xff")


async def test_a_redirect_to_what_is_no_url_is_refused(server):
    server.pages["/far"] = (302, {"Location": "/" * 70_000}, b"")
    turn = await used(LOCAL, {"url": f"{server.at}/far"})
    assert "redirects to" in turn.told[0]
    assert turn.outcome == ("failed", "refused")


@pytest.mark.parametrize("charset", ["undefined", "idna", "rot13", "nonsense"])
async def test_a_charset_that_reads_no_text_is_read_as_utf_8(server, charset):
    server.pages["/odd"] = (200, {"Content-Type": f"text/plain; charset={charset}"}, b"hello")
    assert "hello" in await told(LOCAL, url=f"{server.at}/odd")


async def test_a_redirect_is_followed_where_it_may_lead(server):
    server.pages["/1"] = (302, {"Location": "/2"}, b"")
    server.pages["/2"] = (307, {"Location": f"{server.at}/3"}, b"")
    server.pages["/3"] = (200, {}, b"arrived")
    assert "arrived" in await told(LOCAL, url=f"{server.at}/1")


@pytest.mark.parametrize(
    ("to", "sentence"),
    [
        ("http://elsewhere.example/", "is not on the list"),
        ("http://localhost/", "is not on the list"),
        ("file:///etc/passwd", "only http"),
        ("http://user:pass@127.0.0.1/", "a name or a password"),
        ("/loop", "redirects more than 5 times"),
    ],
)
async def test_a_redirect_is_checked_like_the_first_url(server, to, sentence):
    server.pages["/loop"] = (302, {"Location": to}, b"")
    turn = await used(LOCAL, {"url": f"{server.at}/loop"})
    assert sentence in turn.told[0]
    assert turn.outcome == ("failed", "refused")
    assert len(server.asked) <= 6


async def test_only_so_much_of_an_answer_is_read(server):
    small = http_get(["127.0.0.1"], allow_private=True, max_bytes=15_000, timeout=30)
    answer = await told(small, url=f"{server.at}/endless")
    assert answer.endswith("x" * 100 + "\n[cut after 15,000 bytes]")
    assert await asyncio.to_thread(server.left.wait, 30)


async def test_a_packed_answer_is_limited_by_what_it_unpacks_to(server):
    server.pages["/bomb"] = (200, {"Content-Type": "text/plain", "Content-Encoding": "gzip"}, gzip.compress(b"x" * 50_000_000))
    small = http_get(["127.0.0.1"], allow_private=True, max_bytes=1_000, timeout=30)
    answer = await told(small, url=f"{server.at}/bomb")
    assert len(answer) < 1_200


async def test_an_answer_that_does_not_come_is_given_up(server):
    quick = http_get(["127.0.0.1"], allow_private=True, timeout=3)
    turn = await used(quick, {"url": f"{server.at}/hang"})
    assert turn.outcome == ("failed", "timeout")
    assert await asyncio.to_thread(server.left.wait, 30)


async def test_a_stopped_run_leaves_the_server(server):
    turn = Uses((LOCAL, {"url": f"{server.at}/hang"})).begin()
    assert await asyncio.to_thread(server.hanging.wait, 30)
    turn.cancel()
    with pytest.raises(asyncio.CancelledError):
        await turn.given()
    assert await asyncio.to_thread(server.left.wait, 30)


async def test_a_server_that_is_not_there_is_said(server):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        turn = await used(LOCAL, {"url": f"http://127.0.0.1:{taken.getsockname()[1]}/"})
    assert turn.outcome == ("failed", "unreachable")


ANY = http_get(["*"], timeout=30)


@pytest.mark.parametrize(
    "host",
    [
        "127.0.0.1",
        "localhost",
        "0x7f.1",
        "2130706433",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "[::ffff:a00:1]",
        "[64:ff9b::7f00:1]",
        "[2002:7f00:1::]",
        "[fe80::1]",
        "[fc00::1]",
        "[ff02::1]",
        "[::]",
        "0.0.0.0",  # noqa: S104
        "10.1.2.3",
        "172.16.0.1",
        "192.168.1.1",
        "169.254.169.254",
        "100.64.0.1",
        "224.0.0.1",
        "240.0.0.1",
        "255.255.255.255",
        "192.0.2.1",
    ],
)
async def test_no_address_that_is_not_public_is_asked(server, host):
    turn = await used(ANY, {"url": f"http://{host}:{server.server_port}/"})
    assert turn.outcome == ("failed", "refused"), turn.told
    assert "not public" in turn.told[0]
    assert server.asked == []


@pytest.mark.parametrize("address", ["8.8.8.8", "1.1.1.1", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"])
def test_public_addresses_are_public(address):
    assert addresses.is_public(address)


async def test_a_name_is_resolved_once_and_that_very_address_is_asked(server, monkeypatch):
    loop, asked = asyncio.get_running_loop(), []

    async def rebinding(host, port, **how):
        asked.append(host)
        return [(2, 1, 6, "", ("127.0.0.1" if len(asked) == 1 else "10.0.0.1", port))]

    monkeypatch.setattr(loop, "getaddrinfo", rebinding)
    server.pages["/"] = (200, {}, b"the first address")
    by_name = http_get(["*.example.org"], allow_private=True, timeout=30)
    assert "the first address" in await told(by_name, url=f"http://www.example.org:{server.server_port}/")
    assert asked == ["www.example.org"]
    assert server.asked[0][1]["Host"] == f"www.example.org:{server.server_port}"


async def test_a_name_that_leads_to_a_private_address_is_refused(server, monkeypatch):
    async def mixed(host, port, **how):
        return [(2, 1, 6, "", (address, port)) for address in ("8.8.8.8", "127.0.0.1")]

    monkeypatch.setattr(asyncio.get_running_loop(), "getaddrinfo", mixed)
    turn = await used(ANY, {"url": "http://rebound.example/"})
    assert "leads to 127.0.0.1" in turn.told[0]


@pytest.mark.parametrize(
    ("url", "sentence"),
    [
        ("file:///etc/passwd", "only http"),
        ("ftp://127.0.0.1/x", "only http"),
        ("gopher://127.0.0.1/x", "only http"),
        ("127.0.0.1", "only http"),
        ("", "only http"),
        ("http://", "only http"),
        ("http://me:secret@127.0.0.1/", "a name or a password"),
        ("http://127.0.0.1@evil.example/", "a name or a password"),
        ("http://evil.example#127.0.0.1", "is not on the list"),
        ("http://127.0.0.1.evil.example/", "is not on the list"),
        ("http://exa\x00mple/", "is no URL"),
        ("http://[::1", "is no URL"),
        ("http://127.0.0.1:99999999/", "is no URL"),
    ],
)
async def test_urls_that_are_refused(url, sentence):
    turn = await used(LOCAL, {"url": url})
    assert turn.outcome == ("failed", "refused"), turn.told
    assert sentence in turn.told[0]


@pytest.mark.parametrize(
    ("host", "is_so"),
    [
        ("example.org", True),
        ("EXAMPLE.org.", True),
        ("a.wild.net", True),
        ("wild.net", False),
        ("evilwild.net", False),
        ("notexample.org", False),
        ("example.org.evil", False),
    ],
)
def test_a_host_is_on_the_list_as_a_whole(host, is_so):
    assert addresses.is_allowed(host, addresses.checked_hosts(["Example.org", "*.wild.net"])) is is_so


@pytest.mark.parametrize("hosts", [[], "example.org", None, [3], ["http://x"], ["a b"], ["*.*.x"], ["x/y"], ["x:80"]])
def test_the_list_of_hosts_is_a_list_of_names(hosts):
    with pytest.raises(BadInput):
        http_get(hosts)


@pytest.mark.parametrize("how", [{"max_bytes": 0}, {"max_bytes": 1.5}, {"timeout": 0}, {"timeout": "1"}, {"allow_private": 1}])
def test_limits_are_checked_when_the_tool_is_made(how):
    with pytest.raises(BadInput):
        http_get(["*"], **how)
