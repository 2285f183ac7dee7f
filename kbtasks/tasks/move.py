"""``note.move`` and ``note.delete``: notes leave their place only with the links that lead to them in view."""

from __future__ import annotations

from kbtasks.command import command
from kbtasks.errors import NotFound, Refused
from kbtasks.model.result import Result
from kbtasks.tasks.note import path_of

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from typing import Any

    from kbtasks.command import Context


@command(
    "note.move",
    schema="note-moved",
    positional="note",
    help={
        "note": "The note (ID, path, title, alias) or the folder to move.",
        "to": "Its new ID, or the folder's new path.",
        "dry_run": "Only show the exact edits.",
        "expected_revision": "Move only if the note still has this revision (sha256:...).",
        "force": "Move although some link cannot follow (each is listed).",
    },
)
def note_move(
    context: Context, note: str, to: str, dry_run: bool = False, expected_revision: str = "", force: bool = False
) -> Result:
    """Move or rename a note or folder, and rewrite every link that led to it, in the form it was written: all or nothing."""
    from kbtasks.graph.movement import apply_move, plan_document
    from kbtasks.graph.moving import plan_move
    from kbtasks.index.view import open_view
    from kbtasks.vault.writer import Writer

    source = _path_or_folder(context, note)
    if dry_run:
        with open_view(context.vault, context.cache) as view:
            plan = plan_move(view.connection, context.vault, source, to)
        return Result("note-moved", {"dry_run": True, **plan_document(plan)}, text=_moved, tail="edits")
    with Writer(context.vault) as writer:
        if expected_revision:
            writer.read(source, expected_revision)
        with open_view(context.vault, context.cache) as view:
            plan = plan_move(view.connection, context.vault, source, to)
        if plan.unsolved and not force:
            from shlex import quote

            path, line, raw = plan.unsolved[0]
            raise Refused(
                message=f"{len(plan.unsolved)} links could not follow, the first in {path}:{line}: {raw}; nothing was changed",
                next=f"kb note.move {quote(note)} --to {quote(to)} --dry-run, or --force",
            )
        apply_move(writer, plan)
    return Result("note-moved", {"dry_run": False, **plan_document(plan)}, text=_moved, tail="edits")


@command(
    "note.delete",
    schema="note-deleted",
    positional="note",
    help={
        "note": "The note: ID, path, title or alias.",
        "linked": "Delete it although other notes link to it.",
        "expected_revision": "Delete only if the note still has this revision (sha256:...).",
    },
)
def note_delete(context: Context, note: str, linked: bool = False, expected_revision: str = "") -> Result:
    """Move a note to .trash/ in the vault; refused while other notes link to it, unless --linked says so."""
    from kbtasks.graph.movement import links_to
    from kbtasks.index.view import open_view
    from kbtasks.vault.writer import Writer

    path = path_of(context, note)
    with Writer(context.vault) as writer:
        with open_view(context.vault, context.cache) as view:
            links = links_to(view.connection, path)
        if links and not linked:
            from shlex import quote

            raise Refused(
                message=f"{path} is linked from {len(links)} places, the first {links[0]['path']}:{links[0]['line']}",
                next=f"kb backlinks {quote(path[:-3])}, or kb note.delete {quote(path[:-3])} --linked",
            )
        trashed = writer.trash(path, expected_revision or None)
    data = {
        "id": path[:-3],
        "path": path,
        "trashed": trashed,
        "broken_links": links,
        "total": len(links),
        "truncated": False,
    }
    return Result("note-deleted", data, text=_deleted, tail="broken_links")


def _path_or_folder(context: Context, name: str) -> str:
    import os

    folder = name.rstrip("/")
    try:
        return path_of(context, name)
    except NotFound:
        if folder and os.path.isdir(os.path.join(context.vault, folder)) and not folder.startswith(("/", ".")):
            return folder
        raise


def _moved(data: dict[str, Any]) -> str:
    head = "would move" if data["dry_run"] else "moved"
    lines = [f"{head} {each['from']} -> {each['to']}" for each in data["moves"]]
    lines += [f"  {edit['path']}:{edit['line']}  {edit['old']} -> {edit['new']}" for edit in data["edits"]]
    lines += [f"  cannot follow: {each['path']}:{each['line']}  {each['raw']}" for each in data["unsolved"]]
    return "\n".join(lines)


def _deleted(data: dict[str, Any]) -> str:
    lines = [f"{data['path']} -> {data['trashed']}"]
    lines += [f"  now broken: {each['path']}:{each['line']}" for each in data["broken_links"]]
    return "\n".join(lines)
