"""Files written so that a kill at any step leaves the old bytes or the new, and locks that die with their holder."""

from __future__ import annotations

import os
import sys
from errno import EINVAL

from kbtasks.errors import AlreadyExists, Busy, RevisionConflict

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

#: Called with the name of every step of a write; tests set it to kill the process there.
on_step: Callable[[str], None] | None = None

TEMPORARY_PREFIX = ".kbtasks-tmp-"
_MANY = 32


def step(name: str) -> None:
    """Announce a step of a write to whoever watches (fault tests only)."""
    if on_step is not None:
        on_step(name)


def revision(data: bytes) -> str:
    """The revision of a file's bytes: ``sha256:`` and 64 hex digits."""
    from hashlib import sha256

    return "sha256:" + sha256(data).hexdigest()


def read_regular(path: str, limit: int) -> bytes:
    """At most ``limit`` bytes of the regular file at ``path``; OSError for anything else (a FIFO would wait for ever)."""
    from stat import S_ISREG

    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0))
    with os.fdopen(handle, "rb") as file:
        if not S_ISREG(os.fstat(handle).st_mode):
            raise OSError(EINVAL, "is not a regular file", path)
        return file.read(limit)


def sync_directory(path: str) -> None:
    """Make a rename or link inside ``path`` durable; a platform that cannot sync a directory is let off."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)


def sync_files(paths: list[str]) -> None:
    """Make the bytes of files on one file system durable: each by itself, or many by one syncfs(2) where there is one."""
    if len(paths) > _MANY and sys.platform.startswith("linux"):
        import ctypes

        handle = os.open(os.path.dirname(paths[0]), os.O_RDONLY)
        try:
            if ctypes.CDLL(None, use_errno=True).syncfs(handle) == 0:
                return
        except (AttributeError, OSError):
            pass
        finally:
            os.close(handle)
    for path in paths:
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def make_private_directory(path: str) -> None:
    """Create ``path`` and its missing parents with mode 0700; directories that exist keep their mode."""
    missing = []
    while not os.path.isdir(path):
        missing.append(path)
        path = os.path.dirname(path) or "."
    for folder in reversed(missing):
        try:
            os.mkdir(folder, 0o700)
        except FileExistsError:
            pass


def _write_temporary(folder: str, data: bytes, mode: int) -> str:
    from secrets import token_hex

    path = os.path.join(folder, f"{TEMPORARY_PREFIX}{os.getpid()}-{token_hex(6)}")
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), mode)
    try:
        step("temporary-created")
        view = memoryview(data)
        while view:
            view = view[os.write(handle, view) :]
        step("temporary-written")
        os.fchmod(handle, mode)
        os.fsync(handle)
        step("temporary-synced")
    except BaseException:
        os.close(handle)
        os.unlink(path)
        raise
    os.close(handle)
    return path


def atomic_write(path: str, data: bytes, *, mode: int = 0o644, expected: str | None = None) -> None:
    """Replace ``path`` by ``data`` in one rename, after fsync.

    mode: permission bits of the new file, exactly (the umask does not apply).
    expected: revision the present bytes must have; RevisionConflict otherwise. Callers that race hold a Lock around it.
    """
    folder = os.path.dirname(path) or "."
    temporary = _write_temporary(folder, data, mode)
    try:
        if expected is not None:
            try:
                with open(path, "rb") as file:
                    actual = revision(file.read())
            except FileNotFoundError:
                actual = "absent"
            if actual != expected:
                raise RevisionConflict(path=path, expected=expected, actual=actual)
        step("before-rename")
        os.replace(temporary, path)
    except BaseException:
        try:
            os.unlink(temporary)
        except FileNotFoundError:
            pass
        raise
    step("after-rename")
    sync_directory(folder)


def create_exclusive(path: str, data: bytes, *, mode: int = 0o644) -> None:
    """Create ``path`` with ``data``, never over an existing file (AlreadyExists), whole or not at all."""
    folder = os.path.dirname(path) or "."
    temporary = _write_temporary(folder, data, mode)
    try:
        step("before-link")
        try:
            os.link(temporary, path)
        except FileExistsError:
            raise AlreadyExists(path=path) from None
        step("after-link")
    finally:
        os.unlink(temporary)
    sync_directory(folder)


class Lock:
    """An exclusive advisory lock on a file, released by the system when its process dies.

    path: the lock file, created 0600 in a directory that exists.
    what: the thing locked, for the message of Busy.
    wait: seconds to wait before Busy; 0 fails at once.
    """

    def __init__(self, path: str, *, what: str, wait: float = 0.0) -> None:
        self.path = path
        self.what = what
        self.wait = wait
        self._handle: int | None = None

    def _open(self) -> int:
        return os.open(self.path, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o600)

    def __enter__(self) -> Lock:
        from time import monotonic, sleep

        deadline = monotonic() + self.wait
        pause = 0.0005
        handle = self._open()
        while not _try_lock(handle):
            if monotonic() >= deadline:
                os.close(handle)
                raise Busy(what=self.what, next="try again in a moment")
            sleep(pause)
            pause = min(pause * 2, 0.02)
        self._handle = handle
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._handle is not None:
            _unlock(self._handle)  # a child just being started may hold a copy of the descriptor for a moment
            os.close(self._handle)
            self._handle = None


if sys.platform == "win32":  # pragma: no cover

    def _unlock(handle: int) -> None:
        import msvcrt

        msvcrt.locking(handle, msvcrt.LK_UNLCK, 1)

    def _try_lock(handle: int) -> bool:
        import msvcrt

        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

else:

    def _unlock(handle: int) -> None:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_UN)

    def _try_lock(handle: int) -> bool:
        import fcntl

        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return False
        return True


class FolderLock(Lock):
    """A lock on a folder itself (flock on its descriptor): no lock file is left, and it dies with its process.

    folder: an existing folder. what, wait: as for Lock. Where a folder cannot be opened, a file in its ``.kbtasks`` is locked.
    """

    def __init__(self, folder: str, *, what: str, wait: float = 30.0) -> None:
        super().__init__(folder, what=what, wait=wait)

    def _open(self) -> int:
        if sys.platform != "win32":
            return os.open(self.path, os.O_RDONLY | os.O_CLOEXEC)
        derived = os.path.join(self.path, ".kbtasks")  # pragma: no cover
        os.makedirs(derived, exist_ok=True)  # pragma: no cover
        return os.open(os.path.join(derived, "write.lock"), os.O_RDWR | os.O_CREAT, 0o600)  # pragma: no cover


_RENAME_NOREPLACE = 1
_RENAME_EXCHANGE = 2
_HERE = -100  # AT_FDCWD: a path is taken from the working directory


def _renameat2(source: str, source_folder: int, target: str, target_folder: int, flags: int) -> bool:
    """Call renameat2(2); False where the system or its file system does not know it (then nothing was done)."""
    if not sys.platform.startswith("linux"):
        return False
    import ctypes
    import errno

    try:
        function = ctypes.CDLL(None, use_errno=True).renameat2
    except (AttributeError, OSError):
        return False
    result = function(source_folder, os.fsencode(source), target_folder, os.fsencode(target), ctypes.c_uint(flags))
    if result == 0:
        return True
    code = ctypes.get_errno()
    if code in (errno.EINVAL, errno.ENOSYS, errno.EXDEV, errno.ENOTSUP):
        return False
    raise OSError(code, os.strerror(code), source, None, target)


def exchange(staged: str, name: str, folder: int, staged_folder: int | None = None) -> None:
    """Swap the file ``staged`` (a path) with ``name`` in the folder descriptor; ``staged`` then holds what was there.

    staged_folder: descriptor that a relative ``staged`` belongs to. Without renameat2 the old bytes are linked to
    ``staged`` first and the new ones renamed over: not one step, but never a moment without a file. OSError (EXDEV)
    where the two are on different devices.
    """
    at = _HERE if staged_folder is None else staged_folder
    if _renameat2(staged, at, name, folder, _RENAME_EXCHANGE):
        return
    old = staged + ".old"
    try:
        os.unlink(old, dir_fd=staged_folder)  # a killed writer left it: a second name of what still stands at ``name``
    except FileNotFoundError:
        pass
    os.link(name, old, src_dir_fd=folder, dst_dir_fd=staged_folder, follow_symlinks=False)
    step("old-linked")
    os.rename(staged, name, src_dir_fd=staged_folder, dst_dir_fd=folder)
    step("new-renamed")
    os.rename(old, staged, src_dir_fd=staged_folder, dst_dir_fd=staged_folder)


def rename_exclusive(source: str, source_folder: int, target: str, target_folder: int) -> None:
    """Rename between two folder descriptors, never over an existing file (FileExistsError)."""
    if _renameat2(source, source_folder, target, target_folder, _RENAME_NOREPLACE):
        return
    os.link(source, target, src_dir_fd=source_folder, dst_dir_fd=target_folder, follow_symlinks=False)
    step("target-linked")
    os.unlink(source, dir_fd=source_folder)
