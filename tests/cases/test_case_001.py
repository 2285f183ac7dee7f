"""Aliases given as a string, a list, null, or a list item that holds a comma."""

from __future__ import annotations

from support.notes import small_vault

VAULT = {
    "String.md": "---\naliases: Blue Heron\n---\nA bare string.\n",
    "List.md": '---\naliases:\n  - "Heron, grey, adult"\n  - Old Nog\n  - 1984\n---\nA list with a comma inside one item.\n',
    "Null.md": "---\naliases:\ntags:\n---\nEmpty keys.\n",
    "Index.md": "[[Blue Heron]] [[Heron, grey, adult]] [[Old Nog]] [[1984]]\n",
}


def test_aliases_are_taken_item_by_item() -> None:
    notes = small_vault(VAULT).notes
    assert notes["String.md"].aliases == ["Blue Heron"]
    assert notes["List.md"].aliases == ["Heron, grey, adult", "Old Nog", "1984"]
    assert notes["Null.md"].aliases == []


def test_links_find_aliases_and_say_so() -> None:
    vault = small_vault(VAULT)
    assert vault.unresolved("Index.md") == []
    assert vault.targets("Index.md") == ["String.md", "List.md", "List.md", "List.md"]
    assert {(meaning.how, meaning.obsidian) for _, meaning in vault.meanings("Index.md")} == {("alias", False)}


def test_a_file_name_always_wins() -> None:
    vault = small_vault({**VAULT, "Blue Heron.md": "the bird"})
    assert vault.targets("Index.md")[0] == "Blue Heron.md"
