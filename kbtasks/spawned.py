"""Starting the supervisor by posix_spawn: the standard library's subprocess costs more to load than a child to start.

Only what is named is passed on, under numbers of its own, so that nothing has to be made inheritable for a moment in which
another thread could start a child of its own.
"""

from __future__ import annotations

import os

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


def pipe() -> tuple[int, int]:
    """A pipe (read end, write end) whose numbers are not 0, 1 or 2, also where those are closed in this process."""
    reading, writing = os.pipe()
    return _above_standard(reading), _above_standard(writing)


def _above_standard(handle: int) -> int:
    if handle > 2:
        return handle
    import fcntl

    other = fcntl.fcntl(handle, fcntl.F_DUPFD_CLOEXEC, 3)
    os.close(handle)
    return other


class Spawned:
    """A process to be started, then started: ``pid``, our ends of its pipes (``stdin`` is -1 where it reads nothing).

    numbers: what the passed descriptors are called there, by what they are called here. first: the lowest of those.
    """

    __slots__ = ("_status", "_theirs", "first", "numbers", "pid", "stderr", "stdin", "stdout")

    def __init__(self, passed: Iterable[int], *, takes_input: bool) -> None:
        """Make the pipes, and choose numbers for the descriptors ``passed``. Raises OSError."""
        self._status: int | None = None
        self._theirs: list[int] = []
        self.pid = self.stdin = self.stdout = self.stderr = -1
        try:
            if takes_input:
                theirs, self.stdin = pipe()
            else:
                theirs = _above_standard(os.open(os.devnull, os.O_RDONLY | os.O_CLOEXEC))
            self._theirs.append(theirs)
            self.stdout, theirs = pipe()
            self._theirs.append(theirs)
            self.stderr, theirs = pipe()
            self._theirs.append(theirs)
        except BaseException:
            self.close()
            raise
        handles = list(dict.fromkeys(passed))
        # above all of ours, so that no copy overwrites a descriptor that is still to be copied
        self.first = max(2, *handles, *self._theirs) + 1
        self.numbers = {handle: self.first + place for place, handle in enumerate(handles)}

    def start(self, argv: Sequence[str], env: Mapping[str, str]) -> None:
        """Start ``argv[0]``. Raises OSError, ValueError; then nothing was started and the pipes are closed."""
        actions = [(os.POSIX_SPAWN_DUP2, ours, theirs) for ours, theirs in self.numbers.items()]
        actions += [(os.POSIX_SPAWN_DUP2, handle, number) for number, handle in enumerate(self._theirs)]
        try:
            self.pid = os.posix_spawn(argv[0], list(argv), dict(env), file_actions=actions)
        except BaseException:
            self.close()
            raise
        finally:
            while self._theirs:
                os.close(self._theirs.pop())

    def close(self) -> None:
        """Close our ends of its pipes."""
        while self._theirs:
            os.close(self._theirs.pop())
        for name in ("stdin", "stdout", "stderr"):
            handle = getattr(self, name)
            if handle >= 0:
                os.close(handle)
                setattr(self, name, -1)

    def wait(self, seconds: float) -> bool:
        """Whether it has ended within ``seconds``; then it is reaped."""
        from time import monotonic, sleep

        deadline = monotonic() + seconds
        pause = 0.0002
        while self._status is None:
            try:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:  # a host that ignores SIGCHLD, or reaps everything, was here first
                pid, status = self.pid, 0
            if pid:
                self._status = status
            elif monotonic() >= deadline:
                return False
            else:
                sleep(pause)
                pause = min(pause * 2, 0.01)
        return True

    def kill(self) -> None:
        """End it now, unless it has been reaped."""
        import signal

        if self._status is None:
            try:
                os.kill(self.pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
