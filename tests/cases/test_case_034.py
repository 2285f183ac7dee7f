"""Files and folders whose name begins with a dot are no part of the vault; a dot elsewhere in a name is only a letter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from support.notes import read_vault

if TYPE_CHECKING:
    from pathlib import Path

HIDDEN = (
    ".trash/Heron.md", ".obsidian/plugins/x/README.md", ".git/COMMIT.md", ".stversions/Heron.md", ".hidden.md",
    "v1.2/.draft/Heron.md",
)  # fmt: skip


def test_dot_folders(tmp_path: Path) -> None:
    texts = {"Heron.md": "# Heron\n[[Heron]] [[Notes]]\n", "v1.2/Notes.md": "# Notes\n"}
    texts.update(dict.fromkeys(HIDDEN, "# dot\nsmeargle [[Heron]]\n"))
    for path, text in texts.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_text(text, encoding="utf-8")
    vault = read_vault(tmp_path)
    assert sorted(vault.notes) == ["Heron.md", "v1.2/Notes.md"]
    assert vault.files == []
    assert vault.backlinks("Heron.md") == []
    assert vault.targets("Heron.md") == ["Heron.md", "v1.2/Notes.md"]
    assert [meaning.candidates for _, meaning in vault.meanings("Heron.md")] == [[], []]
    assert not any("smeargle" in note.text for note in vault.notes.values())
