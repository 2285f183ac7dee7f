"""Records in the store: put, get, delete, list. Every function works inside the caller's transaction."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from kbtasks import fsio
from kbtasks.resources import canonical, lexical, terms
from kbtasks.resources.canonical import plain
from kbtasks.resources.design import made_stale
from kbtasks.resources.extras import extras_digest
from kbtasks.resources.faults import ConflictingRecord, DamagedStore, NoRecord, StaleRecord
from kbtasks.resources.model import is_resource_id, tombstone
from kbtasks.resources.store import next_seq
from kbtasks.resources.tables import LEXICAL_WEIGHTS, SEARCH_WEIGHTS

if TYPE_CHECKING:
    from collections.abc import Iterator
    from sqlite3 import Connection
    from typing import Any

    Resource = dict[str, Any]

_COLUMNS = ", ".join(LEXICAL_WEIGHTS)
_MARKS = ", ?" * len(LEXICAL_WEIGHTS)
_INTO_SEARCH = f"INSERT INTO search (rowid, {', '.join(SEARCH_WEIGHTS)}) VALUES (?{', ?' * len(SEARCH_WEIGHTS)})"
_INTO_LEXICAL = f"INSERT INTO lexical (rowid, {_COLUMNS}) VALUES (?{_MARKS})"
_OUT_OF_LEXICAL = f"INSERT INTO lexical (lexical, rowid, {_COLUMNS}) VALUES ('delete', ?{_MARKS})"


def _damaged(reason: str) -> DamagedStore:
    return DamagedStore(path="in use", reason=reason, next="kb resource.doctor")


def resource_in(body: str, revision: str) -> Resource:
    """The resource stored as ``body``; DamagedStore where these are not the bytes that were hashed."""
    if not isinstance(body, str) or canonical.text_digest(body) != revision:
        raise _damaged("a record differs from its digest")
    found: Resource = json.loads(body)
    return found


def extras_in(text: str | None) -> dict[str, Any] | None:
    """The extras stored as ``text``; DamagedStore where they are no JSON object."""
    if not text:
        return None
    try:
        found = json.loads(text)
    except (ValueError, TypeError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise _damaged("a record's extras cannot be read")
    return found


class Stored:
    """A record as it lies in the store."""

    __slots__ = ("_extras", "body", "number", "revision", "seq")

    def __init__(self, number: int, revision: str, seq: int, body: str, extras: str | None) -> None:
        self.number = number
        self.revision = revision
        self.seq = seq
        self.body = body
        self._extras = extras

    @property
    def resource(self) -> Resource:
        """The normalised resource; DamagedStore where the bytes are not those that were hashed."""
        return resource_in(self.body, self.revision)

    @property
    def extras(self) -> dict[str, Any] | None:
        """What lies beside it; DamagedStore where that cannot be read."""
        return extras_in(self._extras)


class Counts:
    """What a batch did."""

    __slots__ = ("added", "extras_updated", "unchanged", "updated")

    def __init__(self) -> None:
        self.added = self.updated = self.unchanged = self.extras_updated = 0

    def to_json(self, connection: Connection) -> dict[str, Any]:
        """The compatible counts, with the number of resources now in the store."""
        return {
            "added": self.added,
            "updated": self.updated,
            "unchanged": self.unchanged,
            "total": count(connection),
            "remoteSync": "not_attempted",
        }


def count(connection: Connection) -> int:
    """How many resources the store holds."""
    return int(connection.execute("SELECT count(*) FROM record").fetchone()[0])


def find(connection: Connection, identity: str) -> Stored | None:
    """The stored record of ``identity``, or None."""
    row = connection.execute(
        "SELECT number, revision, seq, body, extras FROM record WHERE id = ?", (identity,)
    ).fetchone()
    return Stored(*row) if row else None


def get(connection: Connection, identity: str) -> Stored:
    """The stored record of ``identity``; NoRecord where it is unknown or deleted."""
    found = find(connection, identity) if is_resource_id(identity) else None
    if found is None:
        raise NoRecord(what="resource", name=identity, id=identity, next="kb resource.list")
    return found


def deleted_at(connection: Connection, identity: str) -> str | None:
    """When ``identity`` was deleted, None where it was not."""
    row = connection.execute("SELECT deleted_at FROM tombstone WHERE id = ?", (identity,)).fetchone()
    return None if row is None else str(row[0])


def write(connection: Connection, resource: Resource, extras: dict[str, Any] | None, old: Stored | None) -> None:
    """Put ``resource`` in place of ``old`` (None: new), last in the order, and index it; a tombstone gives way."""
    body = canonical.compact(resource)
    source = resource["source"]
    design = resource.get("design")
    more = extras or {}
    values = (
        source["provider"], plain(source["id"]), source["url"], resource["updatedAt"], canonical.text_digest(body),
        next_seq(connection), more.get("savedAt") or more.get("postedAt") or resource["updatedAt"],
        int(bool(design and design["status"] == "analyzed")), body,
        canonical.compact(extras) if extras else None, extras_digest(extras),
    )  # fmt: skip
    if old is None:
        connection.execute("DELETE FROM tombstone WHERE id = ?", (resource["id"],))
        cursor = connection.execute(
            "INSERT INTO record (id, provider, source_id, url, updated_at, revision, seq, dated, analyzed, body,"
            " extras, extras_digest)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (resource["id"], *values),
        )
        number = int(cursor.lastrowid or 0)
    else:
        number = old.number
        _unindex(connection, old)
        connection.execute(
            "UPDATE record SET provider = ?, source_id = ?, url = ?, updated_at = ?, revision = ?, seq = ?, dated = ?,"
            " analyzed = ?, body = ?, extras = ?, extras_digest = ? WHERE number = ?",
            (*values, number),
        )
    fsio.step("record:row")
    index(connection, number, resource, extras)


def index(connection: Connection, number: int, resource: Resource, extras: dict[str, Any] | None) -> None:
    """Enter a record into the search tables and labels."""
    connection.execute(_INTO_SEARCH, (number, *map(plain, terms.row(resource, extras))))
    connection.execute(_INTO_LEXICAL, (number, *map(plain, lexical.row(resource))))
    labels = {(kind, plain(value.lower()), number) for kind, value in _labels(resource, extras) if value}
    connection.executemany("INSERT INTO label (kind, value, number) VALUES (?, ?, ?)", sorted(labels))
    fsio.step("record:indexed")


def _unindex(connection: Connection, old: Stored) -> None:
    connection.execute("DELETE FROM search WHERE rowid = ?", (old.number,))
    try:
        row = lexical.row(json.loads(old.body))
    except (ValueError, KeyError, TypeError, AttributeError):
        row = []  # damaged: its words stay in this table, where every candidate is looked at again
    if row:
        connection.execute(_OUT_OF_LEXICAL, (old.number, *map(plain, row)))
    connection.execute("DELETE FROM label WHERE number = ?", (old.number,))
    connection.execute("DELETE FROM vector WHERE number = ?", (old.number,))


def _labels(resource: Resource, extras: dict[str, Any] | None) -> Iterator[tuple[str, str]]:
    more = extras or {}
    for tag in more.get("tags", ()):
        yield "tag", tag
    for name in more.get("author", {}).values():
        yield "author", name
    design = resource.get("design")
    if design and design["status"] == "analyzed":
        for domain in design["domains"]:
            yield "domain", domain["label"]
        for feature in design["features"]:
            yield "feature", feature["value"]
            yield "feature", feature["kind"]
        for style in design["styles"]:
            yield "style", style["label"]


def set_extras(connection: Connection, old: Stored, extras: dict[str, Any] | None) -> bool:
    """Give the record of ``old`` other extras, the compatible part untouched; False where they are the same."""
    if extras_digest(extras) == extras_digest(old.extras):
        return False
    resource = old.resource
    more = extras or {}
    _unindex(connection, old)
    connection.execute(
        "UPDATE record SET extras = ?, extras_digest = ?, dated = ? WHERE number = ?",
        (
            canonical.compact(extras) if extras else None,
            extras_digest(extras),
            more.get("savedAt") or more.get("postedAt") or resource["updatedAt"],
            old.number,
        ),
    )
    index(connection, old.number, resource, extras)
    return True


def put_one(connection: Connection, resource: Resource, extras: Any, counts: Counts) -> None:
    """Put one normalised resource; ``extras`` is ``...`` where none were given."""
    identity = resource["id"]
    old = find(connection, identity)
    if old is None:
        gone = deleted_at(connection, identity)
        if gone is not None and resource["updatedAt"] <= gone:
            raise StaleRecord(
                id=identity,
                given=resource["updatedAt"],
                stored=gone,
                next="restore it with an updatedAt after its deletion",
            )
        write(connection, resource, None if extras is ... else extras, None)
        counts.added += 1
        return
    stored = old.resource
    resource = _with_kept_design(resource, stored)
    if resource["updatedAt"] < stored["updatedAt"]:
        raise StaleRecord(
            id=identity, given=resource["updatedAt"], stored=stored["updatedAt"], next=f"kb resource.get {identity}"
        )
    same = canonical.digest(resource) == old.revision
    if not same and resource["updatedAt"] == stored["updatedAt"]:
        raise ConflictingRecord(id=identity, given=resource["updatedAt"], next="give it a later updatedAt")
    kept = old.extras if extras is ... else extras
    if same:
        if set_extras(connection, old, kept):
            counts.extras_updated += 1
        counts.unchanged += 1
    else:
        write(connection, resource, kept, old)
        counts.updated += 1


def _with_kept_design(resource: Resource, stored: Resource) -> Resource:
    """A put without design (or with the same one) keeps the stored one, stale where text or source changed."""
    design = stored.get("design")
    if design is None or resource.get("design", design) != design:
        return resource
    if resource["text"] != stored["text"] or resource["source"] != stored["source"]:
        design = made_stale(design)
    return {**resource, "design": design}


def delete(connection: Connection, identity: str) -> str | None:
    """Delete a record: its tombstone's time, or None where there is no such record. Its source is not touched."""
    old = find(connection, identity) if is_resource_id(identity) else None
    if old is None:
        return None
    try:
        resource = json.loads(old.body)
        at = canonical.later_than(resource["updatedAt"])
        detail = canonical.compact({**resource["source"], "title": resource["title"]})
    except (ValueError, KeyError, TypeError):
        at, detail = canonical.now(), None  # damaged, so that only its id is known
    remove_row(connection, old)
    connection.execute("DELETE FROM pending WHERE id = ?", (identity,))
    bury(connection, identity, at, detail)
    return at


def remove_row(connection: Connection, old: Stored) -> None:
    """Take a record out of the tables it is found by."""
    _unindex(connection, old)
    connection.execute("DELETE FROM record WHERE number = ?", (old.number,))
    fsio.step("record:removed")


def bury(connection: Connection, identity: str, at: str, detail: str | None) -> None:
    """Write a tombstone."""
    connection.execute(
        "INSERT INTO tombstone (id, deleted_at, revision, seq, detail) VALUES (?, ?, ?, ?, ?)",
        (identity, at, canonical.digest(tombstone(identity, at)), next_seq(connection), detail),
    )
