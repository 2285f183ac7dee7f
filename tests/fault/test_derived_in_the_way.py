"""Something that is no file of ours where a derived file belongs: reads answer, nothing waits for ever, and no traceback."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from json import loads
from typing import TYPE_CHECKING

import pytest
from support.indexed import write

if TYPE_CHECKING:
    from pathlib import Path

PLACES = ("index.db", "doit.db", "views", "views/backlinks.json", "catalog.lock")
THINGS = ("folder", "fifo", "socket", "garbage", "loop")


def put(path: Path, thing: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if thing == "folder":
        (path / "inside").mkdir(parents=True)
    elif thing == "fifo":
        os.mkfifo(path)
    elif thing == "socket":
        with socket.socket(socket.AF_UNIX) as bound:
            here = os.getcwd()
            os.chdir(path.parent)  # a socket's path is at most 108 bytes
            bound.bind(path.name)
            os.chdir(here)
    elif thing == "loop":
        path.symlink_to(path.name)
    else:
        path.write_bytes(os.urandom(6000))


def kb(*words: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "kbtasks", *words], capture_output=True, text=True, timeout=30, check=False
    )
    assert "Traceback" not in done.stderr and "bug" not in done.stderr, done.stderr
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("thing", THINGS)
@pytest.mark.parametrize("place", PLACES)
def test_reads_answer_and_refresh_says_what_is_wrong(tmp_path: Path, place: str, thing: str) -> None:
    root = write(
        tmp_path / "v", {"a.md": "alpha [[b]]\n", "b.md": "beta\n", "index.md": "<!-- kb:catalog:start -->\n<!-- kb:catalog:end -->\n"}
    )  # fmt: skip
    put(root / ".kbtasks" / place, thing)
    code, out, _ = kb("search", "alpha", "--root", str(root), "--mode", "exact", "--json")
    assert code == 0
    assert [hit["path"] for hit in loads(out)["hits"]] == ["a.md"]
    code, out, error = kb("refresh", "--root", str(root))
    assert code in (0, 10), error
    if thing in ("fifo", "socket", "garbage") and place in ("index.db", "doit.db", "views/backlinks.json"):
        assert code == 0, error  # taken away: it is derived
    if code:
        assert "cannot" in error
    code, out, _ = kb("doctor", "--root", str(root), "--json")
    bad = place == "index.db" and thing in ("folder", "loop")
    assert code == (3 if bad else 0)
    code, out, error = kb("doctor", "--repair", "--root", str(root))
    assert code == (10 if bad and thing == "folder" else 0), error


@pytest.mark.parametrize("thing", ["folder", "fifo", "socket", "loop"])
def test_settings_that_are_no_file(tmp_path: Path, thing: str) -> None:
    root = write(tmp_path / "v", {"a.md": "alpha\n"})
    put(root / "kb.toml", thing)
    code, _, error = kb("search", "alpha", "--root", str(root))
    assert code == 10
    assert "kb.toml cannot be read" in error
