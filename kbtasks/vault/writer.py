"""Notes written safely: one lock a vault, compare-and-set on revisions, every change through the journal."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from kbtasks import fsio
from kbtasks.errors import AlreadyExists, NotFound, Refused, RevisionConflict, Unavailable, UsageError
from kbtasks.vault import fields, journal, places
from kbtasks.vault.journal import Change

if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType
    from typing import Any

    from kbtasks.model.note import ParsedNote

TRASH = ".trash"
MAX_NOTE_BYTES = 16 << 20


class Written:
    """What a write left behind: the note's ``path``, its ``revision`` now, and whether anything ``changed``."""

    __slots__ = ("changed", "path", "revision")

    def __init__(self, path: str, revision: str, *, changed: bool) -> None:
        self.path = path
        self.revision = revision
        self.changed = changed


class Writer:
    """The vault held for writing: locked, and freed of what a killed writer left.

    root: absolute path of the vault. wait: seconds to wait for another writer (then Busy).
    One lock a vault, not one a note: a write lasts milliseconds, and a move touches many notes at once.
    """

    def __init__(self, root: str, *, wait: float = 30.0) -> None:
        self.root = root
        self._lock = fsio.FolderLock(root, what=f"the vault {root}", wait=wait)
        self.left: list[str] = []

    def __enter__(self) -> Writer:
        self._lock.__enter__()
        try:
            ignore_derived(self.root)
            if journal.is_pending(self.root):
                self.left = journal.recover(self.root)
        except OSError as error:
            self._lock.__exit__(None, None, None)
            raise _unwritable(self.root, error) from None
        except BaseException:
            self._lock.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.__exit__(kind, value, trace)

    def commit(self, changes: list[Change]) -> None:
        """Apply ``changes``, all or none (see journal.commit); Unavailable where the disk says no, nothing changed."""
        try:
            journal.commit(self.root, changes)
        except OSError as error:
            raise _unwritable(self.root, error) from None

    def read(self, path: str, expected: str | None = None) -> bytes:
        """The bytes at ``path``, of revision ``expected`` if one is given (RevisionConflict)."""
        data = places.read(self.root, path)
        actual = fsio.revision(data)
        if expected is not None and actual != expected:
            raise RevisionConflict(path=path, expected=expected, actual=actual, next=f"kb show {path}")
        return data

    def create(self, path: str, data: bytes, *, parents: bool = False) -> Written:
        """Create the note ``path``; identical bytes there already are no change, others AlreadyExists.

        parents: make missing folders (NotFound otherwise).
        """
        places.check_path(path)
        folder = os.path.dirname(path)
        if not parents and folder and not os.path.isdir(os.path.join(self.root, folder)):
            raise NotFound(what="folder", name=folder, next="add --parents to make it")
        try:
            old = places.read(self.root, path)
        except NotFound:
            self.commit([Change("create", path, data=data)])
            return Written(path, fsio.revision(data), changed=True)
        if old != data:
            raise AlreadyExists(path=path, next=f"kb show {path}")
        return Written(path, fsio.revision(old), changed=False)

    def replace(self, path: str, old: bytes, new: bytes) -> Written:
        """Put ``new`` where ``old`` stands; equal bytes are no change, other bytes there RevisionConflict."""
        if len(new) > MAX_NOTE_BYTES:
            raise Refused(message=f"{path} would be larger than {MAX_NOTE_BYTES} bytes")
        if new != old:
            self.commit([Change("replace", path, data=new, expected=fsio.revision(old))])
        return Written(path, fsio.revision(new), changed=new != old)

    def set_fields(self, path: str, changes: Mapping[tuple[str, ...], Any], expected: str | None = None) -> Written:
        """Set or remove (fields.ABSENT) front matter fields; comments, order and every other byte stay."""
        old = self.read(path, expected)
        return self.replace(path, old, with_fields(path, old, changes))

    def trash(self, path: str, expected: str | None = None) -> str:
        """Move ``path`` to ``.trash/`` under the vault, beside earlier trash of that name; returns its path there."""
        revision = fsio.revision(self.read(path, expected))
        stem, dot, suffix = path.rpartition(".")
        target = f"{TRASH}/{path}"
        number = 1
        while os.path.lexists(os.path.join(self.root, target)):
            target = f"{TRASH}/{stem} {number}{dot}{suffix}"
            number += 1
        self.commit([Change("move", path, to=target, expected=revision)])
        return target


def with_fields(path: str, old: bytes, changes: Mapping[tuple[str, ...], Any]) -> bytes:
    """The bytes of a note with front matter fields set or removed; Refused where that cannot be done in place."""
    note = editable(path, old)
    head, fences = _front_matter(old, note)
    text, newline = _with_line_feeds(head.decode("utf-8"))
    newline = newline if head else newline_of(old)
    for key, value in changes.items():
        text = fields.edit(text, key, value)
    if newline == "\r\n":
        text = text.replace("\n", "\r\n")
    opening, closing = fences
    if not opening:
        if not text:
            return old
        mark = b"\xef\xbb\xbf" if old.startswith(b"\xef\xbb\xbf") else b""
        line = newline.encode("ascii")
        new = mark + b"---" + line + text.encode("utf-8") + b"---" + line + old[len(mark) :]
    else:
        new = opening + text.encode("utf-8") + closing + old[note.body_start :]
    _check_fields(path, new, changes)
    return new


def editable(path: str, data: bytes) -> ParsedNote:
    """The parsed note; Refused unless its bytes are UTF-8 (other encodings can be read, but not edited in place)."""
    from kbtasks.vault.parse import parse_note

    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise Refused(
            message=f"{path} is not UTF-8 (byte {error.start}), so it cannot be edited",
            next="convert it to UTF-8 first",
        ) from None
    return parse_note(path, data)


def newline_of(data: bytes) -> str:
    """The line end that a note uses: ``\\r\\n`` where its first line does, else ``\\n``."""
    end = data.find(b"\n")
    return "\r\n" if end > 0 and data[end - 1 : end] == b"\r" else "\n"


def ignore_derived(root: str) -> None:
    """Make ``.kbtasks/`` with a ``.gitignore`` of its own, so that nothing derived is ever committed."""
    folder = os.path.join(root, ".kbtasks")
    path = os.path.join(folder, ".gitignore")
    if not os.path.exists(path) or not os.path.getsize(path):
        os.makedirs(folder, exist_ok=True)
        with open(
            path, "wb"
        ) as file:  # two bytes: a writer killed here leaves none of them, and the next one writes them
            file.write(b"*\n")


def _front_matter(data: bytes, note: ParsedNote) -> tuple[bytes, tuple[bytes, bytes]]:
    """The YAML between the fences, and (everything up to it, the closing fence line); empty where there is none."""
    region = data[: note.body_start]
    lines = region.splitlines(keepends=True)
    bare = [line.lstrip(b"\xef\xbb\xbf").strip() for line in lines]
    if not bare or bare[0] != b"---":
        if data.lstrip(b"\xef\xbb\xbf").startswith(b"---") and any(p.code.startswith("front") for p in note.problems):
            raise Refused(
                message=f"the front matter of {note.path} has no end, so it cannot be edited", next="kb check"
            )
        return b"", (b"", b"")
    closing = max((number for number, line in enumerate(bare) if number and line in (b"---", b"...")), default=0)
    if not closing:
        raise Refused(message=f"the front matter of {note.path} has no end, so it cannot be edited", next="kb check")
    return b"".join(lines[1:closing]), (lines[0], b"".join(lines[closing:]))


def _with_line_feeds(text: str) -> tuple[str, str]:
    if "\r\n" in text and "\n" not in text.replace("\r\n", ""):
        return text.replace("\r\n", "\n"), "\r\n"
    return text, "\n"


def _check_fields(path: str, new: bytes, changes: Mapping[tuple[str, ...], Any]) -> None:
    """What was asked for must be what a reader now reads; a note where that fails is not written."""
    meta = editable(path, new).meta
    for key, value in changes.items():
        found: Any = meta
        for part in key:
            found = found.get(part, fields.ABSENT) if isinstance(found, dict) else fields.ABSENT
        wanted = value
        if isinstance(wanted, tuple):
            wanted = list(wanted)
        if found != wanted and not (isinstance(wanted, fields.Absent) and isinstance(found, fields.Absent)):
            raise UsageError(
                message=f"{'.'.join(key)} of {path} cannot be set to {value!r}: it would be read as {found!r}"
            )


def _unwritable(root: str, error: OSError) -> Unavailable:
    return Unavailable(
        message=f"{error.filename or root} cannot be written: {error.strerror or error}; nothing was changed"
    )
