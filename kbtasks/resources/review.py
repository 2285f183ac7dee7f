"""The review queue: what waits for distillation, the distillation itself, and the analysis of images.

Both writes are guarded: they name the revision they were made from, and change nothing where the record moved on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kbtasks.resources import canonical, records
from kbtasks.resources.design import normal_design
from kbtasks.resources.faults import InvalidRecord, StaleReview
from kbtasks.resources.model import SUMMARY, Reader, is_resource_id
from kbtasks.resources.store import next_seq

if TYPE_CHECKING:
    from sqlite3 import Connection
    from typing import Any

MAX_BATCH = 100
PENDING_NOTE = "Captured from the source and not reviewed yet: summary, purpose and uses may be missing or out of date."


def queue(connection: Connection, identity: str, source_key: str, source_revision: str) -> None:
    """Put a record in the queue; one that waits already keeps its place."""
    connection.execute(
        "INSERT INTO pending (id, source_key, source_revision, seq) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE"
        " SET source_key = excluded.source_key, source_revision = excluded.source_revision",
        (identity, source_key, source_revision, next_seq(connection)),
    )


def pending(connection: Connection, limit: int) -> tuple[int, list[dict[str, Any]]]:
    """How many records wait, and the first ``limit`` of them in the order they were queued."""
    total = connection.execute("SELECT count(*) FROM pending").fetchone()[0]
    found = []
    rows = connection.execute("SELECT id, source_revision FROM pending ORDER BY seq LIMIT ?", (limit,)).fetchall()
    for identity, source_revision in rows:
        stored = records.get(connection, identity)
        found.append(
            {
                "id": identity,
                "sourceRevision": source_revision,
                "resourceRevision": stored.revision,
                "resource": stored.resource,
            }
        )
    return int(total), found


def read_reviews(items: list[Any], *, what: str) -> list[dict[str, Any]]:
    """1 to 100 checked reviews: id, both guards, and the four fields a review may change; other keys are ignored."""
    if not 1 <= len(items) <= MAX_BATCH:
        raise InvalidRecord(what=what, pointer="", rule=f"it holds {len(items)} reviews; 1 to {MAX_BATCH} are allowed")
    found = []
    for index, item in enumerate(items):
        place = f"/{index}" if len(items) > 1 else ""
        reader = Reader(what)
        try:
            document = reader.mapping(item, "")
            found.append(
                {
                    **_guards(document, ("sourceRevision", "resourceRevision"), reader),
                    "summary": reader.text(document, "summary", SUMMARY),
                    "purpose": reader.text(document, "purpose", SUMMARY),
                    "useWhen": reader.texts(document, "useWhen"),
                    "limitations": reader.texts(document, "limitations"),
                }
            )
        except InvalidRecord as error:
            raise InvalidRecord(what=what, pointer=place + error.pointer.rstrip("/"), rule=error.rule) from None
    return found


def _guards(document: dict[str, Any], names: tuple[str, ...], reader: Reader) -> dict[str, str]:
    if not is_resource_id(document.get("id")):
        raise reader.refuse("/id", "a record id is needed")
    found = {"id": document["id"]}
    for name in names:
        value = reader.text(document, name, 100).removeprefix("sha256:")
        found[name] = value
    return found


def distill(connection: Connection, reviews: list[dict[str, Any]]) -> int:
    """Apply ``reviews``, all or none; StaleReview where one is not pending or was made from another revision."""
    seen: set[str] = set()
    for review in reviews:
        identity = review["id"]
        if identity in seen:
            raise StaleReview(id=identity, reason="it is reviewed twice in one batch", next="kb resource.pending")
        seen.add(identity)
        row = connection.execute("SELECT source_revision FROM pending WHERE id = ?", (identity,)).fetchone()
        if row is None:
            raise StaleReview(id=identity, reason="it does not wait for review", next="kb resource.pending")
        stored = records.get(connection, identity)
        if row[0] != review["sourceRevision"]:
            raise StaleReview(id=identity, reason="its source has changed since", next="kb resource.pending")
        if stored.revision != review["resourceRevision"]:
            raise StaleReview(id=identity, reason="the record has changed since", next="kb resource.pending")
        resource = stored.resource
        for name in ("summary", "purpose", "useWhen", "limitations"):
            resource[name] = review[name]
        resource["updatedAt"] = canonical.later_than(resource["updatedAt"])
        records.write(connection, resource, stored.extras, stored)
        connection.execute("DELETE FROM pending WHERE id = ?", (identity,))
    return len(reviews)


def analyze(connection: Connection, item: Any, *, what: str) -> tuple[str, bool]:
    """Set the design of one record from ``item`` {id, resourceRevision, design}: (its status, whether it changed)."""
    reader = Reader(what)
    document = reader.mapping(item, "")
    guards = _guards(document, ("resourceRevision",), reader)
    if "design" not in document:
        raise reader.refuse("/design", "it is missing")
    design = normal_design(document["design"], reader)
    stored = records.get(connection, guards["id"])
    if stored.revision != guards["resourceRevision"]:
        raise StaleReview(
            id=guards["id"], reason="the record has changed since", next=f"kb resource.inspect {guards['id']}"
        )
    resource = stored.resource
    if resource.get("design") == design:
        return str(design["status"]), False
    resource["design"] = design
    resource["updatedAt"] = canonical.later_than(resource["updatedAt"])
    records.write(connection, resource, stored.extras, stored)
    return str(design["status"]), True
