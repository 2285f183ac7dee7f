"""Any bytes give a note: nothing raises, places slice back to the file's own bytes, sections tile the body."""

from __future__ import annotations

import json

from hypothesis import example, given, settings
from hypothesis import strategies as st

from kbtasks.model.note import ParsedNote
from kbtasks.vault.names import percent_decoded
from kbtasks.vault.parse import parse_note

PIECES = st.sampled_from(
    (
        "---\n", "\n", "\r\n", " ", "\t", "# ", "## H #tag\n", "[[", "]]", "![[", "|", "#", "^id", "\n\n", "[", "](", ")", "<", ">",
        "> ", "- ", "1. ", "    ", "`", "```\n", "~~~\n", "$", "$$\n", "%%", "<!--", "-->", "<div>\n", "</div>", "\\", "a",
        "数据库", "🙂", "é", "e\u0301", "key: ", "tags: ", "- x\n", '"', "'", "{{t}}", "[^1]", "[^1]: ", "[r]: u\n", "[r]",
        "https://x.y", "&amp;", "%20", "===\n", "| a | b |\n", "\ufeff", "\x00", "\u2028", "\x85", "aliases:\n", "relations:\n",
        "  supersedes: x\n", "*", "_", ":", ",", "?", "&a ", "*a", "!!str ", "\r",
    )
)  # fmt: skip
MARKDOWN = st.lists(PIECES, max_size=60).map("".join)
ENCODED = st.builds(
    lambda text, encoding: text.encode(encoding),
    MARKDOWN,
    st.sampled_from(("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be")),
)
DIRTY = st.builds(lambda head, byte, tail: head + byte + tail, ENCODED, st.binary(min_size=1, max_size=3), ENCODED)


def check(data: bytes) -> ParsedNote:
    note = parse_note("ordner/名前.md", data)
    json.dumps(note.meta, allow_nan=False)
    note.text.encode("utf-8")
    lines = note.text.count("\n") + 1
    assert 0 <= note.body_start <= len(data)
    assert note.size == len(data)
    last = -1
    for link in note.links:
        piece = cut(note, data, link.place.start, link.place.end)
        assert 1 <= link.place.line <= lines
        assert link.target or link.fragment
        if link.kind in ("wikilink", "embed"):
            assert piece == ("![[" if link.kind == "embed" else "[[") + shown(link.raw) + "]]"
            assert "\n" not in piece
        elif link.kind in ("markdown", "image"):
            assert shown(link.raw) in piece
        if link.place.start > note.body_start:
            assert link.place.start >= last
            last = link.place.start
    for tag in note.tags:
        piece = cut(note, data, tag.place.start, tag.place.end)
        if tag.source == "inline":
            assert piece.startswith("#")
    for heading in note.headings:
        assert cut(note, data, heading.place.start, heading.place.end).strip()
        assert note.text.split("\n")[heading.place.line - 1].strip()
    for one, following in zip(note.sections, note.sections[1:], strict=False):
        assert one.end == following.start
        assert one.line <= one.end_line < following.line
    if note.sections:
        assert note.sections[-1].end == note.body_start + len(data[note.body_start :]) or note.problems
        assert note.sections[-1].end_line <= lines
    for problem in note.problems:
        assert 0 <= problem.line <= lines
    return note


def cut(note: ParsedNote, data: bytes, start: int, end: int) -> str:
    assert 0 <= start < end <= len(data)
    text = data[start:end].decode(note.encoding, "surrogatepass" if "16" in note.encoding else "surrogateescape")
    if "\r" in text and "\n" not in note.text.replace("\r", ""):
        text = text.replace("\r", "\n")
    return shown(text)


def shown(text: str) -> str:
    return "".join("\ufffd" if letter == "\0" or "\ud800" <= letter <= "\udfff" else letter for letter in text)


@settings(max_examples=400, deadline=None)
@given(st.one_of(ENCODED, DIRTY, st.binary(max_size=200)))
@example(b"---\n")
@example(b"---\na: &a [*a]\n---\n")
@example(b"\xff\xfe\x00")
@example("---\ntags: [a]\n---\n# 数据库 #标签，x\n[[中文]]".encode("utf-16"))
def test_any_bytes(data: bytes) -> None:
    check(data)


@settings(max_examples=150, deadline=None)
@given(MARKDOWN)
def test_the_mark_and_the_encoding_change_no_meaning(text: str) -> None:
    text = text.replace("\x00", "").replace("\ufeff", "")
    notes = [parse_note("n.md", text.encode(encoding)) for encoding in ("utf-8", "utf-8-sig", "utf-16")]
    meanings = [
        (
            note.meta, note.title, note.aliases, note.summary, [tag.name for tag in note.tags], note.blocks,
            [(h.level, h.text, h.place.line) for h in note.headings],
            [(link.kind, link.target, link.fragment, link.label, link.place.line) for link in note.links],
        )
        for note in notes
    ]  # fmt: skip
    assert meanings[0] == meanings[1] == meanings[2]


@given(st.text())
def test_percent_decoding_is_safe(text: str) -> None:
    assert percent_decoded(text).count("/") == text.count("/")
