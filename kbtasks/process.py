"""Child processes with a deadline and bounded output, ended together with everything they started.

Each child runs below a small supervisor (``kbtasks.supervisor``) that adopts what the child leaves behind, a ``setsid``
child included (Linux: subreaper; elsewhere the process group only), and kills all of it when the child ends or when the
pipe to us closes. So the same holds on every path: success with leftovers, time-out, overflow, an exception of ours,
our SIGINT or SIGTERM, and our SIGKILL.
"""

from __future__ import annotations

import os
import sys

from kbtasks.errors import ProcessNotStarted, ProcessOverflow, ProcessTimeout, ProcessUnproven

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

    from kbtasks.spawned import Spawned

#: Seconds the supervisor gets to end everything before the outcome is called unproven.
ENDING_SECONDS = 7.0
STDERR_TAIL = 1 << 16
CHUNK = 65536


class Completed:
    """A finished child: exit status (negative: killed by that signal), whole stdout, tail of stderr.

    leftovers: how many processes it had left running; they were ended.
    """

    __slots__ = ("leftovers", "status", "stderr", "stdout")

    def __init__(self, status: int, stdout: bytes, stderr: bytes, leftovers: int = 0) -> None:
        self.status = status
        self.stdout = stdout
        self.stderr = stderr
        self.leftovers = leftovers


class Identity:
    """A process told apart from a later one of the same number: ``pid``, start time in clock ticks, boot."""

    __slots__ = ("boot", "pid", "start")

    def __init__(self, pid: int, start: str, boot: str) -> None:
        self.pid = pid
        self.start = start
        self.boot = boot

    def alive(self) -> bool:
        """Whether this very process still runs; a number reused since, or since a reboot, is not it."""
        from kbtasks.supervisor import start_identity

        if self.pid <= 0 or self.boot != boot_identity():
            return False
        if self.start != "-":
            return start_identity(self.pid) == self.start
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            pass
        return True


def boot_identity() -> str:
    """The kernel's identifier of this boot, ``-`` where it has none."""
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            return file.read(64).strip()
    except OSError:
        return "-"


def find_program(name: str, path: str) -> str | None:
    """The file that ``name`` means in the search path ``path``: absolute entries only, never the working directory."""
    for folder in path.split(os.pathsep):
        if os.path.isabs(folder):
            candidate = os.path.join(folder, name)
            if os.path.isfile(candidate) and os.access(candidate, os.X_OK):
                return candidate
    return None


def run(
    argv: Sequence[str],
    *,
    cwd: str,
    env: Mapping[str, str],
    timeout: float,
    max_stdout: int,
    max_stderr: int = STDERR_TAIL,
    stderr_limit: int | None = None,
    input: bytes | None = None,
    executable: str | int | None = None,
    pass_fds: Sequence[int] = (),
    held: Mapping[int, int] | None = None,
    before_exec: Callable[[Identity], None] | None = None,
    after_exec: Callable[[], None] | None = None,
) -> Completed:
    """Run ``argv`` without a shell, in its own session, and wait for it.

    timeout: seconds, start included. max_stdout: bytes; one more ends everything and raises ProcessOverflow.
    max_stderr: only this many bytes of its tail are kept. stderr_limit: bytes of stderr that end it too; None: no end.
    input: bytes for stdin; None gives /dev/null.
    executable: what is really started, when not ``argv[0]``: a path, or an open descriptor of a binary (closed at
    exec). A name without a slash is looked up in the absolute entries of the PATH in ``env``, never in the cwd.
    pass_fds: descriptors the child inherits; it has no other than 0, 1 and 2.
    held: positions in ``argv`` that become paths through which the child can open the given descriptors (Linux only).
    before_exec: called with the child's identity while it exists but has not executed; after_exec: once it has. What
    they raise ends the child and is passed on.

    Raises ProcessNotStarted (nothing was executed), ProcessTimeout, ProcessOverflow, and ProcessUnproven where not even
    SIGKILL could be shown to have ended it. On every path everything the child started is ended first.
    """
    call = _Call(argv, timeout, max_stdout, max_stderr, stderr_limit, input)
    call.before_exec, call.after_exec = before_exec, after_exec
    target = argv[0] if executable is None else executable
    if isinstance(target, str) and os.sep not in target:
        found = find_program(target, env.get("PATH") or "/usr/bin:/bin")
        if found is None:
            raise ProcessNotStarted(program=argv[0], reason="no such program in the absolute entries of PATH")
        target = found
    if "\0" in "".join((*argv, cwd, *env, *env.values())):
        raise ProcessNotStarted(program=argv[0], reason="an argument holds a NUL character")
    plan = {
        "argv": [os.fsencode(word) for word in argv],
        "env": {os.fsencode(name): os.fsencode(value) for name, value in env.items()},
        "cwd": os.fsencode(cwd),
        "executable": os.fsencode(target) if isinstance(target, str) else target,
        "held": dict(held or {}),
        "passed": list(pass_fds),
    }
    call.start(plan)
    try:
        call.pump()
    finally:
        call.finish()
    return call.outcome()


class _Call:
    """One run: the supervisor, the pipes, and what has come through them."""

    def __init__(
        self,
        argv: Sequence[str],
        timeout: float,
        max_stdout: int,
        max_stderr: int,
        stderr_limit: int | None,
        input: bytes | None,
    ) -> None:
        from time import monotonic

        self.clock = monotonic
        self.program = argv[0]
        self.timeout = timeout
        self.deadline = monotonic() + timeout
        self.max_stdout = max_stdout
        self.max_stderr = max_stderr
        self.stderr_limit = stderr_limit
        self.input = input
        self.pending = memoryview(input or b"")
        self.stdout = bytearray()
        self.stderr = bytearray()
        self.stderr_seen = 0
        self.heard = b""
        self.reports: list[bytes] = []
        self.pid: int | None = None
        self.failure: str | None = None
        self.executed = False
        self.ended: tuple[int, bool, int] | None = None
        self.before_exec: Callable[[Identity], None] | None = None
        self.after_exec: Callable[[], None] | None = None
        self.supervisor: Spawned | None = None
        self.command = self.report = -1

    def start(self, plan: dict[str, Any]) -> None:
        """Start the supervisor and queue the plan for it. Descriptors in the plan get the numbers they have there."""
        import marshal

        from kbtasks.spawned import Spawned, pipe

        if not hasattr(os, "posix_spawn"):
            raise ProcessNotStarted(program=self.program, reason="programs are started on POSIX systems only")
        if not sys.executable:
            raise ProcessNotStarted(program=self.program, reason="the Python interpreter's own path is unknown")
        package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        code = f"import sys; sys.path.append({package!r}); from kbtasks.supervisor import main; main()"
        try:
            command_read, self.command = pipe()
        except OSError as error:
            raise ProcessNotStarted(program=self.program, reason=error.strerror) from None
        try:
            self.report, report_write = pipe()
        except OSError as error:
            os.close(command_read)
            os.close(self.command)
            raise ProcessNotStarted(program=self.program, reason=error.strerror) from None
        handles = [command_read, report_write, *plan["held"].values(), *plan["passed"]]
        if isinstance(plan["executable"], int):
            handles.append(plan["executable"])
        try:
            self.supervisor = Spawned(handles, takes_input=self.input is not None)
            there = self.supervisor.numbers
            plan["held"] = {place: there[handle] for place, handle in plan["held"].items()}
            plan["passed"] = {handle: there[handle] for handle in plan["passed"]}
            plan["executable"] = there.get(plan["executable"], plan["executable"])
            first = self.supervisor.first
            words = (there[command_read], there[report_write], first, first + len(there))
            self.supervisor.start([sys.executable, "-I", "-S", "-c", code, *map(str, words)], {"LC_ALL": "C.UTF-8"})
        except (OSError, ValueError) as error:
            for handle in (self.command, self.report):
                os.close(handle)
            raise ProcessNotStarted(program=self.program, reason=getattr(error, "strerror", "") or str(error)) from None
        finally:
            os.close(command_read)
            os.close(report_write)
        data = marshal.dumps(plan)
        self.orders = memoryview(len(data).to_bytes(4, "big") + data)
        os.set_blocking(self.command, False)

    def pump(self) -> None:
        """Move bytes until the supervisor reports the end, within the deadline and the limits."""
        import select

        supervisor = self.supervisor
        assert supervisor is not None
        out, err = supervisor.stdout, supervisor.stderr
        poll = select.poll()
        for handle in (self.report, out, err):
            poll.register(handle, select.POLLIN)
        poll.register(self.command, select.POLLOUT)
        if supervisor.stdin >= 0:
            os.set_blocking(supervisor.stdin, False)
            poll.register(supervisor.stdin, select.POLLOUT)
        while self.ended is None:
            left = self.deadline - self.clock()
            if left <= 0:
                raise ProcessTimeout(program=self.program, seconds=self.timeout, words=self.words())
            for handle, _ in poll.poll(left * 1000):
                if handle == self.command:
                    self.orders = self._write(handle, self.orders)
                    if not self.orders:
                        poll.unregister(handle)
                elif handle == supervisor.stdin:
                    self.pending = self._write(handle, self.pending)
                    if not self.pending:
                        poll.unregister(handle)
                        os.close(handle)
                        supervisor.stdin = -1
                elif handle == self.report:
                    if self._hear(os.read(handle, CHUNK)):
                        poll.register(self.command, select.POLLOUT)
                elif not self._take(handle == out, os.read(handle, CHUNK)):
                    poll.unregister(handle)
        for handle, is_stdout in (
            (out, True),
            (err, False),
        ):  # all writers are dead: what is in the pipes is all there is
            os.set_blocking(handle, False)
            try:
                while self._take(is_stdout, os.read(handle, CHUNK)):
                    pass
            except BlockingIOError:  # a process outside our tree was handed the pipe; it is not waited for
                pass

    @staticmethod
    def _write(handle: int, data: memoryview) -> memoryview:
        try:
            return data[os.write(handle, data[:CHUNK]) :]
        except BlockingIOError:
            return data
        except BrokenPipeError:
            return data[:0]

    def _take(self, is_stdout: bool, chunk: bytes) -> bool:
        if is_stdout:
            self.stdout += chunk
            if len(self.stdout) > self.max_stdout:
                raise ProcessOverflow(program=self.program, limit=self.max_stdout, stream="stdout", words=self.words())
        else:
            self.stderr_seen += len(chunk)
            self.stderr = (self.stderr + chunk)[-self.max_stderr :] if self.max_stderr else bytearray()
            if self.stderr_limit is not None and self.stderr_seen > self.stderr_limit:
                raise ProcessOverflow(
                    program=self.program, limit=self.stderr_limit, stream="stderr", words=self.words()
                )
        return bool(chunk)

    def _hear(self, chunk: bytes) -> bool:
        """Act on the supervisor's reports; True when there is an order to send."""
        if not chunk and self.ended is None:
            raise ProcessUnproven(program=self.program, pid=self.pid)
        *lines, self.heard = (self.heard + chunk).split(b"\n")
        self.reports += lines
        order = False
        while self.reports:  # one by one: a callback may raise, and the reports behind it still count
            word, *rest = self.reports.pop(0).decode("ascii", "replace").split(" ")
            if word == "forked":
                self.pid = int(rest[0])
                if self.before_exec is not None:
                    self.before_exec(Identity(self.pid, rest[1], boot_identity()))
                self.orders = memoryview(b"g")
                order = True
            elif word == "started":
                self.executed = True
                if self.after_exec is not None:
                    self.after_exec()
            elif word == "failed":
                self.failure = f"{os.strerror(int(rest[0]))} ({rest[1]})"
            elif word == "ended":
                self.ended = (int(rest[0]), rest[1] == "1", int(rest[2]))
        return order

    def words(self) -> str:
        """What the child said last on stderr, safe to show."""
        from kbtasks.plaintext import tail_of

        return tail_of(bytes(self.stderr), 500)

    def finish(self) -> None:
        """Close every pipe, which ends everything below the supervisor, and wait until it says so."""
        supervisor = self.supervisor
        assert supervisor is not None
        try:
            os.close(self.command)
            self._await_end(supervisor)
        finally:
            os.close(self.report)
            supervisor.close()
        if self.ended is None or not self.ended[1]:
            self._end_session()
            raise ProcessUnproven(program=self.program, pid=self.pid)

    def _await_end(self, supervisor: Spawned) -> None:
        import select

        poll = select.poll()
        poll.register(self.report, select.POLLIN)
        limit = self.clock() + ENDING_SECONDS
        self.before_exec = self.after_exec = None
        self._hear(b"\n")
        while self.ended is None:
            if not poll.poll(max(limit - self.clock(), 0) * 1000):
                break
            chunk = os.read(self.report, CHUNK)
            if not chunk:
                break
            self._hear(chunk)
        if not supervisor.wait(max(limit - self.clock(), 0.1)):
            supervisor.kill()
            supervisor.wait(1.0)

    def _end_session(self) -> None:
        """Last resort, when the supervisor itself was killed or outrun: end what is still in the child's session."""
        import signal

        from kbtasks.supervisor import session_members

        for pid in session_members(self.pid) if self.pid else []:
            try:
                os.kill(pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                pass

    def outcome(self) -> Completed:
        """The finished child; ProcessNotStarted where it never executed."""
        assert self.ended is not None
        if self.failure is not None:
            raise ProcessNotStarted(program=self.program, reason=self.failure)
        return Completed(self.ended[0], bytes(self.stdout), bytes(self.stderr), self.ended[2])
