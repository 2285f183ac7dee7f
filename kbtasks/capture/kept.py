"""Bundles that are kept: found by name, path, note or hash, their passages, and whether they are as they were written."""

from __future__ import annotations

import os
import re
from hashlib import sha256
from typing import TYPE_CHECKING

from kbtasks.capture import manifest
from kbtasks.capture.bundle import MAX_BUNDLES
from kbtasks.errors import Ambiguous, NotFound, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

MAX_NOTE = 64 << 20
#: Shortest hash that names something, in hex digits.
LEAST_HEX = 8
#: Most further captures of one passage that are named.
MAX_ALSO = 10
_HASH = re.compile(r"^(?:sha256:)?([0-9a-f]{8,64})$")
_PAGE = re.compile(rb"^<!-- page (\d{1,6}) (sha256:[0-9a-f]{64}) -->$", re.MULTILINE)
_FENCE = re.compile(rb"^ {0,3}(`{3,}|~{3,})")


class Passage:
    """A block of a capture's note: its text, its hash, its place, and the PDF page it is on (None for web pages).

    The hash is of the text with white space collapsed, so that it stays when lines are wrapped differently. ``also``
    names the later captures that say the same, where the passage was found by its hash.
    """

    __slots__ = ("also", "end", "line", "page", "start", "text")

    def __init__(self, text: str, line: int, start: int, end: int, page: int | None) -> None:
        self.text = text
        self.line = line
        self.start = start
        self.end = end
        self.page = page
        self.also: list[str] = []

    @property
    def sha256(self) -> str:
        """``sha256:`` and 64 hex digits."""
        return "sha256:" + sha256(" ".join(self.text.split()).encode("utf-8", "surrogatepass")).hexdigest()

    def to_json(self) -> dict[str, Any]:
        """The passage as ``capture.show`` gives it."""
        found: dict[str, Any] = {
            "text": self.text,
            "sha256": self.sha256,
            "line": self.line,
            "start_byte": self.start,
            "end_byte": self.end,
        }
        return found | ({"page": self.page} if self.page else {}) | ({"also": self.also} if self.also else {})


def bundles(folder: str, *, torn: bool = False) -> Iterator[str]:
    """Paths of the bundles in ``folder``, by name; with ``torn`` also of those that lost their manifest."""
    try:
        names = sorted(
            entry.name
            for entry in os.scandir(folder)
            if not entry.name.startswith(".") and entry.is_dir(follow_symlinks=False)
        )
    except (FileNotFoundError, NotADirectoryError):
        return
    for name in names[:MAX_BUNDLES]:
        path = os.path.join(folder, name)
        if os.path.isfile(os.path.join(path, manifest.NAME)) or (torn and _is_torn(path, name)):
            yield path


def _is_torn(path: str, name: str) -> bool:
    """Whether the folder ``path`` holds the note of a capture, or something called a manifest that is no file."""
    if os.path.lexists(os.path.join(path, manifest.NAME)):
        return True
    note = os.path.join(path, name + ".md")
    if not os.path.isfile(note):
        return False
    try:
        with open(note, "rb") as file:
            head = file.read(8192)
    except OSError:
        return False
    return head.startswith(b"---") and b"\ncapture_status:" in head.partition(b"\n---")[0]


def find(word: str, *, cwd: str, folder: str, vault: str | None) -> tuple[str, Passage | None]:
    """The bundle that ``word`` names (path, name in ``folder``, note of it, hash) and, for a passage's hash, the passage.

    Raises NotFound, and Ambiguous where a short hash fits several.
    """
    hashed = _HASH.match(word.lower())
    for base in (cwd, folder, *([vault] if vault else [])):
        path = os.path.normpath(os.path.join(base, word))
        for place in (path, os.path.dirname(path)):
            if os.path.isfile(os.path.join(place, manifest.NAME)) and (place == path or _is_its_note(path, place)):
                return place, None
    if hashed:
        return _by_hash(hashed.group(1), folder)
    raise NotFound(what="capture bundle", name=word, next="name its folder, its note, or a hash of it")


def _is_its_note(path: str, bundle: str) -> bool:
    name = os.path.basename(path)
    return os.path.isfile(path) or os.path.isfile(os.path.join(bundle, name + ".md"))


def _by_hash(digits: str, folder: str) -> tuple[str, Passage | None]:
    found: list[tuple[str, str, str, Passage | None]] = []
    for path in bundles(folder):
        document = manifest.read_or_none(path)
        if document is None:
            continue
        captured = document["captured"]
        own = [
            document["seal"],
            *(item["sha256"] for item in document["files"] if item["role"] in ("markdown", "source")),
        ]
        named = [value for value in own if value[7:].startswith(digits)]
        if named:
            found.append((captured, path, named[0], None))
            continue
        found += [
            (captured, path, passage.sha256, passage)
            for passage in passages(_read_note(path, document))
            if passage.sha256[7:].startswith(digits)
        ][:1]
    if not found:
        raise NotFound(what="capture or passage with the hash", name=f"sha256:{digits}")
    found.sort(key=lambda item: item[:2])
    names = [os.path.basename(path) for _, path, _, _ in found]
    _, first, _, passage = found[0]
    alike = len({value for _, _, value, _ in found}) == 1
    if len(found) > 1 and (passage is None or not alike):
        raise Ambiguous(
            name=f"sha256:{digits}",
            what="capture",
            candidates=", ".join(names[:10]),
            next="name the bundle that you mean" if alike else "give more digits of the hash",
        )
    if passage is not None:
        passage.also = names[1 : MAX_ALSO + 1]  # a refreshed capture says most of the same again
    return first, passage


def _read_note(bundle: str, document: dict[str, Any]) -> bytes:
    path = inside(bundle, document["document"])
    try:
        with open(path, "rb") as file:
            return file.read(MAX_NOTE)
    except OSError:
        return b""


def inside(bundle: str, relative: str) -> str:
    """The path of a bundle's file; UsageError for a path that leads out of the bundle."""
    parts = relative.split("/")
    if any(part in ("", ".", "..") or "\\" in part or "\0" in part for part in parts):
        raise UsageError(message=f"the manifest names a path outside of its bundle: {relative!r}")
    return os.path.join(bundle, *parts)


def passages(data: bytes) -> Iterator[Passage]:
    """The blocks of a note's body: lines between blank ones, a fence as one; no front matter, no page marks."""
    at, line = 0, 1
    start, first = -1, 0
    fence = b""
    page: int | None = None
    in_front = data.startswith(b"---\n")
    for number, raw in enumerate(data.splitlines(keepends=True)):
        text = raw.rstrip(b"\r\n")
        if in_front:
            if number and text == b"---":
                in_front = False
        elif not fence and (mark := _PAGE.match(text)):
            page = int(mark.group(1))
        elif text.strip() or fence:
            if start < 0:
                start, first = at, line
            opened = _FENCE.match(text)
            if opened and not fence:
                fence = opened.group(1)
            elif fence and text.strip().startswith(fence) and not text.strip().strip(fence[:1]):
                fence = b""
        if start >= 0 and not fence and not text.strip():
            yield _passage(data, start, at, first, page)
            start = -1
        at += len(raw)
        line += 1
    if start >= 0:
        yield _passage(data, start, at, first, page)


def _passage(data: bytes, start: int, end: int, line: int, page: int | None) -> Passage:
    block = data[start:end].rstrip()
    return Passage(block.decode("utf-8", "replace"), line, start, start + len(block), page)


def find_passage(data: bytes, words: str) -> Passage:
    """The first passage that holds ``words`` (case and white space aside, backslash escapes too); NotFound where none does."""
    wanted = _plain(words)
    for passage in passages(data):
        if wanted and wanted in _plain(passage.text):
            return passage
    raise NotFound(what="passage with the words", name=words)


def _plain(text: str) -> str:
    return " ".join(re.sub(r"\\(?=[^\w\s])", "", text).casefold().split())


def note_of(bundle: str) -> tuple[dict[str, Any], bytes]:
    """The manifest of ``bundle`` and the bytes of its note."""
    document = manifest.read(bundle)
    return document, _read_note(bundle, document)


def verify(bundle: str) -> tuple[dict[str, Any] | None, list[dict[str, str]]]:
    """The manifest (None where unreadable) and what is not as it was written: changed, missing and added files."""
    from kbtasks.errors import KbError

    if not os.path.isfile(os.path.join(bundle, manifest.NAME)):
        return None, [{"path": manifest.NAME, "state": "missing", "message": "the manifest is not there"}]
    try:
        document = manifest.read(bundle)
    except KbError as error:
        return None, [{"path": manifest.NAME, "state": "unreadable", "message": error.message}]
    problems = []
    if document["seal"] != manifest.seal(document):
        problems.append(
            {"path": manifest.NAME, "state": "changed", "message": "the manifest was changed after it was written"}
        )
    known = {manifest.NAME}
    for item in document["files"]:
        known.add(item["path"])
        try:
            path = inside(bundle, item["path"])
        except UsageError as error:
            problems.append({"path": item["path"], "state": "refused", "message": error.message})
            continue
        if os.path.islink(path) or not os.path.isfile(path):
            problems.append({"path": item["path"], "state": "missing", "message": "the file is not there"})
            continue
        actual, size = _hash_file(path)
        if actual != item["sha256"]:
            message = f"its hash is {actual[:19]}..., not {item['sha256'][:19]}... ({size} bytes, not {item['bytes']})"
            problems.append(
                {"path": item["path"], "state": "changed", "message": message + _changed_pages(bundle, document, item)}
            )
    for place, folders, names in os.walk(bundle):
        folders.sort()
        # A linked folder is not walked into, and is no part of any bundle.
        for name in sorted([*names, *(each for each in folders if os.path.islink(os.path.join(place, each)))]):
            relative = os.path.relpath(os.path.join(place, name), bundle).replace(os.sep, "/")
            if relative not in known:
                problems.append({"path": relative, "state": "added", "message": "the manifest does not know the file"})
            if len(problems) > 1000:
                return document, problems
    return document, problems


def _hash_file(path: str) -> tuple[str, int]:
    digest, size = sha256(), 0
    try:
        with open(path, "rb") as file:
            while chunk := file.read(1 << 20):
                digest.update(chunk)
                size += len(chunk)
    except OSError:
        return "unreadable", 0
    return "sha256:" + digest.hexdigest(), size


def _changed_pages(bundle: str, document: dict[str, Any], item: dict[str, Any]) -> str:
    """For the note of a PDF: which pages' text is not what it was."""
    if item["role"] != "markdown" or not document.get("pages"):
        return ""
    data = _read_note(bundle, document)
    marks = list(_PAGE.finditer(data))
    changed = []
    expected = {entry["page"]: entry["sha256"] for entry in document["pages"]}
    for number, mark in enumerate(marks):
        end = marks[number + 1].start() if number + 1 < len(marks) else data.rfind(b"\n\n***\n\nSource: ")
        text = data[mark.end() : end if end >= 0 else len(data)].strip(b"\n")
        if expected.pop(int(mark.group(1)), "") != manifest.digest(text):
            changed.append(int(mark.group(1)))
    changed += list(expected)
    return f"; pages {', '.join(map(str, sorted(changed)[:20]))} changed" if changed else ""
