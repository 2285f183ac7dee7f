"""Relative addresses, base href, protocol-relative and fragment links."""

from __future__ import annotations

from support.captures import article, body, tokens

LINKS = (
    '<p><img src="../media/x.png" alt="x"> <a href="/wiki/Crane">w</a> <a href="c.html">c</a> <a href="//cdn.example/f">f</a> '
    '<a href="?q=2">q</a> <a href="#part">part</a> <a href="mailto:info@birds.example">m</a> <a href="javascript:void(0)">js</a> '
    '<a href="./a (b) c.html">sp</a></p><h2 id="part">Part</h2>'
)


def addresses(markdown: str) -> list[str]:
    return [
        str(token.attrs.get("href") or token.attrs.get("src"))
        for token in tokens(markdown)
        if token.type in ("link_open", "image")
    ]


def test_without_base() -> None:
    assert addresses(body(article(LINKS))) == [
        "https://birds.example/a/media/x.png",
        "https://birds.example/wiki/Crane",
        "https://birds.example/a/b/c.html",
        "https://cdn.example/f",
        "https://birds.example/a/b/page.html?q=2",
        "https://birds.example/a/b/page.html?x=1#part",
        "mailto:info@birds.example",
        "https://birds.example/a/b/a%20%28b%29%20c.html",
    ]


def test_the_words_of_a_dropped_link_stay() -> None:
    assert " js " in body(article(LINKS))


def test_with_base() -> None:
    page = article(
        '<p><img src="x.png" alt="x"> <a href="c.html">c</a></p>',
        head='<meta charset="utf-8"><base href="/static/v2/">',
    )
    assert addresses(body(page)) == ["https://birds.example/static/v2/x.png", "https://birds.example/static/v2/c.html"]


def test_a_saved_page_without_address_has_no_dead_local_links() -> None:
    from kbtasks.capture.page import UNKNOWN

    text = body(
        article('<p><a href="c.html">see</a> <a href="#part">part</a> <a href="https://x.example/">x</a></p>'), UNKNOWN
    )
    assert "see part [x](https://x.example/)" in text
    assert "saved-page" not in text
