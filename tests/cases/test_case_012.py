r"""The alias bar written ``\|`` inside a table."""

from __future__ import annotations

from support.notes import small_vault

VAULT = {
    "Grey Heron.md": "# Grey Heron\n\n## Diet\n\nEels.\n",
    "Table.md": (
        "| Bird | Count | Map |\n| --- | ---: | --- |\n| [[Grey Heron\\|heron]] | 4 | ![[map.png\\|200]] |\n"
        "| [[Grey Heron#Diet\\|what it eats]] | 1 | none |\n\nProse: [[Grey Heron|the heron]].\n"
    ),
    "map.png": b"\x89PNG\r\n\x1a\n",
}


def test_links_in_a_table() -> None:
    vault = small_vault(VAULT)
    links = vault.notes["Table.md"].links
    assert [(link.kind, link.target, link.fragment, link.label) for link in links] == [
        ("wikilink", "Grey Heron", None, "heron"),
        ("embed", "map.png", None, "200"),
        ("wikilink", "Grey Heron", "Diet", "what it eats"),
        ("wikilink", "Grey Heron", None, "the heron"),
    ]
    assert vault.unresolved("Table.md") == []
    assert [meaning.fragment_ok for _, meaning in vault.meanings("Table.md")] == [None, None, True, None]
    assert vault.backlinks("Grey Heron.md") == ["Table.md"]


def test_a_bar_that_is_not_escaped() -> None:
    vault = small_vault({**VAULT, "T.md": "| a |\n| --- |\n| [[Grey Heron|heron]] |\n"})
    assert vault.targets("T.md") == ["Grey Heron.md"]
