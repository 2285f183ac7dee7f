"""A stored binding, and who asks for it: the little that every bound call needs."""

from __future__ import annotations

from kbtasks.binding.registry import Registry
from kbtasks.errors import NotBound

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from typing import Any


class Place:
    """Who is calling and where their things are: real user id, home folder, PATH, store of bindings.

    home, store: absolute. search_path: used only while binding.
    """

    __slots__ = ("home", "search_path", "store", "uid")

    def __init__(self, *, uid: int, home: str, search_path: str, store: str) -> None:
        self.uid = uid
        self.home = home
        self.search_path = search_path
        self.store = store

    def registry(self, *, must_write: bool = False) -> Registry:
        """The open registry; see Registry."""
        return Registry(self.store, uid=self.uid, must_write=must_write)


def now_text() -> str:
    """The time now, RFC 3339 UTC, to the second."""
    return time_text(None)


def time_text(seconds: float | None) -> str:
    """A time in seconds since 1970 (None: now), RFC 3339 UTC; what cannot be said in four digits of a year is 1970."""
    from time import gmtime, strftime

    try:
        text = strftime("%Y-%m-%dT%H:%M:%SZ", gmtime(seconds))
    except (ValueError, OverflowError, OSError):
        return "1970-01-01T00:00:00Z"
    return text if len(text) == 20 else "1970-01-01T00:00:00Z"


def require_binding(registry: Registry, project: str) -> dict[str, Any]:
    """The binding of ``project``; NotBound where there is none."""
    binding = registry.binding(project)
    if binding is None:
        raise NotBound(project=project, next="kb bind --vault DIR")
    return binding


def overridden_rules(pin: dict[str, Any]) -> frozenset[str]:
    """The rules that were set aside, with a reason, when the pin was made."""
    return frozenset((pin.get("override") or {}).get("rules", ()))
