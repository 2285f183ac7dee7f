"""Destinations of ordinary Markdown links: ``%20``, angle brackets, titles, parentheses."""

from __future__ import annotations

from support.notes import small_vault

LINKS = (
    '1 [x](the%20ledger.md)\n2 [x](<the ledger.md>)\n3 [x](the ledger.md)\n4 [x](the%20ledger.md "Elm")\n'
    "5 [x](Set_(math).md)\n6 [x](Set_\\(math\\).md)\n7 [x](100%25.md)\n"
    "8 [x](./sub/../the%20ledger.md#Sources%20used)\n9 [x](../manual.pdf)\n"
    "10 [x](https://birds.example/wiki/Crane_(bird)_(family)) and (see this)\n11 <https://birds.example/a_(b)>\n"
    "12 [text][ref]\n13 [x](a%23b.md)\n14 ![i](<../manual.pdf>)\n\n[ref]: <the ledger.md> 'title'\n"
)
VAULT = {
    "docs/the ledger.md": "# Ledger\n\n## Sources used\n",
    "docs/Set_(math).md": "# Set\n",
    "docs/100%.md": "# Percent\n",
    "docs/a#b.md": "# Hash\n",
    "manual.pdf": b"%PDF-1.4\n",
    "docs/Links.md": LINKS,
}


def test_every_destination() -> None:
    vault = small_vault(VAULT)
    found = {
        link.place.line: (meaning.target or link.target, meaning.state)
        for link, meaning in vault.meanings("docs/Links.md")
    }
    ledger = ("docs/the ledger.md", "ok")
    assert found == {
        1: ledger, 2: ledger, 4: ledger, 5: ("docs/Set_(math).md", "ok"), 6: ("docs/Set_(math).md", "ok"),
        7: ("docs/100%.md", "ok"), 8: ledger, 9: ("manual.pdf", "attachment"),
        10: ("https://birds.example/wiki/Crane_(bird)_(family)", "external"),
        11: ("https://birds.example/a_(b)", "external"), 12: ledger, 13: ("docs/a#b.md", "ok"),
        14: ("manual.pdf", "attachment"),
    }  # fmt: skip
    by_line = {link.place.line: (link, meaning) for link, meaning in vault.meanings("docs/Links.md")}
    assert by_line[8][0].fragment == "Sources used"
    assert by_line[8][1].fragment_ok is True
    assert by_line[14][0].kind == "image"
    assert by_line[12][0].kind == "reference"


def test_an_escaped_slash_is_no_separator() -> None:
    vault = small_vault({"a/b.md": "", "I.md": "[x](a%2Fb.md) [y](a/b.md)"})
    assert vault.targets("I.md") == [None, "a/b.md"]
