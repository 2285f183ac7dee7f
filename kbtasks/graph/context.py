"""What is known about a code path: the guides that bind it, its hubs, and the notes behind it."""

from __future__ import annotations

import os

from kbtasks.errors import UsageError
from kbtasks.graph.guides import HUB_TYPE, hub_id, inherited_guides
from kbtasks.graph.nodes import COLUMNS, Node, node_at
from kbtasks.graph.records import GROUPS, field, find_records
from kbtasks.graph.scopes import State, ancestors, path_state, scope_fault

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from sqlite3 import Connection
    from typing import Any

    from kbtasks.graph.guides import Guide

#: What a reader must know before using the two halves of the answer together.
RULE = "Where a note and a guide disagree, the guide wins and the note needs repair."


def repository_path(repository: str, value: str, cwd: str) -> str:
    """``value`` as a path in the repository (``.`` for its top): relative to ``cwd``, or to the top where only that exists.

    Raises UsageError for a path outside the repository or one that is not normal.
    """
    candidates = []
    for base in (cwd, repository):
        path = os.path.relpath(os.path.normpath(os.path.join(base, value)), repository).replace(os.sep, "/")
        if path != ".." and not path.startswith("../"):
            candidates.append(path)
    if not candidates:
        raise UsageError(message=f"{value} is outside the repository {repository}")
    there = [path for path in candidates if os.path.lexists(os.path.join(repository, path))]
    path = (there or candidates)[0]
    fault = scope_fault(path)
    if fault:
        raise UsageError(message=f"{value!r} {fault}")
    return path


def find_context(
    connection: Connection, repository: str, target: str, *, kind: str = "auto", limit: int = 10
) -> tuple[dict[str, Any], bool]:
    """All that is known about ``target`` (a repository path), and whether something in it needs repair.

    kind: ``auto``, ``file`` or ``directory``: how a path that does not exist is read. limit: records per group, 1 to
    100.
    """
    state = path_state(repository, target)
    folder = _folder_of(target, state, kind)
    guides = inherited_guides(repository, folder)
    hubs, issues = find_hubs(connection, guides, folder)
    records = find_records(connection, repository, target, state)
    matched = sum(len(group) for group in records.groups.values())
    groups = {
        name: {
            "total": len(records.groups[name]),
            "truncated": len(records.groups[name]) > limit,
            "records": [record.to_json() for record in records.groups[name][:limit]],
        }
        for name in GROUPS
    }
    issues += [{"path": guide.path, "message": f"the guide {guide.fault}"} for guide in guides if guide.fault]
    data = {
        "repository": repository,
        "target": {"path": target, "folder": folder, **state.to_json()},
        "rule": RULE,
        "guides": [guide.to_json() for guide in guides],
        "hubs": hubs,
        "groups": groups,
        "total": matched,
        "truncated": any(group["truncated"] for group in groups.values()),
        "other_types": records.other,
        "invalid": records.invalid,
        "advisories": records.advisories,
        "issues": issues,
    }
    return data, bool(issues or records.invalid)


def _folder_of(target: str, state: State, kind: str) -> str:
    """The folder whose guides bind ``target``: itself when it is one, else the one that holds it."""
    is_folder = state.kind == "directory" if state.kind else kind == "directory"
    if kind == "auto" and state.kind is None:
        is_folder = "." not in target.rpartition("/")[2]
    return target if is_folder or target == "." else target.rpartition("/")[0] or "."


def find_hubs(
    connection: Connection, guides: list[Guide], folder: str
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The context hubs of ``folder`` and of the folders above it, nearest first, and what is wrong between them and
    the guides."""
    import json

    hubs: list[dict[str, Any]] = []
    issues: list[dict[str, Any]] = []
    if not any(guide.context for guide in guides) and not _has_hubs(connection):
        return hubs, issues
    by_scope = {guide.scope: guide for guide in guides if guide.context} | {}
    for scope in ancestors(folder):
        guide = by_scope.get(scope)
        node = node_at(connection, hub_id(scope) + ".md")
        if guide is not None and guide.context != hub_id(scope):
            issues.append(
                {
                    "path": guide.path,
                    "message": f"its marker names {guide.context}, but the hub of {scope} is {hub_id(scope)}",
                }
            )
        if node is None:
            if guide is not None and guide.context == hub_id(scope):
                issues.append(
                    {"path": guide.path, "message": f"it points to the hub {guide.context}, which does not exist"}
                )
            continue
        row = connection.execute("SELECT summary, meta FROM note WHERE rowid = ?", (node.rowid,)).fetchone()
        fault = hub_fault(node, json.loads(row[1]), scope)
        if fault:
            issues.append({"path": node.path, "message": fault})
        hubs.append({**node.to_json(), "scope": scope, "summary": row[0], "guide": guide.path if guide else None})
    return hubs, issues


def _has_hubs(connection: Connection) -> bool:
    return (
        connection.execute("SELECT 1 FROM note WHERE path >= 'scopes/' AND path < 'scopes0' LIMIT 1").fetchone()
        is not None
    )


def hub_fault(node: Node, meta: Any, scope: str | None = None) -> str | None:
    """Why a note under ``scopes/`` is not a valid context hub (of ``scope``, when given), or None."""
    meta = meta if isinstance(meta, dict) else {}
    if (node.type or "").casefold() != HUB_TYPE:
        return f"a note under scopes/ has the type {HUB_TYPE}, not {node.type!r}"
    declared = field(meta, "scope")
    fault = scope_fault(declared)
    if fault:
        return f"its scope {declared!r} {fault}"
    if hub_id(str(declared)) != node.id:
        return f"its scope {declared!r} belongs to the note {hub_id(str(declared))}"
    if scope is not None and declared != scope:
        return f"its scope is {declared!r}, not {scope!r}"
    return None


def hub_notes(connection: Connection) -> list[tuple[Node, Any]]:
    """The notes of the type agent-context, with their front matter, by path."""
    import json

    rows = connection.execute(f"SELECT {COLUMNS}, note.meta FROM note WHERE type = ? ORDER BY path", (HUB_TYPE,))
    return [(Node(*row[:7]), json.loads(row[7])) for row in rows]
