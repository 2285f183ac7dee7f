"""The lock beside a version 1 JSON store, as every program of that format takes it: ``<path>.lock``, created exclusively.

Ours also holds an advisory lock on it and names its process, so one that a dead process of ours left behind is seen
and taken over. A lock file of another program is respected as long as it stands.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from kbtasks.errors import Busy, Unavailable
from kbtasks.fsio import step

if TYPE_CHECKING:
    from types import TracebackType

MARK = b"kbtasks "


class V1Lock:
    """Exclusive use of the store at ``path``; Busy at once where someone else has it."""

    def __init__(self, path: str) -> None:
        self.path = path + ".lock"
        self.what = path
        self._handle = -1

    def __enter__(self) -> V1Lock:
        import fcntl

        flags = os.O_RDWR | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
        try:
            handle = os.open(self.path, flags | os.O_CREAT | os.O_EXCL, 0o600)
            fresh = True
        except FileExistsError:
            try:
                handle = os.open(self.path, flags)
            except FileNotFoundError:
                raise self._busy() from None
            fresh = False
        except OSError as error:
            raise Unavailable(message=f"{self.path} cannot be created: {error.strerror}") from None
        try:
            # A fresh file may be looked at by another of us for a moment, so its maker waits; others never do.
            fcntl.flock(handle, fcntl.LOCK_EX | (0 if fresh else fcntl.LOCK_NB))
        except OSError:
            os.close(handle)
            raise self._busy() from None
        if not fresh and not self._left_behind(handle):
            os.close(handle)
            raise self._busy()
        os.ftruncate(handle, 0)
        os.pwrite(handle, MARK + str(os.getpid()).encode() + b"\n", 0)
        self._handle = handle
        step("file:locked")
        return self

    def _left_behind(self, handle: int) -> bool:
        """Whether the lock file is one of ours whose holder is gone, and still the one at the path."""
        try:
            return os.pread(handle, 64, 0).startswith(MARK) and os.path.samestat(os.fstat(handle), os.stat(self.path))
        except FileNotFoundError:
            return False

    def _busy(self) -> Busy:
        return Busy(
            what=self.what,
            next=f"try again in a moment; if no program uses it, remove {self.path}",
        )

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            os.unlink(self.path)
        except FileNotFoundError:
            pass
        os.close(self._handle)
