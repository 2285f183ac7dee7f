"""Which addresses a capture may connect to: public ones only, unless the caller allowed private ones."""

from __future__ import annotations

import ipaddress
import socket
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from kbtasks.errors import Refused, Unavailable, UsageError

if TYPE_CHECKING:
    from collections.abc import Callable

    #: Turns a host name and a port into textual IP addresses; tests inject one.
    Resolver = Callable[[str, int, float], list[str]]

MAX_URL = 8192
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_NAT64_LOCAL = ipaddress.ip_network("64:ff9b:1::/48")
_COMPATIBLE = ipaddress.ip_network("::/96")
_PORTS = {"http": 80, "https": 443}


class Target:
    """A checked address of the web: scheme, ASCII host, port, and the path with its query as sent."""

    __slots__ = ("host", "path", "port", "scheme", "url")

    def __init__(self, scheme: str, host: str, port: int, path: str) -> None:
        self.scheme = scheme
        self.host = host
        self.port = port
        self.path = path
        shown = f"[{host}]" if ":" in host else host
        self.url = f"{scheme}://{shown}{'' if port == _PORTS[scheme] else f':{port}'}{path}"


def parse_url(url: str) -> Target:
    """The Target of ``url``; UsageError unless it is HTTP or HTTPS with a host and no user name or password in it."""
    from kbtasks.capture.redact import redact_url

    url = "".join(char for char in url.strip() if char not in "\t\r\n")
    if len(url) > MAX_URL:
        raise UsageError(message=f"the address is longer than {MAX_URL} characters")
    if any("\ud800" <= char <= "\udfff" for char in url):
        raise UsageError(message="the address holds bytes that are no text", next="write them as %XX")
    shown = redact_url(url)
    try:
        parts = urlsplit(url)
        port = parts.port
        if port == 0:
            raise ValueError("nothing can listen there")
        host = parts.hostname or ""
    except ValueError:
        raise UsageError(message=f"{shown!r} is not an address", next="give a whole address, as https://...") from None
    if parts.scheme.lower() not in _PORTS or not host:
        raise UsageError(
            message=f"{shown!r} is not an http or https address", next="give a whole address, as https://..."
        )
    if parts.username is not None or parts.password is not None:
        raise UsageError(message="the address holds a user name or password; it is never sent or kept")
    try:
        if ":" in host:
            host = str(ipaddress.ip_address(host.split("%", 1)[0]))
        else:
            host = host.encode("idna").decode("ascii") if not host.isascii() else host
    except (UnicodeError, ValueError):
        raise UsageError(message=f"{shown!r} has no valid host name") from None
    if any(char <= " " or char in "/\\@#?%" for char in host) or len(host) > 253:
        raise UsageError(message=f"{shown!r} has no valid host name")
    path = urlunsplit(("", "", parts.path or "/", parts.query, ""))
    return Target(parts.scheme.lower(), host.lower(), port or _PORTS[parts.scheme.lower()], _quote(path))


def _quote(path: str) -> str:
    from urllib.parse import quote

    return quote(path, safe="/?:@!$&'()*+,;=-._~%[]|")


def is_public(address: str) -> bool:
    """Whether ``address`` is an ordinary address of the public Internet, the ones inside IPv6 transition forms included."""
    try:
        ip = ipaddress.ip_address(address.split("%", 1)[0])
    except ValueError:
        return False
    if isinstance(ip, ipaddress.IPv6Address):
        inner = ip.ipv4_mapped or ip.sixtofour
        if inner is None and ip.teredo is not None:
            inner = ip.teredo[1]
        if ip in _NAT64 or (ip in _COMPATIBLE and int(ip) > 1):
            inner = ipaddress.IPv4Address(int(ip) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
        if ip in _NAT64_LOCAL or ip.is_site_local:
            return False
    return ip.is_global and not (
        ip.is_private or ip.is_loopback or ip.is_link_local or ip.is_multicast or ip.is_reserved or ip.is_unspecified
    )


def system_resolver(host: str, port: int, timeout: float) -> list[str]:
    """Addresses of ``host`` by the system's resolver, within ``timeout`` seconds; Unavailable otherwise."""
    from threading import Thread

    found: list[str] = []
    failure: list[str] = []

    def ask() -> None:
        try:
            for entry in socket.getaddrinfo(host, port, type=socket.SOCK_STREAM):
                address = str(entry[4][0])
                if address not in found:
                    found.append(address)
        except (OSError, UnicodeError) as error:
            failure.append(getattr(error, "strerror", None) or "no such name")

    thread = Thread(target=ask, daemon=True)
    thread.start()
    thread.join(max(timeout, 0.01))
    if thread.is_alive():
        raise Unavailable(message=f"the name {host} was not resolved in time")
    if failure or not found:
        raise Unavailable(message=f"the name {host} cannot be resolved: {failure[0] if failure else 'no address'}")
    return found


def allowed_addresses(host: str, port: int, *, resolver: Resolver, timeout: float, allow_private: bool) -> list[str]:
    """The addresses to connect to for ``host``, resolved once: the connection is made to one of these and no other.

    Refused when any is not public (a name with a public and a private address is a known trick), unless ``allow_private``.
    """
    addresses = resolver(host, port, timeout)
    if not addresses:
        raise Unavailable(message=f"the name {host} has no address")
    if not allow_private:
        for address in addresses:
            if not is_public(address):
                raise Refused(
                    message=f"{host} leads to {address}, which is not a public address",
                    next="--allow-private, if you trust it",
                )
    return addresses
