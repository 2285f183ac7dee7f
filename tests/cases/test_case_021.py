"""A note is renamed on disk: its old name answers nothing any more, save by a title, which says so."""

from __future__ import annotations

from support.notes import small_vault

OLD = "# Old Name\n\nSelf: [[Old Name#Part]] [[#Part]]\n\n## Part\n"
REFS = (
    "[[Old Name]] [[Old Name|alias]] [[Old Name#Part]] ![[Old Name]] [md](Old%20Name.md)\n\n| t |\n| --- |\n"
    "| [[Old Name\\|cell]] |\n\n`[[Old Name]]` [[Old Names]] Old Name in prose\n"
)
BEFORE = {"Old Name.md": OLD, "Old Names.md": "# another\n", "Refs.md": REFS}
AFTER = {"New Name.md": OLD, "Old Names.md": "# another\n", "Refs.md": REFS}


def test_links_before() -> None:
    vault = small_vault(BEFORE)
    assert vault.targets("Refs.md").count("Old Name.md") == 6
    assert vault.targets("Refs.md")[-1] == "Old Names.md"
    own = vault.meanings("Old Name.md")
    assert [(link.target, meaning.state, meaning.target) for link, meaning in own] == [
        ("Old Name", "ok", "Old Name.md"),
        ("", "self", "Old Name.md"),
    ]
    assert all(meaning.fragment_ok for _, meaning in own)


def test_links_after() -> None:
    vault = small_vault(AFTER)
    links = [*vault.meanings("Refs.md"), *vault.meanings("New Name.md")]
    old = [(link, meaning) for link, meaning in links if link.target.startswith("Old Name") and link.target[-1] != "s"]
    assert len(old) == 7
    for link, meaning in old:
        # the heading "# Old Name" is a title: found by our extension, told as such, and not followed by Obsidian
        expected = ("broken", "", False) if link.kind == "markdown" else ("ok", "title", False)
        assert (meaning.state, meaning.how, meaning.obsidian) == expected


def test_raw_text_lets_a_rewrite_touch_the_name_only() -> None:
    data = REFS.encode()
    for link in small_vault(BEFORE).notes["Refs.md"].links:
        piece = data[link.place.start : link.place.end]
        closing = b")" if link.kind == "markdown" else b"]]"
        assert piece.endswith(link.raw.encode() + closing)
