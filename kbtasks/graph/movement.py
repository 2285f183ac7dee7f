"""A planned move, shown and carried out."""

from __future__ import annotations

from kbtasks import fsio
from kbtasks.graph.respell import edited
from kbtasks.index.tables import bindable
from kbtasks.vault.journal import Change
from kbtasks.vault.places import read, revision_of

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from sqlite3 import Connection
    from typing import Any

    from kbtasks.graph.moving import Edit, MovePlan
    from kbtasks.vault.writer import Writer


def plan_document(plan: MovePlan) -> dict[str, Any]:
    """The plan as the document ``note-moved`` shows it."""
    moves = sorted((*plan.notes.items(), *plan.files.items()))
    edits = [
        {
            "path": edit.path,
            "line": edit.line,
            "start_byte": edit.start,
            "end_byte": edit.end,
            "old": edit.old,
            "new": edit.new,
        }
        for edit in plan.edits
    ]
    return {
        "moves": [{"from": old, "to": new} for old, new in moves],
        "edits": edits,
        "unsolved": [{"path": path, "line": line, "raw": raw} for path, line, raw in plan.unsolved],
        "total": len(edits),
        "truncated": False,
    }


def apply_move(writer: Writer, plan: MovePlan) -> None:
    """Carry out ``plan`` under the writer's lock: links first, then the moves, all or none."""
    changes = edits_as_changes(writer.root, plan.edits)
    revisions = {change.path: fsio.revision(change.data or b"") for change in changes}
    for old_path, new_path in sorted((*plan.notes.items(), *plan.files.items())):
        expected = revisions.get(old_path) or revision_of(writer.root, old_path)
        changes.append(Change("move", old_path, to=new_path, expected=expected))
    changes += [Change("prune", folder) for folder in plan.folders]
    writer.commit(changes)


def edits_as_changes(root: str, edits: list[Edit]) -> list[Change]:
    """The replaced notes that ``edits`` make, by path; Refused where a note is no longer as the index has it."""
    by_path: dict[str, list[Edit]] = {}
    for edit in edits:
        by_path.setdefault(edit.path, []).append(edit)
    changes = []
    for path, listed in sorted(by_path.items()):
        old = read(root, path)
        changes.append(Change("replace", path, data=edited(old, listed), expected=fsio.revision(old)))
    return changes


def links_to(connection: Connection, path: str) -> list[dict[str, Any]]:
    """Links from other notes that lead to the note at ``path``, by path and line: what breaks when it goes."""
    rows = connection.execute(
        "SELECT source.path, link.line, link.raw FROM link JOIN note AS source ON source.rowid = link.note"
        " WHERE link.target_note = (SELECT rowid FROM note WHERE path = CAST(? AS TEXT))"
        " AND link.note != link.target_note AND NOT link.generated ORDER BY source.path, link.line",
        (bindable(path),),
    )
    return [{"path": source, "line": line, "raw": raw} for source, line, raw in rows]
