"""Helpers for tests with real child processes: which processes carry a mark, and waiting for them to go."""

from __future__ import annotations

import os
import time
from secrets import token_hex


def mark() -> str:
    """A word that no other command line holds; give it to a child as an argument to find it again."""
    return "mark" + token_hex(8)


def marked(word: str) -> list[int]:
    """Numbers of the living processes (zombies left out) whose command line holds ``word``."""
    found = []
    for name in os.listdir("/proc"):
        if name.isdigit() and int(name) != os.getpid():
            try:
                with open(f"/proc/{name}/cmdline", "rb") as file:
                    words = file.read()
            except OSError:
                continue
            if word.encode() in words:
                found.append(int(name))
    return found


def gone(word: str, seconds: float = 10.0) -> bool:
    """Whether no process carries ``word`` within ``seconds``."""
    deadline = time.monotonic() + seconds
    while marked(word):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True


def appears(path: str | os.PathLike[str], seconds: float = 20.0) -> bool:
    """Whether ``path`` exists within ``seconds``."""
    deadline = time.monotonic() + seconds
    while not os.path.exists(path):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True
