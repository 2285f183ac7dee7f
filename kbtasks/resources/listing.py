"""Lists of records and deletions, compact, last written first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kbtasks.resources.records import extras_in, resource_in

if TYPE_CHECKING:
    from sqlite3 import Connection
    from typing import Any

    from kbtasks.resources.filters import Filters


def list_records(connection: Connection, filters: Filters, limit: int, offset: int) -> tuple[list[dict[str, Any]], int]:
    """At most ``limit`` records that pass ``filters``, after ``offset``, and how many there are in all."""
    clause, values = filters.sql()
    total = connection.execute(f"SELECT count(*) FROM record r WHERE 1{clause}", values).fetchone()[0]
    rows = connection.execute(
        "SELECT r.id, r.provider, r.url, r.updated_at, r.revision, r.body, r.extras, EXISTS (SELECT 1 FROM pending p"
        f" WHERE p.id = r.id) FROM record r WHERE 1{clause} ORDER BY r.seq DESC LIMIT ? OFFSET ?",
        [*values, limit, offset],
    )
    found = []
    for identity, provider, url, updated_at, revision, body, extras, pending in rows:
        resource = resource_in(body, revision)
        item = {
            "id": identity,
            "provider": provider,
            "sourceId": resource["source"]["id"],
            "title": resource["title"],
            "url": url,
            "updatedAt": updated_at,
            "resourceRevision": revision,
            "pending": bool(pending),
        }
        tags = (extras_in(extras) or {}).get("tags")
        if tags:
            item["tags"] = tags
        found.append(item)
    return found, int(total)


def list_deleted(connection: Connection, limit: int, offset: int) -> tuple[list[dict[str, Any]], int]:
    """Deletions, latest first; what was deleted is shown until gc drops it."""
    total = connection.execute("SELECT count(*) FROM tombstone").fetchone()[0]
    rows = connection.execute(
        "SELECT id, deleted_at, detail FROM tombstone ORDER BY seq DESC LIMIT ? OFFSET ?", (limit, offset)
    )
    found = []
    for identity, at, detail in rows:
        item = {"id": identity, "deletedAt": at}
        if detail:
            known = extras_in(detail) or {}
            item |= {"title": known.get("title"), "url": known.get("url"), "provider": known.get("provider")}
        found.append(item)
    return found, int(total)
