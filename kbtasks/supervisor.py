"""The small process between us and a child: it adopts whatever the child leaves behind, and ends all of it.

Started by ``kbtasks.process`` with an isolated interpreter; imports nothing of the package and only modules that are
built into the interpreter or cheap, because its start-up is paid by every call. It holds one rule: when the command
pipe closes (its parent finished, failed, was interrupted or was killed), or the child has exited, everything below this
process dies.

Commands, on the command pipe: the plan (four bytes of length, then marshal), one byte ``g`` to let the child execute,
end of file to end everything. Reports, one line each: ``forked PID START``, ``started``, ``failed ERRNO WHAT``,
``ended STATUS PROVEN LEFTOVERS``.
"""

from __future__ import annotations

import marshal
import os
import select
import sys

TYPE_CHECKING = False  # typing itself would cost more than all of this module

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

try:  # the C modules directly: the public wrappers cost three times this process's own start-up
    import _signal as signal  # type: ignore[import-not-found]
except ImportError:  # pragma: no cover
    import signal

_PR_SET_PDEATHSIG = 1
_PR_SET_CHILD_SUBREAPER = 36
_LINUX = sys.platform.startswith("linux")

#: Seconds for ending everything below; a fork bomb that outruns this is reported as not proven.
ENDING_SECONDS = 5.0


def prctl(option: int, value: int) -> bool:
    """Call prctl(2); False where the platform has none."""
    if not _LINUX:
        return False
    try:
        import _ctypes

        library = _ctypes.dlopen(None, 2)  # type: ignore[arg-type]
        address = _ctypes.dlsym(library, "prctl")
        return bool(_ctypes.call_function(address, (option, value, 0, 0, 0)) == 0)
    except (ImportError, AttributeError, OSError, TypeError):  # pragma: no cover
        try:
            import ctypes

            return bool(ctypes.CDLL(None).prctl(option, value, 0, 0, 0) == 0)
        except (ImportError, AttributeError, OSError):
            return False


def start_identity(pid: int) -> str:
    """Start time of ``pid`` in clock ticks, which tells it from a later one of the same number; ``-`` if unknown.

    One that has ended and that nobody has reaped yet is unknown as well: it runs no more.
    """
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rsplit(b")", 1)[1].split()
        return "-" if fields[0] in {b"Z", b"X"} else fields[19].decode()
    except (OSError, IndexError):
        return "-"


def read_exactly(handle: int, size: int) -> bytes:
    """``size`` bytes from a pipe, fewer at its end."""
    data = b""
    while len(data) < size:
        chunk = os.read(handle, size - len(data))
        if not chunk:
            break
        data += chunk
    return data


def _processes() -> Iterator[tuple[int, int, int]]:
    """Every process as (number, parent, session), from one pass over /proc; nothing where there is none."""
    try:
        names = os.listdir("/proc")
    except OSError:
        return
    for name in names:
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    fields = file.read().rsplit(b")", 1)[1].split()
                yield int(name), int(fields[1]), int(fields[3])
            except (OSError, IndexError, ValueError):
                continue


def session_members(session: int) -> list[int]:
    """Every process of ``session``."""
    return [pid for pid, _, other in _processes() if other == session]


def descendants(root: int) -> list[int]:
    """Every process below ``root``, nearest first."""
    tree: dict[int, list[int]] = {}
    for pid, parent, _ in _processes():
        tree.setdefault(parent, []).append(pid)
    found = tree.get(root, [])
    position = 0
    while position < len(found):
        found += tree.get(found[position], [])
        position += 1
    return found


def _send(handle: int, line: str) -> None:
    try:
        os.write(handle, line.encode() + b"\n")
    except OSError:  # the parent is gone; what it would have read no longer matters
        pass


def _reap(leader: int, status: int | None) -> tuple[int, int | None, bool]:
    """Reap all that have ended: (how many besides the leader, the leader's status, whether no child is left)."""
    count = 0
    while True:
        try:
            pid, raw = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return count, status, True
        if pid == 0:
            return count, status, False
        if pid == leader:
            status = os.waitstatus_to_exitcode(raw)
        else:
            count += 1


def end_everything(leader: int, status: int | None = None) -> tuple[int, bool, int]:
    """Kill and reap all processes below this one: (status of the leader, proven, number of leftovers).

    status: the leader's, where it has been reaped already.
    """
    from time import monotonic, sleep

    deadline = monotonic() + ENDING_SECONDS
    leftovers = 0
    pause = 0.0002
    try:  # first the group at once, while its leader is unreaped and its number therefore cannot belong to another
        os.killpg(leader, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        pass
    while True:
        count, status, done = _reap(leader, status)  # orphans are ours by now: nothing left to reap is proof
        leftovers += count
        if done or monotonic() >= deadline:
            return (status if status is not None else -int(signal.SIGKILL)), done, leftovers
        for pid in descendants(os.getpid()):
            try:
                os.kill(pid, signal.SIGKILL)
            except (ProcessLookupError, PermissionError):
                pass
        sleep(pause)
        pause = min(pause * 2, 0.01)


def _exited(leader: int, ended: list[int]) -> bool:
    """Whether the leader has ended. It stays unreaped; where the system cannot do that, its status goes into ``ended``."""
    try:
        if hasattr(os, "waitid"):
            return os.waitid(os.P_PID, leader, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None
        pid, raw = os.waitpid(leader, os.WNOHANG)
    except ChildProcessError:
        return True
    if pid:
        ended.append(os.waitstatus_to_exitcode(raw))
    return pid != 0


def _child(plan: dict[str, Any], go: int, failure: int, supervisor: int) -> None:
    """Between fork and exec: wait for permission, take the fixed surroundings, execute. Never returns."""
    code = 0
    where = "start"
    try:
        os.setsid()
        prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL))
        if os.getppid() != supervisor or os.read(go, 1) != b"g":
            os._exit(126)
        for name in ("SIGPIPE", "SIGXFSZ"):  # the interpreter ignores these, and ignoring is inherited
            signal.signal(getattr(signal, name), signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, [])
        where = "cwd"
        os.chdir(plan["cwd"])
        for wanted, handle in plan["passed"].items():
            os.dup2(handle, wanted)
        where = "program"
        os.execve(plan["executable"], plan["argv"], plan["env"])  # noqa: S606
    except OSError as error:
        code = error.errno or 1
    except BaseException:  # noqa: BLE001 - a forked copy of the supervisor must not go on as one
        code = 1
    os.write(failure, f"{code} {where}".encode())
    os._exit(127)


def _close_others(kept: range) -> None:
    """Close every descriptor but 0, 1, 2 and ``kept``: what a shell left open in our parent is nothing of ours."""
    try:
        names = os.listdir("/proc/self/fd")
    except OSError:
        names = [str(handle) for handle in range(3, 1024)]
    for name in names:
        handle = int(name)
        if handle > 2 and handle not in kept:
            try:
                os.close(handle)
            except OSError:  # the listing's own
                pass


def _limit_core_dumps() -> None:
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # the working directory is often the vault
    except (ImportError, ValueError, OSError):  # pragma: no cover
        pass


def main() -> None:
    """Read the plan, start the child, wait, end everything, report."""
    command, report, first = (int(word) for word in sys.argv[1:4])
    _close_others(range(first, int(sys.argv[4])))
    os.setsid()
    signal.pthread_sigmask(signal.SIG_SETMASK, [])
    for handle in (command, report):
        os.set_inheritable(handle, False)
    head = read_exactly(command, 4)
    plan = marshal.loads(read_exactly(command, int.from_bytes(head, "big")))  # noqa: S302 - our own parent wrote it
    here = os.getpid()
    for index, handle in plan["held"].items():
        os.set_inheritable(handle, False)
        plan["argv"][index] = f"/proc/{here}/fd/{handle}".encode()
    for handle in plan["passed"].values():
        os.set_inheritable(handle, False)
    if isinstance(plan["executable"], int):
        os.set_inheritable(plan["executable"], False)
    prctl(_PR_SET_CHILD_SUBREAPER, 1)
    _limit_core_dumps()

    go_read, go_write = os.pipe()
    failure_read, failure_write = os.pipe()
    wake_read, wake_write = os.pipe()
    os.set_blocking(wake_write, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    signal.set_wakeup_fd(wake_write, warn_on_full_buffer=False)
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):  # only the command pipe ends this process
        signal.signal(getattr(signal, name), lambda *_: None)

    leader = os.fork()
    if leader == 0:
        signal.set_wakeup_fd(-1)
        for name in ("SIGINT", "SIGTERM", "SIGHUP", "SIGCHLD"):
            signal.signal(getattr(signal, name), signal.SIG_DFL)
        os.close(go_write)
        _child(plan, go_read, failure_write, here)
    os.close(go_read)
    os.close(failure_write)
    null = os.open(os.devnull, os.O_RDWR)
    for handle in (0, 1, 2):
        os.dup2(null, handle)
    _send(report, f"forked {leader} {start_identity(leader)}")

    watched = select.poll()
    for handle in (command, failure_read, wake_read):
        watched.register(handle, select.POLLIN)
    started = False
    ended: list[int] = []
    while not _exited(leader, ended):
        ready = {handle for handle, _ in watched.poll()}
        if wake_read in ready:
            os.read(wake_read, 4096)
        if command in ready:
            if os.read(command, 1) != b"g":
                break
            os.write(go_write, b"g")
            os.close(go_write)
        if failure_read in ready:
            started = _report_start(report, failure_read)
            watched.unregister(failure_read)
    else:
        if not started:
            started = _report_start(report, failure_read)
    status, proven, leftovers = end_everything(leader, ended[0] if ended else None)
    _send(report, f"ended {status} {int(proven)} {leftovers}")


def _report_start(report: int, failure: int) -> bool:
    """Tell whether the child executed: its failure pipe closes at exec, and carries the reason otherwise."""
    words = os.read(failure, 200).decode()
    _send(report, f"failed {words}" if words else "started")
    return True
