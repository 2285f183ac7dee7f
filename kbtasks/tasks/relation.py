"""``relation.add`` and ``relation.remove``: typed relations that a note owns in its front matter."""

from __future__ import annotations

from kbtasks.command import command
from kbtasks.errors import Ambiguous, NotFound, Refused
from kbtasks.tasks.note import written

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any

    from kbtasks.command import Context
    from kbtasks.index.view import View
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
    from kbtasks.graph.lookup import find_note
    from kbtasks.index.view import open_view
    from kbtasks.vault.names import without_note_suffix
    from kbtasks.vault.places import check_new_name

    name = normalized(predicate)
    with open_view(context.vault, context.cache) as view:
        path = find_note(view.connection, note, root=context.vault, cwd=context.cwd).path
        other = find_note(view.connection, target, root=context.vault, cwd=context.cwd).path
        check_new_name(other)

        def change(relations: dict[str, Any]) -> tuple[str, list[Any]]:
            targets = _items(relations.get(name))
            if any(_leads_to(view, path, each) == other for each in targets):
                return name, targets
            return name, [*targets, without_note_suffix(other)]

        return _changed("relation.add", context, path, change, expected_revision)


@command("relation.remove", schema="note-written", positional="note", help=_HELP)
def relation_remove(context: Context, note: str, predicate: str, target: str, expected_revision: str = "") -> Result:
    """Remove a relation of NOTE, however its target is spelled; the other note need not exist any more."""
    from kbtasks.graph.lookup import find_note
    from kbtasks.index.view import open_view

    with open_view(context.vault, context.cache) as view:
        path = find_note(view.connection, note, root=context.vault, cwd=context.cwd).path
        try:
            other = find_note(view.connection, target, root=context.vault, cwd=context.cwd).path
        except (NotFound, Ambiguous):
            other = None
        wanted = [target, target.removesuffix(".md"), f"{target}.md", f"[[{target}]]"]

        def change(relations: dict[str, Any]) -> tuple[str, list[Any]]:
            name = predicate if predicate in relations else normalized(predicate)
            targets = _items(relations.get(name))
            return name, [
                each
                for each in targets
                if each not in wanted and (other is None or _leads_to(view, path, each) != other)
            ]

        return _changed("relation.remove", context, path, change, expected_revision)


def normalized(predicate: str) -> str:
    """``predicate`` in lower-case kebab form; UsageError where that leaves no name."""
    import re

    from kbtasks.vault.compose import check_kebab

    return check_kebab("predicate", re.sub(r"[\s_]+", "-", predicate.strip().lower()))


def _changed(
    task: str,
    context: Context,
    path: str,
    change: Callable[[dict[str, Any]], tuple[str, list[Any]]],
    expected: str,
) -> Result:
    """Write what ``change`` makes of the relations: a predicate and its targets from now on."""
    from kbtasks.vault.fields import ABSENT
    from kbtasks.vault.writer import Writer, editable, with_fields

    with Writer(context.vault) as writer:
        old = writer.read(path, expected or None)
        relations = editable(path, old).meta.get("relations")
        if relations is not None and not isinstance(relations, dict):
            raise Refused(
                message=f"the field relations of {path} is not a mapping of predicates", next=f"kb show {path}"
            )
        name, after = change(relations or {})
        new = old
        if after != _items((relations or {}).get(name)):
            value: Any = after if after else ABSENT
            new = with_fields(path, old, {("relations", name): value})
        done = writer.replace(path, old, new)
        left = editable(path, new).meta.get("relations") or {}
    shown = {name: [each for each in _items(value) if isinstance(each, str)] for name, value in left.items()}
    return written(task, done, relations=shown)


def _items(value: Any) -> list[Any]:
    if value is None:
        return []
    return list(value) if isinstance(value, list) else [value]


def _leads_to(view: View, path: str, written: Any) -> str | None:
    """The path of the note that a target in the front matter of ``path`` means; None where it means none."""
    from kbtasks.model.note import Link, Place
    from kbtasks.vault.resolve import resolve

    if not isinstance(written, str):
        return None
    words = written.strip()
    if words.startswith("[[") and words.endswith("]]"):
        words = words[2:-2].partition("|")[0].partition("#")[0].strip()
    if not words:
        return None
    return resolve(Link("relation", words, Place(0, 0, 0), raw=words), path, view.names).target
