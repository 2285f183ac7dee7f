"""One hash over all files of installed packages, kept quick by one hash over their stats."""

from __future__ import annotations

import os
import stat

from kbtasks.binding import trust
from kbtasks.binding.hashing import new_sha256, read_and_hash
from kbtasks.binding.identity import settled, stamp
from kbtasks.errors import Untrusted

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from collections.abc import Sequence

    from kbtasks.binding.hashing import Memory

MAX_FILES = 50_000
MAX_BYTES = 2 << 30
#: Never read at run time: bound Python programs keep their compiled files in the private store instead.
SKIPPED = ("__pycache__",)


class Manifest:
    """The hash of a set of files: ``sha256`` over name, size and hash of each.

    stats: a hash over their names and stats. loose: how many of them others can write.
    """

    __slots__ = ("files", "loose", "sha256", "stats")

    def __init__(self, sha256: str, stats: str, files: int, loose: int) -> None:
        self.sha256 = sha256
        self.stats = stats
        self.files = files
        self.loose = loose


def manifest(roots: Sequence[str], memory: Memory) -> Manifest:
    """The manifest of ``roots``, absolute files and folders; unchanged stats give the remembered one.

    Symbolic links are followed once. Raises Untrusted for over 50,000 files or 2 GiB, FileNotFoundError for a root that
    is gone.
    """
    from time import time

    found = _walk(roots)
    if len(found) > MAX_FILES:
        raise Untrusted(path=roots[0], what="a package tree", rule=f"it has more than {MAX_FILES} files")
    if sum(entry.st_size for entry in found.values()) > MAX_BYTES:
        raise Untrusted(path=roots[0], what="a package tree", rule="it has more than 2 GiB")
    names = sorted(found)
    loose = sum(1 for entry in found.values() if entry.st_mode & 0o022)
    stats = _stats_hash(found)
    key = "tree:" + "\0".join(roots)
    known = memory.recall_hash(key, stats)
    if known is not None:
        return Manifest(known, stats, len(names), loose)
    digest = new_sha256()
    for name in names:
        handle = trust.open_regular(os.path.realpath(name))
        try:
            content, _ = read_and_hash(handle, name, keep=0)
        finally:
            os.close(handle)
        digest.update(f"{name}\0{found[name].st_size}\0{content}\n".encode("utf-8", "surrogateescape"))
    now = time()
    if all(settled(entry, now) for entry in found.values()):
        memory.remember_hash(key, stats, digest.hexdigest())
    return Manifest(digest.hexdigest(), stats, len(names), loose)


def stats_of(roots: Sequence[str]) -> str:
    """The hash over names and stats of all files of ``roots``: another one means that something was changed."""
    return _stats_hash(_walk(roots))


def _stats_hash(found: dict[str, os.stat_result]) -> str:
    digest = new_sha256()
    text = "\0".join([f"{name}\0{stamp(found[name])}" for name in sorted(found)])
    digest.update(text.encode("utf-8", "surrogateescape"))
    return str(digest.hexdigest())


def _walk(roots: Sequence[str]) -> dict[str, os.stat_result]:
    files: dict[str, os.stat_result] = {}
    seen: set[tuple[int, int]] = set()
    pending: list[str] = []
    for root in roots:
        found = os.stat(root)
        if stat.S_ISDIR(found.st_mode):
            seen.add((found.st_dev, found.st_ino))
            pending.append(root)
        else:
            files[root] = found
    while pending and len(files) <= MAX_FILES:
        with os.scandir(pending.pop()) as entries:
            for entry in entries:
                if entry.is_dir():
                    if entry.name in SKIPPED:
                        continue
                    if entry.is_symlink():
                        found = entry.stat()
                        if (found.st_dev, found.st_ino) in seen:
                            continue
                        seen.add((found.st_dev, found.st_ino))
                    pending.append(entry.path)
                elif entry.is_file():
                    files[entry.path] = entry.stat()
    return files
