"""What becomes of a command whose standard streams are closed, full, or lead to a reader that goes."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

KB = f"{shlex.quote(sys.executable)} -m kbtasks"


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    (tmp_path / "猫.md").write_text("# Owls 🦉\n", encoding="utf-8")
    return tmp_path


def shell(line: str, vault: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["/bin/sh", "-c", line], cwd=vault, capture_output=True, encoding="utf-8", timeout=60, check=False
    )


@pytest.mark.parametrize(
    ("streams", "code", "out"),
    [
        (">&-", 0, ""),
        ("2>&-", 0, "猫.md  Owls 🦉\n"),
        ("<&-", 0, "猫.md  Owls 🦉\n"),
        ("<&- >&- 2>&-", 0, ""),
    ],
)
def test_closed_streams(vault: Path, streams: str, code: int, out: str) -> None:
    done = shell(f"{KB} list --root . {streams}", vault)

    assert (done.returncode, done.stdout, done.stderr) == (code, out, "")


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is always full")
@pytest.mark.parametrize("form", ["", "--json"])
def test_a_full_disk_is_no_bug_of_ours(vault: Path, form: str) -> None:
    done = shell(f"{KB} list --root . {form} > /dev/full", vault)

    assert done.returncode == 10
    assert done.stderr.splitlines() == ["kb: the system takes no more: No space left on device"]


def test_a_reader_that_goes(vault: Path) -> None:
    done = shell(f"{KB} --help | true; {KB} list --root . | true", vault)

    assert done.stderr == ""


def test_help_by_word_and_bounds_that_are_too_small(vault: Path) -> None:
    assert shell(f"{KB} help list", vault).stdout == shell(f"{KB} list --help", vault).stdout

    small = shell(f"{KB} list --root . --json --max-bytes 9", vault)

    assert small.stdout.startswith('{"schema":"kbtasks/list/1"')
    assert small.stderr.startswith("the least that can be said takes ")


def test_what_a_document_speaks_of_goes_last(vault: Path) -> None:
    (vault / "犬.md").write_text("---\naliases: [いぬ, 狗]\n---\n# 犬 🐕\n\ntext\n", encoding="utf-8")

    cut = json.loads(shell(f"{KB} show 犬 --root . --json --max-bytes 300", vault).stdout)

    assert cut["truncated"] and cut["note"]["path"] == "犬.md" and "meta" not in cut


@pytest.mark.parametrize("line", ["list --max-bytes -1", "list --limit 0", "list --limit x", "search a --mode nope"])
def test_a_bad_argument_says_what_to_type_next(line: str, vault: Path) -> None:
    done = shell(f"{KB} {line} --root . --json", vault)

    error = json.loads(done.stdout)["error"]
    assert (done.returncode, error["code"]) == (2, "usage")
    assert error["next"] == f"kb {line.split(maxsplit=1)[0]} --help"


@pytest.mark.parametrize("limit", [1, 2, 5, 9, 16, 17, 24, 30])
def test_text_is_cut_within_its_bound_and_in_no_character(vault: Path, limit: int) -> None:
    (vault / "犬.md").write_text("# 犬 🐕\n", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "kbtasks", "list", "--root", ".", "--max-bytes", str(limit)],
        cwd=vault,
        capture_output=True,
        timeout=60,
        check=False,
    )

    assert len(done.stdout) <= limit
    done.stdout.decode("utf-8")
    assert b"bytes" in done.stderr


def test_a_form_that_is_never_cut_says_so(vault: Path) -> None:
    done = shell(f"{KB} graph --format graphml --root . --max-bytes 50", vault)

    assert done.stdout.endswith("</graphml>\n")
    assert "is never cut" in done.stderr


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no device that is always full")
@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_version_that_cannot_be_written_is_one_line(unbuffered: str, vault: Path) -> None:
    done = shell(f"PYTHONUNBUFFERED={unbuffered} {KB} --version > /dev/full", vault)

    assert done.returncode == 10
    assert done.stderr.count("\n") == 1
