"""Kills a real child process at every step of a write, one step after another."""

from __future__ import annotations

import os
import signal
import warnings
from collections.abc import Callable, Iterator
from itertools import count

from kbtasks import fsio


def run_killed_at(number: int, action: Callable[[], None]) -> bool:
    """Run ``action`` in a forked child that kills itself at its step ``number`` (from 0); whether it was killed."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the child only writes files, then ends
        child = os.fork()
    if child == 0:
        try:
            left = [number]

            def on_step(name: str) -> None:
                if left[0] == 0:
                    os.kill(os.getpid(), signal.SIGKILL)
                left[0] -= 1

            fsio.on_step = on_step
            action()
            os._exit(0)
        except BaseException:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        assert os.WTERMSIG(status) == signal.SIGKILL
        return True
    assert os.WEXITSTATUS(status) == 0, "the action failed without being killed"
    return False


def steps() -> Iterator[int]:
    """Step numbers to try; the caller stops at the first that was not killed."""
    yield from count()
