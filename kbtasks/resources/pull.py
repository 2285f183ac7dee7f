"""Pull: take a source's pages one by one, each page and the progress behind it in one transaction.

Absence never deletes, and neither does an empty answer. A run that is cut off goes on where it stopped. Bad items are
set aside with their reasons; the good ones of the page are taken.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from kbtasks.errors import KbError
from kbtasks.fsio import step
from kbtasks.resources import canonical, records
from kbtasks.resources.faults import MassChange
from kbtasks.resources.merge import Quarantined, merge_item
from kbtasks.resources.sources import BadPage, Page, Source
from kbtasks.resources.store import next_seq, transaction
from kbtasks.resources.whatwg import secret_names

if TYPE_CHECKING:
    from collections.abc import Callable
    from sqlite3 import Connection
    from typing import Any

_COUNTED = ("added", "updated", "unchanged", "skippedDeleted", "skippedOlder")
MAX_QUARANTINED_BYTES, MAX_REASON = 4096, 500
COMPLETE_NOTE = "Complete means that this window ended, not that the account's whole history is here."


class Progress:
    """How far a source has come. fresh: a new run begins with the next page."""

    __slots__ = (
        "active",
        "checkpoint",
        "coverage",
        "cursor",
        "fresh",
        "generation",
        "last_received",
        "received",
        "row",
    )

    def __init__(self, row: tuple[Any, ...] | None, *, restart: bool) -> None:
        self.row = row
        self.generation, active, self.cursor, self.checkpoint, self.coverage, self.received, self.last_received = row or (
            0, 0, None, None, "full", 0, None,
        )  # fmt: skip
        self.fresh = not active or restart
        if self.fresh:
            self.cursor, self.coverage, self.received = None, "full", 0


_ROW = "SELECT generation, active, cursor, checkpoint, coverage, received, last_received FROM source WHERE key = ?"


def pull(
    connection: Connection,
    source: Source,
    *,
    max_pages: int,
    restart: bool = False,
    allow_empty: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """Take up to ``max_pages`` pages (1 to 100) from ``source`` and return the compatible result.

    restart: begin anew instead of going on; what was taken and the last checkpoint stay. allow_empty: an empty answer
    from a source that had items is taken as its truth (nothing is deleted all the same). Never raises for a fault of
    the source: the result then says ``failed`` with the reason.
    """
    counts = dict.fromkeys(_COUNTED, 0)
    result: dict[str, Any] = {"pages": 0, "received": 0, **counts, "warnings": []}
    quarantined: list[dict[str, Any]] = []
    notes: list[str] = []
    state, error, coverage, began = "paused", None, "full", canonical.now()
    whole_run = False
    while result["pages"] < max_pages:
        row = connection.execute(_ROW, (source.key,)).fetchone()
        mark = Progress(row, restart=restart and result["pages"] == 0)
        whole_run = whole_run or mark.fresh
        coverage = mark.coverage
        try:
            page = source.fetch(mark.cursor, mark.checkpoint)
            step("pull:fetched")
            _refuse_sudden_emptiness(page, mark, source, allow_empty=allow_empty)
            with transaction(connection):
                _commit_page(connection, source, mark, page, result, quarantined)
            step("pull:committed")
        except KbError as fault:
            state, error = "failed", fault
            break
        result["pages"] += 1
        coverage = _both(mark.coverage, page.coverage)
        if progress is not None:
            progress(result["pages"], max_pages)
        if page.next_cursor is None:
            state = "complete"
            notes += _finish(connection, source, mark, page, began=began if whole_run else None)
            break
    result |= {"state": state, "coverage": coverage, "sourceKey": source.key, "remoteSync": "not_attempted"}
    if state == "complete":
        result["note"] = " ".join([*notes, COMPLETE_NOTE])
    if error is not None:
        result["error"] = error.message
    result["errorCode"] = error.code if error else None
    result["quarantined"] = quarantined
    result["warnings"] = result.pop("warnings")[:100]
    return result


def _both(first: str, second: str) -> str:
    return "full" if first == second == "full" else "partial"


def _refuse_sudden_emptiness(page: Page, mark: Progress, source: Source, *, allow_empty: bool) -> None:
    """A source that is read anew each time and had items does not become empty unnoticed."""
    if page.received or page.next_cursor is not None or not source.rescan or allow_empty:
        return
    if mark.fresh and mark.last_received:
        raise MassChange(
            message=f"the source answered with no items, though it had {mark.last_received} before; nothing was changed",
            next="look at the source; add --allow-empty if it is empty in truth",
        )


def _commit_page(
    connection: Connection,
    source: Source,
    mark: Progress,
    page: Page,
    result: dict[str, Any],
    quarantined: list[dict[str, Any]],
) -> None:
    """Inside a transaction: the page's items, what was set aside, and the progress behind it."""
    if connection.execute(_ROW, (source.key,)).fetchone() != mark.row:
        raise BadPage(reason="another pull advanced this source meanwhile", next="run it again")
    if mark.fresh:
        connection.execute("DELETE FROM seen WHERE source = ?", (source.key,))
    if page.next_cursor is not None:
        digest = canonical.digest(page.next_cursor)
        if connection.execute("SELECT 1 FROM seen WHERE source = ? AND digest = ?", (source.key, digest)).fetchone():
            raise BadPage(reason="its next cursor was seen before in this run")
        connection.execute("INSERT INTO seen VALUES (?, ?, ?)", (source.key, digest, next_seq(connection)))
    counts = dict.fromkeys(_COUNTED, 0)
    bad = [(position, reason, raw) for position, reason, raw in page.bad]
    for item in page.items:
        if names := secret_names(item.url):
            result["warnings"].append(f"{item.id}: its URL carries what looks like a secret ({', '.join(names)})")
        try:
            counts[merge_item(connection, source.provider, source.key, item)] += 1
        except Quarantined as fault:
            bad.append((-1, f"{item.id}: {fault}", {"id": item.id, "url": item.url, "updatedAt": item.updated_at}))
    counts["unchanged"] += page.repeated
    now = canonical.now()
    for position, full, raw in bad:
        reason = canonical.cut(full, MAX_REASON)
        text = canonical.compact(raw)
        connection.execute(
            "INSERT INTO quarantine VALUES (?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET reason = excluded.reason, at = excluded.at",
            (source.key, canonical.text_digest(text), reason, text[:MAX_QUARANTINED_BYTES], now),
        )
        where = {"page": result["pages"], "item": position} if position >= 0 else {"page": result["pages"]}
        quarantined.append({**where, "reason": reason})
    for name, number in counts.items():
        result[name] += number
    result["received"] += page.received
    final = page.next_cursor is None
    coverage = _both(mark.coverage, page.coverage)
    shown = canonical.compact(
        {name: source.config[name] for name in ("provider", "account", "pagination", "incremental")}
    )
    connection.execute(
        "INSERT OR REPLACE INTO source (key, generation, active, cursor, checkpoint, coverage, config, received,"
        " last_received, last_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        (
            source.key, mark.generation + 1, int(not final), page.next_cursor,
            page.checkpoint if final else mark.checkpoint, coverage, shown, mark.received + page.received,
            mark.received + page.received if final else mark.last_received, now,
        ),
    )  # fmt: skip
    if final:
        connection.execute("DELETE FROM seen WHERE source = ?", (source.key,))


def _finish(connection: Connection, source: Source, mark: Progress, page: Page, *, began: str | None) -> list[str]:
    """After the last page: warnings, and an end to what was set aside earlier and did not come again."""
    notes = []
    received = mark.received + page.received
    if source.rescan and mark.last_received and received * 2 < mark.last_received:
        notes.append(f"Only {received} items came, where there were {mark.last_received} before; nothing was deleted.")
    if source.rescan and began is not None:
        with transaction(connection):
            connection.execute("DELETE FROM quarantine WHERE source = ? AND at < ?", (source.key, began))
    return notes


def list_sources(connection: Connection) -> list[dict[str, Any]]:
    """Every source pulled from so far, with its progress and how many items are set aside."""
    rows = connection.execute(
        "SELECT key, generation, active, checkpoint IS NOT NULL, coverage, config, last_received, last_at,"
        " (SELECT count(*) FROM quarantine q WHERE q.source = s.key) FROM source s ORDER BY key"
    )
    return [
        {
            "key": key,
            "generation": generation,
            "resumable": bool(active),
            "hasCheckpoint": bool(checkpoint),
            "coverage": coverage,
            "lastReceived": last,
            "lastAt": at,
            "quarantined": aside,
            **(records.extras_in(config) or {}),
        }
        for key, generation, active, checkpoint, coverage, config, last, at, aside in rows
    ]


def list_quarantine(connection: Connection, key: str | None, limit: int) -> list[dict[str, Any]]:
    """Items that were set aside, with reasons, latest first."""
    rows = connection.execute(
        "SELECT source, reason, item, at FROM quarantine WHERE ?1 IS NULL OR source = ?1 ORDER BY at DESC, digest LIMIT ?2",
        (key, limit),
    )
    return [{"source": source, "reason": reason, "item": item, "at": at} for source, reason, item, at in rows]


def remove_source(connection: Connection, key: str) -> bool:
    """Forget a source's progress and what was set aside of it; records stay. Inside a transaction."""
    gone = connection.execute("DELETE FROM source WHERE key = ?", (key,)).rowcount
    connection.execute("DELETE FROM seen WHERE source = ?", (key,))
    connection.execute("DELETE FROM quarantine WHERE source = ?", (key,))
    return bool(gone)
