"""The address guard: which addresses are public, and that a name is resolved once and connected to as resolved."""

from __future__ import annotations

import pytest
from support.site import site

from kbtasks.capture.guard import allowed_addresses, is_public, parse_url
from kbtasks.errors import KbError, Refused, Unavailable, UsageError

pytest.importorskip("httpcore", reason="the extra capture is not installed")

PRIVATE = [
    "127.0.0.1", "127.8.8.8", "10.0.0.1", "172.16.0.1", "172.31.255.255", "192.168.1.1", "169.254.169.254", "0.0.0.0", "100.64.0.1", "192.0.0.1",
    "192.0.2.1", "198.18.0.1", "198.51.100.1", "203.0.113.9", "224.0.0.1", "240.0.0.1", "255.255.255.255", "::1", "::", "fe80::1", "fe80::1%eth0",
    "fc00::1", "fd12::1", "fec0::1", "ff02::1", "2001:db8::1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "64:ff9b::7f00:1", "64:ff9b:1::1", "2002:7f00:1::",
    "2001:0:4136:e378:8000:63bf:f5ff:fffe", "::7f00:1", "not an address", "",
]  # fmt: skip


@pytest.mark.parametrize("address", PRIVATE)
def test_private(address: str) -> None:
    assert not is_public(address)


@pytest.mark.parametrize(
    "address", ["93.184.216.34", "8.8.8.8", "2606:4700::1111", "::ffff:8.8.8.8", "64:ff9b::808:808"]
)
def test_public(address: str) -> None:
    assert is_public(address)


def resolver(*answers: list[str]):  # type: ignore[no-untyped-def]
    """A resolver that gives one answer after the other, then the last one again; ``asked`` counts."""
    left = list(answers)

    def ask(host: str, port: int, timeout: float) -> list[str]:
        ask.asked += 1  # type: ignore[attr-defined]
        return left.pop(0) if len(left) > 1 else left[0]

    ask.asked = 0  # type: ignore[attr-defined]
    return ask


def test_one_private_address_among_public_ones_is_enough() -> None:
    for answer in (["10.0.0.1"], ["93.184.216.34", "127.0.0.1"], ["::1", "2606:4700::1111"]):
        with pytest.raises(Refused):
            allowed_addresses("x.example", 80, resolver=resolver(answer), timeout=1, allow_private=False)
    assert allowed_addresses("x.example", 80, resolver=resolver(["10.0.0.1"]), timeout=1, allow_private=True) == [
        "10.0.0.1"
    ]
    with pytest.raises(Unavailable):
        allowed_addresses("x.example", 80, resolver=resolver([]), timeout=1, allow_private=False)


def fetcher(resolver, **options):  # type: ignore[no-untyped-def]
    from kbtasks.capture.fetch import Fetcher

    return Fetcher(timeout=5, resolver=resolver, **options)


def test_a_name_that_turns_private_after_the_check_is_never_asked_again() -> None:
    """The connection goes to the address that was checked: what the name says a moment later does not matter."""
    turning = resolver(["192.0.2.1"], ["127.0.0.1"])
    with site() as server, pytest.raises(KbError):
        fetcher(turning).fetch(f"http://turning.example:{server.port}/")
    assert turning.asked == 1 and server.log == []


def test_the_pinned_address_is_the_one_connected_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """With every address taken for public, a made-up name is fetched from the address its one resolution gave."""
    monkeypatch.setattr("kbtasks.capture.guard.is_public", lambda address: True)
    once = resolver(["127.0.0.1"], ["192.0.2.1"])
    with site() as server:
        answer = fetcher(once).fetch(f"http://public.example:{server.port}/")
        assert answer.status == 200 and once.asked == 1
        assert f"Host: public.example:{server.port}" in server.heads[0]


def test_each_redirect_is_checked_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first hop is let through as public; the second name leads inside and is refused before any connection."""
    real = is_public
    monkeypatch.setattr("kbtasks.capture.guard.is_public", lambda address: address == "127.0.0.1" or real(address))
    with site() as server:
        server.extra["/out"] = b"HTTP/1.1 302 Found\r\nLocation: http://inside.example/\r\nContent-Length: 0\r\n\r\n"

        def ask(host: str, port: int, timeout: float) -> list[str]:
            return ["127.0.0.1"] if host == "public.example" else ["10.1.2.3"]

        with pytest.raises(Refused, match=r"inside\.example leads to 10\.1\.2\.3"):
            fetcher(ask).fetch(f"http://public.example:{server.port}/out")


def test_the_same_name_turning_private_between_two_hops(monkeypatch: pytest.MonkeyPatch) -> None:
    real = is_public
    monkeypatch.setattr("kbtasks.capture.guard.is_public", lambda address: address == "127.0.0.1" or real(address))
    with site() as server, pytest.raises(Refused):
        server.extra["/a"] = b"HTTP/1.1 302 Found\r\nLocation: /b\r\nContent-Length: 0\r\n\r\n"
        fetcher(resolver(["127.0.0.1"], ["169.254.169.254"])).fetch(f"http://turning.example:{server.port}/a")


@pytest.mark.parametrize(
    "host", ["127.0.0.1", "localhost", "127.1", "2130706433", "0x7f000001", "[::1]", "[::ffff:127.0.0.1]", "0"]
)
def test_ways_to_write_this_machine(host: str) -> None:
    from kbtasks.capture.fetch import Fetcher

    with site() as server:
        with pytest.raises((Refused, Unavailable, UsageError)):
            Fetcher(timeout=5).fetch(f"http://{host}:{server.port}/")
        assert server.log == []


@pytest.mark.parametrize(
    "url",
    ["ftp://x.example/", "file:///etc/passwd", "http://", "http:///x", "//x", "x", "", "http://u:p@x.example/", "http://u@x.example/", "http://x.example:99999/",
     "http://[::1", "http://a b/", "http://x\\@y/", "http://" + "a" * 300 + "/", "https://x/" + "y" * 9000, "javascript:alert(1)", "http://%31/", "http://x.example/\udcff", "http://x.example/?q=\ud800", "http://\udcff/", "http://x.example:0/"],
)  # fmt: skip
def test_addresses_that_are_none(url: str) -> None:
    with pytest.raises(UsageError):
        parse_url(url)


def test_addresses_are_made_plain() -> None:
    assert parse_url("HTTP://Bücher.Example:80/a b?q=ü#part").url == "http://xn--bcher-kva.example/a%20b?q=%C3%BC"
    assert parse_url(" https://x.example:8443 \n").url == "https://x.example:8443/"


def test_a_resolver_that_hangs_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    import threading

    from kbtasks.capture.guard import system_resolver

    done = threading.Event()
    monkeypatch.setattr("socket.getaddrinfo", lambda *_, **__: done.wait(20) and [])
    with pytest.raises(Unavailable, match="in time"):
        system_resolver("x.example", 80, 0.1)
    done.set()
