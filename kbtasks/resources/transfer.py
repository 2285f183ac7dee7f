"""Export and import: the compatible JSON store of version 1, and JSON Lines that carry everything."""

from __future__ import annotations

import json
import sqlite3
from typing import TYPE_CHECKING

from kbtasks.resources import canonical, records
from kbtasks.resources.extras import extras_digest, normal_extras
from kbtasks.resources.faults import InvalidRecord, NotJson
from kbtasks.resources.model import Reader, normal_resource
from kbtasks.resources.parts import FIELDS, checked
from kbtasks.resources.store import next_seq
from kbtasks.resources.strictjson import parse_bytes
from kbtasks.resources.v1 import V1Store

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from sqlite3 import Connection
    from typing import Any, BinaryIO

MAX_LINE_BYTES = 4 << 20
FORMAT = "kbtasks-resources"
_SOURCE = (
    "key", "generation", "active", "cursor", "checkpoint", "coverage", "config", "received", "lastReceived", "lastAt",
)  # fmt: skip
_ASIDE = ("source", "digest", "reason", "item", "at")
#: What stands beside the records in JSON Lines: kind -> (table and order, its columns, their names in the file).
_PARTS = {
    "tombstone": ("tombstone ORDER BY seq", "id, deleted_at, collected, detail", ("id", "deletedAt", "collected", "detail")),
    "provider": ("provider", "key, kind, first_used, last_used", ("key", "kind", "firstUsed", "lastUsed")),
    "receipt": (
        "receipt", "provider, id, revision, confirmed_at, kind", ("provider", "id", "revision", "confirmedAt", "kind"),
    ),
    "source": (
        "source", "key, generation, active, cursor, checkpoint, coverage, config, received, last_received, last_at", _SOURCE,
    ),
    "seen": ("seen ORDER BY seq", "source, digest", ("source", "digest")),
    "capture": ("capture ORDER BY seq", "id, title, revision, updated_at", ("id", "title", "revision", "updatedAt")),
    "pending": ("pending ORDER BY seq", "id, source_key, source_revision", ("id", "sourceKey", "sourceRevision")),
    "quarantine": ("quarantine", "source, digest, reason, item, at", _ASIDE),
}  # fmt: skip


def to_v1(connection: Connection) -> V1Store:
    """The whole store as version 1: everything but extras and what was set aside."""
    store = V1Store()
    store.check_counts(records.count(connection), connection.execute("SELECT count(*) FROM tombstone").fetchone()[0])
    store.resources = [
        records.resource_in(*row) for row in connection.execute("SELECT body, revision FROM record ORDER BY seq")
    ]
    store.tombstones = dict(connection.execute("SELECT id, deleted_at FROM tombstone ORDER BY seq").fetchall())
    for key, identity, revision in connection.execute(
        "SELECT provider, id, revision FROM receipt ORDER BY provider, id"
    ):
        store.receipts.setdefault(key, {})[identity] = revision
    for key, generation, active, cursor, checkpoint, coverage in connection.execute(
        "SELECT key, generation, active, cursor, checkpoint, coverage FROM source ORDER BY key"
    ):
        seen = [row[0] for row in connection.execute("SELECT digest FROM seen WHERE source = ? ORDER BY seq", (key,))]
        store.sources[key] = {
            "generation": generation,
            "active": bool(active),
            "cursor": cursor,
            "checkpoint": checkpoint,
            "seen": seen,
            "coverage": coverage,
        }
    for identity, title, revision, at in connection.execute(
        "SELECT id, title, revision, updated_at FROM capture ORDER BY seq"
    ):
        store.captures[identity] = {
            **({} if title is None else {"title": title}),
            "revision": revision,
            "updatedAt": at,
        }
    for identity, key, revision in connection.execute(
        "SELECT id, source_key, source_revision FROM pending ORDER BY seq"
    ):
        store.pending[identity] = {"sourceKey": key, "sourceRevision": revision}
    return store


def to_lines(connection: Connection) -> Iterator[str]:
    """The whole store as JSON Lines: a header, then one record, deletion, receipt ... per line, in the store's order."""
    yield canonical.compact({"format": FORMAT, "version": 1}) + "\n"
    for body, revision, extras in connection.execute("SELECT body, revision, extras FROM record ORDER BY seq"):
        line = {"resource": records.resource_in(body, revision), "extras": records.extras_in(extras)}
        yield canonical.compact(line) + "\n"
    for kind, (table, columns, names) in _PARTS.items():
        for row in connection.execute(f"SELECT {columns} FROM {table}"):
            yield (
                json.dumps({kind: dict(zip(names, row, strict=True))}, ensure_ascii=False, separators=(",", ":")) + "\n"
            )


class Taken:
    """What an import did."""

    def __init__(self) -> None:
        self.added = self.updated = self.unchanged = self.skipped_older = self.tombstones = self.receipts = 0
        self.problems: list[dict[str, Any]] = []


def from_v1(connection: Connection, store: V1Store) -> Taken:
    """Take over a version 1 store inside the caller's transaction: the later of two revisions wins, deletions count too.

    Progress of sources, captures and the queue are taken where there is none here; receipts are added, ours win.
    """
    taken = Taken()
    for identity, at in store.tombstones.items():
        _take_deletion(connection, identity, at, None, taken)
    for resource in store.resources:
        _take_resource(connection, resource, ..., taken)
    for key, entries in store.receipts.items():
        for identity, revision in entries.items():
            _take_receipt(connection, key, "unknown", identity, revision, None, None, taken)
    for key, source in store.sources.items():
        values = (
            key,
            source["generation"],
            source["active"],
            source["cursor"],
            source["checkpoint"],
            source["coverage"],
        )
        added = connection.execute(
            "INSERT INTO source (key, generation, active, cursor, checkpoint, coverage) VALUES (?, ?, ?, ?, ?, ?)"
            " ON CONFLICT DO NOTHING",
            values,
        ).rowcount
        for digest in source["seen"] if added else ():
            connection.execute(
                "INSERT INTO seen VALUES (?, ?, ?) ON CONFLICT DO NOTHING", (key, digest, next_seq(connection))
            )
    for identity, known in store.captures.items():
        _take_capture(connection, identity, known.get("title"), known["revision"], known["updatedAt"])
    for identity, waits in store.pending.items():
        _take_pending(connection, identity, waits["sourceKey"], waits["sourceRevision"])
    return taken


def _take_resource(connection: Connection, resource: dict[str, Any], extras: Any, taken: Taken) -> None:
    identity = resource["id"]
    old = records.find(connection, identity)
    gone = records.deleted_at(connection, identity)
    if gone is not None and gone >= resource["updatedAt"]:
        taken.skipped_older += 1
        return
    if old is None:
        records.write(connection, resource, None if extras is ... else extras, None)
        taken.added += 1
        return
    stored = old.resource
    if canonical.digest(resource) == old.revision:
        if extras is not ... and extras is not None and extras_digest(extras) != extras_digest(old.extras):
            records.set_extras(connection, old, extras)
            taken.updated += 1
        else:
            taken.unchanged += 1
    elif stored["updatedAt"] >= resource["updatedAt"]:
        taken.skipped_older += 1
    else:
        records.write(connection, resource, old.extras if extras is ... or extras is None else extras, old)
        taken.updated += 1


def _take_deletion(connection: Connection, identity: str, at: str, detail: str | None, taken: Taken) -> None:
    gone = records.deleted_at(connection, identity)
    old = records.find(connection, identity)
    if (gone is not None and gone >= at) or (old is not None and old.resource["updatedAt"] > at):
        return
    if old is not None:
        records.remove_row(connection, old)
        connection.execute("DELETE FROM pending WHERE id = ?", (identity,))
    connection.execute("DELETE FROM tombstone WHERE id = ?", (identity,))
    records.bury(connection, identity, at, detail)
    taken.tombstones += 1


def _take_receipt(
    connection: Connection,
    key: str,
    kind: str,
    identity: str,
    revision: str,
    at: str | None,
    operation: str | None,
    taken: Taken,
) -> None:
    connection.execute("INSERT INTO provider (key, kind) VALUES (?, ?) ON CONFLICT DO NOTHING", (key, kind))
    held = operation or ("delete" if records.deleted_at(connection, identity) is not None else "upsert")
    taken.receipts += connection.execute(
        "INSERT INTO receipt (provider, id, revision, confirmed_at, kind) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (key, identity, revision, at, held),
    ).rowcount


def _take_capture(connection: Connection, identity: str, title: str | None, revision: str, at: str | None) -> None:
    connection.execute(
        "INSERT INTO capture (id, title, revision, updated_at, seq) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING",
        (identity, None if title is None else canonical.plain(title), revision, at, next_seq(connection)),
    )


def _take_pending(connection: Connection, identity: str, key: str, revision: str) -> None:
    if records.find(connection, identity) is not None:
        connection.execute(
            "INSERT INTO pending (id, source_key, source_revision, seq) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
            (identity, key, revision, next_seq(connection)),
        )


def from_lines(connection: Connection, lines: Iterable[bytes], *, what: str, skip_bad: bool) -> Taken:
    """Take over JSON Lines inside the caller's transaction, as from_v1; NotJson or InvalidRecord name the line.

    lines: one at a time, so that a file of any size needs the memory of one line. skip_bad: bad lines are reported and
    block nothing.
    """
    taken = Taken()
    for number, line in enumerate(lines, 1):
        where = f"{what}, line {number}"
        if number == 1:
            header = parse_bytes(line, what=where)
            if not isinstance(header, dict) or header.get("format") != FORMAT or header.get("version") != 1:
                rule = f"the first line must name the format {FORMAT}, version 1"
                raise InvalidRecord(what=what, pointer="/format", rule=rule)
            continue
        if not line.strip():
            continue
        try:
            if len(line) > MAX_LINE_BYTES:
                raise InvalidRecord(what=where, pointer="", rule=f"it is longer than {MAX_LINE_BYTES} bytes")
            _take_line(connection, parse_bytes(line, what=where), where, taken)
        except (InvalidRecord, NotJson) as error:
            if not skip_bad:
                raise
            taken.problems.append({"item": number, "reason": error.message})
    return taken


def bounded_lines(file: BinaryIO) -> Iterator[bytes]:
    """The lines of ``file``; one that is too long is given cut, and the rest of it passed over."""
    while line := file.readline(MAX_LINE_BYTES + 1):
        yield line
        while len(line) > MAX_LINE_BYTES and not line.endswith(b"\n"):
            line = file.readline(MAX_LINE_BYTES + 1)
            if not line or line.endswith(b"\n"):
                break


def _take_line(connection: Connection, document: Any, what: str, taken: Taken) -> None:
    reader = Reader(what, strict=False)
    document = reader.mapping(document, "")
    if "resource" in document:
        resource = normal_resource(document["resource"], reader)
        _take_resource(connection, resource, normal_extras(document.get("extras"), reader), taken)
        return
    kind, value = next(iter(document.items()), ("", None))
    if kind not in FIELDS:
        raise reader.refuse("", f"a line of kind {kind[:40]!r} is not known")
    entry = checked(kind, reader.mapping(value, f"/{kind}"), reader)
    try:
        if kind == "tombstone":
            _take_deletion(connection, entry["id"], entry["deletedAt"], entry["detail"], taken)
            if entry["collected"]:
                connection.execute(
                    "UPDATE tombstone SET collected = 1 WHERE id = ? AND deleted_at = ?",
                    (entry["id"], entry["deletedAt"]),
                )
        elif kind == "provider":
            connection.execute(
                "INSERT INTO provider (key, kind, first_used, last_used) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
                (entry["key"], entry["kind"], entry["firstUsed"], entry["lastUsed"]),
            )
        elif kind == "receipt":
            known = (entry["provider"], "unknown", entry["id"], entry["revision"], entry["confirmedAt"], entry["kind"])
            _take_receipt(connection, *known, taken)
        elif kind == "source":
            connection.execute(
                f"INSERT INTO source VALUES (?{', ?' * 9}) ON CONFLICT DO NOTHING", [entry[name] for name in _SOURCE]
            )
        elif kind == "seen":
            seen = (entry["source"], entry["digest"], next_seq(connection))
            connection.execute("INSERT INTO seen VALUES (?, ?, ?) ON CONFLICT DO NOTHING", seen)
        elif kind == "capture":
            _take_capture(connection, entry["id"], entry["title"], entry["revision"], entry["updatedAt"])
        elif kind == "pending":
            _take_pending(connection, entry["id"], entry["sourceKey"], entry["sourceRevision"])
        else:
            values = [entry[name] for name in _ASIDE]
            connection.execute("INSERT INTO quarantine VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING", values)
    except (sqlite3.InterfaceError, sqlite3.ProgrammingError, sqlite3.IntegrityError, OverflowError, UnicodeError):
        raise reader.refuse(f"/{kind}", "a value in it is of the wrong type") from None
