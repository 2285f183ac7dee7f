"""Whether a note is still current: superseded by another, a plan that has ended, or about code that is gone.

Shown beside a hit and usable as a filter; it never changes a text score.
"""

from __future__ import annotations

import os

from kbtasks.index.tokens import fold

TYPE_CHECKING = False  # importing typing would cost every search milliseconds; checkers know the name
if TYPE_CHECKING:
    from collections.abc import Collection
    from sqlite3 import Connection
    from typing import Any

TERMINAL = frozenset(("completed", "superseded", "cancelled", "canceled", "done", "abandoned", "rejected"))
_OUTDATED = frozenset(("superseded", "deprecated", "obsolete"))
_MAX_SCOPES = 64


class Currency:
    """What is known of one note. ``state``: current, superseded, terminal or vanished, the first that holds of the last three."""

    __slots__ = ("missing", "state", "superseded_by")

    def __init__(self) -> None:
        self.state = "current"
        self.superseded_by: list[str] = []
        self.missing: list[str] = []

    def to_json(self) -> dict[str, Any]:
        """As a hit shows it."""
        return {"state": self.state, "superseded_by": self.superseded_by, "missing": self.missing}


def judge(connection: Connection, notes: Collection[int] | None, repository: str | None) -> dict[int, Currency]:
    """The Currency of each of ``notes`` (None: all). repository: where declared code paths are looked for; None: not at all."""
    from kbtasks.retrieval.terms import json_list

    among, values = "", []
    if notes is not None:
        among, values = " AND note.rowid IN (SELECT value FROM json_each(?))", [json_list(notes)]
    found: dict[int, Currency] = {}
    sql = f"SELECT rowid, type, status, CASE WHEN instr(lower(meta), 'repository_scopes') THEN meta END FROM note WHERE 1{among}"
    for rowid, kind, status, meta in connection.execute(sql, values):
        known = found[rowid] = Currency()
        state = fold(status or "")
        if repository and meta:
            known.missing = _missing(repository, meta)
        if state in _OUTDATED:
            known.state = "superseded"
        elif fold(kind or "") == "plan" and state in TERMINAL:
            known.state = "terminal"
        elif known.missing:
            known.state = "vanished"
    for old, by in _successors(connection, values[0] if values else None):
        if old in found:
            found[old].state = "superseded"
            found[old].superseded_by.append(by)
    return found


def _successors(connection: Connection, among: str | None) -> list[tuple[int, str]]:
    """(superseded note, path of the note that supersedes it), written from either side; among: a JSON list of notes."""
    one, two, values = "", "", []
    if among is not None:  # a handful of notes: reached through the indexes, not by reading every link
        one = " AND r.target_note IN (SELECT value FROM json_each(?))"
        two = " AND l.note IN (SELECT value FROM json_each(?))"
        values = [among, among]
    sql = f"""SELECT r.target_note, note.path FROM resolution AS r JOIN link_text AS l ON l.resolution = r.rowid
        JOIN note ON note.rowid = l.note
        WHERE r.state = 'ok' AND r.target_note != l.note AND l.kind = 'relation' AND l.predicate = 'supersedes'{one}
        UNION SELECT l.note, note.path FROM link_text AS l JOIN resolution AS r ON r.rowid = l.resolution
        JOIN note ON note.rowid = r.target_note
        WHERE r.state = 'ok' AND r.target_note != l.note AND l.predicate IN ('superseded-by', 'superseded_by'){two}
        ORDER BY 2"""
    return list(connection.execute(sql, values))


def _missing(repository: str, meta: str) -> list[str]:
    import json

    scopes: Any = next((value for key, value in json.loads(meta).items() if fold(key) == "repository_scopes"), None)
    missing = []
    for scope in (scopes if isinstance(scopes, list) else [scopes])[:_MAX_SCOPES]:
        if (
            not isinstance(scope, str)
            or not scope.strip()
            or scope.startswith("/")
            or ".." in scope.split("/")
            or "\0" in scope
        ):
            continue
        try:
            os.lstat(os.path.join(repository, scope))
        except (FileNotFoundError, NotADirectoryError):
            missing.append(scope)
        except OSError:
            continue
    return missing
