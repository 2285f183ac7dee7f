"""``check --fix``: links to notes that were renamed outside kb lead there again, and no other byte changes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from support.writing import debris, files, run

from kbtasks import fsio
from kbtasks.errors import NotFound

OLD = "# Old Name\n\nSelf: [[Old Name#Part]] [[#Part]]\n\n## Part\n"
REFS = (
    "[[Old Name]] [[Old Name|alias]] [[Old Name#Part]] ![[Old Name]] [md](Old%20Name.md)\n\n| t |\n| --- |\n"
    "| [[Old Name\\|cell]] |\n\n`[[Old Name]]` [[Old Names]] Old Name in prose [[never there]]\n"
)
MENDED = (
    "[[New Name 新]] [[New Name 新|alias]] [[New Name 新#Part]] ![[New Name 新]] [md](New%20Name%20新.md)\n\n| t |\n| --- |\n"
    "| [[New Name 新\\|cell]] |\n\n`[[Old Name]]` [[Old Names]] Old Name in prose [[never there]]\n"
)


def git(vault: Path, *words: str) -> None:
    subprocess.run(
        ["git", "-c", "user.name=n", "-c", "user.email=e@x", *words], cwd=vault, check=True, capture_output=True
    )


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "Old Name.md").write_text(OLD, encoding="utf-8")
    (vault / "Old Names.md").write_text("# another\n", encoding="utf-8")
    (vault / "Refs.md").write_text(REFS, encoding="utf-8")
    git(vault, "init", "-q")
    git(vault, "add", "-A")
    git(vault, "commit", "-q", "-m", "first")
    return vault


def rename_in_the_work_tree(vault: Path) -> None:
    (vault / "Old Name.md").rename(vault / "New Name 新.md")


def rename_in_the_index(vault: Path) -> None:
    git(vault, "mv", "Old Name.md", "New Name 新.md")


def rename_in_a_commit(vault: Path) -> None:
    rename_in_the_index(vault)
    git(vault, "commit", "-q", "-m", "renamed")


def rename_twice(vault: Path) -> None:
    git(vault, "mv", "Old Name.md", "Between.md")
    git(vault, "commit", "-q", "-m", "renamed")
    (vault / "Between.md").rename(vault / "New Name 新.md")


@pytest.mark.parametrize("rename", [rename_in_the_work_tree, rename_in_the_index, rename_in_a_commit, rename_twice])
def test_links_follow_a_rename_that_git_knows(vault: Path, rename: object) -> None:
    assert callable(rename)
    rename(vault)
    before = files(vault)
    shown = run(vault, "check", "--fix", "--dry-run")
    assert files(vault) == before
    done = run(vault, "check", "--fix")

    assert [(fix["path"], fix["diff"]) for fix in done["fixes"]] == [
        (fix["path"], fix["diff"]) for fix in shown["fixes"]
    ]
    assert [fix["path"] for fix in done["fixes"]] == ["New Name 新.md", "Refs.md"]
    assert (vault / "Refs.md").read_text(encoding="utf-8") == MENDED
    assert (vault / "New Name 新.md").read_text(encoding="utf-8") == OLD.replace("[[Old Name#", "[[New Name 新#")
    assert [problem["target"] for problem in done["problems"]] == ["never there"]
    assert run(vault, "check", "--fix")["fixes"] == [], "what was mended stays mended"


def test_a_vault_below_the_top_of_its_repository(vault: Path) -> None:
    kb = vault / "kb"
    (kb / "sub").mkdir(parents=True)
    (kb / "one\nline 新.md").write_text("# One\n", encoding="utf-8")
    (kb / "x.md").write_text("[m](one%0Aline%20新.md) [[gone before]]\n", encoding="utf-8")
    git(vault, "add", "-A")
    git(vault, "commit", "-q", "-m", "more")
    (kb / "one\nline 新.md").rename(kb / "sub/two.md")
    run(kb, "check", "--fix")

    assert (kb / "x.md").read_text(encoding="utf-8") == "[m](sub/two.md) [[gone before]]\n"


def test_a_link_that_leads_somewhere_is_left_alone(vault: Path) -> None:
    """Another note took the old name: links to it mean that one now."""
    rename_in_a_commit(vault)
    (vault / "Old Name.md").write_text("# A new one\n", encoding="utf-8")
    assert run(vault, "check", "--fix")["fixes"] == []


def test_only_below_a_folder_or_of_a_code(vault: Path) -> None:
    rename_in_a_commit(vault)
    (vault / "elsewhere").mkdir()
    assert run(vault, "check", "--fix", "--folder", "elsewhere")["fixes"] == []
    with pytest.raises(NotFound):
        run(vault, "check", "--fix", "--folder", "nowhere")
    assert run(vault, "check", "--fix", "--code", "stale-catalog")["fixes"] == []
    assert [fix["path"] for fix in run(vault, "check", "--fix", "--folder", "Refs.md")["fixes"]] == ["Refs.md"]


def test_relative_links_of_the_note_that_moved(vault: Path) -> None:
    (vault / "a").mkdir()
    (vault / "a/x.md").write_text("[y](./y.md) [up](../Refs.md) ![](./p.png) [found anyway](y.md)\n")
    (vault / "a/y.md").write_text("# Y\n")
    (vault / "a/p.png").write_bytes(b"x")
    git(vault, "add", "-A")
    git(vault, "commit", "-q", "-m", "more")
    (vault / "b/c").mkdir(parents=True)
    (vault / "a/x.md").rename(vault / "b/c/x.md")
    run(vault, "check", "--fix")

    assert (vault / "b/c/x.md").read_text() == (
        "[y](../../a/y.md) [up](../../Refs.md) ![](../../a/p.png) [found anyway](y.md)\n"
    )


def test_without_git_only_the_one_note_of_that_name(tmp_path: Path) -> None:
    for name, text in {
        "new/deep/alt 旧.md": "# Alt\n",
        "x.md": "---\nrelations:\n  refines: old/alt 旧\n---\n[[old/alt 旧#h|l]] [m](old/alt%20旧.md) [[old/two]] [[old/readme]]\n",
        "p/two.md": "1\n",
        "q/two.md": "2\n",
        "docs/readme.md": "r\n",
    }.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    done = run(tmp_path, "check", "--fix")

    assert (tmp_path / "x.md").read_text(encoding="utf-8") == (
        "---\nrelations:\n  refines: new/deep/alt 旧\n---\n"
        "[[new/deep/alt 旧#h|l]] [m](new/deep/alt%20旧.md) [[old/two]] [[old/readme]]\n"
    )
    assert done["fixes"][0]["message"] == "3 links lead again to new/deep/alt 旧.md"


def test_all_or_none(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An editor saves one of the notes in the very moment: nothing is mended, its bytes stay."""
    from kbtasks.errors import RevisionConflict

    rename_in_the_work_tree(vault)
    run(vault, "check")
    before = files(vault)
    seen: list[str] = []

    def save(name: str) -> None:
        if name == "before-exchange":
            seen.append(name)
            if len(seen) == 2:
                (vault / "Refs.md").write_text(REFS + "saved\n", encoding="utf-8")

    monkeypatch.setattr(fsio, "on_step", save)
    with pytest.raises(RevisionConflict):
        run(vault, "check", "--fix")

    assert files(vault) == before | {"Refs.md": (REFS + "saved\n").encode()}
    assert debris(vault) == []
