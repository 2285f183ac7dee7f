"""Every way people write tags in front matter."""

from __future__ import annotations

from support.notes import codes, small_vault, tag_names

VAULT = {
    "A.md": "---\ntags: [Birds/Heron, marsh]\n---\n#birds #BIRDS again\n",
    "B.md": "---\ntags: birds, marsh\n---\n",
    "C.md": '---\ntags: "#birds"\n---\n',
    "D.md": "---\ntags: [#birds, #marsh]\n---\nbody word: smew\n",
    "E.md": "---\ntags:\n  - marsh\n  -\n  - [birds, x]\n---\n",
    "F.md": "birdsong is not #birdsong-list\n",
}


def test_forms() -> None:
    notes = small_vault(VAULT).notes
    assert tag_names(notes["A.md"]) == ["Birds/Heron", "marsh", "birds"]
    assert tag_names(notes["B.md"]) == ["birds", "marsh"]
    assert tag_names(notes["C.md"]) == ["birds"]
    assert tag_names(notes["D.md"]) == []
    assert codes(notes["D.md"]) == ["frontmatter-yaml"]
    assert "smew" in notes["D.md"].text[notes["D.md"].body_start :]
    assert tag_names(notes["E.md"]) == ["marsh"]
    assert codes(notes["E.md"]) == ["frontmatter-tags"]


def test_a_parent_finds_its_children_by_whole_segments() -> None:
    notes = small_vault(VAULT).notes
    under = [
        path for path, note in notes.items() if any(f"{tag.name.casefold()}/".startswith("birds/") for tag in note.tags)
    ]
    assert under == ["A.md", "B.md", "C.md"]


def test_places() -> None:
    for path, expected in {"A.md": [b"Birds/Heron", b"marsh", b"#birds", b"#BIRDS"], "C.md": [b"birds"]}.items():
        data = VAULT[path].encode()
        tags = small_vault(VAULT).notes[path].tags
        assert [data[tag.place.start : tag.place.end] for tag in tags] == expected
