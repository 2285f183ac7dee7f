"""Indentation, blank lines, spans, <br>, backticks and language of code."""

from __future__ import annotations

from support.captures import article, body, tokens

PAGE = article(
    '<pre><code class="language-python">def f(x):\n    if x:\n\treturn "a &lt; b"\n\n\n    return `x`\n</code></pre>\n'
    "<p>Call <code>run()</code>, then <code>a ` b</code>, and go on.</p>\n"
    "<pre>line 1<br>  line 2<br><br>line 4</pre>\n"
    "<pre>```\ninner fence\n```</pre>\n"
    '<table class="highlight"><tr><td class="gutter"><pre>1\n2</pre></td><td class="code"><pre>first()\n    second()</pre></td></tr></table>\n'
    '<pre><span class="k">for</span> <span>i</span>\n<span></span>\n<span>  done</span></pre>'
)
EXPECTED = [
    'def f(x):\n    if x:\n\treturn "a < b"\n\n\n    return `x`\n',
    "line 1\n  line 2\n\nline 4",
    "```\ninner fence\n```",
    "first()\n    second()",
    "for i\n\n  done",
]


def test_code_is_kept_byte_for_byte() -> None:
    blocks = [token for token in tokens(body(PAGE)) if token.type == "fence"]
    assert [block.content.removesuffix("\n") for block in blocks] == [text.removesuffix("\n") for text in EXPECTED]
    assert blocks[0].info == "python"


def test_inline_code_stays_inline() -> None:
    assert [token.content for token in tokens(body(PAGE)) if token.type == "code_inline"] == ["run()", "a ` b"]


def test_code_with_many_backticks_and_line_rows() -> None:
    rows = "".join(
        f'<tr><td class="blob-num" data-line-number="{n}"></td><td class="blob-code">{line}</td></tr>'
        for n, line in ((1, "a = 1"), (2, "  b = 2"))
    )
    text = body(article(f"<pre>x ````` y</pre><table>{rows}</table><p><code>``</code> and <code> </code></p>"))
    assert [token.content for token in tokens(text) if token.type == "fence"] == ["x ````` y\n", "a = 1\n  b = 2\n"]
    assert [token.content for token in tokens(text) if token.type == "code_inline"] == ["``"]
