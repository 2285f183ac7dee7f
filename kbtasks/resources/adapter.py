"""Adapters: programs of the user's choice that speak one JSON request and one JSON answer, then exit.

Nothing an adapter writes to stderr, and no text of its failures, is ever shown: it may hold credentials.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from kbtasks import process
from kbtasks.errors import KbError, ProcessNotStarted, ProcessOverflow, ProcessTimeout
from kbtasks.resources.canonical import compact
from kbtasks.resources.faults import AdapterFailed, NotJson
from kbtasks.resources.strictjson import parse_bytes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

MAX_OUTPUT = 1 << 20
_LOCALE = ("LANG", "LANGUAGE", "TZ")


def environment(environ: Mapping[str, str], names: Sequence[str] = ()) -> dict[str, str]:
    """What an adapter sees of the environment: HOME, PATH, the locale, and the variables its configuration names."""
    kept = {"HOME", "PATH", *_LOCALE, *names}
    return {name: value for name, value in environ.items() if name in kept or name.startswith("LC_")}


class Unusable(AdapterFailed):
    """The adapter did not confirm: {reason}.

    state: ``not_started`` where nothing was executed, else ``uncertain``: it may have acted before it failed.
    """

    def __init__(self, reason: str, state: str = "uncertain", *, silent: bool = False) -> None:
        super().__init__(reason=reason)
        self.state = state
        self.silent = silent


def ask(argv: Sequence[str], request: dict[str, Any], *, env: Mapping[str, str], timeout: float) -> dict[str, Any]:
    """Start ``argv`` without a shell, give it ``request`` as one line, and return its answer.

    timeout: seconds. Raises Unusable with a fixed sentence for every way in which it can fail to answer with one JSON
    object of at most 1 MiB.
    """
    line = (compact(request) + "\n").encode("utf-8")
    home = env.get("HOME", "/")
    try:
        done = process.run(
            argv,
            cwd=home if os.path.isdir(home) else "/",
            env=env,
            timeout=timeout,
            max_stdout=MAX_OUTPUT,
            max_stderr=0,
            input=line,
        )
    except ProcessNotStarted:
        raise Unusable("it could not be started", "not_started", silent=True) from None
    except ProcessTimeout:
        raise Unusable(f"it did not answer within {timeout:g} s and was ended", silent=True) from None
    except ProcessOverflow:
        raise Unusable(f"it wrote more than {MAX_OUTPUT} bytes and was ended") from None
    except KbError:
        raise Unusable("it could not be shown to have ended") from None
    if done.status != 0:
        how = f"exit status {done.status}" if done.status > 0 else f"signal {-done.status}"
        raise Unusable(f"it failed with {how}")
    try:
        answer = parse_bytes(done.stdout, what="the answer")
    except NotJson:
        raise Unusable("its answer is not one JSON document") from None
    if not isinstance(answer, dict):
        raise Unusable("its answer is not a JSON object")
    return answer
