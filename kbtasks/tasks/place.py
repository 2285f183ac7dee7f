"""Who calls and where their private records are, for the tasks about bindings."""

from __future__ import annotations

import os

from kbtasks.errors import Unavailable

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from typing import Any

    from kbtasks.binding.stored import Place
    from kbtasks.command import Context

PROJECT_HELP = "The project: a directory (default: the enclosing repository)."
STORE_HELP = "Folder of private records (default: the user's data folder)."


def place_of(context: Context, store: str) -> Place:
    """The caller's user id, home, PATH and store. ``store``: the value of ``--store``, empty for the data folder."""
    from kbtasks.binding.stored import Place

    if not hasattr(os, "getuid"):
        raise Unavailable(message="bindings need a POSIX system: they rest on its owners, modes and processes")
    return Place(
        uid=os.getuid(),
        home=os.path.realpath(context.environ.get("HOME") or os.path.expanduser("~")),
        search_path=context.environ.get("PATH", ""),
        store=context.path(store) if store else context.data_home,
    )


def project_of(context: Context, place: Place, flag: str, *, bound: bool = True) -> str:
    """The project of this call (see kbtasks.binding.project). bound: outside a repository, a bound folder upward counts."""
    from kbtasks.binding import project

    def is_bound(folder: str) -> bool:
        with place.registry() as registry:
            return bool(registry.rows("SELECT 1 FROM binding WHERE project = ?", (folder,)))

    return project.project_of(
        flag, context.cwd, home=place.home, store=place.store, is_bound=is_bound if bound else None
    )


def binding_document(binding: dict[str, Any]) -> dict[str, Any]:
    """A stored binding as documents show it."""
    return {name: binding[name] for name in ("project", "revision", "bound_at", "changed_at", "pin")}


def short(value: str | None) -> str:
    """A hash or other value of a fact, cut for a table."""
    text = value or "-"
    head, _, tail = text.partition(" ")
    if len(head) == 64 and all(letter in "0123456789abcdef" for letter in head):
        return head[:12] + (" " + tail if tail else "")
    return text if len(text) <= 60 else text[:57] + "..."
