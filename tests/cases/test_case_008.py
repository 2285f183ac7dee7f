"""The same key twice in one block of front matter."""

from __future__ import annotations

from support.notes import small_vault, tag_names

VAULT = {
    "Dup.md": "---\ntitle: Avocet ledger\ntags: [wader]\ntags: [scrape]\n---\nAn avocet on the scrape. [[Other]]\n",
    "Other.md": "# Other\n",
}


def test_the_repeated_key_is_named_and_nothing_is_lost() -> None:
    vault = small_vault(VAULT)
    note = vault.notes["Dup.md"]
    [problem] = note.problems
    assert (problem.code, problem.path, problem.line) == ("duplicate-key", "Dup.md", 4)
    assert "'tags'" in problem.message
    assert "first value is used" in problem.message
    assert note.title == "Avocet ledger"
    assert tag_names(note) == ["wader"]
    assert vault.backlinks("Other.md") == ["Dup.md"]
    assert vault.notes["Other.md"].problems == []
