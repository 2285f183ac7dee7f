"""``[[Note]]`` without quotes in a property."""

from __future__ import annotations

from support.notes import codes, small_vault

VAULT = {
    "Marsh.md": "# Marsh\n",
    "Quoted.md": '---\nup: "[[Marsh]]"\nsee:\n  - "[[Marsh|the marsh]]"\n---\ntext\n',
    "Unquoted.md": "---\nup: [[Marsh]]\naliases: [[nested]]\n---\ntext\n",
    "Broken.md": "---\nseen_with: [[Coot]], [[Teal]]\n---\nreedmace by the [[Marsh]]\n",
}


def test_only_the_quoted_one_is_a_link() -> None:
    vault = small_vault(VAULT)
    assert vault.backlinks("Marsh.md") == ["Broken.md", "Quoted.md"]
    assert vault.notes["Unquoted.md"].meta["up"] == [["Marsh"]]
    assert vault.notes["Unquoted.md"].links == []
    assert vault.notes["Unquoted.md"].aliases == []
    assert "frontmatter-unquoted-link" in codes(vault.notes["Unquoted.md"])


def test_property_links_know_their_key_and_place() -> None:
    note = small_vault(VAULT).notes["Quoted.md"]
    data = VAULT["Quoted.md"].encode()
    assert [(link.kind, link.predicate, link.target, link.label) for link in note.links] == [
        ("property", "up", "Marsh", None),
        ("property", "see", "Marsh", "the marsh"),
    ]
    assert [data[link.place.start : link.place.end] for link in note.links] == [b"[[Marsh]]", b"[[Marsh|the marsh]]"]
    assert [link.place.line for link in note.links] == [2, 4]


def test_what_is_no_yaml_is_reported_and_costs_no_body() -> None:
    note = small_vault(VAULT).notes["Broken.md"]
    assert codes(note) == ["frontmatter-yaml"]
    assert note.problems[0].line == 2
    assert [link.target for link in note.links] == ["Marsh"]
    assert "reedmace" in note.text[note.body_start :]
