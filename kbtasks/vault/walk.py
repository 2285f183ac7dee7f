"""Which files of a folder are notes: rules on names alone, and a plain walk that applies them.

The index sweep calls ``Rules.descends`` and ``Rules.kind`` for each directory entry it sees; ``walk`` is the same
rules with their own reading of directories, for tests and for vaults that are read once. Symbolic links are never
followed, so a vault cannot reach outside its root nor loop.
"""

from __future__ import annotations

import os
import stat
from typing import TYPE_CHECKING

from kbtasks.config import SETTINGS_FILE
from kbtasks.model.note import Problem

if TYPE_CHECKING:
    import re
    from collections.abc import Iterable, Iterator

# Folders that tools fill and nobody writes notes in. Others (build, target, vendor) are words people file notes under.
BUILD_FOLDERS = frozenset(("node_modules", "bower_components", "dist", "coverage", "__pycache__", "venv"))
GUIDE_NAMES = frozenset(("AGENTS.md", "CLAUDE.md"))
NOTE, GUIDE, ATTACHMENT = "note", "guide", "attachment"


class Rules:
    """The rules of one vault: which folders are entered, and what each regular file is."""

    __slots__ = ("_globs",)

    def __init__(self, ignore: Iterable[str] = ()) -> None:
        """Take the ignore globs of ``kb.toml``.

        ignore: patterns of vault-relative paths, as in a ``.gitignore`` line: ``*`` and ``?`` within a segment,
            ``**`` for any segments, ``[abc]`` sets; a pattern with a slash before its end stands for that path from
            the root, one without stands for any file or folder of that name; a trailing slash means folders only.
            Letter case counts.
        """
        self._globs = [Glob(pattern) for pattern in ignore if pattern.strip("/")]

    def descends(self, path: str, name: str) -> bool:
        """Whether the folder at vault-relative ``path``, whose last segment is ``name``, may hold notes."""
        if name.startswith(".") or name in BUILD_FOLDERS:
            return False
        return not self._globs or not any(glob.matches(path, folder=True) for glob in self._globs)

    def kind(self, path: str, name: str) -> str | None:
        """What the regular file at ``path`` (last segment ``name``) is: note, guide, attachment, or None for nothing.

        Its folders are taken to have passed ``descends``.
        """
        if name.startswith(".") or path == SETTINGS_FILE:
            return None
        if self._globs and any(glob.matches(path, folder=False) for glob in self._globs):
            return None
        if name[-3:].lower() != ".md":
            return ATTACHMENT
        return GUIDE if name in GUIDE_NAMES else NOTE

    def admits(self, path: str) -> str | None:
        """What the file at ``path`` would be, its folders checked too: for a path that did not come from a walk."""
        start = 0
        while (slash := path.find("/", start)) >= 0:
            if not self.descends(path[:slash], path[start:slash]):
                return None
            start = slash + 1
        return self.kind(path, path[start:])


class Glob:
    """One ignore pattern, matched segment by segment: cost bounded by segments times segments, never exponential."""

    __slots__ = ("_folders_only", "_segments")

    def __init__(self, pattern: str) -> None:
        import re
        from fnmatch import translate

        self._folders_only = pattern.endswith("/")
        bare = pattern.strip("/")
        parts = [part for part in bare.split("/") if part]
        if len(parts) == 1 and not pattern.startswith("/"):
            parts.insert(0, "**")
        # None stands for "**"; repeated ones mean the same as one
        self._segments = [
            None if part == "**" else re.compile(translate(part), re.DOTALL)
            for number, part in enumerate(parts)
            if part != "**" or number == 0 or parts[number - 1] != "**"
        ]

    def matches(self, path: str, *, folder: bool) -> bool:
        """Whether the whole of ``path`` matches; what lies below a matching folder is never reached by a walk."""
        if self._folders_only and not folder:
            return False
        reachable = {0}
        for part in path.split("/"):
            following: set[int] = set()
            for position in _with_skips(reachable, self._segments):
                if position == len(self._segments):
                    continue
                segment = self._segments[position]
                if segment is None:
                    following.add(position)
                elif segment.match(part):
                    following.add(position + 1)
            reachable = following
            if not reachable:
                return False
        return len(self._segments) in _with_skips(reachable, self._segments)


def _with_skips(reachable: set[int], segments: list[re.Pattern[str] | None]) -> set[int]:
    """Positions reachable without using up a segment: ``**`` may stand for none."""
    return reachable | {
        position + 1 for position in reachable if position < len(segments) and segments[position] is None
    }


class Found:
    """A file that a walk found: vault-relative ``path`` as on disk, its ``kind`` and its ``size`` in bytes."""

    __slots__ = ("kind", "path", "size")

    def __init__(self, path: str, kind: str, size: int) -> None:
        self.path = path
        self.kind = kind
        self.size = size


def walk(root: str, rules: Rules, problems: list[Problem] | None = None) -> Iterator[Found]:
    """Every note, guide and attachment below ``root``, names in code point order, folders after files.

    problems: receives what could not be read and Markdown names that are no regular files; nothing is raised for them.
    """
    faults = problems if problems is not None else []
    pending = [""]
    while pending:
        folder = pending.pop()
        try:
            with os.scandir(os.path.join(root, folder) if folder else root) as entries:
                listed = sorted(entries, key=lambda entry: entry.name)
        except OSError as error:
            faults.append(unreadable(folder or ".", error))
            continue
        below: list[str] = []
        for entry in listed:
            path = f"{folder}/{entry.name}" if folder else entry.name
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError as error:
                faults.append(unreadable(path, error))
                continue
            if stat.S_ISDIR(status.st_mode):
                if rules.descends(path, entry.name):
                    below.append(path)
                continue
            kind = rules.kind(path, entry.name)
            if kind is None:
                continue
            if stat.S_ISREG(status.st_mode):
                yield Found(path, kind, status.st_size)
            elif kind != ATTACHMENT:
                faults.append(not_regular(path, status.st_mode))
        pending.extend(reversed(below))


def unreadable(path: str, error: OSError) -> Problem:
    """The problem of a file or folder that could not be read, with the system's own words."""
    return Problem("unreadable", f"could not be read: {error.strerror or error}", path)


def not_regular(path: str, mode: int) -> Problem:
    """The problem of a Markdown name that is a symbolic link, pipe, socket or device: it is not read."""
    what = "a symbolic link" if stat.S_ISLNK(mode) else "not a regular file"
    return Problem("not-regular", f"is {what}; it is not read as a note", path)
