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
        if not _is_utf8(folder):
            return False
        with place.registry() as registry:
            return bool(registry.rows("SELECT 1 FROM binding WHERE project = ?", (folder,)))

    return project.project_of(
        flag, context.cwd, home=place.home, store=place.store, is_bound=is_bound if bound else None
    )


def _is_utf8(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def speaking_of(line: str | None, project: str, store: str) -> str | None:
    """The command to type next, with the ``--project`` and ``--store`` of this call, so that it speaks of the same binding.

    Lines that end in no command about bindings are returned as they are.
    """
    from kbtasks.binding.trust import quote

    if line is None or not any(word in line for word in ("kb bind", "kb promote", "kb task.")):
        return line
    for flag, value in (("--project", project), ("--store", store)):
        if value and f"{flag} " not in line:
            line += f" {flag} {quote(value)}"
    return line


def binding_document(binding: dict[str, Any]) -> dict[str, Any]:
    """A stored binding as documents show it."""
    return {name: binding[name] for name in ("project", "revision", "bound_at", "changed_at", "pin")}


def short(value: str | None) -> str:
    """A hash or other value of a fact, cut for a table."""
    from kbtasks.agent.frame import shown_path

    text = shown_path(value or "-")
    head, _, tail = text.partition(" ")
    if len(head) == 64 and all(letter in "0123456789abcdef" for letter in head):
        return head[:12] + (" " + tail if tail else "")
    return text if len(text) <= 60 else text[:57] + "..."
