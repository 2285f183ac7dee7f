"""No argument, whatever bytes it holds, makes a graph command fail otherwise than with a clear error."""

from __future__ import annotations

from pathlib import Path

import pytest
from support.asking import ask, write_vault

from kbtasks.errors import KbError

ODD = ["\udcff", "caf\udce9/x", "雪 🙂", "'; DROP TABLE note; --", "%s" * 50, "a" * 3000, "-x", "\u202e", "..", "/"]
CALLS = [
    ("links", "note"), ("backlinks", "note"), ("relation.list", "note"), ("graph", "folder"), ("graph", "tag"), ("context", "path"),
    ("agents.identity", "scope"), ("history", "note"), ("history.search", "query"), ("percolate", "note"), ("catalog", "folder"),
    ("check", "folder"),
]  # fmt: skip


@pytest.mark.parametrize("value", ODD)
def test_odd_arguments_end_in_an_answer_or_a_clear_error(tmp_path: Path, value: str) -> None:
    vault = write_vault(tmp_path, {"a.md": "[[b]] #tag\n", "b.md": "x\n"})
    (vault / "caf\udce9").mkdir()
    (vault / "caf\udce9" / "x.md").write_text("---\nrepository_scopes: [a]\n---\n[[a]] #tag\n")
    for task, parameter in CALLS:
        try:
            document = ask(vault, task, repo=vault, **{parameter: value})
        except KbError as error:
            assert error.exit_code in (2, 4), (task, error.message)
        else:
            assert document["schema"].startswith("kbtasks/")
    for task in ("inbox", "check"):
        ask(
            vault,
            task,
            folder=[value] if task == "inbox" and value.strip("/") else "" if task == "check" else ["articles"],
        )
