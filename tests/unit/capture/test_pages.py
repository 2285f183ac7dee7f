"""Corners of pages: controls by reference, line breaks, emphasis beside CJK, srcset, definition lists, refreshes, code marks."""

from __future__ import annotations

import pytest
from support.captures import LONG, article, body, html, rendered, tokens

pytest.importorskip("trafilatura", reason="the extra capture is not installed")


def inner(source: str, **options: str) -> str:
    """The Markdown between the two long paragraphs."""
    return body(article(source), **options).split("\n\n", 1)[1].rpartition("\n\n")[0]


@pytest.mark.parametrize(
    ("source", "markdown"),
    [
        ("<p>a&#2;5&#3;b&#0;c&#x1F;d&shy;e</p>", "a5b"),
        ("<p>one<br>two<br><br>three</p>", "one\\\ntwo\n\nthree"),
        ("<p><b>a</b><b>b</b> <i><b>c</b></i> x<b> y </b>z</p>", "**ab** ***c*** x **y** z"),
        ("<p>中文<b>“粗体”</b>后面<b>粗体</b>继续</p>", "中文“粗体”后面**粗体**继续"),
        ("<p>E=mc<sup>2</sup>, H<sub>2</sub>O, x<sup>ab</sup></p>", "E=mc², H₂O, x^(ab)"),
        ("<p>Wow!<a href='http://x.example/'>link</a></p>", "Wow\\![link](http://x.example/)"),
        ("<p><a href='http://x.example/'></a>a<a href='http://x.example/'>  </a>b</p>", "a b"),
        ("<p><a href='http://x.example/a b|c]d'>x</a></p>", "[x](http://x.example/a%20b%7Cc%5Dd)"),
        (
            "<p><a href='http://x.example/'><img src='/i.png' alt='i'></a></p>",
            "[![i](https://birds.example/i.png)](http://x.example/)",
        ),
        (
            "<a href='http://x.example/'><h3>Card</h3><p>Text</p></a>",
            "### [Card](http://x.example/)\n\n[Text](http://x.example/)",
        ),
        ("<dl><dt>Term</dt><dd>One</dd><dt>Other</dt><dd>Two</dd></dl>", "- Term\n\n  One\n\n- Other\n\n  Two"),
        ("<h2>Use <code>x</code> <a class='headerlink' href='#u'>¶</a></h2>", "## Use `x`"),
        ("<details><summary>More *</summary>Inside</details>", "**More \\***\n\nInside"),
        ("<blockquote><p>a</p><blockquote><p>b</p></blockquote></blockquote>", "> a\n>\n> > b"),
        ("<pre class='brush: js; toolbar: false'>x</pre>", "```js\nx\n```"),
        ("<p>Wow! AT&T & co < x</p>", "Wow! AT&T & co < x"),
        ("<h2><a href='#u'>Use</a> it</h2><h3 id=u><a href='#u'>§</a>Mark</h3>", "## Use it\n\n### Mark"),
        ("<p>a <q>b</q> <del>c</del> <kbd>d</kbd></p>", "a “b” ~~c~~ `d`"),
        ("<p>a</p><hr><p>b</p>", "a\n\n***\n\nb"),
        ("<p hidden>x</p><p style='display: none'>y</p><p>z</p>", "z"),
        ("<p>👩‍🔬 می‌خواهم</p>", "👩‍🔬 می‌خواهم"),
        (
            "<iframe src='https://v.example/e' title='Clip [1]'></iframe>",
            "[Embedded page: Clip \\[1\\]](https://v.example/e)",
        ),
        ("<ol start='-5'><li>a</li></ol>", "0. a"),
        ("<ul><li></li><li>a</li></ul>", "-\n- a"),
    ],
)
def test_markdown(source: str, markdown: str) -> None:
    found = inner(source)
    assert found.startswith(markdown) if source.startswith("<p>a&#2;") else found == markdown


def test_no_control_character_comes_through() -> None:
    text = body(
        article(
            "<p>&#2;0&#3; a&#0;b&#x1F;c&shy;d \x0b \x1b[31m</p><pre>&#2;0&#3;</pre><p><img src='/a.png' alt='&#2;0&#3;'></p>"
        )
    )
    assert not any(ord(char) < 32 and char != "\n" for char in text)
    assert "![0](https://birds.example/a.png)" in text


def test_pages_without_head_and_body() -> None:
    for start in ("<title>T</title>", "<title>T</title><script>x</script>", "<meta charset=utf-8><link rel=x>", ""):
        for inner in (
            f"<article><p>{LONG}</p></article>",
            f"<main>{LONG}</main>",
            f"<section><h1>H</h1>{LONG}</section><p>after</p>",
            f"loose {LONG}",
            f"<p>{LONG}",
        ):
            assert LONG in body((start + inner).encode()), start + inner[:20]


def test_elements_that_older_parsers_leave_open() -> None:
    text = body(
        article(
            "<p>long<wbr>word<wbr/>here</p>"
            "<p>a"
            + "<wbr>b" * 3000
            + "</p><p>after it</p><video><track src=x><source src='/v.mp4'>no video</video><p>end</p>"
        )
    )
    assert (
        "longwordhere" in text
        and "a" + "b" * 3000 in text
        and "after it" in text
        and "[Video](https://birds.example/v.mp4)" in text
        and "\n\nend\n" in text
    )


def test_data_uris_of_many_megabytes() -> None:
    import base64

    uri = "data:image/png;base64," + base64.b64encode(b"\x89PNG\r\n\x1a\n" + b"x" * 12_000_000).decode()
    answer = rendered(article(f'<p>before <img src="{uri}" alt="big"> after</p>'))
    assert len(answer["pictures"][0]["url"]) == len(uri) and "before" in answer["markdown"]


def test_binary_is_no_page() -> None:
    from kbtasks.capture.charset import is_binary

    assert is_binary(b"\x00\x01\x02" * 50) and is_binary(b"PK\x03\x04" + b"a" * 500)
    assert (
        not is_binary(b"")
        and not is_binary(b"plain")
        and not is_binary(b"<html>\x00")
        and not is_binary("\ufeff<p>".encode("utf-16-le"))
    )


def test_pages_that_scripts_must_fill() -> None:
    def codes(page: str) -> list[str]:
        return [item["code"] for item in rendered(page.encode())["warnings"]]

    script = "<script src='/a.js'></script>"
    assert codes(f"<title>A</title><div id=root></div>{script}") == ["no-text"]
    assert codes(f"<title>A</title><p>Loading, please wait a moment.</p><div id=app></div>{script}") == ["needs-script"]
    assert codes(
        f"<title>A</title><p>Some words of a frame.</p><noscript>Please enable JavaScript.</noscript>{script}"
    ) == ["needs-script"]
    assert codes(f"<title>A</title><article><p>A short note that is whole.</p></article>{script}") == []
    assert (
        codes(
            "<title>A</title><article><p>A short note that is whole.</p></article><script type='application/ld+json'>{}</script>"
        )
        == []
    )


def test_srcset() -> None:
    from kbtasks.capture.pictures import parse_srcset

    assert parse_srcset("a.jpg 480w, b.jpg 1200w") == [("a.jpg", 480.0), ("b.jpg", 1200.0)]
    assert parse_srcset("a.jpg, b.jpg 2x,c,d.jpg 1.5x") == [("a.jpg", 1000.0), ("b.jpg", 2000.0), ("c,d.jpg", 1500.0)]
    assert parse_srcset(" data:image/png;base64,AA== 1x , /x,y.png 2x") == [
        ("data:image/png;base64,AA==", 1000.0),
        ("/x,y.png", 2000.0),
    ]
    assert parse_srcset(",,, ,") == [] and parse_srcset("") == [] and parse_srcset("a 1e999w") and parse_srcset("a zz")


def test_pictures_that_are_real() -> None:
    cases = {
        '<img src="s.gif" data-src="real.jpg">': "real.jpg",
        '<img src="blank.gif" data-original="real.jpg">': "real.jpg",
        '<img data-srcset="a.jpg 100w, b.jpg 900w" src="data:image/gif;base64,R0lGODlhAQABAAAAACw=">': "b.jpg",
        '<img srcset="a.jpg 9000w, b.jpg 900w" src="c.jpg">': "b.jpg",
        '<picture><source srcset="a.webp 1x"><img src="" alt="x"></picture>': "a.webp",
        '<img src="x.png" width="1" height="1">': "",
        '<img src="javascript:x">': "",
    }
    for source, name in cases.items():
        found = rendered(article(f"<p>{source}</p>"))["pictures"]
        assert [item["url"].rpartition("/")[2] for item in found] == ([name] if name else []), source


def test_meta_refresh() -> None:
    from kbtasks.capture.facts import refresh_target

    page = b'<html><head><meta http-equiv="refresh" content="0; url=/next?a=1&amp;b=2"></head></html>'
    assert refresh_target(page, "https://x.example/a") == "https://x.example/next?a=1&b=2"
    assert refresh_target(page.replace(b"0;", b"30;"), "https://x.example/a") is None
    assert refresh_target(page.replace(b"/next?a=1&amp;b=2", b"javascript:x"), "https://x.example/a") is None
    assert refresh_target(page.replace(b"/next?a=1&amp;b=2", b"/a"), "https://x.example/a") is None
    assert refresh_target(page + b" " * 5000, "https://x.example/a") is None


def test_footnotes_of_other_makers() -> None:
    text = inner(
        '<p>One<sup id="fnref:1"><a href="#fn:1" class="footnote">1</a></sup> two<a id="r2" href="#n2" role="doc-noteref">b</a>.</p>'
        '<div class="footnotes"><ol><li id="fn:1"><p>First <a href="#fnref:1" class="reversefootnote">↩</a></p></li></ol>'
        '<aside id="n2" role="doc-footnote"><p>Second.</p><p>More of it.</p></aside></div>'
    )
    assert "One[^1] two[^2]." in text
    whole = body(
        article(
            '<p>A<sup><a href="#x">1</a></sup></p><ol><li id="x">Note <b>n</b>. <a href="#y">^</a></li><li>kept item</li></ol>'
        )
    )
    assert "A[^1]" in whole and "[^1]: Note **n**." in whole and "kept item" in whole


def test_tables_with_spans_and_lists() -> None:
    text = inner(
        "<table><tr><th>a</th><th colspan=2>b</th></tr><tr><td rowspan=2>c</td><td>d|e</td><td>f<br>g</td></tr><tr><td>h</td><td></td></tr></table>"
    )
    assert text == "| a | b |  |\n| --- | --- | --- |\n| c | d\\|e | f g |\n| c | h |  |"
    assert [token.type for token in tokens(text)].count("tr_open") == 3
    assert "<td>d|e</td>" in html(text)


@pytest.mark.parametrize(
    ("head", "inner", "title"),
    [
        ("<title>Reeds - The Pond Book</title>", "<h1>The Pond Book</h1><h1>Reeds</h1>", "Reeds"),
        ("<title>Reeds - The Pond Book</title>", "<h1>The Pond Book</h1><h2>REEDS</h2>", "Reeds"),
        ('<title>Reeds | Pond</title><meta property="og:site_name" content="Pond">', "", "Reeds"),
        ('<title>Pond: Reeds</title><meta property="og:title" content="Reeds">', "<h1>Other</h1>", "Reeds"),
        ("<title>Reeds and  more</title>", "<h1>Reeds</h1>", "Reeds"),
        ("", "<h1>Only <i>heading</i></h1>", "Only heading"),
        ("<title></title>", "", ""),
    ],
)
def test_title(head: str, inner: str, title: str) -> None:
    answer = rendered(article(inner, head='<meta charset="utf-8">' + head))
    assert answer["title"] == title
    assert answer["markdown"].casefold().count(f"# {title.casefold()}\n") <= 1


def test_words_are_those_a_reader_sees() -> None:
    page = article("<p><a href='https://x.example/a/very/long/address/of/many/words'>one</a> two</p>")
    assert rendered(page)["words"] == rendered(article("<p>one two</p>"))["words"]


def test_scope_page_keeps_what_surrounds() -> None:
    from support.pageset import page

    assert "Feed address" in body(page("blog"), scope="page") and "Feed address" not in body(page("blog"))
