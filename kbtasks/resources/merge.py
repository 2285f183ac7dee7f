"""How an item of a source meets what is stored: rules of the compatible format, one item at a time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kbtasks.resources import canonical, records
from kbtasks.resources.design import made_stale
from kbtasks.resources.model import resource_of, with_limitation
from kbtasks.resources.review import PENDING_NOTE, queue
from kbtasks.resources.store import next_seq

if TYPE_CHECKING:
    from sqlite3 import Connection

    from kbtasks.resources.sources import Item


class Quarantined(Exception):
    """An item that may not be taken now, with the reason."""


def merge_item(connection: Connection, provider: str, key: str, item: Item) -> str:
    """Take one item: ``added``, ``updated``, ``unchanged``, ``skippedDeleted`` or ``skippedOlder``.

    Raises Quarantined where the source gives one time for two contents. Local titles, reviews and analyses stay;
    changed text joins the review queue; a changed upstream time alone changes nothing.
    """
    identity = canonical.resource_id(provider, item.id)
    if records.deleted_at(connection, identity) is not None:
        return "skippedDeleted"
    captured = connection.execute(
        "SELECT title, revision, updated_at FROM capture WHERE id = ?", (identity,)
    ).fetchone()
    stored = records.find(connection, identity)
    resource = stored.resource if stored else None
    revision = item.revision(provider)
    title, known, at = captured or (None, None, None)
    if at is not None and item.updated_at is not None and item.updated_at < at:
        return "skippedOlder"
    same = known == revision or (
        resource is not None
        and resource["text"] == item.text
        and resource["source"]["url"] == item.url
        and (title is None or title == item.title)
    )
    if stored is not None and resource is not None and same:
        _remember(connection, identity, item, revision)
        connection.execute("UPDATE pending SET source_revision = ? WHERE id = ?", (revision, identity))
        return "unchanged"
    if at is not None and item.updated_at == at and known != revision:
        raise Quarantined("the source gives the same time for a different content")
    if stored is None or resource is None:
        resource = resource_of(provider, item.id, item.url, item.title, item.text)
        resource["limitations"] = [PENDING_NOTE]
        resource["updatedAt"] = canonical.now()
    else:
        resource["title"] = resource["title"] if title is not None and resource["title"] != title else item.title
        resource["text"] = item.text
        resource["source"]["url"] = item.url
        resource["limitations"] = with_limitation(resource, PENDING_NOTE)
        if "design" in resource:
            resource["design"] = made_stale(resource["design"])
        resource["updatedAt"] = canonical.later_than(resource["updatedAt"])
    records.write(connection, resource, stored.extras if stored else None, stored)
    _remember(connection, identity, item, revision)
    queue(connection, identity, key, revision)
    return "updated" if stored else "added"


def _remember(connection: Connection, identity: str, item: Item, revision: str) -> None:
    connection.execute(
        "INSERT INTO capture (id, title, revision, updated_at, seq) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET"
        " title = excluded.title, revision = excluded.revision, updated_at = excluded.updated_at, seq = excluded.seq"
        " WHERE title IS NOT excluded.title OR revision <> excluded.revision OR updated_at IS NOT excluded.updated_at",
        (identity, item.title, revision, item.updated_at, next_seq(connection)),
    )
