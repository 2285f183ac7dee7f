"""A CommonMark parser is the oracle: the same headings, and the same links where code and HTML are masked."""

from __future__ import annotations

import random
import re
from typing import TYPE_CHECKING
from urllib.parse import unquote

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from kbtasks.vault.parse import parse_note
from kbtasks.vault.walk import Rules, walk

if TYPE_CHECKING:
    from pathlib import Path

    from kbtasks.model.note import ParsedNote

ORACLE = MarkdownIt("commonmark")
LINES = st.sampled_from(
    (
        "", "", "text [l](a.md)", "# h [l](b.md)", "## two ##", "#no", "    indented [l](c.md)", "\ttab [l](d.md)", "- item [l](e.md)",
        "  nested [l](f.md)", "   - deeper [l](g.md)", "1. one [l](h.md)", "2) two", "> quote [l](i.md)", "> ```", "> - q [l](j.md)",
        "```", "```py", "~~~~", "~~~", "````", "===", "---", "***", "`code [l](k.md)`", "``a ` [l](l.md)``", "open ` tick [l](m.md)",
        "<div>", "</div>", "<b>x</b> [l](n.md)", "<pre>", "</pre>", "<script>", "</script>", "![i](o.png)", "[![i](p.png)](q.md)",
        "[a [b](r.md) c](s.md)", "[r]", "[t][r]", "[r]: u.md", "\\[x](y.md)", "[x\\](y.md)", "<https://x.y/z>", "<span a='[l](v.md)'>",
        '[x](<a b.md> "t")', "[x](a b.md)", "[x](a.md 'q')", "-", "*", "1.", "+ plus", "-     code [l](w.md)", "  ", "      six",
        "| a | [l](z.md) |", "数据库 [链接](中.md)", "🙂 [l](é.md)", "- # h in item", "> # h in quote", "10. ten", "- ```", "  ```",
    )
)  # fmt: skip
DOCUMENTS = st.lists(LINES, max_size=10).map("\n".join)
OURS = re.compile(r"%%|\$|\[\[|\[\^|<code|<kbd|<samp", re.IGNORECASE)


def expected(text: str) -> tuple[list[tuple[int, int]], list[str]]:
    tokens = ORACLE.parse(text)
    headings = [(int(t.tag[1]), t.map[0] + 1) for t in tokens if t.type == "heading_open" and t.level == 0 and t.map]
    links = []
    for token in tokens:
        for child in token.children or ():
            address = child.attrs.get("href") or child.attrs.get("src")
            if child.type in ("link_open", "image") and address:
                links.append(unquote(str(address)))
    return headings, links


def ours(note: ParsedNote) -> tuple[list[tuple[int, int]], list[str]]:
    links = [unquote(link.target + (f"#{link.fragment}" if link.fragment else "")) for link in note.links]
    return [(heading.level, heading.place.line) for heading in note.headings], links


@settings(max_examples=500, deadline=None)
@given(DOCUMENTS)
@example("- <div>\n")
@example("> <!-- a\n")
@example("-\n\n    indented [l](c.md)")
@example("-\n\n  text [l](c.md)")
@example("1. -\n\n   text [l](c.md)\n\n       code [l](d.md)")
def test_random_documents(text: str) -> None:
    note = parse_note("n.md", text.encode())
    if note.body_start or note.problems:
        return  # it began with something that reads as front matter
    headings, links = expected(text)
    assert ours(note)[0] == headings
    assert sorted(ours(note)[1]) == sorted(links)


@pytest.mark.corpora
@pytest.mark.parametrize(
    ("name", "count"), [("obsidian-hub", 60), ("obsidian-help", 60), ("obsidian-help-zh", 30), ("madison-zk", 90)]
)
def test_real_notes(shared: Path, name: str, count: int) -> None:
    root = shared / "corpora" / name
    paths = [found.path for found in walk(str(root), Rules()) if found.kind == "note"]
    for path in random.Random(7).sample(paths, count):
        data = (root / path).read_bytes()
        body = data[parse_note(path, data).body_start :].decode("utf-8")
        body = OURS.sub("@@", body)  # Obsidian's own marks are not the oracle's
        note = parse_note(path, body.encode())
        if note.body_start:
            continue
        headings, links = expected(body)
        assert (path, ours(note)[0]) == (path, headings)
        assert len(note.links) == len(links), path
