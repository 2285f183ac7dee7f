"""One GET against a server that misbehaves: bounds, cuts, loops, and no wait past the deadline."""

from __future__ import annotations

import shutil
import socket
import ssl
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.site import TEXT, Site, site

from kbtasks.errors import KbError, Refused, Unavailable

if TYPE_CHECKING:
    from kbtasks.capture.fetch import Fetched

pytest.importorskip("httpcore", reason="the extra capture is not installed")


@pytest.fixture
def server() -> Iterator[Site]:
    with site() as found:
        yield found


def get(server: Site, path: str, **options: Any) -> Fetched:
    from kbtasks.capture.fetch import Fetcher

    return Fetcher(**{"timeout": 8.0, "allow_private": True, **options}).fetch(server.base + path)


@pytest.mark.parametrize("path", ["/", "/gzip", "/deflate", "/hop"])
def test_whole_answers(server: Site, path: str) -> None:
    found = get(server, path)
    assert (found.status, found.body, found.cut) == (200, TEXT, None)


def test_redirects_are_kept(server: Site) -> None:
    found = get(server, "/hop")
    assert [(status, url.rpartition("/")[2]) for status, url in found.hops] == [(301, "hop"), (308, "hop2")]
    assert found.url.endswith("/?from=hop")


@pytest.mark.parametrize("path", ["/loop", "/self", "/many", "/to-file", "/to-user", "/to-nothing"])
def test_redirects_that_are_refused(server: Site, path: str) -> None:
    with pytest.raises(Refused) as caught:
        get(server, path)
    assert "secret" not in caught.value.message
    assert len(server.log) <= 12


def test_a_redirect_into_the_private_net_is_refused(server: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("kbtasks.capture.guard.is_public", lambda address: address == "127.0.0.1")
    with pytest.raises(Refused, match=r"10\.0\.0\.1"):
        get(server, "/to-private", allow_private=False)


@pytest.mark.parametrize(
    ("path", "cut"),
    [("/long", "closed-early"), ("/chunked-cut", "closed-early"), ("/gzip-cut", "closed-early"), ("/gzip-junk", "bad-encoding"), ("/brotli", "bad-encoding"),
     ("/bomb", "too-large"), ("/endless", "too-large")],
)  # fmt: skip
def test_answers_that_are_not_whole(server: Site, path: str, cut: str) -> None:
    found = get(server, path, max_bytes=2_000_000)
    assert found.cut == cut
    assert len(found.body) <= 2_000_000


def test_a_length_that_is_too_small_cuts_the_page(server: Site) -> None:
    assert get(server, "/short").body == TEXT[:600]


def test_a_body_that_drips_ends_at_the_deadline_with_what_came(server: Site) -> None:
    found = get(server, "/drip", timeout=1.0)
    assert found.cut == "deadline" and found.body.startswith(TEXT)


@pytest.mark.parametrize("path", ["/silent", "/slow-head"])
def test_no_head_before_the_deadline(server: Site, path: str) -> None:
    with pytest.raises(Unavailable, match="in time"):
        get(server, path, timeout=0.7)


@pytest.mark.parametrize("path", ["/bad-length", "/not-http", "/empty-answer"])
def test_answers_that_are_no_http(server: Site, path: str) -> None:
    with pytest.raises(Unavailable):
        get(server, path)


def test_nothing_listens() -> None:
    from kbtasks.capture.fetch import Fetcher

    with pytest.raises(KbError):
        Fetcher(timeout=2, allow_private=True).fetch("http://127.0.0.1:9/")


def test_what_is_sent(server: Site) -> None:
    get(server, "/?token=abcdef0123456789")
    head = server.heads[0].lower()
    assert "cookie" not in head and "referer" not in head and "authorization" not in head
    assert "token=abcdef0123456789" in head  # the address is sent as it was given, and only there


def test_proxies_of_the_environment_are_not_used(server: Site, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    assert get(server, "/").status == 200


def test_tls_is_checked_for_the_name_not_the_pinned_address(tmp_path: Path) -> None:
    """A certificate of the host's name is accepted at the pinned address; for another name it is refused."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not installed")
    key, certificate = str(tmp_path / "key.pem"), str(tmp_path / "cert.pem")
    subprocess.run(
        [openssl, "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key, "-out", certificate,
         "-subj", "/CN=tls.example", "-addext", "subjectAltName=DNS:tls.example", "-days", "2"], check=True, capture_output=True,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    listener = socket.create_server(("127.0.0.1", 0))
    port = listener.getsockname()[1]

    def serve() -> None:
        for _ in range(3):
            try:
                client, _ = listener.accept()
                with context.wrap_socket(client, server_side=True) as stream:
                    stream.recv(4096)
                    stream.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecret")
            except OSError:
                continue

    threading.Thread(target=serve, daemon=True).start()
    from kbtasks.capture.fetch import Fetcher

    trusting = Fetcher(
        timeout=8,
        allow_private=True,
        resolver=lambda *_: ["127.0.0.1"],
        tls=ssl.create_default_context(cafile=certificate),
    )
    assert trusting.fetch(f"https://tls.example:{port}/").body == b"secret"
    with pytest.raises(Unavailable, match="certificate"):
        trusting.fetch(f"https://other.example:{port}/")
    with pytest.raises(Unavailable, match="certificate"):
        Fetcher(timeout=8, allow_private=True, resolver=lambda *_: ["127.0.0.1"]).fetch(f"https://tls.example:{port}/")
    listener.close()


def zipped(*parts: bytes) -> bytes:
    import gzip

    return b"".join(map(gzip.compress, parts))


@pytest.mark.parametrize(
    ("body", "cut"),
    [(zipped(TEXT[:100], TEXT[100:]), None), (zipped(*(TEXT[at : at + 7] for at in range(0, len(TEXT), 7))), None), (zipped(TEXT) + b"\0" * 40, None),
     (zipped(TEXT, b"x" * 5000)[:-20], "closed-early")],
    ids=["two", "many", "filled", "torn"],
)  # fmt: skip
def test_every_member_of_a_gzip_body_is_read(server: Site, body: bytes, cut: str | None) -> None:
    from support.site import answer

    server.extra["/members"] = answer(body, "Content-Encoding: identity, gzip")
    found = get(server, "/members")
    assert found.cut == cut and found.body.startswith(TEXT)
    assert cut or found.body == TEXT


def test_members_are_bounded_together(server: Site) -> None:
    from support.site import answer

    server.extra["/members"] = answer(zipped(*[b"a" * 1000] * 50), "Content-Encoding: gzip")
    found = get(server, "/members", max_bytes=20_500)
    assert found.cut == "too-large" and found.body == b"a" * 20_500
