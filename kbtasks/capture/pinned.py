"""A network backend for httpcore that connects to given addresses only, under one deadline."""

from __future__ import annotations

from time import monotonic
from typing import TYPE_CHECKING, Any

import httpcore

if TYPE_CHECKING:
    import ssl
    from collections.abc import Iterable


class PinnedStream(httpcore.NetworkStream):
    """A stream whose every wait ends at the deadline, however slowly the other side drips."""

    def __init__(self, inner: httpcore.NetworkStream, deadline: float) -> None:
        self._inner = inner
        self._deadline = deadline

    def _time(self, timeout: float | None, kind: type[Exception]) -> float:
        left = self._deadline - monotonic()
        if left <= 0:
            raise kind("deadline")
        return left if timeout is None else min(timeout, left)

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        """Bytes from the peer, at most ``max_bytes``."""
        return self._inner.read(max_bytes, self._time(timeout, httpcore.ReadTimeout))

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        """Send ``buffer`` whole."""
        self._inner.write(buffer, self._time(timeout, httpcore.WriteTimeout))

    def close(self) -> None:
        """Close the connection."""
        self._inner.close()

    def start_tls(
        self, ssl_context: ssl.SSLContext, server_hostname: str | None = None, timeout: float | None = None
    ) -> httpcore.NetworkStream:
        """The same stream under TLS; the certificate is checked for the host's name, not for the pinned address."""
        inner = self._inner.start_tls(ssl_context, server_hostname, self._time(timeout, httpcore.ConnectTimeout))
        return PinnedStream(inner, self._deadline)

    def get_extra_info(self, info: str) -> Any:
        """Facts of the underlying stream."""
        return self._inner.get_extra_info(info)


class PinnedBackend(httpcore.NetworkBackend):
    """Ignores the host it is told and connects to the first of ``addresses`` that answers."""

    def __init__(self, addresses: list[str], deadline: float) -> None:
        self._addresses = addresses
        self._deadline = deadline
        self._plain = httpcore.SyncBackend()

    def connect_tcp(
        self,
        host: str,  # noqa: ARG002
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore.NetworkStream:
        """Connect to a pinned address, sharing the time that is left among those not tried yet."""
        last: Exception | None = None
        for number, address in enumerate(self._addresses):
            left = self._deadline - monotonic()
            if left <= 0:
                break
            share = left / (len(self._addresses) - number) if len(self._addresses) - number > 1 else left
            limit = share if timeout is None else min(share, timeout)
            try:
                stream = self._plain.connect_tcp(address, port, limit, local_address, socket_options)
            except (httpcore.NetworkError, httpcore.TimeoutException) as error:
                last = error
                continue
            return PinnedStream(stream, self._deadline)
        raise last or httpcore.ConnectTimeout("deadline")
