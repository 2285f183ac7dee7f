"""A forward proxy on the loopback address through which the headless browser must go: every connection is checked and pinned."""

from __future__ import annotations

import re
import selectors
import socket
from threading import Lock, Thread
from time import monotonic
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from kbtasks.capture.guard import allowed_addresses
from kbtasks.errors import KbError, Refused

if TYPE_CHECKING:
    from kbtasks.capture.guard import Resolver

MAX_HEAD = 64 << 10
MAX_CONNECTIONS = 64
_CONNECT_TIME = 10.0
#: What Chromium itself likes to call, whatever its flags say; no page needs it, and nobody asked for it.
_OWN_SERVICES = re.compile(
    r"(?:accounts\.google\.com|clients\d*\.google\.com|(?:update|optimizationguide-pa|content-autofill|safebrowsing|safebrowsingohttpgateway"
    r"|chromekanonymity\w*-pa|android|chromefeaturedflags-pa)\.googleapis\.com|(?:redirector|edgedl\.me)\.gvt1\.com|[\w.-]*\.gvt\d\.com)$"
)


class GuardedProxy:
    """Serves until closed. ``refused``: hosts not let through; ``max_bytes`` bounds what is loaded in all."""

    def __init__(
        self, *, resolver: Resolver, allow_private: bool, deadline: float, max_bytes: int, wanted: str
    ) -> None:
        self._resolver = resolver
        self._allow_private = allow_private
        self._deadline = deadline
        self._left = max_bytes
        self._wanted = wanted
        self._lock = Lock()
        self._open = 0
        self.refused: set[str] = set()
        self._server = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port: int = self._server.getsockname()[1]
        self._closed = False
        Thread(target=self._accept, daemon=True).start()

    def close(self) -> None:
        """Stop taking connections; those that run end with the browser or at the deadline."""
        self._closed = True
        self._server.close()

    def _accept(self) -> None:
        while not self._closed and monotonic() < self._deadline:
            try:
                client, _ = self._server.accept()
            except OSError:
                return
            with self._lock:
                if self._open >= MAX_CONNECTIONS:
                    client.close()
                    continue
                self._open += 1
            Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        try:
            with client:
                client.settimeout(_CONNECT_TIME)
                self._handle(client)
        except (OSError, ValueError):
            pass
        finally:
            with self._lock:
                self._open -= 1

    def _handle(self, client: socket.socket) -> None:
        data = b""
        while b"\r\n\r\n" not in data:
            chunk = client.recv(8192)
            if not chunk or len(data) > MAX_HEAD:
                return
            data += chunk
        head, _, rest = data.partition(b"\r\n\r\n")
        lines = head.split(b"\r\n")
        method, target, _ = lines[0].decode("latin-1").split(" ", 2)
        if method == "CONNECT":
            host, _, port = target.rpartition(":")
            first, allowed = b"", None
        else:
            parts = urlsplit(target)
            if parts.scheme != "http" or not parts.hostname:
                client.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
                return
            host, port = parts.hostname, str(parts.port or 80)
            path = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
            kept = [
                line for line in lines[1:] if not line.lower().startswith((b"proxy-", b"connection:", b"keep-alive:"))
            ]
            first = (
                b"\r\n".join([f"{method} {path} HTTP/1.1".encode("latin-1"), *kept, b"Connection: close", b"", b""])
                + rest
            )
            allowed = max(_content_length(kept) - len(rest), 0)
        upstream = self._connect(host.strip("[]"), int(port))
        if upstream is None:
            client.sendall(b"HTTP/1.1 502 Refused\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            return
        with upstream:
            if method == "CONNECT":
                client.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
            else:
                upstream.sendall(first)
            self._splice(client, upstream, allowed)

    def _connect(self, host: str, port: int) -> socket.socket | None:
        if host != self._wanted and _OWN_SERVICES.match(host.lower()):
            return None
        try:
            timeout = min(_CONNECT_TIME, max(self._deadline - monotonic(), 0.01))
            addresses = allowed_addresses(
                host, port, resolver=self._resolver, timeout=timeout, allow_private=self._allow_private
            )
        except Refused:
            self.refused.add(host)
            return None
        except KbError:
            return None
        for address in addresses:
            try:
                return socket.create_connection((address, port), timeout=_CONNECT_TIME)
            except OSError:
                continue
        return None

    def _splice(self, client: socket.socket, upstream: socket.socket, allowed: int | None) -> None:
        """Pass bytes both ways; after a plain request only its body, so that a connection serves one host."""
        with selectors.DefaultSelector() as selector:
            selector.register(client, selectors.EVENT_READ, upstream)
            selector.register(upstream, selectors.EVENT_READ, client)
            while (left := self._deadline - monotonic()) > 0:
                for key, _ in selector.select(min(left, 1.0)):
                    source = key.fileobj
                    assert isinstance(source, socket.socket)
                    chunk = source.recv(65536)
                    if not chunk:
                        return
                    if source is client and allowed is not None:
                        if len(chunk) > allowed:
                            return
                        allowed -= len(chunk)
                    if source is upstream:
                        with self._lock:
                            self._left -= len(chunk)
                            if self._left < 0:
                                return
                    key.data.sendall(chunk)


def _content_length(lines: list[bytes]) -> int:
    for line in lines:
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length" and value.strip().isdigit():
            return int(value)
    return 0
