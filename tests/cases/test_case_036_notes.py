"""Two notes whose names differ only by letter case or Unicode form are never both made; what is there is told."""

from __future__ import annotations

import unicodedata
from typing import TYPE_CHECKING

from support.cli import kb_json

if TYPE_CHECKING:
    from pathlib import Path


def test_one_name_in_many_spellings(tmp_path: Path) -> None:
    (tmp_path / ".kbtasks").mkdir()
    first = kb_json("note.create", "Reed Bed é", "--body", "one", cwd=tmp_path)
    for other in ("reed bed é", "REED BED É", unicodedata.normalize("NFD", "Reed Bed é")):
        error = kb_json("note.create", other, "--body", "two", cwd=tmp_path, code=5)["error"]
        assert error["code"] == "refused" and "Reed Bed é.md" in error["next"]
    kb_json("note.create", "other", cwd=tmp_path)
    assert kb_json("note.move", "other", "--to", "reed bed é", cwd=tmp_path, code=5)["error"]["code"] == "refused"
    assert kb_json("note.create", "Reed Bed é", "--body", "one", cwd=tmp_path) == {**first, "changed": False}
    assert sorted(path.name for path in tmp_path.glob("*.md")) == ["Reed Bed é.md", "other.md"]
    assert (tmp_path / "Reed Bed é.md").read_text(encoding="utf-8").endswith("\none\n")
