"""Sync: selected records and deletions go to one provider, and each is remembered as it is confirmed.

The local store is free while the network is used. What was not confirmed stays pending and is sent again by the next
run; a provider must therefore take the same change twice without harm.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kbtasks.errors import KbError, Unavailable
from kbtasks.fsio import Lock, make_private_directory, step
from kbtasks.resources import receipts, records
from kbtasks.resources.faults import MassChange, NoRecord
from kbtasks.resources.model import is_resource_id
from kbtasks.resources.providers.base import Change, Outcome
from kbtasks.resources.store import transaction

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from sqlite3 import Connection
    from typing import Any

    from kbtasks.resources.providers.base import Provider
    from kbtasks.resources.receipts import Entry

#: More deletions than this, and more than half of what the provider holds, need a word from the user; so do changes.
FEW_DELETIONS, FEW_CHANGES = 5, 20
#: Batches in a row that fail whole before the rest is left for later.
PATIENCE = 3
#: Milliseconds to wait for the local store when a confirmation must be written down.
RECEIPT_WAIT = 30_000


class Plan:
    """What a sync would do. to_send: entries in order; the rest is counted."""

    def __init__(self, to_send: list[Entry], unchanged: int, skipped: list[str]) -> None:
        self.to_send = to_send
        self.unchanged = unchanged
        self.skipped = skipped


def make_plan(connection: Connection, key: str, selection: list[str] | None) -> Plan:
    """The plan for the ``selection`` of ids (None: everything); NoRecord names an id that is neither record nor deletion."""
    entries: list[Entry] = []
    if selection is None:
        entries = list(receipts.ledger(connection, key))
    else:
        for identity in dict.fromkeys(selection):
            found = list(receipts.ledger(connection, key, identity)) if is_resource_id(identity) else []
            if not found:
                raise NoRecord(what="resource", name=identity, id=identity[:100], next="kb resource.list")
            entries += found
    to_send = [entry for entry in entries if not entry.pending and not entry.settled]
    skipped = [entry.id for entry in entries if entry.pending]
    return Plan(to_send, len(entries) - len(to_send) - len(skipped), skipped)


def check_mass(connection: Connection, key: str, plan: Plan) -> None:
    """Refuse a sync of everything that would delete or overwrite most of what the provider holds."""
    held = receipts.held_upserts(connection, key)
    deletions = sum(entry.operation == "delete" and entry.confirmed is not None for entry in plan.to_send)
    changes = sum(entry.operation == "upsert" and entry.confirmed is not None for entry in plan.to_send)
    for number, few, what in ((deletions, FEW_DELETIONS, "delete"), (changes, FEW_CHANGES, "overwrite")):
        if number > few and number * 2 > held:
            raise MassChange(
                message=f"this would {what} {number} of the {held} records this provider holds; nothing was sent",
                next="see them with --dry-run, then add --allow-mass-change",
            )


def check_emptied(connection: Connection, provider: Provider, *, allow_empty: bool) -> None:
    """Refuse a destination that held records and is empty now; with ``allow_empty`` its receipts are dropped instead."""
    held = receipts.held_upserts(connection, provider.key)
    if held == 0 or provider.count() != 0:
        return
    if not allow_empty:
        raise MassChange(
            message=f"the destination is empty, though it confirmed {held} records before; nothing was sent",
            next="see that the configuration names the right place; add --allow-empty to fill it again",
        )
    with transaction(connection):
        connection.execute("DELETE FROM receipt WHERE provider = ?", (provider.key,))


@contextmanager
def provider_lock(store_path: str, key: str) -> Iterator[None]:
    """The lock that keeps two syncs of one provider apart; it dies with its process. Unavailable where it has no place."""
    path = os.path.realpath(store_path)
    lock = Lock(f"{path}.sync-{key[:16]}.lock", what="the sync with this provider")
    try:
        make_private_directory(os.path.dirname(path))
        lock.__enter__()
    except OSError as error:
        raise Unavailable(message=f"the sync has no place for its lock beside {path}: {error.strerror}") from None
    try:
        yield
    finally:
        lock.__exit__(None, None, None)


def run(
    connection: Connection,
    provider: Provider,
    plan: Plan,
    *,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, Any]:
    """Send the plan and return the compatible result; every confirmation is written down before the next batch.

    progress: called with (done, total) after each batch.
    """
    connection.execute(f"PRAGMA busy_timeout = {RECEIPT_WAIT}")
    failures: list[dict[str, str]] = []
    confirmed = done = lost = 0
    left: list[Entry] = list(plan.to_send)
    while left:
        batch, left = left[: provider.batch], left[provider.batch :]
        changes = list(_changes(connection, batch))
        try:
            outcomes = provider.send(changes) if changes else []
        except KbError as error:
            outcomes = [Outcome(change.id, "not_started", error.message, silent=True) for change in changes]
        lost = lost + 1 if any(outcome.silent for outcome in outcomes) else 0
        step("sync:sent")
        sent = {change.id: change for change in changes}
        fresh = [
            (outcome.id, sent[outcome.id].revision, sent[outcome.id].operation)
            for outcome in outcomes
            if outcome.state == "confirmed"
        ]
        if fresh:
            with transaction(connection):
                receipts.confirm(connection, provider.key, provider.kind, fresh)
            step("sync:receipts")
        confirmed += len(fresh)
        failures += [
            {"id": outcome.id, "error": outcome.error or "", "state": outcome.state}
            for outcome in outcomes
            if outcome.state != "confirmed"
        ]
        done += len(batch)
        if progress is not None:
            progress(done, len(plan.to_send))
        if lost >= PATIENCE and left:
            failures += [
                {"id": entry.id, "error": "Not tried: the provider did not answer before.", "state": "not_started"}
                for entry in left
            ]
            break
    remote = "blocked_pending_distillation" if plan.skipped else "incomplete" if failures else "confirmed_for_selection"
    return {
        "provider": provider.kind,
        "confirmed": confirmed,
        "unchanged": plan.unchanged,
        "failures": failures,
        "skippedPending": len(plan.skipped),
        "remoteSync": remote,
    }


def _changes(connection: Connection, batch: list[Entry]) -> Iterator[Change]:
    """The entries of ``batch`` as they are now: what changed since the plan is sent as it became, what is gone is left out."""
    for entry in batch:
        stored = records.find(connection, entry.id)
        if stored is not None:
            waits = connection.execute("SELECT 1 FROM pending WHERE id = ?", (entry.id,)).fetchone()
            if not waits:
                resource = stored.resource
                yield Change(entry.id, stored.revision, resource["updatedAt"], resource)
            continue
        row = connection.execute("SELECT revision, deleted_at FROM tombstone WHERE id = ?", (entry.id,)).fetchone()
        if row:
            yield Change(entry.id, row[0], row[1], None)


def preview(connection: Connection, plan: Plan) -> list[dict[str, Any]]:
    """What would leave this machine: per entry its operation, id, and for records title, URL and size in bytes."""
    shown = []
    for entry in plan.to_send:
        item: dict[str, Any] = {"operation": entry.operation, "id": entry.id, "revision": entry.revision}
        row = connection.execute("SELECT body, revision FROM record WHERE id = ?", (entry.id,)).fetchone()
        if row and entry.operation == "upsert":
            resource = records.resource_in(*row)
            item |= {"title": resource["title"], "url": resource["source"]["url"], "bytes": len(row[0].encode("utf-8"))}
        shown.append(item)
    return shown


def verify(connection: Connection, provider: Provider) -> dict[str, Any]:
    """Read back everything the provider confirmed: counts, and the ids that are missing, changed, or cannot be told.

    Only entries whose confirmed revision is still the store's own are judged; the rest is to be synced anyway.
    """
    settled = [entry for entry in receipts.ledger(connection, provider.key) if entry.settled]
    found: dict[str, list[str]] = {"missing": [], "changed": [], "unknown": []}
    verified = 0
    for start in range(0, len(settled), 500):
        batch = settled[start : start + 500]
        changes = list(_changes(connection, batch))
        there = provider.read_back(changes)
        for change in changes:
            state = there.get(change.id)
            wanted = change.revision if change.resource is not None else "deleted"
            if state == wanted or (change.resource is None and state is None):
                verified += 1
            else:
                found[
                    "missing" if state in {None, "deleted"} else "unknown" if state == "unknown" else "changed"
                ].append(change.id)
    return {"provider": provider.kind, "key": provider.key, "confirmed": len(settled), "verified": verified, **found}
