"""Care of the store: what may be let go of (gc), and whether it is whole (doctor)."""

from __future__ import annotations

import json
import os
import sqlite3
from typing import TYPE_CHECKING

from kbtasks.fsio import TEMPORARY_PREFIX
from kbtasks.resources import canonical, records
from kbtasks.resources.faults import DamagedStore, InvalidRecord
from kbtasks.resources.model import Reader, normal_resource, tombstone
from kbtasks.resources.store import transaction

if TYPE_CHECKING:
    from sqlite3 import Connection
    from typing import Any

_UNCONFIRMED = (
    "SELECT p.key, p.kind, count(*) FROM provider p JOIN tombstone t ON t.collected = 0 LEFT JOIN receipt c"
    " ON c.provider = p.key AND c.id = t.id AND c.revision = t.revision WHERE c.id IS NULL GROUP BY p.key ORDER BY p.key"
)
_SETTLED = (
    "SELECT t.id FROM tombstone t WHERE t.collected = 0 AND NOT EXISTS (SELECT 1 FROM provider p WHERE NOT EXISTS"
    " (SELECT 1 FROM receipt c WHERE c.provider = p.key AND c.id = t.id AND c.revision = t.revision))"
)


def collect(connection: Connection, *, abandon: list[str], dry_run: bool) -> dict[str, Any]:
    """Drop the detail of deletions that every provider used so far has confirmed.

    The id and the time of a deletion always stay and go on blocking capture and pull. abandon: keys of providers that
    are no longer waited for; their receipts go too. Inside the caller's transaction, which a dry run must roll back.
    """
    abandoned = []
    for key in map(canonical.plain, abandon):
        if connection.execute("DELETE FROM provider WHERE key = ?", (key,)).rowcount:
            connection.execute("DELETE FROM receipt WHERE provider = ?", (key,))
            abandoned.append(key)
    waiting_for = [
        {"key": key, "kind": kind, "unconfirmed": number} for key, kind, number in connection.execute(_UNCONFIRMED)
    ]
    settled = connection.execute(_SETTLED).fetchall()
    captures = receipts = 0
    if not dry_run:
        for (identity,) in settled:
            connection.execute("UPDATE tombstone SET collected = 1, detail = NULL WHERE id = ?", (identity,))
            captures += connection.execute("DELETE FROM capture WHERE id = ?", (identity,)).rowcount
            receipts += connection.execute("DELETE FROM receipt WHERE id = ?", (identity,)).rowcount
    waiting = connection.execute("SELECT count(*) FROM tombstone WHERE collected = 0").fetchone()[0]
    return {
        "collected": len(settled),
        "waiting": waiting - (len(settled) if dry_run else 0),
        "waitingFor": waiting_for,
        "receipts": receipts,
        "captures": captures,
        "abandoned": abandoned,
    }


def shrink(connection: Connection, path: str) -> None:
    """Merge the search tables, so that no word of a deleted record stays in them, and give free pages back."""
    for table in ("search", "lexical"):
        connection.execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")
    connection.execute("PRAGMA incremental_vacuum")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
    remove_left_behind(path)


def remove_left_behind(path: str) -> list[str]:
    """Remove temporary files of processes that no longer run, beside the store at ``path``; their names."""
    folder = os.path.dirname(os.path.realpath(path))
    removed = []
    for name in _left_behind(folder):
        try:
            os.unlink(os.path.join(folder, name))
            removed.append(name)
        except OSError:
            continue
    return removed


def _left_behind(folder: str) -> list[str]:
    found = []
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    for name in names:
        pid = name.removeprefix(TEMPORARY_PREFIX).partition("-")[0]
        if name.startswith(TEMPORARY_PREFIX) and pid.isdigit() and not _runs(int(pid)):
            found.append(name)
    return sorted(found)


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def examine(connection: Connection, path: str) -> tuple[int, list[dict[str, Any]]]:
    """How many records were checked, and everything that is wrong with the store: kind, message, record id."""
    findings: list[dict[str, Any]] = []

    def say(kind: str, message: str, identity: str | None = None) -> None:
        findings.append({"kind": kind, "message": message, **({"id": identity} if identity else {})})

    for (line,) in connection.execute("PRAGMA quick_check(20)").fetchall():
        if line != "ok":
            say("file", str(line))
    checked = 0
    try:
        for identity, revision, body, extras, extras_digest in connection.execute(
            "SELECT id, revision, body, extras, extras_digest FROM record ORDER BY number"
        ):
            checked += 1
            fault = _record_fault(identity, revision, body, extras, extras_digest)
            if fault:
                say("record", fault, identity)
        for identity, at, revision in connection.execute("SELECT id, deleted_at, revision FROM tombstone"):
            if canonical.digest(tombstone(identity, at)) != revision:
                say("tombstone", "the deletion differs from its digest", identity)
        _examine_relations(connection, say)
    except sqlite3.DatabaseError as error:
        say("file", str(error))
    _examine_search(connection, say)
    _examine_privacy(path, say)
    for name in _left_behind(os.path.dirname(os.path.realpath(path))):
        say("left-behind", f"{name} was left by a process that no longer runs")
    return checked, findings


def _record_fault(identity: str, revision: str, body: str, extras: str | None, extras_digest: str | None) -> str | None:
    if canonical.text_digest(body) != revision:
        return "the record differs from its digest"
    try:
        resource = normal_resource(json.loads(body), Reader("the record", strict=False))
    except (ValueError, InvalidRecord) as error:
        return f"the record is not valid: {error}"
    if resource["id"] != identity or canonical.compact(resource) != body:
        return "the record is not in normal form"
    if (extras is None) != (extras_digest is None) or (
        extras is not None and canonical.text_digest(extras) != extras_digest
    ):
        return "the extras differ from their digest"
    return None


def _examine_relations(connection: Connection, say: Any) -> None:
    queries = {
        "a record is deleted and there at once": "SELECT r.id FROM record r JOIN tombstone t ON t.id = r.id",
        "a record waits for review that is not there": (
            "SELECT p.id FROM pending p LEFT JOIN record r ON r.id = p.id WHERE r.id IS NULL"
        ),
        "a receipt names a provider that was never used": (
            "SELECT c.id FROM receipt c LEFT JOIN provider p ON p.key = c.provider WHERE p.key IS NULL"
        ),
    }
    for message, query in queries.items():
        for (identity,) in connection.execute(query + " LIMIT 20"):
            say("relation", message, identity)


def _examine_search(connection: Connection, say: Any) -> None:
    try:
        connection.execute("SAVEPOINT looking")
        connection.execute("INSERT INTO search (search, rank) VALUES ('integrity-check', 1)")
    except sqlite3.OperationalError as error:
        if "readonly" not in str(error):
            say("search", str(error))
    except sqlite3.DatabaseError as error:
        say("search", f"the search table is damaged: {error}; --rebuild makes it anew")
    finally:
        connection.execute("ROLLBACK TO looking")
        connection.execute("RELEASE looking")
    number = records.count(connection)
    for table in ("search", "lexical"):
        held = connection.execute(
            f"SELECT count(*) FROM {table}_docsize" if table == "search" else "SELECT 0"
        ).fetchone()[0]
        if table == "search" and held != number:
            say("search", f"the search table holds {held} rows for {number} records; --rebuild makes it anew")


def _examine_privacy(path: str, say: Any) -> None:
    for name in (path, path + "-wal", path + "-shm"):
        try:
            if os.stat(name).st_mode & 0o077:
                say("privacy", f"{os.path.basename(name)} can be read by others (the next write closes it)")
        except FileNotFoundError:
            continue


def rebuild_search(connection: Connection) -> int:
    """Make both search tables and the labels anew from the records; how many. One transaction."""
    from kbtasks.resources import tables

    with transaction(connection):
        for name in ("search", "lexical"):
            connection.execute(f"DROP TABLE {name}")
        for statement in tables.DDL[-2:]:
            connection.execute(statement)
        connection.execute("DELETE FROM label")
        number = 0
        for position, body, extras in connection.execute(
            "SELECT number, body, extras FROM record ORDER BY number"
        ).fetchall():
            try:
                resource = json.loads(body)
            except ValueError:
                raise DamagedStore(
                    path="in use", reason="a record is not JSON", next="restore the store from a copy"
                ) from None
            records.index(connection, position, resource, json.loads(extras) if extras else None)
            number += 1
    return number
