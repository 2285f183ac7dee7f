"""Self links, empty links, blanks inside the brackets, footnotes."""

from __future__ import annotations

from support.notes import small_vault

VAULT = {
    "Bittern.md": "# Bittern\n",
    "Self.md": (
        "## Part\n\n[[#Part]] [[#^b1]] [[]] [[ ]] [[|x]] ![[]] [[ Bittern | the bittern ]] \\[[esc]] [[Bittern]]] [[Bit\n"
        "tern]]\n\nA claim.[^1] Inline ^[see [[Bittern]]]. ^b1\n\n[^1]: From [[Bittern]] 1999.\n"
    ),
}


def test_links() -> None:
    vault = small_vault(VAULT)
    links = vault.notes["Self.md"].links
    assert [(link.target, link.fragment, link.label) for link in links] == [
        ("", "Part", None),
        ("", "^b1", None),
        ("Bittern", None, "the bittern"),
        ("Bittern", None, None),
        ("Bittern", None, None),
        ("Bittern", None, None),
    ]
    meanings = [meaning for _, meaning in vault.meanings("Self.md")]
    assert [meaning.state for meaning in meanings] == ["self", "self", "ok", "ok", "ok", "ok"]
    assert [meaning.fragment_ok for meaning in meanings[:2]] == [True, True]
    assert vault.unresolved("Self.md") == []
    assert vault.backlinks("Bittern.md") == ["Self.md"]


def test_blocks_and_footnotes() -> None:
    note = small_vault(VAULT).notes["Self.md"]
    assert note.blocks == [("b1", 6)]
    assert note.footnotes == [("1", 8)]
