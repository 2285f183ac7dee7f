"""One bounded GET over HTTP: pinned addresses, checked redirects, one deadline for everything, bounded bytes."""

from __future__ import annotations

import ssl
import zlib
from time import monotonic
from typing import TYPE_CHECKING
from urllib.parse import urljoin

from kbtasks.capture.guard import Target, allowed_addresses, parse_url, system_resolver
from kbtasks.capture.redact import redact_url
from kbtasks.errors import KbError, MissingExtra, Refused, Unavailable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from kbtasks.capture.guard import Resolver

MAX_REDIRECTS = 10
MAX_HEADERS = 100
USER_AGENT = "Mozilla/5.0 (compatible; kbtasks; personal archive)"
_GZIP = b"\x1f\x8b\x08"
_REDIRECT = frozenset((301, 302, 303, 307, 308))


class Fetched:
    """What a server answered: final address, status, headers (lower-case names), decoded body.

    cut: why the body is not whole (``too-large``, ``deadline``, ``closed-early``, ``bad-encoding``), or None.
    hops: the redirects followed, as (status, address).
    """

    __slots__ = ("body", "cut", "headers", "hops", "status", "url")

    def __init__(self, url: str, status: int, headers: dict[str, str]) -> None:
        self.url = url
        self.status = status
        self.headers = headers
        self.body = b""
        self.cut: str | None = None
        self.hops: list[tuple[int, str]] = []

    @property
    def media_type(self) -> str:
        """The media type of the body without parameters, lower case; empty where the server named none."""
        return self.headers.get("content-type", "").split(";", 1)[0].strip().lower()


class Fetcher:
    """Fetches within one set of rules.

    timeout: seconds for one fetch with all its redirects. max_bytes: of the decoded body.
    resolver: injected in tests. allow_private: also connect to addresses that are not public.
    """

    def __init__(
        self,
        *,
        timeout: float = 30.0,
        max_bytes: int = 25_000_000,
        allow_private: bool = False,
        user_agent: str = USER_AGENT,
        resolver: Resolver = system_resolver,
        tls: ssl.SSLContext | None = None,
    ) -> None:
        self.timeout = timeout
        self.max_bytes = max_bytes
        self.allow_private = allow_private
        self.user_agent = user_agent
        self.resolver = resolver
        self._tls = tls

    def fetch(
        self, url: str, *, accept: str = "text/html,application/xhtml+xml,*/*;q=0.5", max_bytes: int | None = None,
        deadline: float | None = None,
    ) -> Fetched:  # fmt: skip
        """GET ``url`` and follow its redirects, each checked like the first.

        Raises Refused (address, loop, too many hops), Unavailable (no answer, deadline before the headers), UsageError.
        """
        deadline = min(monotonic() + self.timeout, deadline if deadline is not None else float("inf"))
        limit = self.max_bytes if max_bytes is None else max_bytes
        seen: set[str] = set()
        hops: list[tuple[int, str]] = []
        while True:
            target = parse_url(url)
            if target.url in seen:
                raise Refused(message=f"the address redirects in a loop at {redact_url(target.url)}")
            seen.add(target.url)
            answer = self._once(target, accept, limit, deadline)
            location = answer.headers.get("location")
            if answer.status not in _REDIRECT or not location:
                answer.hops = hops
                return answer
            hops.append((answer.status, redact_url(target.url)))
            if len(hops) > MAX_REDIRECTS:
                raise Refused(message=f"more than {MAX_REDIRECTS} redirects, the last from {redact_url(target.url)}")
            url = followed(location.encode("latin-1", "replace").decode("utf-8", "replace"), target.url)

    def _once(self, target: Target, accept: str, limit: int, deadline: float) -> Fetched:
        try:
            import httpcore
        except ImportError:
            raise MissingExtra(feature="capturing from the web", extra="capture") from None
        from kbtasks.capture.pinned import PinnedBackend

        addresses = allowed_addresses(
            target.host, target.port, resolver=self.resolver, timeout=_left(deadline), allow_private=self.allow_private
        )
        host = f"[{target.host}]" if ":" in target.host else target.host
        if target.port != {"http": 80, "https": 443}[target.scheme]:
            host += f":{target.port}"
        headers = [
            ("Host", host), ("User-Agent", self.user_agent), ("Accept", accept), ("Accept-Encoding", "gzip, deflate"),
            ("Accept-Language", "en, *;q=0.5"), ("Connection", "close"),
        ]  # fmt: skip
        backend = PinnedBackend(addresses, deadline)
        context = self._tls = self._tls or ssl.create_default_context()
        left = _left(deadline)
        extensions = {"timeout": {"connect": left, "read": left, "write": left, "pool": left}}
        answer: Fetched | None = None
        url = httpcore.URL(scheme=target.scheme, host=target.host, port=target.port, target=target.path)
        try:
            with (
                httpcore.ConnectionPool(ssl_context=context, network_backend=backend, retries=0) as pool,
                pool.stream("GET", url, headers=headers, extensions=extensions) as response,
            ):
                answer = Fetched(target.url, response.status, _headers(response.headers))
                if answer.status in _REDIRECT and "location" in answer.headers:
                    return answer
                _read_body(answer, response.iter_stream(), limit, deadline)
        except (httpcore.TimeoutException, TimeoutError):
            if answer is None:
                raise Unavailable(message=f"{target.host} did not answer in time") from None
            answer.cut = answer.cut or "deadline"
        except (httpcore.NetworkError, httpcore.ProtocolError, OSError, ValueError) as error:
            if answer is None:
                words = redact_url(str(error)) or type(error).__name__
                raise Unavailable(message=f"{target.host} could not be read: {words[:200]}") from None
            answer.cut = answer.cut or "closed-early"
        return answer


def followed(location: str, source: str) -> str:
    """The address that ``source`` sends its reader on to, whole; Refused where it is not one that may be captured."""
    try:
        url = urljoin(source, location)
        parse_url(url)
    except (KbError, ValueError) as error:
        raise Refused(message=f"the redirect from {redact_url(source)} cannot be followed: {error}") from None
    return url


def _left(deadline: float) -> float:
    left = deadline - monotonic()
    if left <= 0:
        raise Unavailable(message="the deadline passed before the capture was done", next="--timeout SECONDS")
    return left


def _headers(raw: Iterable[tuple[bytes, bytes]]) -> dict[str, str]:
    headers: dict[str, str] = {}
    for name, value in list(raw)[:MAX_HEADERS]:
        headers.setdefault(name.decode("latin-1").lower(), value.decode("latin-1"))
    return headers


def _gunzip(decoder: zlib._Decompress, chunk: bytes, body: bytearray, limit: int) -> zlib._Decompress:
    """Add what ``chunk`` holds to ``body``; return the decoder for what follows. Members may follow each other (RFC 1952, 2.2).

    What stands after the last member and begins none is ignored, as browsers do.
    """
    while chunk and len(body) <= limit:
        if decoder.eof:
            if not chunk.startswith(_GZIP[: len(chunk)]):
                return decoder
            decoder = zlib.decompressobj(31)
        body += decoder.decompress(chunk, limit + 1 - len(body))
        chunk = decoder.unused_data
    return decoder


def _read_body(answer: Fetched, chunks: Iterable[bytes], limit: int, deadline: float) -> None:
    """Fill ``answer.body`` chunk by chunk, decoding gzip and deflate with a bound on what comes out."""
    named = [name.strip().lower() for name in answer.headers.get("content-encoding", "").split(",")]
    encodings = [name for name in named if name not in ("", "identity")]
    encoding = encodings[0] if encodings else ""
    if len(encodings) > 1 or encoding not in ("", "gzip", "x-gzip", "deflate"):
        answer.cut = "bad-encoding"
        return
    decoder = {"": None, "deflate": zlib.decompressobj()}.get(encoding, zlib.decompressobj(31))
    body = bytearray()
    first = True
    try:
        for chunk in chunks:
            if decoder is None:
                body += chunk
            else:
                try:
                    if encoding == "deflate":
                        body += decoder.decompress(chunk, limit + 1 - len(body))
                    else:
                        decoder = _gunzip(decoder, chunk, body, limit)
                except zlib.error:
                    if encoding == "deflate" and first:  # some servers send raw deflate, without the zlib header
                        decoder = zlib.decompressobj(-15)
                        try:
                            body += decoder.decompress(chunk, limit + 1)
                        except zlib.error:
                            answer.cut = "bad-encoding"
                            break
                    else:
                        answer.cut = "bad-encoding"
                        break
            first = False
            if len(body) > limit:
                answer.cut = "too-large"
                break
            if monotonic() > deadline:
                answer.cut = "deadline"
                break
        else:
            if decoder is not None and not decoder.eof and answer.cut is None:
                answer.cut = "closed-early"
    finally:
        answer.body = bytes(body[:limit])
