"""Paths inside the vault, opened part by part so that no symbolic link leads a write astray."""

from __future__ import annotations

import os
import re
import stat

from kbtasks.errors import NotFound, Refused, UsageError
from kbtasks.vault.names import fold, without_note_suffix

MAX_NOTE_BYTES = 16 << 20
MAX_PATH_BYTES = 4096
MAX_NAME_BYTES = 255
#: Characters that end or split a wikilink: no link could ever name a note with them.
_UNLINKABLE = re.compile(r"[#^|]|\[\[|\]\]")
_INSIDE = "name a path inside the vault, such as notes/fog"
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
        raise UsageError(message=f"the path {path[:80]!r} is empty or too long", next=_INSIDE)
    for part in parts:
        if part.startswith(".") or not part or part != part.strip() or part.endswith("."):
            raise UsageError(
                message=f"the path {path!r} has a part that is empty, hidden or padded: {part!r}", next=_INSIDE
            )
        if any(ord(character) < 32 or ord(character) == 127 or character == "\\" for character in part):
            raise UsageError(message=f"the path {path!r} has a control character or backslash", next=_INSIDE)


def check_new_name(path: str) -> None:
    """Refuse (UsageError) a path that no wikilink could name (``#``, ``^``, ``|``, ``[[``, ``]]``, not UTF-8), or that
    leaves the vault."""
    check_path(path)
    if _UNLINKABLE.search(path):
        plain = " ".join(_UNLINKABLE.sub(" ", path).split())
        raise UsageError(
            message=f"no link can lead to {path!r}: a note's name holds none of # ^ | [[ ]]", next=f"perhaps {plain}"
        )
    stem = without_note_suffix(path)
    base = stem[stem.rfind("/") + 1 :]
    if base.startswith("[") or stem.startswith("[") or stem.endswith("]"):
        raise UsageError(
            message=f"no link can lead to {path!r}: a name that begins or ends in a bracket runs into those of the link",
            next=f"perhaps {path.replace('[', '(').replace(']', ')')}",
        )
    if stem != stem.rstrip():
        raise UsageError(
            message=f"no link can lead to {path!r}: the name ends in a blank", next=f"perhaps {stem.rstrip()}"
        )
    try:
        path.encode("utf-8")
    except UnicodeEncodeError:
        raise UsageError(
            message=f"no link can lead to {path!r}: the name is not UTF-8", next="choose a name in UTF-8"
        ) from None


def other_spelling(root: str, path: str) -> str | None:
    """The file or folder on the way to ``path`` that is there under another letter case or Unicode form, if there is one.

    On a file system that tells the two apart both could exist, but not on the next machine. Each folder on the way is
    listed at most once.
    """
    folder = root
    parts = path.split("/")
    for number, part in enumerate(parts):
        if not os.path.lexists(os.path.join(folder, part)):
            key = fold(part)
            try:
                same = sorted(name for name in os.listdir(folder) if fold(name) == key)
            except OSError:
                return None
            return "/".join([*parts[:number], same[0]]) if same else None
        folder = os.path.join(folder, part)
    return None


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


def open_at(parent: int, name: str) -> int:
    """A descriptor of the regular file ``name`` in the folder ``parent``, for reading; FileNotFoundError, Refused."""
    try:
        handle = os.open(name, os.O_RDONLY | _NO_FOLLOW | getattr(os, "O_NONBLOCK", 0), dir_fd=parent)
    except FileNotFoundError:
        raise
    except OSError as error:
        raise Refused(message=f"{name} cannot be read: {error.strerror}; links are not followed") from None
    if not stat.S_ISREG(os.fstat(handle).st_mode):
        os.close(handle)
        raise Refused(message=f"{name} is not a regular file")
    return handle


def revision_at(parent: int, name: str) -> str | None:
    """The revision of the regular file ``name``, read piece by piece; None where there is none. Raises Refused."""
    from hashlib import sha256

    try:
        handle = open_at(parent, name)
    except FileNotFoundError:
        return None
    digest = sha256()
    with os.fdopen(handle, "rb", buffering=0) as file:
        while piece := file.read(1 << 20):
            digest.update(piece)
    return "sha256:" + digest.hexdigest()


def revision_of(root: str, path: str) -> str:
    """The revision of the file at ``path``, however large; NotFound where there is none."""
    parent, name = open_parent(root, path)
    try:
        revision = revision_at(parent, name)
    finally:
        os.close(parent)
    if revision is None:
        raise NotFound(what="file", name=path)
    return revision


def read(root: str, path: str, *, limit: int = MAX_NOTE_BYTES) -> bytes:
    """The bytes of the file at ``path``; NotFound where there is none, Refused past ``limit`` bytes."""
    try:
        parent, name = open_parent(root, path)
    except NotFound:
        raise NotFound(what="note", name=path, next="kb list") from None
    try:
        with os.fdopen(open_at(parent, name), "rb") as file:
            data = file.read(limit + 1)
    except FileNotFoundError:
        raise NotFound(what="note", name=path, next="kb list") from None
    finally:
        os.close(parent)
    if len(data) > limit:
        raise Refused(message=f"{path} is larger than {limit} bytes; it can be moved, but not edited")
    return data
