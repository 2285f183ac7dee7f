"""Notes and files renamed outside kbtasks, as Git knows them: in its commits, its index, or only in the work tree."""

from __future__ import annotations

import os

from kbtasks.errors import KbError
from kbtasks.graph.git import Git, changes

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from collections.abc import Mapping, Set

MAX_COMMITS = 500
MAX_FILES = 2_000
_MAX_BYTES = 16 << 20


def find_renames(root: str, present: Set[str], *, environ: Mapping[str, str]) -> list[dict[str, str]]:
    """What was renamed, as layers of path now -> path before, newest first: a file renamed twice is in two layers.

    root: the vault. present: the vault-relative paths of its notes and files now; only names that are gone and lead to
    one of them are given. Empty without Git. Renames in the newest 500 commits that hold one are seen, and a file that
    was only moved in the work tree if its bytes are the same.
    """
    try:
        git = Git(root, environ=environ)
    except KbError:
        return []
    steps: list[tuple[str, str]] = []  # newest first: (old, new)
    for read in (_moved_unstaged, _moved_since_head, _moved_in_commits):
        try:
            steps += read(git)
        except (KbError, OSError):
            continue
    leads_to: dict[str, str] = {}
    formerly: dict[str, list[str]] = {}
    for old, new in steps:
        now = leads_to.get(new, new)
        if old in present or old in leads_to or now not in present:
            continue
        leads_to[old] = now
        formerly.setdefault(now, []).append(old)
    depth = max((len(names) for names in formerly.values()), default=0)
    return [{now: names[layer] for now, names in formerly.items() if len(names) > layer} for layer in range(depth)]


def _moved_in_commits(git: Git) -> list[tuple[str, str]]:
    return _inside(git, [(change.old, change.path) for _, change in git.renamed(git.prefix, limit=MAX_COMMITS)])


def _moved_since_head(git: Git) -> list[tuple[str, str]]:
    words = ("diff", "-z", "-M", "--name-status", "--diff-filter=R", "--no-ext-diff", "HEAD", "--", git.prefix or ".")
    return _inside(git, [(change.old, change.path) for change in changes(git.ask(*words).split(b"\0"))])


def _moved_unstaged(git: Git) -> list[tuple[str, str]]:
    """Files that Git misses and files that it does not know yet, paired where exactly one of each has the same bytes."""
    under = ("--", git.prefix or ".")
    gone = [name for name in git.ask("ls-files", "-z", "--deleted", *under).split(b"\0") if name][:MAX_FILES]
    new = git.ask("ls-files", "-z", "--others", "--exclude-standard", *under).split(b"\0")
    if not gone or not any(new):
        return []
    blobs: dict[str, list[str]] = {}
    wanted = set(gone)
    for line in git.ask("ls-files", "-z", "--stage", *under).split(b"\0"):
        about, _, name = line.partition(b"\t")
        if name in wanted:
            blobs.setdefault(about.split()[1].decode("ascii"), []).append(os.fsdecode(name))
    found: dict[str, list[str]] = {}
    for name in filter(None, new[:MAX_FILES]):
        blob = _blob(os.path.join(os.fsencode(git.top), name), len(git.head))
        if blob in blobs:
            found.setdefault(blob, []).append(os.fsdecode(name))
    pairs = [(blobs[blob][0], names[0]) for blob, names in found.items() if len(names) == len(blobs[blob]) == 1]
    return _inside(git, pairs)


def _blob(path: bytes, length: int) -> str | None:
    """Git's name for a file's bytes (hash of ``blob SIZE NUL`` and the bytes; 40 or 64 digits as in this repository)."""
    from hashlib import sha1, sha256

    try:
        if os.path.islink(path) or os.path.getsize(path) > _MAX_BYTES:
            return None
        with open(path, "rb") as file:
            data = file.read(_MAX_BYTES + 1)
    except OSError:
        return None
    head = b"blob %d\0" % len(data)
    return (sha1(head + data, usedforsecurity=False) if length == 40 else sha256(head + data)).hexdigest()


def _inside(git: Git, pairs: list[tuple[str | None, str]] | list[tuple[str, str]]) -> list[tuple[str, str]]:
    """The pairs below the vault, as vault-relative paths."""
    cut = len(git.prefix)
    return [
        (old[cut:], new[cut:])
        for old, new in pairs
        if old is not None and old.startswith(git.prefix) and new.startswith(git.prefix)
    ]
