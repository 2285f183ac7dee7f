"""Figures of a vault, counted by the index."""

from __future__ import annotations

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from sqlite3 import Connection
    from typing import Any


def vault_stats(connection: Connection, *, top: int = 20) -> dict[str, Any]:
    """Counts of everything, and the ``top`` types, statuses, folders and tags by number of notes, then by name."""

    def one(sql: str) -> int:
        return int(connection.execute(sql).fetchone()[0] or 0)

    def listed(sql: str) -> list[dict[str, Any]]:
        return [{"name": name, "notes": count} for name, count in connection.execute(sql, (top,))]

    counts = {
        "notes": one("SELECT count(*) FROM note WHERE generated = 0"),
        "bytes": one("SELECT sum(size) FROM note"),
        "headings": one("SELECT count(*) FROM heading"),
        "tags": one("SELECT count(DISTINCT key) FROM tag"),
        "links": one("SELECT count(*) FROM link_text WHERE generated = 0"),
        "relations": one("SELECT count(*) FROM link_text WHERE kind = 'relation'"),
        "attachments": one("SELECT count(*) FROM attachment WHERE kind = 'attachment'"),
        "guides": one("SELECT count(*) FROM attachment WHERE kind = 'guide'"),
        "problems": one("SELECT count(*) FROM problem"),
    }
    links = dict(
        connection.execute(
            "SELECT state, count(*) FROM link WHERE generated = 0 GROUP BY state ORDER BY count(*) DESC, state"
        )
    )
    tail = "ORDER BY count(*) DESC, 1 LIMIT ?"
    return {
        "counts": counts,
        "links": links,
        "types": listed(f"SELECT type, count(*) FROM note WHERE generated = 0 GROUP BY type {tail}"),
        "statuses": listed(
            f"SELECT status, count(*) FROM note WHERE generated = 0 AND status IS NOT NULL GROUP BY status {tail}"
        ),
        "folders": listed(f"SELECT folder, count(*) FROM note WHERE generated = 0 GROUP BY folder {tail}"),
        "tags": listed(
            f"SELECT min(name), count(DISTINCT note) FROM tag GROUP BY key {tail.replace('count(*)', 'count(DISTINCT note)')}"
        ),
    }
