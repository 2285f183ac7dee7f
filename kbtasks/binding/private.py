"""The private store of bindings and receipts: 0700 folders, 0600 files, ours alone."""

from __future__ import annotations

import os
import stat

from kbtasks.binding.trust import others_can_write, quote
from kbtasks.errors import PrivateState
from kbtasks.fsio import make_private_directory

PROMOTIONS = "promotions"
PYCACHE = "pycache"
#: So many hex digits of a manifest's hash name the folder of its compiled files.
PYCACHE_KEY = 16
INDEXES = "index"


def private_index(store: str, vault: str) -> str:
    """The folder in ``store`` where the search program of this package keeps its own index of ``vault``."""
    from kbtasks.binding.hashing import new_sha256

    digest = new_sha256()
    digest.update(os.fsencode(vault))
    return os.path.join(store, INDEXES, digest.hexdigest()[:32])


def private_folder(path: str, uid: int) -> str:
    """Make ``path`` where it is missing, and refuse it unless only ``uid`` can enter it or swap a folder above it.

    path: absolute. Raises PrivateState, with the command that helps.
    """
    try:
        make_private_directory(path)
    except OSError as error:
        raise PrivateState(path=path, rule=f"it cannot be made ({error.strerror})") from None
    try:
        _check_parents(path, uid)
        found = os.lstat(path)
    except OSError as error:
        raise PrivateState(path=path, rule=f"it cannot be reached ({error.strerror})") from None
    if not stat.S_ISDIR(found.st_mode):
        raise PrivateState(path=path, rule="it is not a folder (a symbolic link is not followed)")
    if found.st_uid != uid:
        raise PrivateState(path=path, rule=f"it belongs to user {found.st_uid}, not to {uid}")
    if found.st_mode & 0o100 == 0:
        raise PrivateState(
            path=path,
            rule=f"you cannot enter it yourself (mode {found.st_mode & 0o7777:04o})",
            next=f"chmod 700 {quote(path)}",
        )
    if found.st_mode & 0o077:
        raise PrivateState(
            path=path,
            rule=f"others can enter it (mode {found.st_mode & 0o7777:04o})",
            next=f"chmod 700 {quote(path)}",
        )
    return path


def _check_parents(path: str, uid: int) -> None:
    """Refuse a chain in which somebody else could put another folder or link in place of ours.

    A symbolic link on the way is followed when it is ours or root's and its own target's chain holds as well.
    """
    folder = os.path.dirname(path)
    real = os.path.realpath(folder)
    if real != folder:
        _check_parents(os.path.join(real, os.path.basename(path)), uid)
    while True:
        found = os.lstat(folder)
        if found.st_uid not in (uid, 0):
            raise PrivateState(path=path, rule=f"{folder} above it belongs to user {found.st_uid}")
        if stat.S_ISDIR(found.st_mode) and others_can_write(found, uid):
            raise PrivateState(
                path=path, rule=f"others can write {folder} above it", next=f"chmod go-w {quote(folder)}"
            )
        parent = os.path.dirname(folder)
        if parent == folder:
            return
        folder = parent


def check_private_file(path: str, uid: int) -> None:
    """Refuse an existing ``path`` that is not a regular file of ``uid`` with one name and mode 0600."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return
    except OSError as error:
        raise PrivateState(path=path, rule=f"it cannot be reached ({error.strerror})") from None
    if not stat.S_ISREG(found.st_mode):
        raise PrivateState(path=path, rule="it is not a regular file")
    if found.st_uid != uid:
        raise PrivateState(path=path, rule=f"it belongs to user {found.st_uid}, not to {uid}")
    if found.st_nlink != 1:
        raise PrivateState(path=path, rule=f"it has {found.st_nlink} names (hard links)")
    if found.st_mode & 0o400 == 0:
        raise PrivateState(
            path=path,
            rule=f"you cannot read it yourself (mode {found.st_mode & 0o7777:04o})",
            next=f"chmod 600 {quote(path)}",
        )
    if found.st_mode & 0o077:
        raise PrivateState(
            path=path,
            rule=f"others can read or write it (mode {found.st_mode & 0o7777:04o})",
            next=f"chmod 600 {quote(path)}",
        )
