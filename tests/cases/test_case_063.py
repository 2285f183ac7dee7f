"""Page text that looks like wikilinks, tags, front matter or HTML is text in the note."""

from __future__ import annotations

import re
from html import unescape
from typing import Any

from support.captures import LONG, body, html, rendered

TITLE = "Birds: \"a\" & 'b' --- #1"
PAGE = f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Birds: "a" &amp; 'b' --- #1</title></head><body><article>
<h1>Birds: "a" &amp; 'b' --- #1
</h1><p>{LONG}</p>
<p>Use [[double]] brackets, #hashtag words, *stars*, under_score_d, back`tick, &lt;b&gt;not bold&lt;/b&gt;, ![[img.png]] and [1] marks.</p>
<p>---</p><p>1. not a list</p><p>%% note %% ^blk</p><p>{LONG}</p>
</article></body></html>
""".encode()


def parsed(page: bytes) -> Any:
    from kbtasks.capture.note import note_text
    from kbtasks.vault.parse import parse_note

    answer = rendered(page)
    text = note_text(
        answer["markdown"], title=answer["title"], source="tricky.html", author=answer["author"], published="", clipped="2026-01-02T03:04:05Z",
        status="complete", method="file", warnings=[], paths={}, linked={}, media=set(), has_text=True,
    )  # fmt: skip
    return parse_note("articles/x/x.md", text.encode())


def words(markdown: str) -> str:
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", html(markdown))).split())


def test_the_note_has_no_links_and_no_tags() -> None:
    note = parsed(PAGE)
    assert [link.target for link in note.links] == []
    assert [tag.name for tag in note.tags] == []
    assert note.blocks == [] and note.problems == []
    assert note.title == TITLE
    assert note.meta["title"] == TITLE


def test_the_words_are_those_of_the_page() -> None:
    shown = words(body(PAGE))
    for text in (
        TITLE, "Use [[double]] brackets, #hashtag words, *stars*, under_score_d, back`tick, <b>not bold</b>, ![[img.png]] and [1] marks.",
        "--- 1. not a list", "%% note %% ^blk",
    ):  # fmt: skip
        assert text in shown
    assert "<b>" not in html(body(PAGE)) and "<ol" not in html(body(PAGE)) and "<hr" not in html(body(PAGE))


HOSTILE = [
    "---\ntags: [evil]\n---", "[[a|b]]", "#标签 🦆", "＃x", "[^1]: note", "[x]: http://y", "[a](b)", "![a](b)", "<!-- c -->", "&lt;", "&amp;amp;", "\\[[x]]",
    "\\", "a\\", "~~~", "```js", "    code", "> quote", "- item", "+ item", "1) item", "=====", "***", "___", "| a | b |", "$x$ $$y$$", "==mark==",
    "~~gone~~", "http://x.example/a_b_c", "a*b*c", "_a_", "__a__", "**a**", "C#", "C# #", "%%", "^abc", "end ^abc", "key:: value", "<script>x</script>",
    "![[x]]", "[ ] task", "- [x] task", "+++", "{{x}}", "<%tp%>", "«#x»", "a #b c", "!", "![", "*", "_", "`", "[", "]", "#", "<", "&", "^", "|", "~", "=",
]  # fmt: skip


def test_every_hostile_line_is_text() -> None:
    from html import escape

    inner = "".join(
        f"<p>{escape(line)}</p><ul><li>{escape(line)}</li></ul><h3>{escape(line)}</h3><p>a<br>{escape(line)}</p>"
        for line in HOSTILE
    )
    page = f"<html><head><meta charset=utf-8><title>T</title></head><body><article><p>{LONG}</p>{inner}<p>{LONG}</p></article></body></html>".encode()
    note = parsed(page)
    # A bare address is text that some readers make clickable; it leads to the web, not into the vault.
    assert [link.target for link in note.links if not link.target.startswith("http")] == []
    assert [tag.name for tag in note.tags] == [] and note.blocks == [] and note.footnotes == []
    assert "tags" not in note.meta
    shown = words(body(page))
    for line in HOSTILE:
        assert " ".join(line.split()) in shown, line
    for tag in ("<table", "<pre", "<blockquote", "<hr", "<del>", "<em>", "<strong>", "<script", "<a "):
        assert tag not in html(body(page)), tag
