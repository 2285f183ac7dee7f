"""Obsidian's order, told: path from the root, own folder, shortest path; then our extensions."""

from __future__ import annotations

import pytest
from support.notes import small_vault

VAULT = {
    "Note.md": "# A\n\n## B c\n\ntext ^blk\n\n# D\n\n## B c\n", "a/Note.md": "", "a/b/Note.md": "", "a/b/Other.md": "", "c/Other.md": "",
    "v1.2 notes.md": "", "deep/er/Lone.md": "---\naliases: [Only]\ntitle: Titled\n---\n", "x/y.md": "", "z/y.md": "",
    "x/map.png": b"", "folder/index.md": "", "Twice 1.md": "---\naliases: [Twice]\n---\n", "Twice 2.md": "---\naliases: [Twice]\n---\n",
}  # fmt: skip


@pytest.mark.parametrize(
    ("source", "written", "state", "how", "target", "obsidian"),
    [
        ("a/s.md", "[[Note]]", "ok", "id", "Note.md", True),
        ("a/b/s.md", "[[Other]]", "ok", "own-folder", "a/b/Other.md", True),
        ("s.md", "[[Other]]", "ok", "shortest", "c/Other.md", True),
        ("s.md", "[[b/Other]]", "ok", "shortest", "a/b/Other.md", True),
        ("s.md", "[[a/b/Other.md]]", "ok", "id", "a/b/Other.md", True),
        ("s.md", "[[/a/Note]]", "ok", "id", "a/Note.md", True),
        ("a/b/s.md", "[[../Note]]", "ok", "relative", "a/Note.md", True),
        ("a/b/s.md", "[x](../Note.md)", "ok", "relative", "a/Note.md", True),
        ("a/s.md", "[x](Note.md)", "ok", "relative", "a/Note.md", False),
        ("a/s.md", "[x](Lone.md)", "ok", "shortest", "deep/er/Lone.md", True),
        ("s.md", "[[note]]", "ok", "case", "Note.md", True),
        ("s.md", "[[v1.2 notes]]", "ok", "id", "v1.2 notes.md", True),
        ("s.md", "[[v1.2%20notes]]", "ok", "percent", "v1.2 notes.md", False),
        ("s.md", "[[a\\Note]]", "ok", "separator", "a/Note.md", False),
        ("s.md", "[[only]]", "ok", "alias", "deep/er/Lone.md", False),
        ("s.md", "[[titled]]", "ok", "title", "deep/er/Lone.md", False),
        ("s.md", "[x](only)", "broken", "", None, False),
        ("s.md", "[[y]]", "ambiguous", "shortest", None, True),
        ("s.md", "[[Twice]]", "ambiguous", "alias", None, False),
        ("s.md", "[[q/Lone]]", "broken", "", None, False),
        ("s.md", "![[map.png]]", "attachment", "shortest", "x/map.png", True),
        ("s.md", "![[gone.png]]", "missing-attachment", "", None, False),
        ("s.md", "[x](gone.xyz)", "missing-attachment", "", None, False),
        ("s.md", "[x](folder/)", "ok", "folder", "folder/index.md", False),
        ("s.md", "[x](../src/main.py)", "external", "outside", None, False),
        ("s.md", "[x](mailto:a@b.c)", "external", "url", None, True),
        ("s.md", "[[#A]]", "self", "self", "s.md", True),
    ],
)
def test_how(source: str, written: str, state: str, how: str, target: str | None, obsidian: bool) -> None:
    vault = small_vault({**VAULT, source: written})
    [(_, meaning)] = vault.meanings(source)
    assert (meaning.state, meaning.how, meaning.target, meaning.obsidian) == (state, how, target, obsidian)


def test_candidates() -> None:
    vault = small_vault({**VAULT, "s.md": "[[y]] [[q/Lone]] [[Other]]"})
    assert [meaning.candidates for _, meaning in vault.meanings("s.md")] == [
        ["x/y.md", "z/y.md"],
        ["deep/er/Lone.md"],
        ["a/b/Other.md"],
    ]


@pytest.mark.parametrize(
    ("written", "ok"),
    [
        ("[[Note#B c]]", True), ("[[Note#b  C]]", True), ("[[Note#D#B c]]", True), ("[[Note#B c#D]]", False),
        ("[[Note#Gone]]", False), ("[[Note#^blk]]", True), ("[[Note#^BLK]]", True), ("[[Note#^no]]", False),
        ("[x](Note.md#b-c)", True), ("[x](Note.md#b-c-1)", True), ("[x](Note.md#b-c-2)", False), ("[[Note#b-c]]", False),
        ("[[Note]]", None), ("![[map.png#x]]", None),
    ],
)  # fmt: skip
def test_fragments(written: str, ok: bool | None) -> None:
    vault = small_vault({**VAULT, "s.md": written})
    [(_, meaning)] = vault.meanings("s.md")
    assert meaning.fragment_ok is ok


def test_typed_relations() -> None:
    text = "---\nrelations:\n  supersedes: a/Note\n  informed-by:\n    - '[[Lone|l]]'\n    - 5\n    - [x]\n  Bad Name: Note\n---\n"
    note = small_vault({"s.md": text}).notes["s.md"]
    assert [(link.predicate, link.target, link.label, link.place.line) for link in note.links] == [
        ("supersedes", "a/Note", None, 3),
        ("informed-by", "Lone", "l", 5),
        ("informed-by", "5", None, 6),
    ]
    assert [(problem.code, problem.line) for problem in note.problems] == [
        ("relation-malformed", 7),
        ("relation-malformed", 8),
    ]
    data = text.encode()
    assert data[note.links[1].place.start : note.links[1].place.end] == b"[[Lone|l]]"
