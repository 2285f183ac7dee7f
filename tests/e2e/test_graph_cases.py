"""Reported failures of link tools, asked through the commands: partial names, stale names after a rename, self and empty links."""

from __future__ import annotations

from pathlib import Path

from support.asking import ask, paths, write_vault

PARTIAL = {
    "tern.md": "# tern\n",
    "arctic-tern.md": "# arctic\n",
    "outline.md": "# o\n",
    "outline-draft.md": "# od\n",
    "2026-08-27.md": "# day\n",
    "2026-08-27_b.md": "# day b\n",
    "greed/bed.md": "# greed\n",
    "reed/bed.md": "# reed\n",
    "Index.md": "[[tern]] [[outline]] [x](2026-08-27.md) [[reed/bed]] [[outl]] [[ern]]\n",
}
OLD = "# Old Name\n\nSelf: [[Old Name#Part]] [[#Part]]\n\n## Part\n"
REFS = (
    "[[Old Name]] [[Old Name|alias]] [[Old Name#Part]] ![[Old Name]] [md](Old%20Name.md)\n\n| t |\n| --- |\n"
    "| [[Old Name\\|cell]] |\n\n`[[Old Name]]` [[Old Names]] Old Name in prose\n"
)
SELF = (
    "## Part\n\n[[#Part]] [[#^b1]] [[]] [[ ]] [[|x]] ![[]] [[ Bittern | the bittern ]] \\[[esc]] [[Bittern]]] [[Bit\ntern]]\n\n"
    "A claim.[^1] Inline ^[see [[Bittern]]]. ^b1\n\n[^1]: From [[Bittern]] 1999.\n"
)


def test_017_a_name_matches_whole_names_only(tmp_path: Path) -> None:
    vault = write_vault(tmp_path, PARTIAL)
    document = ask(vault, "links", note="Index", direction="out")
    written = {link["written"]: link["target"]["path"] for link in document["links"]}
    assert written == {
        "tern": "tern.md",
        "outline": "outline.md",
        "2026-08-27.md": "2026-08-27.md",
        "reed/bed": "reed/bed.md",
    }
    assert [link["written"] for link in document["unresolved"]] == ["outl", "ern"]
    for name in ("arctic-tern", "outline-draft", "2026-08-27_b", "greed/bed"):
        assert ask(vault, "backlinks", note=name)["backlinks"] == []
    assert [each["target"] for each in ask(vault, "check", exit_code=3, code=["broken-link"])["problems"]] == [
        "outl",
        "ern",
    ]


def test_021_after_a_rename_on_disk_no_link_is_invented(tmp_path: Path) -> None:
    vault = write_vault(tmp_path, {"Old Name.md": OLD, "Old Names.md": "# another\n", "Refs.md": REFS})
    before = ask(vault, "backlinks", note="Old Name")
    assert (before["total"], before["notes"]) == (6, 1)
    assert (
        len([link for link in ask(vault, "links", note="Old Name", direction="out")["other"] if link["written"]]) == 1
    )
    (vault / "Old Name.md").rename(vault / "New Name.md")
    after = ask(vault, "backlinks", note="New Name")["backlinks"]
    assert {(link["how"], link["obsidian"]) for link in after} <= {("title", False)}  # by its heading, and it says so
    broken = ask(vault, "check", obsidian=True, exit_code=3)["problems"]
    stale = [each for each in broken if each["code"] in ("broken-link", "not-obsidian")]
    assert len(stale) == 7
    assert ask(vault, "backlinks", note="Old Names")["total"] == 1
    assert "Old Name.md" not in str([each["path"] for each in ask(vault, "graph")["notes"]])
    (vault / "New Name.md").write_text(OLD.replace("# Old Name", "# Fresh", 1))
    gone = ask(vault, "check", exit_code=3, code=["broken-link"])["problems"]
    assert len(gone) == 7
    assert ask(vault, "backlinks", note="New Name")["total"] == 0


def test_023_self_empty_and_footnote_links(tmp_path: Path) -> None:
    vault = write_vault(tmp_path, {"Self.md": SELF, "Bittern.md": "# Bittern\n"})
    document = ask(vault, "links", note="Self", direction="out")
    assert [(link["target"]["path"], link["label"]) for link in document["links"]] == [
        ("Bittern.md", "the bittern"),
        ("Bittern.md", None),
        ("Bittern.md", None),
        ("Bittern.md", None),
    ]
    assert [(link["state"], link["fragment"], link["fragment_ok"]) for link in document["other"]] == [
        ("self", "Part", True),
        ("self", "^b1", True),
    ]
    assert document["unresolved"] == []
    assert {link["source"]["path"] for link in ask(vault, "backlinks", note="Bittern")["backlinks"]} == {"Self.md"}
    assert ask(vault, "backlinks", note="Self")["total"] == 0
    assert paths(ask(vault, "graph")["notes"]) == ["Bittern.md", "Self.md"]


def test_029_a_parent_tag_holds_its_children(tmp_path: Path) -> None:
    vault = write_vault(
        tmp_path,
        {
            "A.md": "---\ntags: [Birds/Heron, marsh]\n---\n",
            "B.md": "---\ntags: birds, marsh\n---\n",
            "C.md": "---\ntags:\n  - '#birds'\n---\n",
            "F.md": "#birdsong\n",
        },
    )
    assert paths(ask(vault, "graph", tag="birds")["notes"]) == ["A.md", "B.md", "C.md"]
