"""Writers that race: with an expected revision one wins; appends and relations all land; nothing is lost."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from kbtasks import fsio

WRITERS = 8


def race(vault: Path, lines: list[list[str]]) -> list[subprocess.CompletedProcess[str]]:
    """Start all command lines at once; their results in order."""
    running = [
        subprocess.Popen(
            [sys.executable, "-m", "kbtasks", *words, "--json"],
            cwd=vault,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for words in lines
    ]
    results = []
    for process in running:
        out, err = process.communicate(timeout=120)
        results.append(subprocess.CompletedProcess(process.args, process.returncode, out, err))
    return results


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    (tmp_path / ".kbtasks").mkdir()
    (tmp_path / "log.md").write_text("---\ntitle: Log 記\n---\n\n# Log\n", encoding="utf-8")
    for number in range(WRITERS):
        (tmp_path / f"n{number}.md").write_text(f"# N{number}\n", encoding="utf-8")
    return tmp_path


def test_with_an_expected_revision_exactly_one_wins(vault: Path) -> None:
    revision = fsio.revision((vault / "log.md").read_bytes())
    done = race(
        vault, [["note.set", "log", "--field", f"winner={n}", "--expected-revision", revision] for n in range(WRITERS)]
    )

    codes = sorted(each.returncode for each in done)
    assert codes == [0] + [5] * (WRITERS - 1), [each.stdout + each.stderr for each in done]
    winner = next(number for number, each in enumerate(done) if each.returncode == 0)
    assert f"winner: {winner}\n" in (vault / "log.md").read_text(encoding="utf-8")
    assert all(json.loads(each.stdout)["error"]["code"] == "revision-conflict" for each in done if each.returncode)


def test_appends_and_relations_all_land(vault: Path) -> None:
    lines = [["note.append", "log", "--text", f"- line {n} 行"] for n in range(WRITERS)]
    lines += [["relation.add", "log", "--predicate", "sees", "--target", f"n{n}"] for n in range(WRITERS)]
    done = race(vault, lines)

    assert [each.returncode for each in done] == [0] * (2 * WRITERS), [each.stdout + each.stderr for each in done]
    text = (vault / "log.md").read_text(encoding="utf-8")
    assert sorted(line for line in text.splitlines() if line.startswith("- line")) == [
        f"- line {n} 行" for n in range(WRITERS)
    ]
    for number in range(WRITERS):
        assert f"n{number}" in text.split("---")[1]
    assert not (vault / ".kbtasks" / "journal").exists()


def test_creates_of_one_note_leave_one(vault: Path) -> None:
    done = race(vault, [["note.create", "new", "--body", f"body {n}"] for n in range(WRITERS)])

    assert sorted(each.returncode for each in done) == [0] + [5] * (WRITERS - 1)
    winner = next(number for number, each in enumerate(done) if each.returncode == 0)
    assert f"body {winner}\n" in (vault / "new.md").read_text(encoding="utf-8")
