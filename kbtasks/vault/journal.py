"""Changes to the record, one or many at once: all of them or none, through a write-ahead journal.

A transaction stages every new file in ``.kbtasks/journal/<token>/``, writes a manifest (the point of no return),
applies the changes and removes the journal. A writer killed before the manifest changed nothing; one killed after it is
finished by the next command. A file is replaced by *exchange* (renameat2 with RENAME_EXCHANGE where the system has it):
the bytes that come out are checked, so an editor that saved in the same moment gets its file back.
"""

from __future__ import annotations

import json
import os
import shutil
from typing import TYPE_CHECKING

from kbtasks import fsio
from kbtasks.errors import AlreadyExists, KbError, NotFound, RevisionConflict
from kbtasks.fsio import step
from kbtasks.vault import places

if TYPE_CHECKING:
    from typing import Any

JOURNAL = ".kbtasks/journal"
MANIFEST = "manifest.json"


class Change:
    """One change to a file of the vault.

    kind: ``create`` (``data``, never over another file), ``replace`` (``data`` over bytes of revision ``expected``), or
        ``move`` (to the path ``to``, never over another file; ``expected`` is the revision that is moved).
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

    Raises RevisionConflict, AlreadyExists or NotFound, after undoing what was applied; nothing is lost then.
    """
    journal = os.path.join(root, JOURNAL)
    os.makedirs(journal, exist_ok=True)
    folder = os.path.join(journal, f"{os.getpid()}-{os.urandom(6).hex()}")
    os.mkdir(folder, 0o700)
    step("journal-made")
    try:
        entries = [_staged(root, folder, number, change) for number, change in enumerate(changes)]
        _write_manifest(folder, entries)
        done: list[dict[str, Any]] = []
        try:
            for entry in entries:
                _apply(root, folder, entry)
                done.append(entry)
                step("applied")
        except (KbError, OSError):
            for entry in reversed(done):
                _undo(root, folder, entry)
            raise
        step("all-applied")
    finally:
        _forget(folder)
        _remove_if_empty(journal)


def recover(root: str) -> list[str]:
    """Finish the transactions of killed writers and clear their debris; the caller holds the vault's write lock.

    Returns the paths that someone changed in the meantime and that were therefore left as they are.
    """
    journal = os.path.join(root, JOURNAL)
    left: list[str] = []
    try:
        tokens = sorted(os.listdir(journal))
    except (FileNotFoundError, NotADirectoryError):
        return left
    for token in tokens:
        folder = os.path.join(journal, token)
        try:
            with open(os.path.join(folder, MANIFEST), "rb") as file:
                entries = json.loads(file.read())
        except (OSError, ValueError):
            entries = []  # killed before the point of no return: nothing was changed
        moved = frozenset(entry["path"] for entry in entries if entry["kind"] == "move")
        for entry in entries:
            try:
                _apply(root, folder, entry, again=True, moved=moved)
            except KbError:
                left.append(entry["path"])
        _forget(folder)
    _remove_if_empty(journal)
    return left


def is_pending(root: str) -> bool:
    """Whether a killed (or a running) writer left a journal."""
    return os.path.isdir(os.path.join(root, JOURNAL))


def _staged(root: str, folder: str, number: int, change: Change) -> dict[str, Any]:
    entry: dict[str, Any] = {"kind": change.kind, "path": change.path, "to": change.to, "expected": change.expected}
    if change.data is not None:
        mode = 0o644
        if change.kind == "replace":
            mode = os.lstat(os.path.join(root, change.path)).st_mode & 0o777
        entry["file"] = str(number)
        entry["new"] = fsio.revision(change.data)
        fsio.create_exclusive(os.path.join(folder, str(number)), change.data, mode=mode)
        step("staged")
    return entry


def _write_manifest(folder: str, entries: list[dict[str, Any]]) -> None:
    text = json.dumps(entries, ensure_ascii=True)
    fsio.atomic_write(os.path.join(folder, MANIFEST), text.encode("ascii"), mode=0o600)
    step("manifest-written")


def _apply(
    root: str, folder: str, entry: dict[str, Any], *, again: bool = False, moved: frozenset[str] = frozenset()
) -> None:
    if entry["kind"] == "create":
        _create(root, folder, entry, again=again)
    elif entry["kind"] == "replace":
        _replace(root, folder, entry, again=again, moved=moved)
    else:
        _move(root, entry["path"], entry["to"], entry["expected"], again=again)


def _create(root: str, folder: str, entry: dict[str, Any], *, again: bool) -> None:
    parent, name = places.open_parent(root, entry["path"], create=True)
    try:
        try:
            os.link(os.path.join(folder, entry["file"]), name, dst_dir_fd=parent, follow_symlinks=False)
        except FileExistsError:
            if not (again and _revision_at(parent, name) == entry["new"]):
                raise AlreadyExists(path=entry["path"]) from None
        os.fsync(parent)
    finally:
        os.close(parent)


def _replace(root: str, folder: str, entry: dict[str, Any], *, again: bool, moved: frozenset[str]) -> None:
    parent, name = places.open_parent(root, entry["path"])
    staged = os.path.join(folder, entry["file"])
    try:
        actual = _revision_at(parent, name)
        if again and (actual == entry["new"] or (actual is None and entry["path"] in moved)):
            return  # done before the kill, or done and moved on
        if actual != entry["expected"]:
            raise RevisionConflict(path=entry["path"], expected=entry["expected"], actual=actual or "absent")
        step("before-exchange")
        fsio.exchange(staged, name, parent)
        step("after-exchange")
        came_out = _revision_of(staged)
        if came_out != entry["expected"]:  # somebody saved between the look and the exchange: give it back
            fsio.exchange(staged, name, parent)
            raise RevisionConflict(path=entry["path"], expected=entry["expected"], actual=came_out or "absent")
        os.fsync(parent)
    finally:
        os.close(parent)


def _move(root: str, path: str, to: str, expected: str | None, *, again: bool) -> None:
    source, source_name = places.open_parent(root, path)
    try:
        target, target_name = places.open_parent(root, to, create=True)
        try:
            actual = _revision_at(source, source_name)
            if actual is None and again and _revision_at(target, target_name) == expected:
                return
            if actual is None:
                raise NotFound(what="note", name=path)
            if expected is not None and actual != expected:
                raise RevisionConflict(path=path, expected=expected, actual=actual)
            step("before-move")
            try:
                fsio.rename_exclusive(source_name, source, target_name, target)
            except FileExistsError:
                raise AlreadyExists(path=to) from None
            step("after-move")
            os.fsync(target)
            os.fsync(source)
        finally:
            os.close(target)
    finally:
        os.close(source)


def _undo(root: str, folder: str, entry: dict[str, Any]) -> None:
    """Take back an applied change, unless somebody has changed the file since (then it is theirs)."""
    if entry["kind"] == "move":
        try:
            _move(root, entry["to"], entry["path"], entry["expected"], again=False)
        except KbError:
            pass
        return
    parent, name = places.open_parent(root, entry["path"])
    try:
        if _revision_at(parent, name) == entry["new"]:
            if entry["kind"] == "create":
                os.unlink(name, dir_fd=parent)
            else:
                fsio.exchange(os.path.join(folder, entry["file"]), name, parent)
    finally:
        os.close(parent)


def _forget(folder: str) -> None:
    """Remove a journal: its manifest first, so that a kill in between leaves only debris."""
    try:
        os.unlink(os.path.join(folder, MANIFEST))
    except FileNotFoundError:
        pass
    step("manifest-removed")
    shutil.rmtree(folder, ignore_errors=True)
    step("journal-removed")


def _remove_if_empty(journal: str) -> None:
    try:
        os.rmdir(journal)
    except OSError:
        pass


def _revision_at(parent: int, name: str) -> str | None:
    try:
        return fsio.revision(places.read_at(parent, name))
    except FileNotFoundError:
        return None


def _revision_of(path: str) -> str | None:
    try:
        with open(path, "rb") as file:
            return fsio.revision(file.read())
    except FileNotFoundError:
        return None
