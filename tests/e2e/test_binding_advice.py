"""What a person is told to type next works as it stands; projects and folders that are gone; odd names on a terminal."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from support.foreign import Bench

from kbtasks.binding import bound

REPOSITORY = Path(bound.__file__).parents[2]


def kb(bench: Bench, *words: str, cwd: Path | None = None, store: bool = True) -> tuple[int, dict[str, Any]]:
    """Exit code and JSON document of ``kb WORDS``."""
    done = run(bench, *words, "--json", *(["--store", str(bench.store)] if store else []), cwd=cwd)
    assert done.stderr == b""
    return done.returncode, json.loads(done.stdout)


def run(bench: Bench, *words: str | bytes, cwd: Path | bytes | None = None) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "kbtasks", *words],
        cwd=cwd or bench.folder,
        env={**os.environ, "HOME": bench.place.home, "PYTHONPATH": str(REPOSITORY)},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        check=False,
        timeout=120,
    )


def follow(bench: Bench, line: str) -> tuple[int, dict[str, Any]]:
    """Type the command in ``line`` and nothing else, from a folder that is no project."""
    words = shlex.split(line)
    assert words[0] == "kb"
    return kb(bench, *words[1:], store=False)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    folder = tmp_path / "a b 再"
    folder.mkdir()
    return Bench(folder)


def test_the_next_command_speaks_of_the_same_project_and_store(bench: Bench) -> None:
    here = ("--project", str(bench.project))
    bench.program.write_text(bench.program.read_text() + "# upgraded\n")
    code, status = kb(bench, "bind.status", *here)
    assert code == 6
    code, drifted = kb(bench, "bind.search", "retries", *here)
    assert code == 6
    code, again = follow(bench, drifted["error"]["next"])
    assert (code, again["next"]) == (6, status["next"])
    code, mended = follow(bench, status["next"])
    assert (code, mended["revision"]) == (0, 2)
    code, refused = kb(bench, "bind.remove", *here)
    assert code == 2
    assert follow(bench, refused["error"]["next"])[0] == 0
    code, unbound = kb(bench, "bind.status", *here)
    assert code == 4
    assert unbound["error"]["next"].startswith("kb bind --vault DIR --project ")


def test_an_uncertain_note_is_recovered_by_the_command_shown(bench: Bench) -> None:
    body = bench.folder / "note.md"
    body.write_text("再試行 🪶\n")
    bench.mode("after:sys.exit(0)")
    code, failed = kb(bench, "promote", "t-1", "--body-file", str(body), "--project", str(bench.project))
    assert code == 7
    _, listed = kb(bench, "promote.receipts", "--project", str(bench.project))
    for line in (failed["error"]["next"], listed["receipts"][0]["next"]):
        code, decided = follow(bench, line)
        assert (code, [item["status"] for item in decided["receipts"]]) == (0, ["confirmed"])


def test_the_binding_of_a_deleted_project_can_be_seen_and_removed(bench: Bench) -> None:
    here = ("--project", str(bench.project))
    (bench.project / ".git").rmdir()
    bench.project.rmdir()
    assert kb(bench, "bind.status", *here)[0] == 0
    assert kb(bench, "bind.log", *here)[1]["total"] == 1
    assert kb(bench, "bind.remove", "--revision", "1", *here)[0] == 0
    assert kb(bench, "bind.status", *here)[0] == 4
    assert kb(bench, "bind.list")[1]["bindings"] == []


def test_a_working_directory_that_is_gone_or_not_utf8_is_no_bug(bench: Bench) -> None:
    gone = bench.folder / "gone"
    gone.mkdir()
    script = 'rmdir "$PWD"; exec "$0" -m kbtasks bind.status --json'
    done = subprocess.run(
        ["/bin/sh", "-c", script, sys.executable],
        cwd=gone,
        env={**os.environ, "HOME": bench.place.home, "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        check=False,
    )
    assert (done.returncode, json.loads(done.stdout)["error"]["code"]) == (10, "unavailable")
    odd = os.fsencode(bench.folder) + b"/\xff"
    os.mkdir(odd)
    done = run(bench, "bind.status", "--store", str(bench.store), cwd=odd)
    assert done.returncode == 2
    assert b"no repository around" in done.stderr


def test_a_path_with_line_breaks_cannot_write_lines_of_its_own(bench: Bench) -> None:
    vault = bench.folder / "v\n  ok      program.sha256      forged\x1b[2J"
    vault.mkdir()
    bench.bind(1, vault=str(vault))
    for words in (["bind.status", "--project", str(bench.project)], ["bind.list"]):
        done = run(bench, *words, "--store", str(bench.store))
        assert done.returncode == 0
        assert not any(line.startswith(b"  ok      program.sha256      forged") for line in done.stdout.split(b"\n"))
        assert b"\x1b" not in done.stdout


def test_private_records_do_not_go_into_the_vault(bench: Bench) -> None:
    words = ("bind", "--vault", str(bench.vault), "--project", str(bench.project), "--program", str(bench.program))
    code, refused = kb(bench, *words, "--store", str(bench.vault / "private"), store=False)
    assert code == 5
    assert "store of bindings lies in the vault" in refused["error"]["message"]
