"""The same rename by ``note.move``, and by hand with ``check --fix`` after it: only the name part of real links changes."""

from __future__ import annotations

import shutil
import subprocess
from typing import TYPE_CHECKING

import pytest
from support.cli import kb, kb_json

if TYPE_CHECKING:
    from pathlib import Path

OLD = "# Old Name\n\nSelf: [[Old Name#Part]] [[#Part]]\n\n## Part\n"
REFS = (
    "[[Old Name]] [[Old Name|alias]] [[Old Name#Part]] ![[Old Name]] [md](Old%20Name.md)\n\n| t |\n| --- |\n"
    "| [[Old Name\\|cell]] |\n\n`[[Old Name]]` [[Old Names]] Old Name in prose\n"
)
EXPECTED = (
    "[[New Name]] [[New Name|alias]] [[New Name#Part]] ![[New Name]] [md](New%20Name.md)\n\n| t |\n| --- |\n"
    "| [[New Name\\|cell]] |\n\n`[[Old Name]]` [[Old Names]] Old Name in prose\n"
)


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    (tmp_path / ".kbtasks").mkdir()
    for name, text in {"Old Name": OLD, "Old Names": "# another\n", "Refs": REFS}.items():
        (tmp_path / f"{name}.md").write_text(text, encoding="utf-8")
    (tmp_path / "A first unreadable.md").write_bytes(b"\xff\xfe\x00")
    return tmp_path


def assert_renamed(vault: Path) -> None:
    assert (vault / "Refs.md").read_text(encoding="utf-8") == EXPECTED
    assert (vault / "New Name.md").read_text(encoding="utf-8") == OLD.replace("[[Old Name#", "[[New Name#")
    assert not (vault / "Old Name.md").exists()
    found = kb_json("backlinks", "New Name", cwd=vault)
    assert found["total"] == 6 and {link["source"]["path"] for link in found["backlinks"]} == {"Refs.md"}
    assert "Old Name.md" not in kb("list", cwd=vault).stdout
    assert kb("search", "Part", "--mode", "exact", cwd=vault).stdout.count("Old Name.md") == 0


def test_by_the_command(vault: Path) -> None:
    shown = kb_json("note.move", "Old Name", "--to", "New Name", "--dry-run", cwd=vault)
    assert [edit["path"] for edit in shown["edits"]] == ["Old Name.md"] + ["Refs.md"] * 6
    assert (vault / "Refs.md").read_text(encoding="utf-8") == REFS
    done = kb_json("note.move", "Old Name", "--to", "New Name", cwd=vault)
    assert done["edits"] == shown["edits"] and done["unsolved"] == []
    assert_renamed(vault)


def test_by_hand_and_mended(vault: Path) -> None:
    if shutil.which("git") is None:
        pytest.skip("git is not installed")
    for words in (
        ["init", "-q"],
        ["add", "-A"],
        ["-c", "user.name=n", "-c", "user.email=e@x", "commit", "-q", "-m", "x"],
    ):
        subprocess.run(["git", *words], cwd=vault, check=True, capture_output=True)
    (vault / "Old Name.md").rename(vault / "New Name.md")
    shown = kb_json("check", "--fix", "--dry-run", "--code", "broken-link", cwd=vault, code=3)
    assert [(fix["path"], fix["applied"]) for fix in shown["fixes"]] == [("New Name.md", False), ("Refs.md", False)]
    done = kb_json("check", "--fix", "--code", "broken-link", cwd=vault)
    assert [fix["diff"] for fix in done["fixes"]] == [fix["diff"] for fix in shown["fixes"]]
    assert_renamed(vault)
