"""A real PostgreSQL server for tests: its own user, a temporary data folder, a socket in it and nothing on the network."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

UID = 65534


def programs() -> Path:
    """The folder of the server's programs, newest version first; skips where there is none."""
    pytest.importorskip("psycopg", reason="the extra postgres is not installed")
    for folder in sorted(
        Path("/usr/lib/postgresql").glob("*/bin"), key=lambda path: int(path.parent.name), reverse=True
    ):
        if (folder / "initdb").exists():
            return folder
    found = shutil.which("initdb")
    if found:
        return Path(found).parent
    pytest.skip("no PostgreSQL server is installed (Debian: apt-get install postgresql)")


@contextmanager
def server() -> Iterator[Path]:
    """A running server; the folder of its socket. Ends it, and everything of it, on leaving."""
    folder = programs()
    drop = {"user": UID, "group": UID, "extra_groups": []} if os.getuid() == 0 else {}
    root = Path(os.path.realpath(tempfile.mkdtemp(prefix="kb-pg-", dir="/tmp")))
    data = root / "data"
    env = {"PATH": "/usr/bin:/bin", "LC_ALL": "C", "HOME": str(root)}
    try:
        if drop:
            os.chown(root, UID, UID)
        init = [
            str(folder / "initdb"),
            "-D",
            str(data),
            "-A",
            "trust",
            "-U",
            "kb",
            "-E",
            "UTF8",
            "--locale=C",
            "--no-sync",
        ]
        subprocess.run(init, check=True, env=env, cwd=root, capture_output=True, **drop)  # type: ignore[call-overload]
        options = f"-c listen_addresses= -c unix_socket_directories={root} -c fsync=off -c shared_buffers=16MB"
        control = [str(folder / "pg_ctl"), "-D", str(data), "-w", "-t", "60", "-l", str(root / "log")]
        subprocess.run(
            [*control, "-o", options, "start"], check=True, env=env, cwd=root, stdout=subprocess.DEVNULL, **drop
        )  # type: ignore[call-overload]
        try:
            yield root
        finally:
            subprocess.run(
                [*control, "-m", "immediate", "stop"], check=False, env=env, cwd=root, capture_output=True, **drop
            )  # type: ignore[call-overload]
    finally:
        shutil.rmtree(root, ignore_errors=True)
