"""Writing as a line of a shell: text from stdin, text that begins with a dash, errors as JSON, quick starts."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from support.cli import kb, kb_json


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    (tmp_path / ".kbtasks").mkdir()
    (tmp_path / "a.md").write_text("# A 甲\n", encoding="utf-8")
    return tmp_path


def test_text_from_stdin(vault: Path) -> None:
    kb_json("note.create", "n", "--body-file", "-", cwd=vault, input="stdin 標準\nzwei")
    kb_json("note.append", "n", "--text-file", "-", cwd=vault, input="-- mehr\n")
    text = (vault / "n.md").read_text(encoding="utf-8")
    assert text.endswith("\n\nstdin 標準\nzwei\n\n-- mehr\n")
    revision = kb_json("note.set", "n", "--status", "done", cwd=vault)["revision"]
    kb_json("note.replace", "n", "--expected-revision", revision, "--body-file", "-", cwd=vault, input="neu")
    assert (vault / "n.md").read_text(encoding="utf-8").endswith("---\n\nneu\n")
    assert (
        kb("note.replace", "n", "--expected-revision", revision, "--body-file", "-", cwd=vault, input="").returncode
        == 2
    )


@pytest.mark.parametrize(
    ("words", "code", "name"),
    [
        (["note.create", "a#b"], 2, "usage"),
        (["note.create", "x/y"], 4, "not-found"),
        (["note.create", "a", "--body", "other"], 5, "already-exists"),
        (["note.append", "a", "--text=--- \n", "--heading", "Nowhere"], 4, "not-found"),
        (["note.append", "nobody", "--text", "x"], 4, "not-found"),
        (["note.set", "a", "--status", "x", "--expected-revision", "sha256:0"], 5, "revision-conflict"),
        (["note.move", "a", "--to", "../out"], 2, "usage"),
        (["relation.add", "a", "--predicate", "p", "--target", "nobody"], 4, "not-found"),
        (["plan.close", "a"], 5, "refused"),
        (["plan.create", "p", "--outcome", "x", "--status", "completed"], 2, "usage"),
    ],
)
def test_errors_name_the_next_step(vault: Path, words: list[str], code: int, name: str) -> None:
    error = kb_json(*words, cwd=vault, code=code)["error"]

    assert error["code"] == name and error["next"]
    assert (vault / "a.md").read_text(encoding="utf-8") == "# A 甲\n"


@pytest.mark.parametrize("command", [["plan.list"], ["note.append", "a", "--text", "x"], ["note.delete", "a"]])
def test_what_is_not_needed_is_not_loaded(vault: Path, command: list[str]) -> None:
    kb("list", cwd=vault)
    code = f"import sys; from kbtasks.cli import run; run({command!r}); print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", code], cwd=vault, capture_output=True, text=True, check=True)
    loaded = set(done.stderr.split())

    assert "kbtasks.tasks.table" in loaded
    assert not loaded & {
        "invoke",
        "doit",
        "jsonschema",
        "rich",
        "yaml",
        "shutil",
        "dataclasses",
        "argparse",
        "rapidfuzz",
        "numpy",
    }
