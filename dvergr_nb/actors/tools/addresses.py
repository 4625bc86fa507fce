"""Which hosts and addresses an agent may reach: names from a list, and no address of this machine or its networks."""

from __future__ import annotations

import asyncio
import ipaddress
import re
import socket
from collections.abc import Sequence
from typing import Final

from dvergr_nb.actors.tools.tool import ToolFailed
from dvergr_nb.errors import BadInput
from dvergr_nb.records.text import shown

HOST: Final = re.compile(r"\*|(\*\.)?[A-Za-z0-9_]([A-Za-z0-9_.-]{0,252}[A-Za-z0-9_])?|[0-9A-Fa-f:.]+")
Address = ipaddress.IPv4Address | ipaddress.IPv6Address
NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")


def checked_hosts(hosts: object) -> tuple[str, ...]:
    """The allow-list in small letters. Raises `BadInput`."""
    if isinstance(hosts, str) or not isinstance(hosts, Sequence) or not hosts:
        raise BadInput(f"hosts is a list of names such as ['example.org', '*.example.org'], ['*'] for all, not {shown(hosts)}")
    for host in hosts:
        if not isinstance(host, str) or not HOST.fullmatch(host):
            raise BadInput(
                f"a host is a name such as 'example.org' or '*.example.org', without scheme or port, not {shown(host)}"
            )
    return tuple(host.lower() for host in hosts)


def is_allowed(host: str, hosts: Sequence[str]) -> bool:
    """Whether the list has that host."""
    name = host.lower().rstrip(".")
    return any(each in ("*", name) or (each.startswith("*.") and name.endswith(each[1:])) for each in hosts)


async def resolved(host: str, port: int, *, allow_private: bool) -> list[str]:
    """The addresses of a host. Raises `ToolFailed` where there is none, or where one of them is not to be reached."""
    try:
        found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as problem:
        raise ToolFailed("no-such-host", f"the host {host!r} was not found: {problem}") from None
    addresses = list(dict.fromkeys(str(each[4][0]) for each in found))
    for address in addresses:
        if not allow_private and not is_public(address):
            raise ToolFailed("refused", f"the host {host!r} leads to {address}, an address that is not public, and is refused")
    return addresses


def is_public(address: str) -> bool:
    """Whether the address belongs to the public internet. One that stands for an address of version 4 is judged by that."""
    found = _meant(ipaddress.ip_address(address.partition("%")[0]))
    return found.is_global and not (found.is_multicast or found.is_reserved or found.is_private or found.is_unspecified)


def _meant(address: Address) -> Address:
    if isinstance(address, ipaddress.IPv4Address):
        return address
    if address in NAT64:
        return ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
    if (meant := address.ipv4_mapped or address.sixtofour) is not None:
        return meant
    return address.teredo[1] if address.teredo else address
