"""Typed relations: what a note says about others in its front matter, what others say about it, and what is wrong with either."""

from __future__ import annotations

import re

from kbtasks.graph.edges import BETWEEN, INVERSES
from kbtasks.graph.nodes import marks, nodes_by_rowid

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from sqlite3 import Connection
    from typing import Any

    from kbtasks.graph.nodes import Node

FIELD = "relations"
PREDICATE = re.compile(r"[a-z][a-z0-9]*(?:-[a-z0-9]+)*")
MAX_RELATIONS = 10_000

_COLUMNS = "note, target_note, predicate, target, state, how, candidates, line, start_byte, end_byte, obsidian"


class Relation:
    """A relation as written: row number of its ``source``, of its ``target`` (None unless state is ok or self),
    predicate, place."""

    __slots__ = ("candidates", "end", "how", "line", "predicate", "source", "start", "state", "target", "written")

    def __init__(self, row: tuple[Any, ...]) -> None:
        import json

        self.source, self.target, self.predicate, self.written, self.state, self.how = row[:6]
        self.candidates: list[str] = json.loads(row[6]) if row[6] else []
        self.line, self.start, self.end = row[7:10]

    @property
    def inverse(self) -> str | None:
        """How the relation reads from its target, where its predicate is a known one."""
        return INVERSES.get(self.predicate)

    def place(self) -> dict[str, int]:
        """Where it is written in the source note."""
        return {"line": self.line, "start_byte": self.start, "end_byte": self.end}


def predicate_fault(predicate: Any) -> str | None:
    """Why ``predicate`` is not a lower-case, hyphenated name, or None."""
    if not isinstance(predicate, str):
        return "is not text"
    if len(predicate) > 100:
        return "is longer than 100 characters"
    if PREDICATE.fullmatch(predicate) is None:
        better = re.sub(r"[^a-z0-9]+", "-", predicate.casefold()).strip("-")
        hint = f"; write {better}" if PREDICATE.fullmatch(better) else ""
        return f"is not in lower-case kebab form{hint}"
    return None


def outgoing(connection: Connection, node: Node, limit: int = MAX_RELATIONS) -> list[Relation]:
    """The relations a note owns, in the order it writes them, whatever their state."""
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM link WHERE note = ? AND kind = 'relation' ORDER BY ordinal LIMIT ?",
        (node.rowid, limit),
    )
    return [Relation(row) for row in rows]


def incoming(connection: Connection, node: Node, limit: int = MAX_RELATIONS) -> list[Relation]:
    """The relations other notes have to this one, by source path."""
    columns = ", ".join(f"link.{name.strip()}" for name in _COLUMNS.split(","))
    rows = connection.execute(
        f"SELECT {columns} FROM link JOIN note ON note.rowid = link.note WHERE link.target_note = ? AND link.kind = 'relation'"
        f" AND {BETWEEN} ORDER BY note.path, link.ordinal LIMIT ?",
        (node.rowid, limit),
    )
    return [Relation(row) for row in rows]


def all_relations(connection: Connection) -> list[Relation]:
    """Every relation of the vault, by source path and place, whatever its state."""
    columns = ", ".join(f"link.{name.strip()}" for name in _COLUMNS.split(","))
    rows = connection.execute(
        f"SELECT {columns} FROM link JOIN note ON note.rowid = link.note"
        " WHERE link.kind = 'relation' ORDER BY note.path, link.ordinal"
    )
    return [Relation(row) for row in rows]


def relations_of(connection: Connection, node: Node, *, limit: int) -> dict[str, Any]:
    """Both sides of a note's relations and what is wrong with its own, as ``relation.list`` shows them."""
    own = outgoing(connection, node)
    others = incoming(connection, node)
    nodes = nodes_by_rowid(connection, {end for item in own + others for end in (item.source, item.target) if end})
    good = [
        item
        for item in own
        if item.state == "ok" and item.target != item.source and predicate_fault(item.predicate) is None
    ]
    outbound = [
        {
            "predicate": item.predicate,
            "target": nodes[item.target].to_json(),
            "written": item.written,
            "how": item.how,
            "place": item.place(),
        }
        for item in good
        if item.target in nodes
    ]
    inbound = [
        {
            "predicate": item.predicate,
            "inverse": item.inverse,
            "source": nodes[item.source].to_json(),
            "place": item.place(),
        }
        for item in others
        if item.source in nodes
    ]
    issues = relation_issues(connection, [node], own)
    return {
        "outbound": outbound[:limit],
        "inbound": inbound[:limit],
        "issues": issues[:limit],
        "total": len(outbound) + len(inbound),
        "truncated": max(len(outbound), len(inbound), len(issues)) > limit,
    }


def relation_issues(
    connection: Connection, notes: list[Node] | None, relations: list[Relation]
) -> list[dict[str, Any]]:
    """Faults of ``relations``, and malformed entries the reading of the note (or of all, with None) has recorded, by
    path and line."""
    paths = (
        {node.rowid: node.path for node in notes}
        if notes is not None
        else dict(connection.execute("SELECT rowid, path FROM note"))
    )
    issues = []
    for item in relations:
        path = paths.get(item.source, "")
        fault = predicate_fault(item.predicate)
        if fault is not None:
            issues.append(_issue("malformed", path, item, f"the predicate {item.predicate!r} {fault}"))
        if item.state == "self" or (item.state == "ok" and item.target == item.source):
            issues.append(_issue("self-relation", path, item, f"{item.predicate} points to its own note"))
        elif item.state == "ambiguous":
            issues.append(
                _issue("ambiguous", path, item, f"{item.predicate}: {item.written!r} names more than one note")
            )
        elif item.state != "ok":
            issues.append(_issue("broken", path, item, f"{item.predicate}: there is no note {item.written!r}"))
    condition, values = "", []
    if notes is not None:
        condition, values = f" AND note IN ({marks(notes)})", [node.rowid for node in notes]
    rows = connection.execute(
        f"SELECT path, line, message FROM problem WHERE code LIKE 'relation%'{condition} ORDER BY path, line", values
    )
    issues += [
        {
            "issue": "malformed",
            "path": path,
            "line": line,
            "start_byte": None,
            "end_byte": None,
            "predicate": None,
            "written": None,
            "message": message,
            "candidates": [],
        }
        for path, line, message in rows
    ]
    return sorted(issues, key=lambda issue: (issue["path"], issue["line"]))


def _issue(issue: str, path: str, item: Relation, message: str) -> dict[str, Any]:
    return {
        "issue": issue,
        "path": path,
        "line": item.line,
        "start_byte": item.start,
        "end_byte": item.end,
        "predicate": item.predicate,
        "written": item.written,
        "message": message,
        "candidates": item.candidates,
    }
