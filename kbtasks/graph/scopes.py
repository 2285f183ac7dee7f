"""Repository scopes: which paths of the code a note speaks of, and whether they exist now."""

from __future__ import annotations

import os
import re
import stat
from unicodedata import is_normalized

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from typing import Any

FIELD = "repository_scopes"
MAX_SCOPES = 16
MAX_SCOPE_BYTES = 1024
MAX_SCOPES_BYTES = 8 << 10
_GLOB = re.compile(r"[*?\[\]{}]")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_NOT_NORMAL = re.compile(r"(?:^|/)\.{0,2}(?:/|$)")


def scope_fault(scope: Any) -> str | None:
    """Why ``scope`` is not a canonical repository path, or None. ``.`` is the whole repository."""
    if not isinstance(scope, str):
        return "is not text"
    if not scope or scope != scope.strip():
        return "is empty or has blanks around it"
    if scope == ".":
        return None
    if len(scope.encode("utf-8", "surrogateescape")) > MAX_SCOPE_BYTES:
        return f"is longer than {MAX_SCOPE_BYTES} bytes"
    if _CONTROL.search(scope):
        return "holds control characters"
    if _GLOB.search(scope):
        return "holds a glob; a scope is one exact path"
    if "\\" in scope or scope.startswith("/") or (scope[1:2] == ":" and scope[0].isalpha()):
        return "is not a relative path with forward slashes"
    if _NOT_NORMAL.search(scope):
        return "is not normal: it has an empty, . or .. part, or a slash at its end"
    if not is_normalized("NFC", scope):
        return "is not in Unicode form NFC"
    return None


def read_scopes(value: Any) -> tuple[list[str], list[str]]:
    """The valid scopes of a ``repository_scopes`` value, in their order, and a sentence per fault; one bad entry
    hides no good one."""
    if value is None:
        return [], []
    entries = value if isinstance(value, list) else [value]
    good: list[str] = []
    faults: list[str] = []
    seen: dict[str, str] = {}
    size = 0
    for entry in entries:
        fault = scope_fault(entry)
        if fault is None:
            size += len(entry.encode())
            other = seen.setdefault(entry.casefold(), entry)
            if other != entry:
                fault = f"differs from {other} by letter case only"
            elif entry in good:
                fault = "is there twice"
            elif len(good) >= MAX_SCOPES or size > MAX_SCOPES_BYTES:
                fault = f"is past the limit of {MAX_SCOPES} scopes and {MAX_SCOPES_BYTES} bytes"
        if fault is None:
            good.append(entry)
        else:
            faults.append(f"{FIELD}: {str(entry)[:200]!r} {fault}")
    return good, faults


def ancestors(target: str) -> list[str]:
    """``target`` and every folder that holds it, nearest first, the repository (``.``) last."""
    if target == ".":
        return ["."]
    parts = target.split("/")
    return ["/".join(parts[:length]) for length in range(len(parts), 0, -1)] + ["."]


class State:
    """Whether a repository path exists now.

    state: ``present``, ``absent`` or ``invalid``. kind: ``file`` or ``directory`` when present. missing: the first
    path that is not there.
    reason: why it is invalid.
    """

    __slots__ = ("kind", "missing", "reason", "state")

    def __init__(
        self, state: str, *, kind: str | None = None, missing: str | None = None, reason: str | None = None
    ) -> None:
        self.state = state
        self.kind = kind
        self.missing = missing
        self.reason = reason

    def to_json(self) -> dict[str, Any]:
        """The state as every document shows it."""
        return {"state": self.state, "kind": self.kind, "missing": self.missing, "reason": self.reason}


def path_state(repository: str, scope: str) -> State:
    """Whether ``scope`` exists in ``repository`` now, never following a symbolic link."""
    if scope == ".":
        return State("present", kind="directory")
    parts = scope.split("/")
    here = repository
    for position, part in enumerate(parts):
        here = os.path.join(here, part)
        so_far = "/".join(parts[: position + 1])
        try:
            mode = os.lstat(here).st_mode
        except (FileNotFoundError, NotADirectoryError):
            return State("absent", missing=so_far)
        except (OSError, ValueError) as error:
            return State("invalid", reason=f"{so_far}: {getattr(error, 'strerror', None) or error}")
        if stat.S_ISLNK(mode):
            return State("invalid", reason=f"{so_far} is a symbolic link")
        if position < len(parts) - 1 and not stat.S_ISDIR(mode):
            return State("invalid", reason=f"{so_far} is not a folder")
    if stat.S_ISDIR(mode):
        return State("present", kind="directory")
    if stat.S_ISREG(mode):
        return State("present", kind="file")
    return State("invalid", reason=f"{scope} is neither a file nor a folder")
