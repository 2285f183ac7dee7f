"""Case 052: SIGKILL at random moments of a forced rebuild; no answer in between is silently empty."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

from support.indexed import assert_sound, assert_true, opened, words, write


def test_killed_mid_rebuild(tmp_path: Path) -> None:
    count, chance = 400, random.Random(52)
    root = write(
        tmp_path / "vault",
        {
            f"note{n:05d}.md": f"---\ntags: [t{n % 7}]\n---\n# Note {n}\n\ncommonword uniq{n} [[note{(n * 7 + 1) % count:05d}]]\n"
            for n in range(count)
        },
    )
    opened(root).close()
    cache = str(tmp_path / "vault.cache")
    program = f"from kbtasks.index.view import open_view; open_view({str(root)!r}, {cache!r}, rebuild=True).close()"
    for _ in range(8):
        child = subprocess.Popen([sys.executable, "-c", program], start_new_session=True)
        time.sleep(chance.uniform(0.05, 0.6))
        os.killpg(child.pid, signal.SIGKILL)
        child.wait()
        with opened(root) as view:
            assert len(words(view, "commonword")) == count
    with opened(root) as view:
        assert_true(root, view)
        assert_sound(view)
    left = {path.name for path in (tmp_path / "vault.cache").iterdir()}
    assert left <= {".gitignore", "index.db", "index.db-wal", "index.db-shm", "index.lock"}
