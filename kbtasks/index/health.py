"""Whether ``index.db`` is sound: SQLite's own check, the search tables against their text, the tables against each other."""

from __future__ import annotations

import os
import sqlite3
from typing import TYPE_CHECKING

from kbtasks.index import facets, search, store

if TYPE_CHECKING:
    from sqlite3 import Connection
    from typing import Any

#: Rows that point at nothing, by what they say.
_DANGLING = {
    "links whose meaning is missing": "SELECT count(*) FROM link_text WHERE resolution NOT IN (SELECT rowid FROM resolution)",
    "links of notes that are no more": "SELECT count(*) FROM link_text WHERE note NOT IN (SELECT rowid FROM note)",
    "meanings that lead to notes that are no more": "SELECT count(*) FROM resolution WHERE target_note IS NOT NULL"
    " AND target_note NOT IN (SELECT rowid FROM note)",
    "search rows of notes that are no more": f"SELECT count(*) FROM search_text WHERE id >> {search.SHIFT}"
    " NOT IN (SELECT rowid FROM note)",
}


def examine(root: str, cache: str) -> dict[str, Any]:
    """What there is to say of the index: state, notes, bytes, version, faults. It is brought up to date first.

    Raises what open_view raises; an index that is damaged is a fault here, not an error.
    """
    from kbtasks.errors import Unavailable
    from kbtasks.index.tables import SCHEMA_VERSION
    from kbtasks.index.view import open_view

    path = os.path.join(cache, store.NAME)
    said: dict[str, Any] = {
        "root": root, "path": path, "state": "unusable", "reason": "", "notes": 0, "problems": 0, "bytes": 0,
        "version": SCHEMA_VERSION, "faults": [], "repaired": False,
    }  # fmt: skip
    try:
        with open_view(root, cache) as view:
            connection = view.connection
            said["state"], said["reason"] = view.fresh.how, view.fresh.reason
            said["notes"] = connection.execute("SELECT count(*) FROM note").fetchone()[0]
            said["problems"] = connection.execute("SELECT count(*) FROM problem").fetchone()[0]
            said["faults"] = faults(connection)
            if not view.persistent and os.path.lexists(path) and not os.path.isfile(path):
                said["faults"].append("index.db is not a file")
            if view.persistent:
                said["bytes"] = os.path.getsize(path)
    except (sqlite3.DatabaseError, Unavailable) as error:
        said["faults"] = [str(error)]
    return said


def faults(connection: Connection) -> list[str]:
    """What is wrong in the database, as sentences; empty when it is sound. Takes time in proportion to its size."""
    found = [
        f"SQLite: {row[0]}" for row in connection.execute("PRAGMA integrity_check(20)").fetchall() if row[0] != "ok"
    ]
    for words, query in _DANGLING.items():
        count = connection.execute(query).fetchone()[0]
        if count:
            found.append(f"{count} {words}")
    found += [
        f"{part} was not made from what the vault holds"
        for part in ("structure", "links", "search")
        if facets.recorded(connection, part) != facets.digest(connection, part)
    ]
    return found + search.faults(connection)
