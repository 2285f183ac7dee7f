"""Running a function in a child process without rights, and killing one at a chosen moment."""

from __future__ import annotations

import json
import os
import signal
import warnings
from collections.abc import Callable
from typing import Any

NOBODY = 65534


def as_nobody(function: Callable[[], Any]) -> Any:
    """The JSON-able result of ``function``, run in a forked child under a uid without rights; needs root."""
    return in_child(function, uid=NOBODY)


def in_child(function: Callable[[], Any], *, uid: int | None = None) -> Any:
    """The JSON-able result of ``function``, run in a forked child."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        code = 1
        try:
            os.close(reading)
            if uid is not None:
                os.setgroups([])
                os.setgid(uid)
                os.setuid(uid)
            with os.fdopen(writing, "w") as pipe:
                json.dump(function(), pipe)
            code = 0
        finally:
            os._exit(code)
    os.close(writing)
    with os.fdopen(reading) as pipe:
        text = pipe.read()
    _, status = os.waitpid(child, 0)
    assert status == 0, "the child failed"
    return json.loads(text)


def killed_after(number: int, action: Callable[[Callable[[], None]], None]) -> bool:
    """Run ``action`` in a child that kills itself at its call ``number`` (from 0) of the function it is given."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        child = os.fork()
    if child == 0:
        left = [number]

        def tick() -> None:
            if left[0] <= 0:
                os.kill(os.getpid(), signal.SIGKILL)
            left[0] -= 1

        try:
            action(tick)
            os._exit(0)
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        return True
    assert status == 0, "the child failed without being killed"
    return False
