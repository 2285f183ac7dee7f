"""Which project a call speaks of: a canonical directory, never one that is everybody's."""

from __future__ import annotations

import os

from kbtasks.binding.trust import inside
from kbtasks.config import find_repository
from kbtasks.errors import NotFound, UsageError

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from collections.abc import Callable

MAX_PATH_BYTES = 4096
_SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib64", "/etc", "/dev", "/proc", "/sys", "/boot", "/System")
_EXACT = ("/", "/tmp", "/var", "/opt", "/home", "/root", "/Users", "/Applications", "/Library", "/Volumes")  # noqa: S108


def canonical_project(named: str, *, home: str, store: str) -> str:
    """The real directory of the project ``named`` (absolute).

    Raises NotFound, and UsageError for a place that is no project: the root, a system tree, the home folder or what holds
    it, a hidden folder of home, the store itself, a path that is not UTF-8, over 4,096 bytes or with control characters.
    """
    path = os.path.realpath(named)
    if not os.path.isdir(path):
        raise NotFound(what="folder (--project)", name=named, next="name an existing folder")
    why = _not_a_project(path, os.path.realpath(home), os.path.realpath(store))
    if why is not None:
        raise UsageError(message=f"{path!r} cannot be a project: {why}", next="name it with --project DIR")
    return path


def _not_a_project(path: str, home: str, store: str) -> str | None:
    try:
        if len(path.encode("utf-8")) > MAX_PATH_BYTES:
            return f"its path is longer than {MAX_PATH_BYTES} bytes"
    except UnicodeEncodeError:
        return "its path is not UTF-8"
    if any(ord(letter) < 32 or 127 <= ord(letter) < 160 for letter in path):
        return "its path holds a control character"
    if path in _EXACT or any(inside(path, tree) for tree in _SYSTEM):
        return "it belongs to the system"
    if inside(home, path):
        return "it is the home folder or holds it"
    if inside(path, home):
        top = path[len(home.rstrip("/")) + 1 :].split("/", 1)[0]
        if top.startswith(".") or top == "Library":
            return f"it lies in {top} of the home folder"
    if inside(path, store) or inside(store, path):
        return "it is the store of bindings, or one holds the other"
    return None


def project_of(flag: str, cwd: str, *, home: str, store: str, is_bound: Callable[[str], bool] | None = None) -> str:
    """The project of a call: ``flag`` (relative to ``cwd``), else the repository around ``cwd``.

    A folder that is gone counts as long as it is bound. Outside a repository it is the nearest bound folder at or above
    ``cwd``, where ``is_bound`` is given. UsageError otherwise: a project is never guessed.
    """
    if flag:
        gone = os.path.realpath(os.path.join(cwd, flag))
        if is_bound is not None and not os.path.lexists(gone) and is_bound(gone):
            return gone  # a deleted project's binding can still be looked at and removed
        return canonical_project(os.path.join(cwd, flag), home=home, store=store)
    repository = find_repository(cwd)
    if repository is not None:
        return canonical_project(repository, home=home, store=store)
    folder = os.path.realpath(cwd)
    while is_bound is not None and not is_bound(folder):
        parent = os.path.dirname(folder)
        if parent == folder:
            break
        folder = parent
    if is_bound is not None and is_bound(folder):
        return folder
    raise UsageError(message="there is no repository around this folder", next="name the project with --project DIR")
