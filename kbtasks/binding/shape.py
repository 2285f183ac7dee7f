"""The shape of what the private database keeps: a row that does not fit is damaged, and is called so before it is used."""

from __future__ import annotations

import os

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from typing import Any

_HEX = frozenset("0123456789abcdef")


def fits(value: Any, shape: Any) -> bool:
    """Whether ``value`` (from JSON) has ``shape``.

    shape: a type (bool is no int), None, a predicate, a tuple of alternatives, ``[shape]`` for a list of such, or an
    object of named shapes that must all be there. Its depth bounds the work, not the value's.
    """
    if isinstance(shape, type):
        return type(value) is shape
    if shape is None:
        return value is None
    if isinstance(shape, tuple):
        return any(fits(value, one) for one in shape)
    if isinstance(shape, list):
        return isinstance(value, list) and all(fits(item, shape[0]) for item in value)
    if isinstance(shape, dict):
        return isinstance(value, dict) and all(name in value and fits(value[name], shape[name]) for name in shape)
    return bool(shape(value))


def is_path(value: Any) -> bool:
    """Whether it is an absolute path in UTF-8 that a file system can be asked about."""
    if not isinstance(value, str) or not os.path.isabs(value) or "\0" in value:
        return False
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def is_hash(value: Any) -> bool:
    """Whether it is a SHA-256 in lowercase hex."""
    return isinstance(value, str) and len(value) == 64 and _HEX.issuperset(value)


def _is_mode(value: Any) -> bool:
    return isinstance(value, str) and len(value) == 4 and set(value) <= set("01234567")


def _is_number(value: Any) -> bool:
    return type(value) is int and 0 < value < 1 << 63


_PINNED_FILE = {"path": is_path, "sha256": is_hash}

BINDING = {
    "project": str,
    "revision": _is_number,
    "bound_at": str,
    "changed_at": str,
    "pin": {
        "vault": {
            "path": is_path,
            "owner": int,
            "mode": _is_mode,
            "device": int,
            "inode": int,
            "filesystem": (str, None),
            "generation": (int, None),
        },
        "program": {"named": is_path, **_PINNED_FILE},
        "interpreters": [{"written": is_path, "arguments": [str], **_PINNED_FILE}],
        "environment": (_PINNED_FILE, None),
        "packages": ({"roots": [is_path], "sha256": is_hash, "files": int}, None),
        "start": lambda value: value in ("descriptor", "path"),
        "boot": bool,
        "asked": {"trees": [is_path], "start": str},
        "warnings": [{"rule": str, "message": str}],
        "override": ({"rules": [str], "reason": str}, None),
    },
}

_STATUSES = ("prepared", "confirmed", "refused", "uncertain", "not_started")

RECEIPT = {
    "request": is_hash,
    "note": str,
    "path": str,
    "project": str,
    "vault": is_path,
    "task": str,
    "session": (str, None),
    "title": str,
    "tags": [str],
    "status": str,
    "reason": (str, None),
    "process": ({"pid": _is_number, "start": str, "boot": str}, None),
    "ended": bool,
    "before": str,
    "revision": (str, None),
    "recovered": bool,
    "attempts": int,
    "created_at": str,
    "updated_at": str,
}


def is_binding(value: Any) -> bool:
    """Whether it is a whole binding whose parts go together."""
    if not fits(value, BINDING):
        return False
    pin = value["pin"]
    # what is read from beside an interpreter, and boot code for one, need the interpreter
    if not pin["interpreters"] and (pin["environment"] is not None or pin["boot"]):
        return False
    return not pin["boot"] or pin["packages"] is not None


def is_receipt(value: Any, request: str) -> bool:
    """Whether it is the whole receipt of ``request``, naming the one file that it may speak of."""
    return (
        fits(value, RECEIPT)
        and value["request"] == request
        and value["note"] == f"promoted-{request}"
        and value["path"] == f"promoted-{request}.md"
        and value["status"] in _STATUSES
    )
