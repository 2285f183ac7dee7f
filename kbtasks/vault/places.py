"""Paths inside the vault, opened part by part so that no symbolic link leads a write astray."""

from __future__ import annotations

import os
import stat

from kbtasks.errors import NotFound, Refused, UsageError

MAX_PATH_BYTES = 4096
MAX_NAME_BYTES = 255
_NO_FOLLOW = getattr(os, "O_NOFOLLOW", 0)
_DIRECTORY = getattr(os, "O_DIRECTORY", 0)


def check_path(path: str) -> None:
    """Refuse (UsageError) a path that could leave the vault or hide in it.

    Allowed is a relative POSIX path whose parts are not empty, ``.``, ``..`` or dot-names, hold no control character or
    backslash, do not end in a blank or a dot, and fit a file system (255 bytes a part, 4,096 in all).
    """
    parts = path.split("/")
    encoded = os.fsencode(path)
    if not path or len(encoded) > MAX_PATH_BYTES or any(len(os.fsencode(part)) > MAX_NAME_BYTES for part in parts):
        raise UsageError(message=f"the path {path[:80]!r} is empty or too long")
    for part in parts:
        if part.startswith(".") or not part or part != part.strip() or part.endswith("."):
            raise UsageError(message=f"the path {path!r} has a part that is empty, hidden or padded: {part!r}")
        if any(ord(character) < 32 or ord(character) == 127 or character == "\\" for character in part):
            raise UsageError(message=f"the path {path!r} has a control character or backslash")


def open_parent(root: str, path: str, *, create: bool = False) -> tuple[int, str]:
    """A descriptor of the folder that holds ``path`` (vault-relative), and the last part of the path.

    create: make missing folders. Raises Refused where a part is a symbolic link or a file, NotFound where it is absent.
    The caller closes the descriptor.
    """
    *folders, name = path.split("/")
    handle = os.open(root, os.O_RDONLY | _DIRECTORY)
    try:
        for number, folder in enumerate(folders):
            if create:
                try:
                    os.mkdir(folder, dir_fd=handle)
                except FileExistsError:
                    pass
            try:
                inner = os.open(folder, os.O_RDONLY | _DIRECTORY | _NO_FOLLOW, dir_fd=handle)
            except FileNotFoundError:
                raise NotFound(what="folder", name="/".join(folders[: number + 1])) from None
            except OSError as error:
                where = "/".join(folders[: number + 1])
                raise Refused(message=f"{where} cannot be entered ({error.strerror}); links are not followed") from None
            os.close(handle)
            handle = inner
    except BaseException:
        os.close(handle)
        raise
    return handle, name


def read_at(parent: int, name: str) -> bytes:
    """The bytes of the regular file ``name`` in the folder ``parent``; FileNotFoundError, Refused."""
    try:
        handle = os.open(name, os.O_RDONLY | _NO_FOLLOW | getattr(os, "O_NONBLOCK", 0), dir_fd=parent)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise Refused(message=f"{name} cannot be read: {error.strerror}") from None
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise Refused(message=f"{name} is not a regular file")
        return file.read()


def read(root: str, path: str) -> bytes:
    """The bytes of the file at ``path``; NotFound where there is none."""
    try:
        parent, name = open_parent(root, path)
    except NotFound:
        raise NotFound(what="note", name=path, next="kb list") from None
    try:
        return read_at(parent, name)
    except FileNotFoundError:
        raise NotFound(what="note", name=path, next="kb list") from None
    finally:
        os.close(parent)
