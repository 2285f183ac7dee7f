"""Changes to the record, one or many at once: all of them or none, through a write-ahead journal.

A transaction stages every new file in ``.kbtasks/journal/<token>/``, writes a manifest (the point of no return),
applies the changes and removes the journal. A writer killed before the manifest changed nothing; one killed after it is
finished by the next command.
"""

from __future__ import annotations

import json
import os
import stat

from kbtasks import fsio
from kbtasks.errors import KbError, Refused, RevisionConflict
from kbtasks.fsio import step
from kbtasks.vault.applying import Application, keep_owner

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from typing import Any

JOURNAL = ".kbtasks/journal"
MANIFEST = "manifest.json"
UNDO = "undo.json"
TRASH = ".trash"
_KINDS = ("create", "replace", "move", "prune")
_MAX_MANIFEST = 64 << 20


class Change:
    """One change to a file of the vault.

    kind: ``create`` (``data``, never over another file), ``replace`` (``data`` over bytes of revision ``expected``),
        ``move`` (the bytes of revision ``expected`` to the path ``to``, never over another file), or ``prune`` (the
        folder ``path`` goes if it is empty by then).
    path, to: vault-relative, POSIX separators.
    """

    __slots__ = ("data", "expected", "kind", "path", "to")

    def __init__(
        self, kind: str, path: str, *, data: bytes | None = None, expected: str | None = None, to: str | None = None
    ) -> None:
        self.kind = kind
        self.path = path
        self.data = data
        self.expected = expected
        self.to = to


def commit(root: str, changes: list[Change]) -> None:
    """Apply ``changes`` in order, all or none; the caller holds the vault's write lock.

    Raises RevisionConflict, AlreadyExists, NotFound or Refused, after undoing what was applied; nothing is lost then.
    """
    journal = os.path.join(root, JOURNAL)
    os.makedirs(journal, exist_ok=True)
    folder = os.path.join(journal, f"{os.getpid()}-{os.urandom(6).hex()}")
    os.mkdir(folder, 0o700)
    step("journal-made")
    try:
        entries = [_staged(root, folder, number, change) for number, change in enumerate(changes)]
        fsio.sync_files([os.path.join(folder, str(entry["number"])) for entry in entries if entry["new"]])
        _write_entries(folder, MANIFEST, entries)
        step("manifest-written")
        application = Application(root, folder)
        done: list[dict[str, Any]] = []
        try:
            for entry in entries:
                application.apply(entry)
                done.append(entry)
                step("applied")
        except (KbError, OSError):
            _take_back(application, done)
            raise
        application.sync()
        step("all-applied")
    finally:
        _forget(folder)
        _remove_if_empty(journal)


def recover(root: str) -> list[str]:
    """Finish the transactions of killed writers and clear their debris; the caller holds the vault's write lock.

    A journal that no writer of ours can have written (a vault may come from anywhere) is cleared, not applied.
    A transaction that meets a file which somebody has changed in the meantime is taken back instead; returns the paths
    of such files.
    """
    journal = os.path.join(root, JOURNAL)
    left: list[str] = []
    for token in sorted(os.listdir(journal)):
        folder = os.path.join(journal, token)
        if not stat.S_ISDIR(os.lstat(folder).st_mode):
            os.unlink(folder)
            continue
        back = _entries(folder, UNDO)
        for entry in reversed(back or []):
            Application(root, folder).undo(entry)
        entries = _entries(folder, MANIFEST) or [] if back is None else []
        moved = frozenset(entry["path"] for entry in entries if entry["kind"] == "move")
        application = Application(root, folder, again=True, moved=moved)
        for number, entry in enumerate(entries):
            try:
                application.apply(entry)
            except KbError:  # somebody changed the file in the meantime: then none of it
                left.append(entry["path"])
                _take_back(Application(root, folder), entries[:number])
                break
        application.sync()
        _forget(folder)
    _remove_if_empty(journal)
    return left


def _take_back(application: Application, done: list[dict[str, Any]]) -> None:
    _write_entries(application.folder, UNDO, done)  # from here on a kill leads back, not forward
    step("undoing")
    for entry in reversed(done):
        application.undo(entry)
        step("undone")
    application.sync()


def is_pending(root: str) -> bool:
    """Whether a killed (or a running) writer left a journal."""
    try:
        return stat.S_ISDIR(os.lstat(os.path.join(root, JOURNAL)).st_mode)
    except OSError:
        return False


def _staged(root: str, folder: str, number: int, change: Change) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "number": number,
        "kind": change.kind,
        "path": change.path,
        "to": change.to,
        "expected": change.expected,
        "new": None,
    }
    if change.data is None:
        return entry
    entry["new"] = fsio.revision(change.data)
    old = None
    mode = 0o666 & ~_umask()
    if change.kind == "replace":
        try:
            old = os.lstat(os.path.join(root, change.path))
        except FileNotFoundError:
            raise RevisionConflict(path=change.path, expected=change.expected, actual="absent") from None
        mode = old.st_mode & 0o7777
        if old.st_nlink > 1:
            raise Refused(
                message=f"{change.path} has {old.st_nlink} names (hard links); a new version would part them",
                next="replace the note by a copy of its own first (cp, then mv)",
            )
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
    handle = os.open(os.path.join(folder, str(number)), flags, 0o600)
    try:
        step("staging")
        view = memoryview(change.data)
        while view:
            view = view[os.write(handle, view) :]
        if old is not None:
            keep_owner(handle, old)
        os.fchmod(handle, mode)
    finally:
        os.close(handle)
    step("staged")
    return entry


def _umask() -> int:
    mask = os.umask(0o077)
    os.umask(mask)
    return mask


def _write_entries(folder: str, name: str, entries: list[dict[str, Any]]) -> None:
    text = json.dumps(entries, ensure_ascii=True)
    fsio.atomic_write(os.path.join(folder, name), text.encode("ascii"), mode=0o600)


def _entries(folder: str, name: str) -> list[dict[str, Any]] | None:
    """The entries of a manifest, none of them where it is not ours; None where there is no whole one."""
    try:
        with open(os.path.join(folder, name), "rb") as file:
            entries = json.loads(file.read(_MAX_MANIFEST))
    except (OSError, ValueError, RecursionError):
        return None
    return entries if isinstance(entries, list) and all(map(_is_ours, entries)) else []


def _is_ours(entry: Any) -> bool:
    if not isinstance(entry, dict) or set(entry) != {"number", "kind", "path", "to", "expected", "new"}:
        return False
    if not isinstance(entry["number"], int) or entry["kind"] not in _KINDS or not _is_inside(entry["path"]):
        return False
    needed = {"create": ["new"], "replace": ["new", "expected"], "move": ["to", "expected"], "prune": []}
    if not all(isinstance(entry[name], str) for name in needed[entry["kind"]]):
        return False
    return entry["kind"] != "move" or _is_inside(entry["to"], or_trash=True)


def _is_inside(path: Any, *, or_trash: bool = False) -> bool:
    """Whether a path leads to where notes may be: inside the vault, in no hidden folder (``.git``) but the trash."""
    if not isinstance(path, str) or "\0" in path:
        return False
    parts = path.split("/")
    if or_trash and parts[0] == TRASH:
        parts = parts[1:]
    return bool(parts) and all(part and not part.startswith(".") for part in parts)


def _forget(folder: str) -> None:
    """Remove a journal: its manifest first (that of an undo after it), so that a kill in between leaves only debris."""
    for name in (MANIFEST, UNDO):
        try:
            os.unlink(os.path.join(folder, name))
        except FileNotFoundError:
            pass
        step("manifest-removed")
    try:
        for name in os.listdir(folder):
            os.unlink(os.path.join(folder, name))
        os.rmdir(folder)
    except OSError:
        import shutil

        shutil.rmtree(folder, ignore_errors=True)
    step("journal-removed")


def _remove_if_empty(journal: str) -> None:
    try:
        os.rmdir(journal)
    except OSError:
        pass
