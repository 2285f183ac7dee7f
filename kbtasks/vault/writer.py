"""Notes written safely: one lock a vault, compare-and-set on revisions, every change through the journal."""

from __future__ import annotations

import os

from kbtasks import fsio
from kbtasks.errors import AlreadyExists, NotFound, Refused, RevisionConflict, Unavailable, UsageError
from kbtasks.vault import fields, journal, places
from kbtasks.vault.journal import Change

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from collections.abc import Mapping
    from types import TracebackType
    from typing import Any

    from kbtasks.model.note import ParsedNote

MAX_NOTE_BYTES = places.MAX_NOTE_BYTES


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
        if os.open not in os.supports_dir_fd:  # pragma: no cover
            raise Unavailable(message="notes can only be written on a system that opens files below a folder (POSIX)")
        try:
            self._lock.__enter__()
        except OSError as error:
            raise _unwritable(self.root, error) from None
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
        places.check_new_name(path)
        if len(data) > MAX_NOTE_BYTES:
            raise Refused(message=f"{path} would be larger than {MAX_NOTE_BYTES} bytes")
        spelled = places.other_spelling(self.root, path)
        if spelled is not None:
            raise Refused(
                message=f"{path} differs only by letter case or Unicode form from {spelled}, which is there",
                next=f"use its spelling: {spelled}",
            )
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
        revision = places.revision_of(self.root, path)
        if expected is not None and revision != expected:
            raise RevisionConflict(path=path, expected=expected, actual=revision, next=f"kb show {path}")
        stem, suffix = path[:-3], path[-3:]
        target = f"{journal.TRASH}/{path}"
        number = 1
        while os.path.lexists(os.path.join(self.root, target)):
            ending = f" {number}{suffix}"
            folder, slash, name = stem.rpartition("/")
            while len(os.fsencode(name + ending)) > places.MAX_NAME_BYTES:
                name = name[:-1]
            target = f"{journal.TRASH}/{folder}{slash}{name}{ending}"
            number += 1
        self.commit([Change("move", path, to=target, expected=revision)])
        return target


def with_fields(path: str, old: bytes, changes: Mapping[tuple[str, ...], Any]) -> bytes:
    """The bytes of a note with front matter fields set or removed; Refused where that cannot be done in place.

    A field that has the value already stays as it is written. What is read afterwards must be what was read before,
    but for the fields asked for; a note where that fails is not written.
    """
    note = editable(path, old)
    expected = _changed(note.meta, changes)
    wanted = {key: value for key, value in changes.items() if not _is_value(note.meta, key, value)}
    if not wanted:
        return old
    head, (opening, closing) = _front_matter(old, note)
    text, newline = _with_line_feeds(head.decode("utf-8"))
    newline = newline_of(old) if newline is None else newline
    for key, value in wanted.items():
        try:
            text = fields.edit(text, key, value)
        except Refused as error:
            raise Refused(message=f"{path}: {error.message}", next=error.next) from None
    try:
        encoded = text.replace("\n", newline).encode("utf-8")
    except UnicodeEncodeError:
        raise UsageError(message=f"a field of {path} would hold what is no text (half a character)") from None
    line = newline.encode("ascii")
    if not opening:
        mark = b"\xef\xbb\xbf" if old.startswith(b"\xef\xbb\xbf") else b""
        new = mark + b"---" + line + encoded + b"---" + line + old[len(mark) :]
    else:
        new = opening + encoded + closing + old[note.body_start :]
    _check_fields(path, editable(path, new), expected, wanted)
    return new


def editable(path: str, data: bytes) -> ParsedNote:
    """The parsed note; Refused unless its bytes are UTF-8 (other encodings can be read, but not edited in place)."""
    from kbtasks.vault.parse import parse_note

    note = parse_note(path, data)
    reason = f"it is {note.encoding.upper()}" if note.encoding != "utf-8" else ""
    try:
        data.decode("utf-8")
    except UnicodeDecodeError as error:
        reason = reason or f"byte {error.start} is not UTF-8"
    if not reason and b"\r" in data and b"\n" not in data:
        reason = "carriage returns alone end its lines"
    if reason:
        raise Refused(
            message=f"{path} cannot be edited in place: {reason}", next="convert it to UTF-8 with line feeds first"
        )
    return note


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


def _with_line_feeds(text: str) -> tuple[str, str | None]:
    """The text with line feeds, and the line end it had (None where it has no line)."""
    if "\r\n" in text and "\n" not in text.replace("\r\n", ""):
        return text.replace("\r\n", "\n"), "\r\n"
    return text, "\n" if text else None


def _changed(meta: dict[str, Any], changes: Mapping[tuple[str, ...], Any]) -> dict[str, Any]:
    """What must be read after ``changes``: every field that was not named stays as it was."""
    whole = dict(meta)
    for (name, *inner), value in changes.items():
        if inner:
            old = whole.get(name)
            new: Any = _changed(old if isinstance(old, dict) else {}, {tuple(inner): value}) or fields.ABSENT
        else:
            new = value
        if isinstance(new, fields.Absent):
            whole.pop(name, None)
        else:
            whole[name] = list(new) if isinstance(new, tuple) else new
    return whole


def _is_value(meta: Any, key: tuple[str, ...], value: Any) -> bool:
    for part in key:
        meta = meta.get(part, fields.ABSENT) if isinstance(meta, dict) else fields.ABSENT
    return _same(meta, value)


def _same(one: Any, other: Any) -> bool:
    """Equality that tells 1, 1.0 and true apart, and looks at any absence as the same."""
    if isinstance(one, fields.Absent) or isinstance(other, fields.Absent):
        return isinstance(one, fields.Absent) and isinstance(other, fields.Absent)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(_same, one, other))
    return type(one) is type(other) and bool(one == other)


def _check_fields(path: str, note: ParsedNote, expected: dict[str, Any], wanted: Mapping[tuple[str, ...], Any]) -> None:
    if _same(note.meta, expected):
        return
    for name in sorted({*expected, *note.meta}, key=lambda name: (name not in {key[0] for key in wanted}, name)):
        found, right = note.meta.get(name, fields.ABSENT), expected.get(name, fields.ABSENT)
        if not _same(found, right):
            what = "be gone" if isinstance(found, fields.Absent) else f"be read as {str(found)[:80]!r}"
            raise Refused(
                message=f"the front matter of {path} cannot be changed in place: {name} would {what}",
                next="a repeated key, an anchor, a merge or a number too large stands in the way; edit it by hand",
            )


def _unwritable(root: str, error: OSError) -> Unavailable:
    return Unavailable(
        message=f"{error.filename or root} cannot be written: {error.strerror or error}; nothing was changed"
    )
