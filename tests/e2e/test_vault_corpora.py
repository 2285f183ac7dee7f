"""Counts of notes, headings, wikilinks, Markdown links and tags on real vaults against a second, simple count of our own."""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

import pytest

from kbtasks.vault.parse import parse_note
from kbtasks.vault.walk import Rules, walk

if TYPE_CHECKING:
    from pathlib import Path

FRONT = re.compile(r"\A---\n.*?^---\n", re.DOTALL | re.MULTILINE)
FENCE = re.compile(r"^([ \t>]*)(`{3,}|~{3,}).*?(?:^[ \t>]*\2[`~]*[ \t]*$|\Z)", re.DOTALL | re.MULTILINE)
MASKS = (
    FRONT,
    FENCE,
    re.compile(r"<!--.*?-->", re.DOTALL),
    re.compile(r"(?<![\\`])(`+)(?!`)[^\n]*?(?<!`)\1(?!`)"),
    re.compile(r"%%.*?%%", re.DOTALL),
    re.compile(r"<(table|iframe)\b.*?</\1>", re.DOTALL),
)
WIKILINK = re.compile(r"(?<!\\)\[\[[^\[\]\n]+\]\]")
INLINE = re.compile(
    r"(?<!\\)\][(](?:<[^<>\n]*>|[^\s()<>]+(?:[(][^\s()]*[)][^\s()]*)*)(?:\s+(?:\"[^\"\n]*\"|'[^'\n]*'))?\s*[)]"
)
TAG = re.compile(r"(?:^|(?<=\s))#([\w/\-]*[^\W\d][\w/\-]*)")
HEADING = re.compile(r"^#{1,6}(?:[ \t]|$)", re.MULTILINE)


def simple_counts(text: str) -> tuple[int, int, int, int]:
    for mask in MASKS:
        text = mask.sub(lambda match: re.sub(r"[^\n]", "x", match.group()), text)
    return (
        len(WIKILINK.findall(text)), len(INLINE.findall(text)), len(TAG.findall(text)), len(HEADING.findall(text))
    )  # fmt: skip


@pytest.mark.corpora
@pytest.mark.parametrize("name", ["obsidian-hub", "obsidian-help", "obsidian-help-zh", "madison-zk"])
def test_counts(shared: Path, name: str) -> None:
    root = shared / "corpora" / name
    notes = 0
    ours, simple = [0, 0, 0, 0], [0, 0, 0, 0]
    for found in walk(str(root), Rules()):
        if found.kind != "note":
            continue
        notes += 1
        data = (root / found.path).read_bytes()
        note = parse_note(found.path, data)
        kinds = [link.kind for link in note.links]
        counts = (
            kinds.count("wikilink") + kinds.count("embed"),
            sum(1 for link in note.links if link.kind in ("markdown", "image") and "<" not in data[link.place.start : link.place.start + 1].decode()),
            sum(1 for tag in note.tags if tag.source == "inline"),
            sum(1 for heading in note.headings if data[heading.place.start : heading.place.start + 1] == b"#"),
        )  # fmt: skip
        for number, (one, other) in enumerate(zip(counts, simple_counts(note.text), strict=True)):
            ours[number] += one
            simple[number] += other
    listed = sum(
        name.lower().endswith(".md") and name not in ("AGENTS.md", "CLAUDE.md") and "/." not in folder[len(str(root)) :]
        for folder, _, names in os.walk(root)
        for name in names
        if not name.startswith(".")
    )
    assert notes == listed
    for what, one, other in zip(("wikilinks", "Markdown links", "inline tags", "headings"), ours, simple, strict=True):
        assert abs(one - other) <= 0.01 * other + 3, (what, one, other)
