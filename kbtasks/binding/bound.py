"""Running the bound program: nothing of the caller's environment, fixed limits, and exactly what was verified."""

from __future__ import annotations

import os

from kbtasks.binding import pythonenv
from kbtasks.binding.private import PYCACHE, PYCACHE_KEY
from kbtasks.process import run

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from kbtasks.binding.verify import Verified
    from kbtasks.process import Completed, Identity

#: What a bound program finds in its environment: nothing of the caller's. HRANESS_SUPPORT_AUDIENCE keeps Wordcell quiet.
FIXED_ENV = {
    "PATH": "/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "LC_ALL": "C.UTF-8",
    "NO_COLOR": "1",
    "HRANESS_SUPPORT_AUDIENCE": "off",
}
SECONDS = 15.0
MAX_STDOUT = 65_536
MAX_STDERR = 1 << 20
STDERR_TAIL = 4096


def command_line(verified: Verified, store: str, words: Sequence[str]) -> tuple[list[str], int]:
    """The whole argument list that starts the pinned program with ``words``, and where the program stands in it.

    Interpreters come by their path as written, since some find their environment, or which of their tools to be, by it.
    """
    pin = verified.pin
    chain = pin["interpreters"]
    if not chain:
        return [pin["program"]["named"], *words], 0
    argv: list[str] = []
    for item in reversed(chain):
        argv += [item["written"], *item["arguments"]]
    if pin["boot"]:
        packages = pin["packages"]
        # by the manifest's hash: compiled files are matched to sources by time and size only
        pycache = os.path.join(store, PYCACHE, packages["sha256"][:PYCACHE_KEY])
        argv += pythonenv.boot_arguments(pin["program"]["path"], packages["roots"], pycache)
    return [*argv, pin["program"]["path"], *words], len(argv)


def run_bound(
    verified: Verified,
    store: str,
    words: Sequence[str],
    *,
    seconds: float = SECONDS,
    before_exec: Callable[[Identity], None] | None = None,
) -> Completed:
    """Run the verified program with ``words``, the vault as working directory, for at most 15 s and 64 KiB of stdout.

    What starts is the open interpreter or binary, and a sealed copy of the script's verified bytes, so that a swap at
    their paths has no effect; that nothing was swapped is looked at again once it runs and when it has ended (Drift).
    Raises the errors of ``process.run``; over a limit is an error, never a part of the answer.
    """
    argv, position = command_line(verified, store, words)
    pinned_start = verified.pin["start"] == "descriptor" and os.path.isdir("/proc/self/fd")
    use_binary = verified.binary if os.execve in os.supports_fd else None
    done = run(
        argv,
        executable=use_binary,
        held={position: verified.script} if pinned_start and verified.script is not None and position else None,
        cwd=verified.pin["vault"]["path"],
        env=FIXED_ENV,
        timeout=seconds,
        max_stdout=MAX_STDOUT,
        max_stderr=STDERR_TAIL,
        stderr_limit=MAX_STDERR,
        before_exec=before_exec,
        after_exec=verified.still_the_same,
    )
    verified.ended_the_same()
    return done
