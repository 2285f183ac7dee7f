"""search, list, show and tags as a person or a script runs them."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

import pytest
from support.cli import kb, kb_json

if TYPE_CHECKING:
    from pathlib import Path

NOTES = {
    "notes/parser.md": "---\ntype: decision\nstatus: accepted\ntags: [parser/core]\n---\n# Parser contract\n\nThe --retry flag repeats a call.\n\n## Limits\n\nTen times.\n",
    "notes/猫.md": "# 猫\n\n猫喜欢鱼。 #动物/猫\n",
    "plans/one.md": "---\ntype: plan\nstatus: proposed\n---\n# One\n\nSee [[parser]].\n",
}


@pytest.fixture(scope="module")
def vault(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("commands")
    for path, text in NOTES.items():
        (root / path).parent.mkdir(exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")
    (root / "kb.toml").write_text("")
    return root


def test_several_words_are_one_query(vault: Path) -> None:
    document = kb_json("search", "parser", "contract", cwd=vault)
    assert document["query"] == "parser contract"
    assert document["hits"][0]["path"] == "notes/parser.md"
    assert document["hits"][0]["match"] == "identity"


@pytest.mark.parametrize("words", [["--query=--retry"], ["-"]])
def test_text_that_begins_with_a_dash_is_text(vault: Path, words: list[str]) -> None:
    document = kb_json("search", "--mode", "exact", *words, cwd=vault, input="--retry" if words == ["-"] else None)
    assert [hit["path"] for hit in document["hits"]] == ["notes/parser.md"]
    assert "notes/parser.md" in kb("search", "--mode", "exact", "--", "--retry", cwd=vault).stdout


def test_text_output_has_place_and_passage(vault: Path) -> None:
    done = kb("search", "猫", "--mode", "exact", cwd=vault)
    assert done.returncode == 0
    assert "notes/猫.md:1" in done.stdout
    assert "猫喜欢鱼" in done.stdout
    assert "\x1b" not in done.stdout
    nothing = kb("search", "zzzz", "--mode", "exact", cwd=vault)
    assert (nothing.returncode, nothing.stdout) == (0, "")
    assert "nothing found" in nothing.stderr


def test_flags_of_search(vault: Path) -> None:
    assert [hit["path"] for hit in kb_json("search", "see", "parser", "--type", "plan", cwd=vault)["hits"]] == [
        "plans/one.md"
    ]
    assert (
        kb_json("search", "parser", "--not", "retry", "--where", "status != accepted", cwd=vault)["hits"][0]["path"]
        == "plans/one.md"
    )
    assert kb_json("search", "parser", "--no-graph", cwd=vault)["graph"] is None
    block = kb("search", "parser", "--pack", "1000", cwd=vault)
    assert block.stdout.startswith("<!-- kb search")
    assert len(block.stdout.encode()) <= 1000
    small = kb("search", "parser", "--json", "--max-bytes", "900", cwd=vault)
    assert len(small.stdout.encode()) <= 901
    assert kb("search", "x", "--mode", "magic", cwd=vault).returncode == 2
    assert kb("search", "x", "--where", "status", cwd=vault).returncode == 2
    assert kb("search", "x", "--limit", "1000", cwd=vault).returncode == 2
    assert kb("search", "parser", "--related", "nowhere", cwd=vault).returncode == 4


def test_history_is_asked_for_and_required(vault: Path, tmp_path: Path) -> None:
    assert kb_json("search", "parser", cwd=vault)["history"] is None
    best = kb_json("search", "parser", "--history", cwd=vault)
    assert best["partial"] is True
    assert best["history"]["status"] == "unavailable"
    assert kb("search", "parser", "--require-history", cwd=vault).returncode == 10
    (tmp_path / "kb.toml").write_text("")
    (tmp_path / "a.md").write_text("# Alpha\n")
    for words in (["init", "-q"], ["add", "a.md"], ["commit", "-qm", "First"]):
        subprocess.run(["git", "-C", str(tmp_path), *words], check=True)
    found = kb_json("search", "alpha", "--require-history", cwd=tmp_path)
    assert found["history"]["notes"][0]["commits"][0]["subject"] == "First"
    os.utime(tmp_path / "a.md", (1_000_000_000, 1_000_000_000))
    for command in (["search", "alpha"], ["list"]):
        by_file = kb_json(*command, "--since", "2d", cwd=tmp_path)
        by_commit = kb_json(*command, "--since", "2d", "--age", "git", cwd=tmp_path)
        assert (by_file["total"], by_commit["total"]) == (0, 1)
    assert kb("list", "--since", "2d", "--age", "git", cwd=vault).returncode == 10


def test_list_show_and_tags(vault: Path) -> None:
    listed = kb_json("list", "--type", "plan", "--fields", "status,outbound", cwd=vault)
    assert listed["notes"] == [
        {"id": "plans/one", "path": "plans/one.md", "title": "One", "status": "proposed", "outbound": 1}
    ]
    shown = kb_json("show", "parser", "--section", "limits", cwd=vault)
    assert shown["text"].startswith("## Limits")
    assert shown["note"]["revision"].startswith("sha256:")
    data = (vault / "notes/parser.md").read_bytes()
    assert data[shown["start_byte"] :].decode().startswith(shown["text"])
    assert kb("show", "parser", cwd=vault).stdout == NOTES["notes/parser.md"]
    assert kb("show", "parser", "--lines", "6", cwd=vault).stdout == "# Parser contract\n"
    assert kb("show", "nowhere", cwd=vault).returncode == 4
    assert kb("show", "parser", "--section", "nope", cwd=vault).returncode == 4
    tags = kb_json("tags", cwd=vault)
    assert {each["name"]: each["total"] for each in tags["tags"]} == {
        "parser": 1,
        "parser/core": 1,
        "动物": 1,
        "动物/猫": 1,
    }
