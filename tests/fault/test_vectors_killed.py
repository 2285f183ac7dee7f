"""Making vectors is killed at any moment: what was done is kept, nothing torn is ever served."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

from support.meaning import needs_model

from kbtasks.build.run import run_build

pytestmark = needs_model

PROGRAM = """
import sys
from kbtasks.index import vectors
from kbtasks.index.view import open_view
vectors.SAVE_TOKENS = 64
with open_view(sys.argv[1], sys.argv[2]) as view:
    vectors.build(view.connection, sys.argv[2], progress=lambda *counts: print(*counts, flush=True))
    sys.stdin.read()
"""


def test_a_killed_build_goes_on_where_it_stopped(tmp_path) -> None:
    vault, cache = tmp_path / "vault", tmp_path / "cache"
    vault.mkdir()
    for number in range(40):
        (vault / f"note {number}.md").write_text(
            f"# Gauge {number}\n\nHeights of station {number}, kept in a table.\n", encoding="utf-8"
        )
    argv = [sys.executable, "-c", PROGRAM, str(vault), str(cache)]
    child = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout is not None
    deadline = time.monotonic() + 60
    for line in child.stdout:
        done = line.split()[0]
        if (done.isdigit() and int(done) >= 8) or time.monotonic() > deadline:
            break
    os.kill(child.pid, signal.SIGKILL)
    child.wait()
    child.stdout.close()
    assert child.stdin is not None
    child.stdin.close()
    assert not (cache / "vectors.bin").exists()
    assert (cache / "vectors.journal").stat().st_size > 0
    (outcome,) = [
        each
        for each in run_build(str(vault), str(cache), only=("vectors",)).outcomes.values()
        if each.name == "vectors"
    ]
    encoded = int(outcome.did.split()[0])
    assert encoded <= 40 - 8 + 4
    again = run_build(str(vault), str(cache), only=("vectors",)).outcomes["vectors"]
    assert again.state == "up-to-date"
    (vault / "note 3.md").write_text("# Gauge 3\n\nMoved to the pier.\n", encoding="utf-8")
    changed = run_build(str(vault), str(cache), only=("vectors",)).outcomes["vectors"]
    assert (changed.state, changed.did.split()[0]) == ("ran", "1")
