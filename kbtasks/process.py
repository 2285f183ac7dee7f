"""Child processes with a deadline and bounded output, ended together with everything they started."""

from __future__ import annotations

import os
import signal
import subprocess
from typing import TYPE_CHECKING

from kbtasks.errors import ProcessNotStarted, ProcessOverflow, ProcessTimeout

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


class Completed:
    """A finished child: exit status (negative: killed by that signal), whole stdout, tail of stderr."""

    __slots__ = ("status", "stderr", "stdout")

    def __init__(self, status: int, stdout: bytes, stderr: bytes) -> None:
        self.status = status
        self.stdout = stdout
        self.stderr = stderr


def run(
    argv: Sequence[str],
    *,
    cwd: str,
    env: Mapping[str, str],
    timeout: float,
    max_stdout: int,
    max_stderr: int = 1 << 16,
    input: bytes | None = None,
    executable: str | None = None,
    pass_fds: Sequence[int] = (),
) -> Completed:
    """Run ``argv`` without a shell in its own process group and wait for it.

    timeout: seconds. max_stdout: bytes; one more ends the group and raises ProcessOverflow. max_stderr: only this tail is kept.
    input: bytes for stdin; None gives /dev/null. executable: what is really started, when not ``argv[0]``.
    Raises ProcessNotStarted, ProcessTimeout, ProcessOverflow. On every path the whole group is ended first.
    """
    import selectors
    from time import monotonic

    try:
        child = subprocess.Popen(
            list(argv),
            executable=executable,
            cwd=cwd,
            env=dict(env),
            stdin=subprocess.DEVNULL if input is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
            pass_fds=tuple(pass_fds),
        )
    except (OSError, ValueError) as error:
        raise ProcessNotStarted(program=argv[0], reason=getattr(error, "strerror", None) or str(error)) from None
    deadline = monotonic() + timeout
    stdout, stderr = bytearray(), bytearray()
    pending = memoryview(input or b"")
    assert child.stdout is not None and child.stderr is not None
    try:
        with selectors.DefaultSelector() as selector:
            selector.register(child.stdout, selectors.EVENT_READ)
            selector.register(child.stderr, selectors.EVENT_READ)
            if child.stdin is not None:
                os.set_blocking(child.stdin.fileno(), False)
                selector.register(child.stdin, selectors.EVENT_WRITE)
            while selector.get_map():
                left = deadline - monotonic()
                if left <= 0:
                    raise ProcessTimeout(program=argv[0], seconds=timeout)
                for key, _ in selector.select(left):
                    if key.fileobj is child.stdin and child.stdin is not None:
                        try:
                            pending = pending[os.write(child.stdin.fileno(), pending[:65536]) :]
                        except BlockingIOError:
                            continue
                        except BrokenPipeError:
                            pending = memoryview(b"")
                        if not pending:
                            selector.unregister(child.stdin)
                            child.stdin.close()
                        continue
                    chunk = os.read(key.fd, 65536)
                    if not chunk:
                        selector.unregister(key.fileobj)
                    elif key.fileobj is child.stdout:
                        stdout += chunk
                        if len(stdout) > max_stdout:
                            raise ProcessOverflow(program=argv[0], limit=max_stdout)
                    else:
                        stderr += chunk
                        del stderr[:-max_stderr]
            try:
                child.wait(max(deadline - monotonic(), 0.01))
            except subprocess.TimeoutExpired:
                raise ProcessTimeout(program=argv[0], seconds=timeout) from None
    finally:
        _end_group(child)
        for stream in (child.stdin, child.stdout, child.stderr):
            if stream is not None:
                stream.close()
    return Completed(child.returncode, bytes(stdout), bytes(stderr))


def _end_group(child: subprocess.Popen[bytes]) -> None:
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass
    child.wait()
