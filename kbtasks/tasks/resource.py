"""Tasks on single records: put, get, inspect, delete, list, status."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kbtasks.command import command
from kbtasks.tasks.emit import in_words
from kbtasks.tasks.resource_door import (
    COMPAT_HELP,
    PROVIDER_HELP,
    STORE_HELP,
    answer,
    compatible,
    load_provider,
    store_path,
)

if TYPE_CHECKING:
    from typing import Any

    from kbtasks.command import Context
    from kbtasks.model.result import Result


@compatible("resource.put")
@command(
    "resource.put",
    schema="resource-put",
    positional="file",
    help={
        "file": "JSON: one resource, an array, or JSON Lines; - for stdin.",
        "skip_bad": "Set bad items aside with their reasons instead of refusing the whole input.",
        "store": STORE_HELP,
        "exit_compat": COMPAT_HELP,
    },
)
def resource_put(
    context: Context, file: str, skip_bad: bool = False, store: str = "", exit_compat: bool = False
) -> Result:
    """Store resources, each in full; all of them or none.

    A resource replaces the one of the same provider and original id; a changed one needs a later updatedAt. Up to
    1,000 resources and 10 MiB. With --skip-bad the good ones are stored and the bad ones reported (exit 9).
    """
    from kbtasks.resources import records
    from kbtasks.resources.faults import ConflictingRecord, DuplicateRecord, StaleRecord
    from kbtasks.resources.intake import MAX_BYTES, read_resources
    from kbtasks.resources.store import open_store, transaction

    data = context.read_input(file, limit=MAX_BYTES)
    intake = read_resources(data, what="stdin" if file == "-" else file, skip_bad=skip_bad)
    counts = records.Counts()
    with open_store(store_path(context, store), write=True) as connection, transaction(connection):
        seen: dict[str, int] = {}
        for position, resource, has_extras, extras in intake.taken:
            identity = resource["id"]
            try:
                if identity in seen:
                    raise DuplicateRecord(id=identity, first=seen[identity], second=position)
                records.put_one(connection, resource, extras if has_extras else ..., counts)
            except (DuplicateRecord, StaleRecord, ConflictingRecord) as error:
                if not skip_bad:
                    raise
                intake.bad.append({"item": position, "pointer": f"/{position}", "reason": error.message})
            seen.setdefault(identity, position)
        result = counts.to_json(connection)
    full = {**result, "extrasUpdated": counts.extras_updated, "skipped": intake.bad, "warnings": intake.warnings}
    notes = [f"warning: {line}" for line in intake.warnings]
    notes += [f"skipped item {bad['item']}: {bad['pointer']}: {bad['reason']}" for bad in intake.bad]
    return answer(
        "resource-put",
        full,
        compat=result if exit_compat else None,
        exit_code=9 if intake.bad else 0,
        notes=notes,
        text=lambda found: "{added} added, {updated} updated, {unchanged} unchanged; {total} in all".format(**found),
    )


@compatible("resource.get")
@command(
    "resource.get",
    schema="resource-record",
    positional="id",
    help={"id": "The record's id (resource_ and 64 hex digits).", "store": STORE_HELP, "exit_compat": COMPAT_HELP},
)
def resource_get(context: Context, id: str, store: str = "", exit_compat: bool = False) -> Result:
    """Show one resource in full."""
    from kbtasks.resources import records
    from kbtasks.resources.store import open_store

    with open_store(store_path(context, store)) as connection:
        found = records.get(connection, id)
        resource, extras = found.resource, found.extras
    data = {**resource, "extras": extras} if extras else resource
    return answer("resource-record", data, compat=resource if exit_compat else None, text=render_record)


def render_record(data: dict[str, Any]) -> str:
    """A resource for a person: heading lines, then its texts."""
    lines = [data["title"] or "(no title)", data["source"]["url"], f"{data['id']}  {data['updatedAt']}"]
    for name in ("purpose", "summary", "savedReason"):
        lines += [f"{name}: {data[name]}"] if data.get(name) else []
    for name in ("useWhen", "limitations"):
        lines += [f"{name}: {item}" for item in data[name]]
    if data.get("extras"):
        lines += [f"{name}: {in_words(value)}" for name, value in data["extras"].items()]
    return "\n".join([*lines, "", data["text"]])


@compatible("resource.inspect")
@command(
    "resource.inspect",
    schema="resource-inspect",
    positional="id",
    help={"id": "The record's id.", "store": STORE_HELP, "exit_compat": COMPAT_HELP},
)
def resource_inspect(context: Context, id: str, store: str = "", exit_compat: bool = False) -> Result:
    """Show one resource with the revision that resource.analyze asks for."""
    from kbtasks.resources import records
    from kbtasks.resources.store import open_store

    with open_store(store_path(context, store)) as connection:
        found = records.get(connection, id)
        data = {"resource": found.resource, "resourceRevision": found.revision}
        waits = connection.execute("SELECT source_revision FROM pending WHERE id = ?", (id,)).fetchone()
    more = {**data, "pending": waits is not None, "extras": found.extras}
    return answer("resource-inspect", more, compat=data if exit_compat else None, text=_render_inspection)


def _render_inspection(data: dict[str, Any]) -> str:
    waits = "  (waits for review)" if data["pending"] else ""
    shown = render_record({**data["resource"], "extras": data["extras"]})
    return f"{shown}\n\nresourceRevision: {data['resourceRevision']}{waits}"


@compatible("resource.delete")
@command(
    "resource.delete",
    schema="resource-delete",
    positional="id",
    help={"id": "The record's id.", "store": STORE_HELP, "exit_compat": COMPAT_HELP},
)
def resource_delete(context: Context, id: str, store: str = "", exit_compat: bool = False) -> Result:
    """Delete a resource here; its source is not touched, and copies elsewhere only by the next sync.

    A mark of the deletion stays, so that no capture or pull brings it back.
    """
    from kbtasks.resources import records
    from kbtasks.resources.model import is_resource_id
    from kbtasks.resources.store import open_store, transaction

    path = store_path(context, store)
    with open_store(path) as connection:
        known = records.find(connection, id) is not None if is_resource_id(id) else False
    at = None
    if known:
        with open_store(path, write=True) as connection, transaction(connection):
            at = records.delete(connection, id)
    data = {"deleted": at is not None, "remoteSync": "pending_explicit_sync" if at else "not_attempted"}
    full = {**data, "id": id, "deletedAt": at}
    return answer("resource-delete", full, compat=data if exit_compat else None, text=_render_deletion)


def _render_deletion(data: dict[str, Any]) -> str:
    return "deleted here; copies elsewhere go with the next sync" if data["deleted"] else "there is no such resource"


@compatible("resource.status")
@command(
    "resource.status",
    schema="resource-status",
    help={"provider_config": PROVIDER_HELP, "store": STORE_HELP, "exit_compat": COMPAT_HELP},
)
def resource_status(context: Context, provider_config: str = "", store: str = "", exit_compat: bool = False) -> Result:
    """How many resources there are, what waits for review, and what a provider has not confirmed.

    No provider is ever contacted.
    """
    from kbtasks.resources.receipts import status
    from kbtasks.resources.store import open_store, snapshot

    path = store_path(context, store)
    provider = load_provider(context, provider_config, path) if provider_config else None
    with open_store(path) as connection, snapshot(connection):
        data = status(connection, provider.key if provider else None, provider.kind if provider else None)
        quarantined = connection.execute("SELECT count(*) FROM quarantine").fetchone()[0]
    more = {**data, "quarantined": quarantined, "store": path, "key": provider.key if provider else None}
    return answer("resource-status", more, compat=data if exit_compat else None)
