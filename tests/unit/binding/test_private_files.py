"""The files behind private records: one creator wins, a stale replace changes nothing, a released lock is free at once."""

from __future__ import annotations

import os
import subprocess
import threading
from pathlib import Path

import pytest

from kbtasks.errors import AlreadyExists, Busy, RevisionConflict
from kbtasks.fsio import Lock, atomic_write, create_exclusive, revision


def test_exactly_one_of_sixteen_racing_creators_wins(tmp_path: Path) -> None:
    path = tmp_path / "file"
    start = threading.Barrier(16)
    outcomes: list[str] = []

    def create(number: int) -> None:
        start.wait()
        try:
            create_exclusive(str(path), f"creator {number}".encode(), mode=0o600)
            outcomes.append(f"creator {number}")
        except AlreadyExists:
            pass

    threads = [threading.Thread(target=create, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [path.read_text()] == outcomes
    assert os.listdir(tmp_path) == ["file"], "nothing temporary is left"
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_stale_replace_leaves_the_bytes(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"one")
    stale = revision(b"one")
    atomic_write(str(path), b"two", expected=stale)
    with pytest.raises(RevisionConflict):
        atomic_write(str(path), b"three", expected=stale)
    assert path.read_bytes() == b"two"
    assert os.listdir(tmp_path) == ["file"]


def test_a_released_lock_is_free_at_once_even_if_a_child_has_the_descriptor(tmp_path: Path) -> None:
    path = str(tmp_path / "lock")
    with Lock(path, what="it") as lock:
        assert lock._handle is not None
        child = subprocess.Popen(["/bin/sleep", "60"], pass_fds=[lock._handle])
        with pytest.raises(Busy), Lock(path, what="it"):
            pass
    try:
        with Lock(path, what="it"):
            pass
    finally:
        child.kill()
        child.wait()
