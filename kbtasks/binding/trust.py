"""Rules a vault and a program must keep to be bound: each is named when it fails, with the command that mends it."""

from __future__ import annotations

import os
import stat

from kbtasks.errors import Untrusted

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from collections.abc import Iterator

MAX_PROGRAM_BYTES = 512 << 20


def quote(path: str) -> str:
    """``path`` as a word for a shell."""
    from shlex import quote

    return quote(path)


def vault_breach(found: os.stat_result, path: str, uid: int) -> tuple[str, str | None] | None:
    """The first rule that the folder ``path`` breaks as a vault, with the command that mends it; None where none.

    found: its lstat. uid: the caller's real user id (root is not special).
    """
    if stat.S_ISLNK(found.st_mode):
        return "it is a symbolic link", f"name the folder itself: {os.path.realpath(path)}"
    if not stat.S_ISDIR(found.st_mode):
        return "it is not a folder", None
    if found.st_uid != uid:
        return f"it belongs to user {found.st_uid}, not to you ({uid})", f"chown {uid} {quote(path)}"
    if found.st_mode & 0o022:
        return f"group or others can write it (mode {found.st_mode & 0o7777:04o})", f"chmod go-w {quote(path)}"
    return None


def program_breach(found: os.stat_result, path: str, uid: int) -> tuple[str, str | None] | None:
    """The first rule that the file ``path`` breaks as a program or interpreter; None where none.

    found: its fstat, taken from the descriptor that is read. uid: the caller's real user id.
    """
    if not stat.S_ISREG(found.st_mode):
        return "it is not a regular file", None
    if found.st_uid not in (uid, 0):
        return f"it belongs to user {found.st_uid}, neither to you ({uid}) nor to root", f"chown {uid} {quote(path)}"
    if found.st_mode & (stat.S_ISUID | stat.S_ISGID | stat.S_ISVTX):
        return f"it has special bits (mode {found.st_mode & 0o7777:04o})", f"chmod u-s,g-s,-t {quote(path)}"
    if found.st_mode & 0o022:
        return f"group or others can write it (mode {found.st_mode & 0o7777:04o})", f"chmod go-w {quote(path)}"
    if not found.st_mode & 0o111:
        return "it is not executable", f"chmod +x {quote(path)}"
    if not 1 <= found.st_size <= MAX_PROGRAM_BYTES:
        return f"its size is {found.st_size} bytes (1 to {MAX_PROGRAM_BYTES} are accepted)", None
    return None


def open_regular(path: str) -> int:
    """A read descriptor of ``path``, no final symlink followed, never blocking on a pipe, closed at exec."""
    return os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)


def others_can_write(found: os.stat_result, uid: int) -> bool:
    """Whether users other than ``uid`` can put something else into the folder: writable, and without the sticky bit.

    Write rights of a group that is named like the user and has no other member (a "user private group") are nobody
    else's.
    """
    if not found.st_mode & 0o022 or found.st_mode & stat.S_ISVTX:
        return False
    if found.st_mode & 0o002:
        return True
    import grp
    import pwd

    try:
        user, group = pwd.getpwuid(uid), grp.getgrgid(found.st_gid)
    except KeyError:
        return True
    return group.gr_name != user.pw_name or any(member != user.pw_name for member in group.gr_mem)


def weak_parents(path: str, uid: int) -> Iterator[tuple[str, str, str]]:
    """Folders above ``path`` where others could put something in its place: (folder, why, command that mends it)."""
    folder = os.path.dirname(path)
    while True:
        found = os.lstat(folder)
        if found.st_uid not in (uid, 0):
            yield folder, f"it belongs to user {found.st_uid}", f"chown {uid} {quote(folder)}"
        elif others_can_write(found, uid):
            why = f"others can write it (mode {found.st_mode & 0o7777:04o})"
            yield folder, why, f"chmod go-w {quote(folder)}"
        parent = os.path.dirname(folder)
        if parent == folder:
            return
        folder = parent


def inside(path: str, folder: str) -> bool:
    """Whether ``path`` is ``folder`` or lies in it; both absolute and real."""
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def require_vault(path: str, uid: int) -> os.stat_result:
    """The lstat of the vault ``path``; Untrusted names the first rule it breaks."""
    found = os.lstat(path)
    breach = vault_breach(found, path, uid)
    if breach is not None:
        raise Untrusted(path=path, what="a vault", rule=breach[0], next=breach[1])
    return found


def require_program(found: os.stat_result, path: str, uid: int, what: str) -> None:
    """Untrusted unless the file keeps every rule of a program."""
    breach = program_breach(found, path, uid)
    if breach is not None:
        raise Untrusted(path=path, what=what, rule=breach[0], next=breach[1])
