"""SHA-256 of files by descriptor, remembered by everything in their stat."""

from __future__ import annotations

import os

from kbtasks.binding.identity import settled, stamp
from kbtasks.binding.trust import MAX_PROGRAM_BYTES
from kbtasks.errors import Untrusted

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from typing import Any, Protocol

    class Memory(Protocol):
        """Where hashes are remembered between calls."""

        def recall_hash(self, path: str, stamp: str) -> str | None:
            """The hash remembered for ``path`` with exactly this stamp."""
            ...

        def remember_hash(self, path: str, stamp: str, sha256: str) -> None:
            """Keep it; a store that cannot be written keeps nothing."""
            ...


#: A script of up to this size is kept as it was hashed, so that just those bytes can be started.
MAX_SCRIPT_BYTES = 16 << 20
#: Larger files are worth loading OpenSSL for.
_SMALL = 1 << 20


def new_sha256(size: int = 0) -> Any:
    """A SHA-256 object: the interpreter's own for small data, since loading OpenSSL costs milliseconds."""
    if size <= _SMALL:
        for name in ("_sha2", "_sha256"):
            try:
                return __import__(name).sha256()
            except (ImportError, AttributeError):
                continue
    from hashlib import sha256

    return sha256()


class NoMemory:
    """Remembers nothing: every hash is computed."""

    def recall_hash(self, path: str, stamp: str) -> str | None:
        """Nothing."""

    def remember_hash(self, path: str, stamp: str, sha256: str) -> None:
        """Nothing is kept."""


def hash_of(handle: int, path: str, memory: Memory) -> str:
    """Lowercase hex SHA-256 of the open file ``handle``; a remembered one where its stat is the same and settled.

    path: names it in the memory. Raises Untrusted where it grows past 512 MiB while it is read.
    """
    from time import time

    found = os.fstat(handle)
    key = stamp(found)
    known = memory.recall_hash(path, key)
    if known is not None:
        return known
    digest, _ = read_and_hash(handle, path, keep=0)
    if settled(found, time()) and stamp(os.fstat(handle)) == key:
        memory.remember_hash(path, key, digest)
    return digest


def read_and_hash(handle: int, path: str, *, keep: int) -> tuple[str, bytes | None]:
    """The SHA-256 of the open file and, where it has at most ``keep`` bytes, the very bytes that were hashed."""
    digest = new_sha256(os.fstat(handle).st_size)
    kept: bytearray | None = bytearray() if keep else None
    position = 0
    while chunk := os.pread(handle, 1 << 18, position):
        digest.update(chunk)
        position += len(chunk)
        if position > MAX_PROGRAM_BYTES:
            raise Untrusted(path=path, what="a program", rule="it grew past 512 MiB while it was read")
        if kept is not None:
            kept += chunk
            if len(kept) > keep:
                kept = None
    return digest.hexdigest(), bytes(kept) if kept is not None else None
