"""Guides: the AGENTS.md (and CLAUDE.md) files of a repository, the rules that bind an edit, and the context hubs
they point to."""

from __future__ import annotations

import os
import re
import stat
from unicodedata import normalize

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

GUIDE_NAMES = ("AGENTS.md", "CLAUDE.md")
MAX_GUIDE_BYTES = 1 << 20
MAX_FOLDERS = 200_000
HUB_TYPE = "agent-context"
#: What the reference advises for one guide: words and bullets of its two sections.
BUDGETS = {"contents": (120, 8), "guidelines": (250, 20)}
_SKIPPED = frozenset(
    (
        "node_modules",
        "vendor",
        "dist",
        "build",
        "target",
        "coverage",
        "__pycache__",
        "venv",
        "third_party",
        "site-packages",
    )
)
_MARKER = re.compile(r"<!--[ \t]*kb:context[ \t]+(\S{1,200})[ \t]*-->")
_HEADING = re.compile(r"(#{1,6})[ \t]+(\S.*)")
_BULLET = re.compile(r"[ \t]{0,3}(?:[-*+]|\d{1,9}[.)])[ \t]+\S")


class Guide:
    """One guide: ``path`` in the repository, the folder (``scope``) it binds, its ``text``, and the hub its marker names.

    fault: why it could not be read (then text is empty), else None.
    """

    __slots__ = ("context", "fault", "markers", "path", "scope", "text")

    def __init__(self, path: str, text: str, fault: str | None = None) -> None:
        self.path = path
        self.scope = path.rpartition("/")[0] or "."
        self.text = text
        self.fault = fault
        head = text.split("\n#", 1)[0] if not text.startswith("#") else ""
        self.markers = _MARKER.findall(text)
        before = _MARKER.search(head)
        self.context = before.group(1) if before else None

    def to_json(self) -> dict[str, Any]:
        """The guide as ``context`` shows it."""
        return {"path": self.path, "scope": self.scope, "context": self.context, "fault": self.fault}

    def shape(self) -> dict[str, Any]:
        """Counts: ``words``, ``lines`` that are not blank, and words and bullets of the sections Contents and Guidelines."""
        counts: dict[str, Any] = {
            "words": len(self.text.split()),
            "lines": sum(bool(line.strip()) for line in self.text.splitlines()),
            "sections": [],
        }
        section: dict[str, Any] | None = None
        fence = ""
        for line in self.text.splitlines():
            mark = line.strip()[:3]
            if fence:
                fence = "" if mark == fence else fence
                continue
            if mark in ("```", "~~~"):
                fence = mark
                continue
            heading = _HEADING.match(line)
            if heading and len(heading.group(1)) == 1:
                title = heading.group(2).rstrip("# \t")
                section = {"title": title, "words": 0, "bullets": 0, "prose": 0}
                counts["sections"].append(section)
            elif section is not None and line.strip():
                section["words"] += len(line.split())
                if _BULLET.match(line):
                    section["bullets"] += 1
                elif not line.startswith((" ", "\t")) and not line.startswith("<!--"):
                    section["prose"] += 1
        return counts


def read_guide(repository: str, path: str) -> Guide | None:
    """The guide at ``path`` (repository-relative), or None where there is none; a link is read only where it stays
    in the repository."""
    place = os.path.join(repository, path)
    try:
        mode = os.lstat(place).st_mode
    except (OSError, ValueError):
        return None
    if stat.S_ISLNK(mode):
        real = os.path.realpath(place)
        if not real.startswith(os.path.realpath(repository) + os.sep):
            return Guide(path, "", "is a symbolic link that leaves the repository")
        place = real
    try:
        descriptor = os.open(place, os.O_RDONLY | os.O_NONBLOCK | getattr(os, "O_CLOEXEC", 0))
        with open(descriptor, "rb") as file:
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return Guide(path, "", "is not a regular file")
            data = file.read(MAX_GUIDE_BYTES + 1)
    except OSError as error:
        return Guide(path, "", f"cannot be read: {error.strerror}")
    if len(data) > MAX_GUIDE_BYTES:
        return Guide(path, "", f"is larger than {MAX_GUIDE_BYTES} bytes")
    return Guide(path, data.decode("utf-8-sig", "replace").replace("\r\n", "\n"))


def inherited_guides(repository: str, folder: str) -> list[Guide]:
    """The guides that bind ``folder`` (repository-relative, ``.`` for the top), from the top down.

    A CLAUDE.md beside an AGENTS.md is left out where both say the same.
    """
    found = []
    parts = [] if folder == "." else folder.split("/")
    for length in range(len(parts) + 1):
        here = "/".join(parts[:length])
        if here and os.path.islink(os.path.join(repository, here)):
            break
        found += guides_of(repository, here)
    return found


def guides_of(repository: str, folder: str) -> list[Guide]:
    """The guides that lie in one folder (repository-relative, empty for the top)."""
    found: list[Guide] = []
    for name in GUIDE_NAMES:
        guide = read_guide(repository, f"{folder}/{name}" if folder else name)
        if guide is not None and not any(other.text == guide.text and not guide.fault for other in found):
            found.append(guide)
    return found


def discover(repository: str) -> tuple[list[Guide], bool]:
    """All guides of ``repository``, by path, and whether the walk saw everything (at most MAX_FOLDERS folders, links
    not followed)."""
    found: list[Guide] = []
    for number, (folder, names) in enumerate(_walk(repository)):
        if number >= MAX_FOLDERS:
            return found, False
        if any(name in names for name in GUIDE_NAMES):
            found += guides_of(repository, folder)
    return found, True


def _walk(repository: str) -> Iterator[tuple[str, set[str]]]:
    waiting = [""]
    while waiting:
        folder = waiting.pop()
        names: set[str] = set()
        below: list[str] = []
        try:
            with os.scandir(os.path.join(repository, folder) if folder else repository) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        if entry.name[:1] != "." and entry.name not in _SKIPPED:
                            below.append(f"{folder}/{entry.name}" if folder else entry.name)
                    elif entry.name in GUIDE_NAMES:
                        names.add(entry.name)
        except OSError:
            continue
        yield folder, names
        waiting += sorted(below, reverse=True)


def hub_id(scope: str) -> str:
    """The note ID of the context hub of a repository folder: a readable slug and 12 hex digits of the scope's SHA-256."""
    from hashlib import sha256

    scope = normalize("NFC", scope)
    readable = "repository" if scope == "." else re.sub(r"[^a-z0-9]+", "-", scope.lower()).strip("-")
    slug = (readable or "scope")[:48].strip("-")
    return f"scopes/{slug}--{sha256(scope.encode('utf-8', 'surrogateescape')).hexdigest()[:12]}"


def marker(scope: str) -> str:
    """The comment that a guide carries before its headings to point to its hub."""
    return f"<!-- kb:context {hub_id(scope)} -->"
