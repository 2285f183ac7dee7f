"""Running ``kb`` as a user without rights: root ignores file modes, so permission rules are tested under a dropped uid."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

REPOSITORY = Path(__file__).resolve().parent.parent.parent
UID = 65534


def interpreter() -> str:
    """A Python of at least 3.11 that a user without rights can run; skips the test where there is none."""
    if os.getuid() != 0:
        pytest.skip("needs root, to drop its rights")
    for name in ("/usr/bin/python3", "/usr/local/bin/python3"):
        code = "import sys, sqlite3; sys.exit(sys.version_info < (3, 11))"
        try:
            done = subprocess.run(
                [name, "-c", code], user=UID, group=UID, extra_groups=[], capture_output=True, check=False
            )
        except OSError:
            continue
        if done.returncode == 0:
            return name
    pytest.skip("no Python that a user without rights can run")


@contextmanager
def folder() -> Iterator[Path]:
    """A folder that belongs to the user without rights."""
    path = Path(os.path.realpath(tempfile.mkdtemp(prefix="kb-nobody-", dir="/tmp")))
    os.chown(path, UID, UID)
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)


def own(*paths: Path, uid: int = UID) -> None:
    """Give ``paths`` to ``uid``."""
    for path in paths:
        os.chown(path, uid, uid, follow_symlinks=False)


def run(*argv: str, cwd: Path, home: Path, timeout: float = 60) -> subprocess.CompletedProcess[str]:
    """Run ``argv`` as the user without rights."""
    env = {"PATH": "/usr/bin:/bin", "HOME": str(home), "PYTHONPATH": str(REPOSITORY), "PYTHONDONTWRITEBYTECODE": "1"}
    return subprocess.run(
        argv, cwd=cwd, env=env, user=UID, group=UID, extra_groups=[], umask=0o022, capture_output=True, text=True,
        stdin=subprocess.DEVNULL, timeout=timeout, check=False,
    )  # fmt: skip


def kb(*words: str, cwd: Path, home: Path) -> tuple[int, dict[str, Any]]:
    """Run ``kb WORDS --json`` as the user without rights: exit code and document."""
    done = run(interpreter(), "-m", "kbtasks", *words, "--json", cwd=cwd, home=home)
    assert "Traceback" not in done.stderr, done.stderr
    document = json.loads(done.stdout)
    assert isinstance(document, dict)
    return done.returncode, document
