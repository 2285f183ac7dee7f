"""Provenance from real repositories: renames, sweeping commits, odd names, deadlines, and what is missing said."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from support.asking import ask, paths, write_vault

from kbtasks.errors import Unavailable
from kbtasks.graph import git as git_module
from kbtasks.graph.history import notes_history


def git(repo: Path, *words: str, when: int = 0) -> None:
    stamp = f"{1_700_000_000 + when} +0000"
    env = os.environ | {"GIT_AUTHOR_DATE": stamp, "GIT_COMMITTER_DATE": stamp}
    subprocess.run(["git", "-c", "init.defaultBranch=main", *words], cwd=repo, check=True, capture_output=True, env=env)


def commit(repo: Path, message: str, files: dict[str, str] | None = None, *, when: int = 0) -> None:
    write_vault(repo, files or {})
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", message, when=when)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    repo = tmp_path / "repo"
    repo.mkdir()
    git(repo, "init", "-q")
    body = "A long enough text that Git knows the file again.\n" * 5
    commit(repo, "Begin the parser note", {"kb/old.md": body, "src/parser.py": "1\n"}, when=10)
    git(repo, "mv", "kb/old.md", "kb/解析 note.md")
    commit(repo, "Rename it\n\nBecause retries were unclear.", when=20)
    commit(repo, 'Say "more" \u0001 about it', {"kb/解析 note.md": body + "more\n", "src/parser.py": "2\n"}, when=30)
    commit(repo, "Another note", {"kb/other.md": "x\n"}, when=40)
    return repo


def test_history_follows_renames(repo: Path) -> None:
    document = ask(repo / "kb", "history", note="解析 note")
    assert [entry["subject"] for entry in document["commits"]] == [
        'Say "more" \u0001 about it',
        "Rename it",
        "Begin the parser note",
    ]
    assert [entry["status"] for entry in document["commits"]] == ["M", "R", "A"]
    assert document["commits"][1]["renamed_from"] == "kb/old.md"
    assert document["commits"][0]["cochanged"] == ["src/parser.py"]
    assert document["commits"][2]["committed_at"] == "2023-11-14T22:13:30Z"
    assert (document["partial"], document["truncated"]) == (False, False)


def test_limits_are_said(repo: Path) -> None:
    document = ask(repo / "kb", "history", note="解析 note", limit=1, cochanged=0)
    assert document["truncated"] is True
    assert document["commits"][0]["cochanged"] == []
    assert document["commits"][0]["cochanged_total"] == 1


def test_search_by_words_and_by_path(repo: Path) -> None:
    text = ask(repo / "kb", "history.search", query="retries unclear")
    assert text["mode"] == "text"
    assert paths(text["hits"]) == ["解析 note.md"]
    path = ask(repo / "kb", "history.search", query="src/parser.py", repo=repo)
    assert path["mode"] == "path"
    assert paths(path["hits"]) == ["解析 note.md"]
    assert path["hits"][0]["commits_total"] == 2  # the first was under the old name
    assert ask(repo / "kb", "history.search", query="zebra")["hits"] == []
    assert ask(repo / "kb", "history.search", query="note", scan=1)["scan_cut"] is True


def test_a_sweeping_commit_keeps_its_identity_and_its_notes(repo: Path) -> None:
    many = {f"gen/f{number}.txt": "x\n" for number in range(2100)}
    commit(repo, "Sweep", {**many, "kb/other.md": "swept\n"}, when=50)
    commit(repo, "After", {"kb/other.md": "after\n", "src/a": "1\n"}, when=60)
    document = ask(repo / "kb", "history", note="other")
    subjects = {entry["subject"]: entry for entry in document["commits"]}
    assert list(subjects) == ["After", "Sweep", "Another note"]
    assert subjects["Sweep"]["incomplete"] is True
    assert subjects["Sweep"]["cochanged"] == []
    assert subjects["After"]["cochanged"] == ["src/a"]
    assert subjects["Another note"]["incomplete"] is False
    assert document["partial"] is True
    assert document["lanes"][0]["status"] == "degraded"
    found = ask(repo / "kb", "history.search", query="sweep")
    assert [(hit["path"], hit["commits"][0]["incomplete"]) for hit in found["hits"]] == [("other.md", True)]
    with pytest.raises(Unavailable) as caught:
        ask(repo / "kb", "history", note="other", required=True)
    assert caught.value.exit_code == 10


def test_a_commit_whose_names_overflow_is_cut_alone(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    commit(repo, "Wide", {f"gen/{'w' * 80}{number}": "x\n" for number in range(60)} | {"kb/other.md": "w\n"}, when=50)
    monkeypatch.setattr(git_module, "MAX_COMMIT_BYTES", 2000)
    monkeypatch.setattr(git_module, "MAX_BATCH_BYTES", 2000)
    found = ask(repo / "kb", "history.search", query="note")
    assert {"解析 note.md", "other.md"} <= set(paths(found["hits"]))
    assert found["partial"] is True


def test_outside_a_repository_the_lane_is_unavailable(tmp_path: Path) -> None:
    vault = write_vault(tmp_path / "kb", {"a.md": "x\n"})
    document = ask(vault, "history", note="a")
    assert (document["commits"], document["partial"]) == ([], True)
    assert document["lanes"][0]["status"] == "unavailable"
    with pytest.raises(Unavailable):
        ask(vault, "history.search", query="x", required=True)


def test_an_empty_repository_and_an_uncommitted_note(tmp_path: Path) -> None:
    vault = write_vault(tmp_path, {"a.md": "x\n"})
    git(vault, "init", "-q")
    assert ask(vault, "history", note="a")["lanes"][0]["status"] == "unavailable"
    commit(vault, "First", {"b.md": "y\n"})
    write_vault(vault, {"c.md": "z\n"})
    document = ask(vault, "history", note="c")
    assert (document["commits"], document["partial"]) == ([], False)


def test_a_repository_in_a_folder_with_a_line_end(tmp_path: Path) -> None:
    vault = write_vault(tmp_path / "new\nline" / "in\nside", {"a.md": "x\n"})
    git(vault.parent, "init", "-q")
    commit(vault.parent, "First")
    document = ask(vault, "history", note="a")
    assert ([entry["subject"] for entry in document["commits"]], document["partial"]) == (["First"], False)


def test_a_shallow_clone_is_partial(repo: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", "--depth", "1", repo.as_uri(), "shallow")
    document = ask(tmp_path / "shallow/kb", "history", note="other")
    assert document["partial"]
    assert "shallow" in document["lanes"][0]["message"]
    assert ask(tmp_path / "shallow/kb", "history.search", query="note")["partial"]


def test_a_damaged_repository_is_not_an_empty_one(repo: Path) -> None:
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=repo, capture_output=True, text=True, check=True).stdout
    loose = repo / ".git/objects" / head[:2] / head[2:].strip()
    loose.chmod(0o600)
    loose.write_bytes(b"x")
    lane = ask(repo / "kb", "history", note="other")["lanes"][0]
    assert (lane["status"], "damaged" in lane["message"]) == ("unavailable", True)


def test_a_deadline_leaves_what_was_read(repo: Path) -> None:
    history = notes_history(str(repo / "kb"), ["other.md"], environ=os.environ, deadline=0.0)
    assert history.lane.status == "unavailable"
    assert "finish" in str(history.lane.message)


def test_without_git_the_lane_is_unavailable(repo: Path) -> None:
    history = notes_history(str(repo / "kb"), ["other.md"], environ={"PATH": "/nonexistent"})
    assert history.lane.status == "unavailable"


def test_a_hostile_configuration_runs_nothing(repo: Path, tmp_path: Path) -> None:
    spy = tmp_path / "spy"
    spy.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    spy.chmod(0o755)
    for name in ("core.fsmonitor", "core.pager", "diff.external", "gpg.program", "core.sshCommand"):
        git(repo, "config", name, str(spy))
    git(repo, "config", "log.showSignature", "true")
    document = ask(repo / "kb", "history", note="other")
    assert [entry["subject"] for entry in document["commits"]] == ["Another note"]
    ask(repo / "kb", "history.search", query="note")
    assert not (tmp_path / "ran").exists()


def test_names_with_odd_bytes(repo: Path) -> None:
    odd = repo / "kb" / "caf\udce9 \n\x01.md"
    odd.write_text("x\n")
    commit(repo, "Odd", when=50)
    history = notes_history(str(repo / "kb"), ["caf\udce9 \n\x01.md"], environ=os.environ)
    assert [entry["subject"] for entry in history.notes["caf\udce9 \n\x01.md"]] == ["Odd"]
    assert history.lane.status == "ready"


def test_merges_and_two_parents(repo: Path) -> None:
    git(repo, "checkout", "-q", "-b", "side", "HEAD~1")
    commit(repo, "Side work", {"kb/side.md": "s\n"}, when=50)
    git(repo, "checkout", "-q", "main")
    git(repo, "merge", "-q", "--no-ff", "-m", "Merge side work", "side", when=60)
    assert [entry["subject"] for entry in ask(repo / "kb", "history", note="side")["commits"]] == ["Side work"]
    assert "side.md" in paths(ask(repo / "kb", "history.search", query="side work")["hits"])
