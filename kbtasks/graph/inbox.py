"""The inbox: captures that no maintained note has taken up yet."""

from __future__ import annotations

import json
import re

from kbtasks.errors import UsageError
from kbtasks.graph.edges import BETWEEN
from kbtasks.graph.records import field
from kbtasks.index.tables import bindable

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from collections.abc import Sequence
    from sqlite3 import Connection
    from typing import Any

SOURCE_FOLDERS = ("articles",)
MAX_FOLDERS = 16
#: Types of notes that settle a capture by linking to it, besides every note under ``notes/``.
MAINTAINED = ("note", "concept", "decision", "report")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def find_inbox(
    connection: Connection, *, folders: Sequence[str] = SOURCE_FOLDERS, plans: bool = False, limit: int = 100
) -> dict[str, Any]:
    """Captures (notes below ``folders``) to which no maintained note links or relates, the newest first, undated ones last.

    plans: whether a link from a plan settles a capture too. limit: how many are listed, 0 to 1,000. A link from
    another capture or from the catalog does not count. Each pending capture says why; each settled one which notes
    settled it (at most three).
    """
    chosen = [folder.strip("/") for folder in folders]
    if len(chosen) > MAX_FOLDERS or not all(chosen):
        raise UsageError(message=f"--folder takes 1 to {MAX_FOLDERS} folders of the vault")
    where = " OR ".join("(path >= CAST(? AS TEXT) AND path < CAST(? AS TEXT))" for _ in chosen)
    bounds = [bindable(bound) for folder in chosen for bound in (folder + "/", folder + "0")]
    sources = connection.execute(
        f"SELECT rowid, id, path, title, meta FROM note WHERE {where} ORDER BY path", bounds
    ).fetchall()
    settled = _settled(connection, where, bounds, plans)
    pending, done = [], []
    for rowid, name, path, title, meta in sources:
        entry = {"id": name, "path": path, "title": title}
        by = settled.get(rowid)
        if by:
            done.append({**entry, "by": by[:3]})
            continue
        clipped = field(json.loads(meta), "clipped")
        date = _DATE.match(clipped) if isinstance(clipped, str) else None
        reason = "missing-clipped-date" if clipped is None else "invalid-clipped-date"
        pending.append(
            {**entry, "clipped": clipped if date else None, "reason": "no-maintained-note" if date else reason}
        )
    pending.sort(key=lambda entry: entry["clipped"] or "", reverse=True)
    return {
        "folders": chosen,
        "sources": len(sources),
        "settled": len(done),
        "inbox": pending[:limit],
        "total": len(pending),
        "truncated": len(pending) > limit,
        "settled_notes": done[:limit],
    }


def _settled(
    connection: Connection, where: str, bounds: list[str | bytes], plans: bool
) -> dict[int, list[dict[str, Any]]]:
    """Row number of a capture -> the maintained notes that link to it."""
    types = [*MAINTAINED, "plan"] if plans else list(MAINTAINED)
    marks = ",".join("?" * len(types))
    rows = connection.execute(
        "SELECT DISTINCT link.target_note, source.id, source.path, source.title FROM"
        f" (SELECT rowid FROM note WHERE {where}) AS capture JOIN link ON link.target_note = capture.rowid"
        " JOIN note AS source ON source.rowid = link.note"
        f" WHERE {BETWEEN} AND source.generated = 0"
        f" AND source.rowid NOT IN (SELECT rowid FROM note WHERE {where})"
        f" AND (source.path LIKE 'notes/%' OR lower(source.type) IN ({marks})) ORDER BY source.path",
        [*bounds, *bounds, *types],
    )
    found: dict[int, list[dict[str, Any]]] = {}
    for capture, name, path, title in rows:
        found.setdefault(capture, []).append({"id": name, "path": path, "title": title})
    return found
