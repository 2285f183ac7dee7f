"""Lists put directly in lists, start numbers, paragraphs and code in items."""

from __future__ import annotations

import re

from support.captures import article, body, html

PAGE = article(
    "<ul><li>pond</li><li>marsh</li><ul><li>east</li><li>west</li></ul></ul>\n<p>Then.</p>\n"
    '<ol start="9"><li><p>nine</p><p>more nine</p></li><li>ten<ul><li>deep</li></ul></li><li>eleven<pre>code\n  x</pre></li></ol>\n'
    '<ul><li><input type="checkbox" checked> done</li><li><input type="checkbox"> open</li></ul>'
)


def shape(markdown: str) -> str:
    """The HTML of the part between the long paragraphs, white space between tags dropped."""
    inner = html(markdown).partition("</p>")[2].rpartition("<p>")[0]
    return re.sub(r">\s+<", "><", inner).strip()


def test_the_tree_comes_back() -> None:
    found = shape(body(PAGE))
    assert "<ul><li>pond</li><li>marsh\n<ul><li>east</li><li>west</li></ul></li></ul>" in found
    assert (
        '<ol start="9"><li><p>nine</p><p>more nine</p></li><li><p>ten</p><ul><li>deep</li></ul></li><li><p>eleven</p><pre><code>code\n  x\n</code></pre></li></ol>'
        in found
    )
    assert "<ul><li>[x] done</li><li>[ ] open</li></ul>" in found


def test_neighbouring_lists_stay_apart() -> None:
    found = shape(body(article("<ul><li>a</li></ul><ul><li>b</li></ul><ol><li>c</li></ol><ol><li>d</li></ol>")))
    assert found == "<ul><li>a</li></ul><ul><li>b</li></ul><ol><li>c</li></ol><ol><li>d</li></ol>"


def test_deep_lists_and_quotes_in_items() -> None:
    found = shape(
        body(article("<ol><li>a<ol><li>b<ol><li>c<blockquote><p>q</p></blockquote></li></ol></li></ol></li></ol>"))
    )
    assert "<blockquote><p>q</p></blockquote>" in found
    assert found.count("<ol>") == 3
