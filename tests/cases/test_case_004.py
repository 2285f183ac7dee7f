"""Three dashes inside a value, and horizontal rules in the body."""

from __future__ import annotations

from support.notes import small_vault

VAULT = {
    "Value.md": '---\nnote: before --- after\ncode: "---"\nlast: kept\n---\nBody of value.\n',
    "Rules.md": (
        "---\ntitle: Core samples\n---\nFirst part.\n\n---\n\ndepth: 12\nsediment: clay\n\n---\n\nLast part.\n\n"
        "Title by underline\n---\n"
    ),
    "Late.md": "Text first.\n\n---\ntitle: Not frontmatter\n---\n",
    "NotFence.md": "---\ntitle: Real\n---not a fence: x\nkind: still yaml?\n---\nBody.\n",
}


def test_only_whole_lines_of_three_dashes_are_fences() -> None:
    notes = small_vault(VAULT).notes
    assert notes["Value.md"].meta == {"note": "before --- after", "code": "---", "last": "kept"}
    rules = notes["Rules.md"]
    assert rules.meta == {"title": "Core samples"}
    body = rules.text[rules.body_start :]
    assert "depth: 12" in body
    assert "sediment" in body
    assert [(h.level, h.text) for h in rules.headings] == [(2, "Title by underline")]
    assert notes["Late.md"].meta == {}


def test_dashes_with_more_behind_them_are_a_key() -> None:
    note = small_vault(VAULT).notes["NotFence.md"]
    assert note.meta == {"title": "Real", "---not a fence": "x", "kind": "still yaml?"}
    assert note.text[note.body_start :] == "Body.\n"
    assert note.body_line == 6


def test_two_rules_around_prose_are_no_front_matter() -> None:
    note = small_vault({"P.md": "---\n\nProse between rules, [[Late]].\n\n---\nmore\n"}).notes["P.md"]
    assert (note.meta, note.body_start, note.problems) == ({}, 0, [])
    assert [link.target for link in note.links] == ["Late"]
