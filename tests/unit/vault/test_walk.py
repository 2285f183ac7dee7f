"""Which files are notes: names, folders, globs, links, and what cannot be read."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from kbtasks.vault.walk import Glob, Rules, walk

if TYPE_CHECKING:
    from pathlib import Path

    from kbtasks.model.note import Problem


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("a.md", "note"), ("x/A.MD", "note"), ("x/b.mD", "note"), ("README.md", "note"), ("index.md", "note"), ("中/文 🙂.md", "note"),
        ("AGENTS.md", "guide"), ("x/CLAUDE.md", "guide"), ("agents.md", "note"), ("a.markdown", "attachment"), ("md", "attachment"),
        ("x/p.png", "attachment"), (".md", None), (".hidden.md", None), (".obsidian/x.md", None), ("x/.trash/y.md", None),
        ("node_modules/a.md", None), ("x/dist/a.md", None), ("build/a.md", "note"), ("v1.2/a.md", "note"), ("kb.toml", None),
        ("x/kb.toml", "attachment"), ("a.md.bak", "attachment"), ("\udcff.md", "note"),
    ],
)  # fmt: skip
def test_names(path: str, kind: str | None) -> None:
    assert Rules().admits(path) == kind


@pytest.mark.parametrize(
    ("pattern", "path", "folder", "matches"),
    [
        ("drafts", "drafts", True, True), ("drafts", "a/drafts", True, True), ("/drafts", "a/drafts", True, False),
        ("drafts/", "drafts", False, False), ("a/*.md", "a/b.md", False, True), ("a/*.md", "a/b/c.md", False, False),
        ("a/**/c.md", "a/c.md", False, True), ("a/**/c.md", "a/x/y/c.md", False, True), ("**/t.md", "t.md", False, True),
        ("*.tmp.md", "q/x.tmp.md", False, True), ("a/**", "a/b", True, True), ("[ab].md", "b.md", False, True), ("?.md", "数.md", False, True),
        ("A.md", "a.md", False, False), ("a.b", "axb", False, False),
    ],
)  # fmt: skip
def test_globs(pattern: str, path: str, folder: bool, matches: bool) -> None:
    assert Glob(pattern).matches(path, folder=folder) is matches


def test_globs_hide_folders_and_files() -> None:
    rules = Rules(["templates/", "*.excalidraw.md", "/private/**"])
    assert rules.admits("templates/a.md") is None
    assert rules.admits("x/templates/a.md") is None
    assert rules.admits("templates.md") == "note"
    assert rules.admits("x/d.excalidraw.md") is None
    assert rules.admits("private/a/b.md") is None
    assert rules.admits("a/private/b.md") == "note"


def test_a_walk_follows_no_link_and_names_what_it_leaves(tmp_path: Path) -> None:
    root, outside = tmp_path / "vault", tmp_path / "outside"
    (root / "sub").mkdir(parents=True)
    outside.mkdir()
    (outside / "secret.md").write_text("s", encoding="utf-8")
    (root / "a.md").write_text("a", encoding="utf-8")
    (root / "sub" / "b.MD").write_bytes(b"")
    (root / "sub" / "AGENTS.md").write_text("g", encoding="utf-8")
    (root / "link.md").symlink_to(outside / "secret.md")
    (root / "out").symlink_to(outside, target_is_directory=True)
    (root / "sub" / "loop").symlink_to(root, target_is_directory=True)
    os.mkfifo(root / "pipe.md")
    problems: list[Problem] = []
    found = [(entry.path, entry.kind, entry.size) for entry in walk(str(root), Rules(), problems)]
    assert found == [("a.md", "note", 1), ("sub/AGENTS.md", "guide", 1), ("sub/b.MD", "note", 0)]
    assert sorted((problem.code, problem.path) for problem in problems) == [
        ("not-regular", "link.md"),
        ("not-regular", "pipe.md"),
    ]


def test_a_root_that_is_not_there() -> None:
    problems: list[Problem] = []
    assert list(walk("/nonexistent/vault", Rules(), problems)) == []
    assert [problem.code for problem in problems] == ["unreadable"]


def test_a_hostile_glob_is_quick() -> None:
    glob = Glob("*a" * 40 + "/**/" * 10 + "b")
    assert not glob.matches("a" * 200 + "/" + "x/" * 100 + "c", folder=False)
