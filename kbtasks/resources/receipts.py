"""What each provider has confirmed, what is still to send, and how the whole stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kbtasks.resources import canonical

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from sqlite3 import Connection
    from typing import Any

#: Every record and deletion in store order with what the provider last confirmed of it: (kind, id, revision, time,
#: confirmed revision, waits for review).
_LEDGER = """
SELECT 'upsert', r.id, r.revision, r.updated_at, c.revision, p.id IS NOT NULL, r.seq
FROM record r LEFT JOIN receipt c ON c.provider = ?1 AND c.id = r.id LEFT JOIN pending p ON p.id = r.id
WHERE (?2 IS NULL OR r.id = ?2)
UNION ALL
SELECT 'delete', t.id, t.revision, t.deleted_at, c.revision, 0, t.seq
FROM tombstone t LEFT JOIN receipt c ON c.provider = ?1 AND c.id = t.id
WHERE t.collected = 0 AND (?2 IS NULL OR t.id = ?2)
"""


class Entry:
    """A record or deletion as a provider's ledger sees it."""

    __slots__ = ("at", "confirmed", "id", "operation", "pending", "revision")

    def __init__(self, row: tuple[Any, ...]) -> None:
        self.operation: str = row[0]
        self.id: str = row[1]
        self.revision: str = row[2]
        self.at: str = row[3]
        self.confirmed: str | None = row[4]
        self.pending = bool(row[5])

    @property
    def settled(self) -> bool:
        """Whether the provider confirmed this very revision."""
        return self.confirmed == self.revision


def ledger(connection: Connection, key: str, identity: str | None = None) -> Iterator[Entry]:
    """The entries for provider ``key``: all (records in the order of last write, then deletions), or one."""
    for row in connection.execute(_LEDGER + " ORDER BY 1 DESC, 7", (key, identity)):
        yield Entry(row)


def status(connection: Connection, key: str | None, kind: str | None) -> dict[str, Any]:
    """The compatible status document; a provider is never contacted for it."""
    number = _count(connection, "record")
    graves = _count(connection, "tombstone WHERE collected = 0")
    if key is None:
        unsettled = number + graves
    else:
        row = connection.execute(
            "SELECT (SELECT count(*) FROM record r WHERE NOT EXISTS (SELECT 1 FROM receipt c WHERE c.provider = ?1"
            " AND c.id = r.id AND c.revision = r.revision)) + (SELECT count(*) FROM tombstone t WHERE t.collected = 0"
            " AND NOT EXISTS (SELECT 1 FROM receipt c WHERE c.provider = ?1 AND c.id = t.id AND c.revision = t.revision))",
            (key,),
        ).fetchone()
        unsettled = row[0]
    state = "not_configured" if key is None else "pending" if unsettled else "last_sync_confirmed"
    return {
        "resources": number,
        "tombstones": _count(connection, "tombstone"),
        "pendingDistillation": _count(connection, "pending"),
        "resumableSources": _count(connection, "source WHERE active = 1"),
        "provider": kind,
        "pending": unsettled,
        "remoteSync": state,
        "note": "Receipts are past confirmations, not a live check; sync.verify reads back."
        if key
        else "No memory provider is configured; nothing leaves this store.",
    }


def _count(connection: Connection, table: str) -> int:
    return int(connection.execute(f"SELECT count(*) FROM {table}").fetchone()[0])


def confirm(connection: Connection, key: str, kind: str, confirmed: Iterable[tuple[str, str, str]]) -> None:
    """Write receipts, (id, revision, operation) each, and that the provider was used; inside a transaction."""
    now = canonical.now()
    connection.executemany(
        "INSERT INTO receipt (provider, id, revision, confirmed_at, kind) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE"
        " SET revision = excluded.revision, confirmed_at = excluded.confirmed_at, kind = excluded.kind",
        [(key, identity, revision, now, operation) for identity, revision, operation in confirmed],
    )
    connection.execute(
        "INSERT INTO provider (key, kind, first_used, last_used) VALUES (?, ?, ?, ?)"
        " ON CONFLICT DO UPDATE SET kind = excluded.kind, last_used = excluded.last_used",
        (key, kind, now, now),
    )


def held_upserts(connection: Connection, key: str) -> int:
    """How many records the provider confirmed and was not told to delete since."""
    row = connection.execute("SELECT count(*) FROM receipt WHERE provider = ? AND kind = 'upsert'", (key,)).fetchone()
    return int(row[0])


def forget(connection: Connection, key: str, identities: Iterable[str]) -> None:
    """Drop receipts, so that the next sync sends those again; inside a transaction."""
    connection.executemany(
        "DELETE FROM receipt WHERE provider = ? AND id = ?", [(key, identity) for identity in identities]
    )
