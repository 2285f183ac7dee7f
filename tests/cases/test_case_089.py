"""Program output that is not UTF-8, and the tool itself under a plain C locale."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from support.foreign import Bench

MODES = {
    "ok": """w('{"hits": [{"path": "Étang 🪶.md", "title": "Étang 🪶"}]}'.encode())""",
    "latin1": """w('{"hits": [{"path": "Étang.md"}]}'.encode("latin-1"))""",
    "errlatin1": """sys.stderr.buffer.write("près \\xff\\x1b[2J".encode("latin-1")); w(b'{"hits": []}')""",
    "crlf": """w(b'{"hits": [\\r\\n]}\\r\\n')""",
}
LOCALES = ({}, {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"})


@pytest.mark.parametrize("locale", LOCALES, ids=["utf-8", "C"])
@pytest.mark.parametrize("mode", sorted(MODES))
def test_bytes_in_bytes_out(tmp_path: Path, mode: str, locale: dict[str, str]) -> None:
    bench = Bench(tmp_path, program=f"#!{sys.executable}\nimport sys\nw = sys.stdout.buffer.write\n{MODES[mode]}\n")
    (bench.vault / "Étang 🪶.md").write_text("# Étang 🪶\n", encoding="utf-8")
    argv = [sys.executable, "-m", "kbtasks", "bind.search", "étang 🪶", "--store", str(bench.store)]
    env = {"HOME": bench.place.home, "PATH": os.environ["PATH"], **locale}
    expected = 10 if mode == "latin1" else 0
    for form in ([], ["--json"]):
        done = subprocess.run([*argv, *form], cwd=bench.project, env=env, capture_output=True, timeout=60, check=False)
        assert done.returncode == expected, done.stdout + done.stderr
        assert b"Traceback" not in done.stderr
        text = done.stdout.decode("utf-8")
        if form:
            document = json.loads(text)
            if mode == "latin1":
                assert document["error"]["code"] == "bad-output"
            if mode == "ok":
                assert document["hits"][0]["title"] == "Étang 🪶"
        elif mode == "ok":
            assert "Étang 🪶" in text
