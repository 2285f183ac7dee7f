"""Sections, summaries, plain text, tags, blocks, and work that stays linear in the text."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import pytest
from support.notes import small_vault

from kbtasks.vault.parse import parse_note
from kbtasks.vault.scan import plain_text, shortened

if TYPE_CHECKING:
    from types import FrameType
    from typing import Any


def test_sections_tile_the_body() -> None:
    text = "---\na: 1\n---\nintro 数\n\n# One\ntext\n## Two *em*\n\n### Three\n# Four"
    data = text.encode()
    note = parse_note("n.md", data)
    assert [(s.path, s.line, s.end_line) for s in note.sections] == [
        ((), 4, 5),
        (("One",), 6, 7),
        (("One", "Two em"), 8, 9),
        (("One", "Two em", "Three"), 10, 10),
        (("Four",), 11, 11),
    ]
    assert data[note.sections[0].start : note.sections[0].end] == "intro 数\n\n".encode()
    assert data[note.sections[-1].start : note.sections[-1].end] == b"# Four"


@pytest.mark.parametrize(
    ("text", "summary"),
    [
        ("# H\n\n- item\n\n> quote\n\n| a |\n\nFirst **real** [[P|paragraph]] of `it`.\nSecond line.\n\nMore", "First real paragraph of it. Second line."),
        ("---\ndescription: From front matter\n---\nBody", "From front matter"),
        ("# Only a heading\n", ""),
        ("```\ncode\n```\n\n数据库的索引。", "数据库的索引。"),
    ],
)  # fmt: skip
def test_summary(text: str, summary: str) -> None:
    assert parse_note("n.md", text.encode()).summary == summary


def test_summaries_are_cut_at_a_word() -> None:
    short = shortened("word " * 100)
    assert len(short) <= 180
    assert short.endswith("word…")
    assert len(shortened("数" * 500)) == 180


@pytest.mark.parametrize(
    ("markup", "words"),
    [
        ("**Bold** _em_ `code` ~~s~~", "Bold em code s"), ('[[a|b]] [[c#d]] [t](u "v")', "b c#d t"), ("a_b_c 2 * 3", "a_b_c 2 3"),
        ("x <b>y</b> %%gone%% z ^id", "x y z"), ("\\*kept\\*", "*kept*"), ("a[^1] 数据", "a 数据"),
    ],
)  # fmt: skip
def test_plain_text(markup: str, words: str) -> None:
    assert plain_text(markup) == words


@pytest.mark.parametrize(
    ("text", "tags"),
    [
        ("#a/b/c #数据库 #标签，后 #naïve #🙂x", ["a/b/c", "数据库", "标签", "naïve", "🙂x"]),
        ("a#b https://x.y/#c #1 #12/3 #1a &#35; ##d", ["1a"]),
        ("(#p) **#q** [#r] x,#s #t, #u. #v-w_x", ["p", "q", "r", "t", "u", "v-w_x"]),
        ("[x](#anchor) [[#Heading]] `#code` $#m$ <!-- #c --> %%#p%%", []),
        ("#e\u0301 #a/", ["\u00e9", "a"]),
        ("- #one\n> #two\n1. #three\n| #four |", ["one", "two", "three", "four"]),
    ],
)  # fmt: skip
def test_inline_tags(text: str, tags: list[str]) -> None:
    assert [tag.name for tag in small_vault({"n.md": text}).notes["n.md"].tags] == tags


def test_blocks() -> None:
    note = parse_note("n.md", b"para ^one\n\n- item ^two\n\n`^no` x^no ^not this\n\n| t |\n\n^three\n")
    assert note.blocks == [("one", 1), ("two", 3), ("three", 9)]


HOSTILE = (
    "[", "[[", "![", "[a](", "[](", "[a](<b", "[x][", "](", "`a``b```c", '<a b="', "$a", "%%\n", "<!--", "> ", "- ", '[a](b "', "*a",
    "#a/", "\\[", "[^a ", "- a\n", "\t- a\n", "# a\n", "a\n-\n", "<div>\n", "```\n", "$$\n", "|a", "1. ", "[a\n", "~~~x\n\n", "<code>",
)  # fmt: skip


def steps(data: bytes) -> int:
    """Lines of Python executed while reading a note."""
    count = 0

    def trace(frame: FrameType, event: str, arg: Any) -> Any:
        nonlocal count
        count += 1
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        parse_note("n.md", data)
    finally:
        sys.settrace(before)
    return count


@pytest.mark.parametrize("unit", HOSTILE)
@pytest.mark.parametrize("lead", ["", "[a]: b\n\n", "---\nk: "])
def test_work_is_linear(unit: str, lead: str) -> None:
    one, two = (steps((lead + unit * (size // len(unit))).encode()) for size in (2000, 4000))
    assert two <= 2.3 * one + 500


def test_two_hundred_thousand_brackets() -> None:
    note = parse_note("n.md", b"[" * 200_000 + b" [[L]]")
    assert [link.target for link in note.links] == ["L"]
