"""HTTPS URLs as the WHATWG URL standard prints them: a table, and a library as witness where it is installed."""

from __future__ import annotations

import random

import pytest

from kbtasks.resources.model import canonical_url
from kbtasks.resources.whatwg import parse_https, secret_names

GOOD = {
    "https://EXAMPLE.com:443": "https://example.com/",
    "https:example.com": "https://example.com/",
    "https:\\\\a\\b": "https://a/b",
    "https://127.1/": "https://127.0.0.1/",
    "https://0x7f.1/": "https://127.0.0.1/",
    "https://@example.com/": "https://example.com/",
    "https://a/x/../y/./z/%2e%2E": "https://a/y/",
    "https://a//b///c/../..": "https://a//b//",
    "https://a/%7e ~": "https://a/%7e%20~",
    "https://a/?q='\"<>`{}^|#f'\"<>`{}^|": "https://a/?q=%27%22%3C%3E`{}^|#f'%22%3C%3E%60{}^|",
    "https://a/'\"<>`{}^|[]": "https://a/'%22%3C%3E%60%7B%7D%5E|[]",
    "  HTTPS://A/b\n": "https://a/b",
    "ht\ntps://a/\tb": "https://a/b",
    "https://a?": "https://a/?",
    "https://a#": "https://a/#",
    "https://münchen.de/ä?ö#ü": "https://xn--mnchen-3ya.de/%C3%A4?%C3%B6#%C3%BC",
    "https://faß.de": "https://xn--fa-hia.de/",
    "https://日本語。jp": "https://xn--wgv71a119e.jp/",
    "https://ＥＸ%41mple.com": "https://example.com/",
    "https://💩.la": "https://xn--ls8h.la/",
    "https://[1:2:3:0:0:0:7:8]:80/": "https://[1:2:3::7:8]:80/",
    "https://[::ffff:1.2.3.4]/": "https://[::ffff:102:304]/",
    "https://a:00443/": "https://a/",
    "https://אבג.com": "https://xn--4dbcd.com/",
    "https://a/\ud800": "https://a/%EF%BF%BD",
}
BAD = [
    "", "example.com", "http://a/", "ftp://a", "https://", "https:///", "https://a b/", "https://a%20b/", "https://u@a/",
    "https://u:p@a/", "https://:p@a/", "https://a:65536", "https://a:80b", "https://a:-1", "https://256.1.1.1", "https://1.2.3.4.5",
    "https://1.2.3.09", "https://[::1", "https://[1::2::3]", "https://[::1%25e]", "https://a]", "https://a<b", "https://a^b",
    "https://a%00b", "https://\u00ad/", "https://\u0300a.com", "https://א1a.com", "https://a@b@c/", "javascript:alert(1)",
]  # fmt: skip


@pytest.mark.parametrize(("given", "href"), GOOD.items(), ids=map(ascii, GOOD))
def test_serialised(given: str, href: str) -> None:
    assert parse_https(given).href == href
    assert parse_https(href).href == href


@pytest.mark.parametrize("given", BAD, ids=map(ascii, BAD))
def test_refused(given: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        parse_https(given)


def test_agrees_with_a_library_of_the_standard() -> None:
    ada = pytest.importorskip("ada_url")

    def theirs(text: str) -> str | None:
        try:
            url = ada.URL(text)
        except ValueError:
            return None
        return None if url.protocol != "https:" or url.username or url.password else url.href

    def ours(text: str) -> str | None:
        try:
            return parse_https(text).href
        except ValueError:
            return None

    rng = random.Random(6)
    parts = [
        "a",
        "B",
        "/",
        "\\",
        "..",
        ".",
        "%2e",
        "?",
        "#",
        "@",
        ":",
        "80",
        "443",
        "[",
        "]",
        "::",
        "1",
        "0x7f",
        "256",
        "é",
        "日",
        "。",
        "ß",
        "%",
        "%41",
        "'",
        '"',
        "<",
        "^",
        "|",
        "{",
        "`",
        "~",
        "א",
        "-",
        "_",
        "com",
        "💩",
        " ",
        "\t",
    ]
    for _ in range(8000):
        text = (
            "https:" + rng.choice(["//", "//", "/", ""]) + "".join(rng.choice(parts) for _ in range(rng.randint(1, 9)))
        )
        assert ours(text) == theirs(text), text
    for text in [*GOOD, *BAD]:
        if not any("\ud800" <= c <= "\udfff" for c in text):
            assert ours(text) == theirs(text), text


X = "https://x.com/i/web/status/123"


@pytest.mark.parametrize(
    "url",
    [
        "https://x.com/someone/status/123", "https://www.x.com/a_b/status/123/", "https://twitter.com/a/status/123/photo/1",
        "https://www.twitter.com/a/status/123?s=20#x", "https://mobile.twitter.com/i/web/status/123", "https://x.com/i/status/123",
        "https://x.com:8443/a/status/123/video/2", X,
    ],
)  # fmt: skip
def test_x_aliases_become_one_url(url: str) -> None:
    assert canonical_url("x", "123", url) == X


@pytest.mark.parametrize(
    "url",
    [
        "https://x.com/someone/status/124", "https://mobile.x.com/a/status/123", "https://vxtwitter.com/a/status/123",
        "https://x.com/a/statuses/123", "https://x.com/a/status/123/analytics", "https://x.com/sixteen_letters_/status/123",
        "https://x.com/i/web/status/123/extra", "https://example.com/a/status/123",
    ],
)  # fmt: skip
def test_other_urls_are_kept(url: str) -> None:
    assert canonical_url("x", "123", url) == url
    assert canonical_url("twitter", "123", "https://x.com/a/status/123") == "https://x.com/a/status/123"
    assert canonical_url("x", "tweet-123", "https://x.com/a/status/123") == "https://x.com/a/status/123"


def test_secret_looking_parameters_are_named() -> None:
    assert secret_names("https://a/?access_token=abcdefgh1&q=word&X-Amz-Signature=0123456789#page-2") == [
        "access_token",
        "X-Amz-Signature",
    ]
    assert secret_names("https://a/?code=1&page=token&author=longer-than-eight") == []
