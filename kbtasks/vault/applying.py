"""One change of a transaction applied, applied again after a kill, or taken back: each step leaves old or new bytes.

A file is replaced by *exchange* (renameat2 with RENAME_EXCHANGE where the system has it): the bytes that come out are
checked, so an editor that saved in the same moment gets its file back. A folder on another device than the journal
gets a copy beside the file first, named by the transaction so that the next command clears it.
"""

from __future__ import annotations

import errno
import os

from kbtasks import fsio
from kbtasks.errors import AlreadyExists, KbError, NotFound, RevisionConflict
from kbtasks.fsio import step
from kbtasks.vault import places

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from typing import Any


class Application:
    """A transaction's folder and the vault it changes.

    root: the vault. folder: the transaction's own folder, with its staged files. again: a killed writer may have
    applied any of the changes. moved: the paths that the transaction moves away.
    """

    def __init__(self, root: str, folder: str, *, again: bool = False, moved: frozenset[str] = frozenset()) -> None:
        self.root = root
        self.folder = folder
        self.again = again
        self.moved = moved
        self._folders: set[str] = set()

    def sync(self) -> None:
        """Make the names that were changed durable, each folder once; to be called before the journal goes."""
        for folder in sorted(self._folders):
            fsio.sync_directory(os.path.join(self.root, folder))
        self._folders.clear()

    def apply(self, entry: dict[str, Any]) -> None:
        """Apply one change; RevisionConflict, AlreadyExists, NotFound, Refused or OSError, nothing changed then."""
        kind = entry["kind"]
        self._folders.update(os.path.dirname(path) for path in (entry["path"], entry["to"]) if path is not None)
        if kind == "create":
            self._create(entry)
        elif kind == "replace":
            self._replace(entry)
        elif kind == "move":
            self._move(entry["path"], entry["to"], entry)
        else:
            self._prune(entry["path"])

    def undo(self, entry: dict[str, Any]) -> None:
        """Take back an applied change, unless somebody has changed the file since (then it is theirs)."""
        self._folders.update(os.path.dirname(path) for path in (entry["path"], entry["to"]) if path is not None)
        try:
            if entry["kind"] == "move":
                self._move(entry["to"], entry["path"], entry)
            elif entry["kind"] != "prune":
                self._undo_write(entry)
        except (KbError, OSError):
            pass

    def _near(self, entry: dict[str, Any]) -> str:
        return f"{fsio.TEMPORARY_PREFIX}{os.path.basename(self.folder)}-{entry['number']}"

    def _staged(self, entry: dict[str, Any]) -> str:
        return os.path.join(self.folder, str(entry["number"]))

    def _create(self, entry: dict[str, Any]) -> None:
        parent, name = places.open_parent(self.root, entry["path"], create=True)
        staged, near = self._staged(entry), self._near(entry)
        try:
            if self.again:
                _clear(near, parent)
                if places.revision_at(parent, name) == entry["new"]:
                    return
            step("before-create")
            try:
                try:
                    os.link(staged, name, dst_dir_fd=parent, follow_symlinks=False)
                except OSError as error:
                    if error.errno not in (errno.EXDEV, errno.EPERM, errno.ENOTSUP):
                        raise
                    _copy(staged, None, near, parent)
                    step("copied-near")
                    fsio.rename_exclusive(near, parent, name, parent)
            except FileExistsError:
                _unlink(near, parent)
                raise AlreadyExists(path=entry["path"], next=f"kb show {entry['path']}") from None
            step("after-create")
        finally:
            os.close(parent)

    def _replace(self, entry: dict[str, Any]) -> None:
        parent, name = places.open_parent(self.root, entry["path"])
        staged, near = self._staged(entry), self._near(entry)
        try:
            actual = places.revision_at(parent, name)
            if self.again and actual is None and entry["path"] in self.moved:
                return  # replaced and moved on before the kill
            if self.again and actual == entry["new"]:
                self._give_back_what_is_not_ours(entry, parent, name)
                return
            if self.again:
                _clear(near, parent)
                if actual != entry["expected"] and _revision_of(staged) == entry["expected"]:
                    return  # replaced before the kill, and changed by somebody since
            if actual != entry["expected"]:
                raise _conflict(entry, actual)
            if self.again and _revision_of(staged) != entry["new"]:
                raise _conflict(entry, actual)  # the new bytes are not there
            step("before-exchange")
            try:
                fsio.exchange(staged, name, parent)
            except OSError as error:
                if error.errno != errno.EXDEV:
                    raise
                self._exchange_near(entry, parent, name)
                return
            step("after-exchange")
            came_out = _revision_of(staged)
            if came_out != entry["expected"]:  # somebody saved between the look and the exchange: give it back
                fsio.exchange(staged, name, parent)
                raise _conflict(entry, came_out)
        finally:
            os.close(parent)

    def _exchange_near(self, entry: dict[str, Any], parent: int, name: str) -> None:
        """As an exchange with the staged file, through a copy on the device of the file itself."""
        near = self._near(entry)
        _copy(self._staged(entry), None, near, parent)
        step("copied-near")
        fsio.exchange(near, name, parent, parent)
        step("after-exchange")
        came_out = places.revision_at(parent, near)
        if came_out != entry["expected"]:
            fsio.exchange(near, name, parent, parent)
            _unlink(near, parent)
            raise _conflict(entry, came_out)
        _unlink(self._staged(entry), None)
        _copy(near, parent, self._staged(entry), None)  # kept for taking it back
        step("kept-old")
        _unlink(near, parent)

    def _give_back_what_is_not_ours(self, entry: dict[str, Any], parent: int, name: str) -> None:
        """A kill right after an exchange may have left somebody's fresh bytes staged: they are put back."""
        known = (entry["new"], entry["expected"], None)
        near = self._near(entry)
        staged = os.open(self.folder, os.O_RDONLY)
        try:
            own = str(entry["number"])
            for holder, folder in ((near, parent), (near + ".old", parent), (own, staged), (own + ".old", staged)):
                came_out = places.revision_at(folder, holder)
                if came_out not in known:
                    fsio.exchange(holder, name, parent, folder)
                    raise _conflict(entry, came_out)
        finally:
            _clear(near, parent)
            os.close(staged)

    def _move(self, path: str, to: str, entry: dict[str, Any]) -> None:
        expected = entry["expected"]
        source, source_name = places.open_parent(self.root, path)
        try:
            target, target_name = places.open_parent(self.root, to, create=True)
            try:
                near = self._near(entry)
                actual = places.revision_at(source, source_name)
                if self.again:
                    _clear(near, target)
                    arrived = places.revision_at(target, target_name) == expected
                    if (
                        arrived
                        and actual == expected
                        and not _is_same(source, source_name, target, target_name, path, to)
                    ):
                        os.unlink(source_name, dir_fd=source)  # linked or copied before the kill
                    if arrived:
                        return
                if actual is None:
                    raise NotFound(what="note", name=path)
                if actual != expected:
                    raise _conflict({"path": path, "expected": expected}, actual)
                step("before-move")
                try:
                    try:
                        fsio.rename_exclusive(source_name, source, target_name, target)
                    except OSError as error:
                        if error.errno != errno.EXDEV:
                            raise
                        self._move_across(source, source_name, target, target_name, near, expected)
                except FileExistsError:
                    raise AlreadyExists(path=to) from None
                step("after-move")
            finally:
                os.close(target)
        finally:
            os.close(source)

    def _move_across(
        self, source: int, source_name: str, target: int, target_name: str, near: str, expected: str
    ) -> None:
        """As a rename, between devices: a whole copy arrives before the old file goes."""
        _copy(source_name, source, near, target)
        step("copied-near")
        if places.revision_at(target, near) != expected:
            _unlink(near, target)
            raise _conflict({"path": source_name, "expected": expected}, None)
        try:
            fsio.rename_exclusive(near, target, target_name, target)
        finally:
            _unlink(near, target)
        step("copy-arrived")
        os.unlink(source_name, dir_fd=source)

    def _prune(self, path: str) -> None:
        """Remove the folder ``path`` if nothing is in it any more."""
        try:
            parent, name = places.open_parent(self.root, path)
        except KbError:
            return
        try:
            os.rmdir(name, dir_fd=parent)
        except OSError:
            pass
        finally:
            os.close(parent)

    def _undo_write(self, entry: dict[str, Any]) -> None:
        parent, name = places.open_parent(self.root, entry["path"])
        try:
            if places.revision_at(parent, name) != entry["new"]:
                return
            if entry["kind"] == "create":
                os.unlink(name, dir_fd=parent)
                return
            try:
                fsio.exchange(self._staged(entry), name, parent)
            except OSError as error:
                if error.errno != errno.EXDEV:
                    raise
                near = self._near(entry)
                _copy(self._staged(entry), None, near, parent)
                os.rename(near, name, src_dir_fd=parent, dst_dir_fd=parent)
        finally:
            os.close(parent)


def _copy(source: str, source_folder: int | None, target: str, target_folder: int | None) -> None:
    """Copy a regular file with its mode and owner to a new name, synced; the names are relative to folder descriptors."""
    reading = os.open(source, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0), dir_fd=source_folder)
    with os.fdopen(reading, "rb", buffering=0) as old:
        status = os.fstat(reading)
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
        with os.fdopen(os.open(target, flags, 0o600, dir_fd=target_folder), "wb", buffering=0) as new:
            try:
                while piece := old.read(1 << 20):
                    view = memoryview(piece)
                    while view:
                        view = view[os.write(new.fileno(), view) :]
                keep_owner(new.fileno(), status)
                os.fchmod(new.fileno(), status.st_mode & 0o7777)
                os.utime(new.fileno(), ns=(status.st_atime_ns, status.st_mtime_ns))
                os.fsync(new.fileno())
            except BaseException:
                _unlink(target, target_folder)
                raise


def keep_owner(handle: int, status: os.stat_result) -> None:
    """Give the open file ``handle`` the owner of another file, where we may."""
    own = os.fstat(handle)
    if (own.st_uid, own.st_gid) != (status.st_uid, status.st_gid):
        try:
            os.fchown(handle, status.st_uid, status.st_gid)
        except OSError:
            pass


def _unlink(name: str, folder: int | None) -> None:
    try:
        os.unlink(name, dir_fd=folder)
    except FileNotFoundError:
        pass


def _clear(near: str, folder: int) -> None:
    """Remove what an exchange beside a file may have left."""
    _unlink(near, folder)
    _unlink(near + ".old", folder)


def _is_same(source: int, source_name: str, target: int, target_name: str, path: str, to: str) -> bool:
    """Whether two names are one directory entry (a rename of letter case on a file system that ignores it)."""
    if path.casefold() != to.casefold():
        return False
    one = os.stat(source_name, dir_fd=source, follow_symlinks=False)
    other = os.stat(target_name, dir_fd=target, follow_symlinks=False)
    return (one.st_dev, one.st_ino, one.st_nlink) == (other.st_dev, other.st_ino, 1)


def _revision_of(path: str) -> str | None:
    folder = os.open(os.path.dirname(path), os.O_RDONLY)
    try:
        return places.revision_at(folder, os.path.basename(path))
    finally:
        os.close(folder)


def _conflict(entry: dict[str, Any], actual: str | None) -> RevisionConflict:
    path = entry["path"]
    return RevisionConflict(path=path, expected=entry["expected"], actual=actual or "absent", next=f"kb show {path}")
