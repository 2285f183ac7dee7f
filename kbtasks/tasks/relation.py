"""``relation.add`` and ``relation.remove``: typed relations that a note owns in its front matter."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kbtasks.command import command
from kbtasks.errors import Refused
from kbtasks.tasks.note import path_of, written

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from kbtasks.command import Context
    from kbtasks.model.result import Result

_HELP = {
    "note": "The note that owns the relation: ID, path, title or alias.",
    "predicate": "What it says of the other, lower-case words joined by hyphens (supersedes, contradicts ...).",
    "target": "The other note.",
    "expected_revision": "Write only if the note still has this revision (sha256:...).",
}


@command("relation.add", schema="note-written", positional="note", help=_HELP)
def relation_add(context: Context, note: str, predicate: str, target: str, expected_revision: str = "") -> Result:
    """Add a relation from NOTE to another note that exists; adding it again is no change, racing writers all land."""
    other = path_of(context, target)[:-3]
    name = normalized(predicate)

    def change(targets: list[str]) -> list[str]:
        return targets if other in targets else [*targets, other]

    return _changed("relation.add", context, path_of(context, note), name, change, expected_revision)


@command("relation.remove", schema="note-written", positional="note", help=_HELP)
def relation_remove(context: Context, note: str, predicate: str, target: str, expected_revision: str = "") -> Result:
    """Remove a relation of NOTE, as it is written; the other note need not exist."""
    wanted = {target, target.removesuffix(".md"), target + ".md"}

    def change(targets: list[str]) -> list[str]:
        return [each for each in targets if each not in wanted]

    return _changed("relation.remove", context, path_of(context, note), predicate, change, expected_revision)


def normalized(predicate: str) -> str:
    """``predicate`` in lower-case kebab form; UsageError where that leaves no name."""
    import re

    from kbtasks.vault.compose import check_kebab

    return check_kebab("predicate", re.sub(r"[\s_]+", "-", predicate.strip().lower()))


def _changed(
    task: str, context: Context, path: str, predicate: str, change: Callable[[list[str]], list[str]], expected: str
) -> Result:
    from kbtasks.vault.fields import ABSENT
    from kbtasks.vault.writer import Writer, editable, with_fields

    with Writer(context.vault) as writer:
        old = writer.read(path, expected or None)
        relations = editable(path, old).meta.get("relations")
        if relations is not None and not isinstance(relations, dict):
            raise Refused(
                message=f"the field relations of {path} is not a mapping of predicates", next=f"kb show {path}"
            )
        before = _listed((relations or {}).get(predicate))
        after = change(before)
        new = old
        if after != before:
            value: Any = after if after else ABSENT
            new = with_fields(path, old, {("relations", predicate): value})
        done = writer.replace(path, old, new)
        left = editable(path, new).meta.get("relations") or {}
    return written(task, done, relations={name: _listed(value) for name, value in left.items()})


def _listed(value: Any) -> list[str]:
    if value is None:
        return []
    return [str(each) for each in value] if isinstance(value, list) else [str(value)]
