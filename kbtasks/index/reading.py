"""Reading notes: bounded, never through a symbolic link, and judged by the tuple taken before the bytes."""

from __future__ import annotations

import os
from stat import S_ISREG
from typing import TYPE_CHECKING

from kbtasks.index.sweep import tuple_of
from kbtasks.vault.decode import MAX_NOTE_BYTES

if TYPE_CHECKING:
    from kbtasks.index.sweep import Tuple

_FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0)
_CHUNK = 1 << 20


class Bytes:
    """A note's bytes: ``data`` (at most MAX_NOTE_BYTES and one more), ``size`` and ``revision`` of the whole file.

    seen: the tuple of the file that was read. mode: its permission bits.
    """

    __slots__ = ("data", "mode", "revision", "seen", "size")

    def __init__(self, data: bytes, size: int, revision: str, seen: Tuple, mode: int) -> None:
        self.data = data
        self.size = size
        self.revision = revision
        self.seen = seen
        self.mode = mode


def read_note(root_handle: int, path: str) -> Bytes:
    """Read the regular file at vault-relative ``path``; OSError where it cannot be read or is no regular file."""
    from hashlib import sha256

    handle = os.open(path, _FLAGS, dir_fd=root_handle)
    try:
        status = os.fstat(handle)
        if not S_ISREG(status.st_mode):
            raise FileNotFoundError(2, "is no regular file any more", path)
        wanted = min(status.st_size, MAX_NOTE_BYTES) + 1
        data = os.read(handle, wanted)
        while len(data) < min(wanted, status.st_size) and (more := os.read(handle, wanted - len(data))):
            data += more
        digest = sha256(data)
        size = len(data)
        while MAX_NOTE_BYTES < size < status.st_size and (more := os.read(handle, _CHUNK)):
            digest.update(more)
            size += len(more)
        return Bytes(data, size, "sha256:" + digest.hexdigest(), tuple_of(status), status.st_mode & 0o777)
    finally:
        os.close(handle)
