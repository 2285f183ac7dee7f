"""Tasks that care for the store: gc, doctor, export, import."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kbtasks.command import command
from kbtasks.tasks.resource_door import STORE_HELP, open_input, private_output, store_path

if TYPE_CHECKING:
    from typing import Any

    from kbtasks.command import Context
    from kbtasks.model.result import Result


@command(
    "resource.gc",
    schema="resource-gc",
    help={
        "abandon": "Key of a provider that is no longer waited for (see resource.status); may be given several times.",
        "dry_run": "Only say what would go.",
        "store": STORE_HELP,
    },
)
def resource_gc(
    context: Context,
    abandon: list[str] = [],  # noqa: B006
    dry_run: bool = False,
    store: str = "",
) -> Result:
    """Let go of the detail of deletions that every provider used so far has confirmed.

    The id and time of each deletion stay for good, so that no capture or pull brings the record back. Words of deleted
    records are cleared from the search tables, and temporary files of dead processes are removed.
    """
    import os

    from kbtasks.model.result import Result
    from kbtasks.resources.care import collect, shrink
    from kbtasks.resources.store import exists, open_store, transaction

    path = store_path(context, store)
    if not exists(path):
        none = {"collected": 0, "waiting": 0, "waitingFor": [], "receipts": 0, "captures": 0, "abandoned": []}
        return Result("resource-gc", {**none, "bytesBefore": 0, "bytesAfter": 0, "dryRun": dry_run})
    before = os.path.getsize(path)
    with open_store(path, write=True) as connection:
        if dry_run:
            connection.execute("BEGIN IMMEDIATE")
            try:
                data = collect(connection, abandon=abandon, dry_run=True)
                _refuse_unknown(abandon, data["abandoned"])
            finally:
                connection.execute("ROLLBACK")
        else:
            with transaction(connection):
                data = collect(connection, abandon=abandon, dry_run=False)
                _refuse_unknown(abandon, data["abandoned"])
            shrink(connection, path)
    data |= {"bytesBefore": before, "bytesAfter": os.path.getsize(path), "dryRun": dry_run}
    return Result("resource-gc", data)


def _refuse_unknown(keys: list[str], known: list[str]) -> None:
    """A misspelt key must not look as if a provider had been let go."""
    from kbtasks.errors import NotFound
    from kbtasks.resources.canonical import plain

    for key in keys:
        if plain(key) not in known:
            raise NotFound(what="provider", name=key, next="the keys stand in: kb resource.gc --dry-run")


@command(
    "resource.doctor",
    schema="resource-doctor",
    help={
        "rebuild": "Make the search tables anew from the records.",
        "limit": "Most findings listed.",
        "store": STORE_HELP,
    },
)
def resource_doctor(context: Context, rebuild: bool = False, limit: int = 100, store: str = "") -> Result:
    """Check that the store is whole: file, digests, relations, search tables, privacy (exit 3 where something is wrong)."""
    import os

    from kbtasks.errors import UsageError
    from kbtasks.model.result import Result
    from kbtasks.resources.care import examine, rebuild_search
    from kbtasks.resources.store import exists, open_store

    if not 1 <= limit <= 100_000:
        raise UsageError(message=f"--limit takes 1 to 100000, not {limit}")
    path = store_path(context, store)
    there = exists(path)
    if rebuild and there:
        with open_store(path, write=True) as connection:
            rebuild_search(connection)
    checked = 0
    findings: list[dict[str, Any]] = []
    if there:
        with open_store(path) as connection:
            checked, findings = examine(connection, os.path.realpath(path))
    data = {
        "store": path,
        "exists": there,
        "ok": not findings,
        "checked": checked,
        "findings": findings[:limit],
        "total": len(findings),
        "truncated": len(findings) > limit,
    }
    return Result("resource-doctor", data, exit_code=3 if findings else 0, tail="findings")


@command(
    "resource.export",
    schema="resource-export",
    positional="file",
    choices={"format": ("jsonl", "v1")},
    help={
        "file": "Where to write (0600); an existing file is left alone without --force.",
        "format": "jsonl (everything) or v1 (the compatible JSON store, within its limits).",
        "force": "Replace an existing file.",
        "store": STORE_HELP,
    },
)
def resource_export(context: Context, file: str, format: str = "jsonl", force: bool = False, store: str = "") -> Result:
    """Write the whole store to one private file."""
    import os

    from kbtasks.errors import AlreadyExists
    from kbtasks.model.result import Result
    from kbtasks.resources import records
    from kbtasks.resources.store import open_store, snapshot
    from kbtasks.resources.transfer import to_lines, to_v1

    target = context.path(file)
    if os.path.lexists(target) and not force:
        raise AlreadyExists(path=target, next="name another file, or add --force")
    with open_store(store_path(context, store)) as connection, snapshot(connection):
        parts = [to_v1(connection).to_bytes()] if format == "v1" else (line.encode() for line in to_lines(connection))
        size, digest = private_output(target, parts)
        number = records.count(connection)
        graves = connection.execute("SELECT count(*) FROM tombstone").fetchone()[0]
    found = {"format": format, "file": target, "resources": number, "tombstones": graves, "bytes": size}
    return Result("resource-export", {**found, "sha256": digest})


@command(
    "resource.import",
    schema="resource-import",
    positional="file",
    choices={"format": ("", "jsonl", "v1")},
    help={
        "file": "An export, or another agent's version 1 JSON store; - for stdin. It is only read.",
        "format": "jsonl or v1 (default: seen from the file).",
        "skip_bad": "Report bad lines of jsonl instead of refusing the file.",
        "store": STORE_HELP,
    },
)
def resource_import(context: Context, file: str, format: str = "", skip_bad: bool = False, store: str = "") -> Result:
    """Take over an export: the later of two revisions wins, deletions and receipts included; all or nothing."""
    from kbtasks.model.result import Result
    from kbtasks.resources import records
    from kbtasks.resources.store import open_store, transaction
    from kbtasks.resources.transfer import FORMAT, bounded_lines, from_lines, from_v1
    from kbtasks.resources.v1 import MAX_BYTES, parse_v1

    what = "stdin" if file == "-" else file
    with open_input(context, file) as stream:
        head = stream.peek(200)[:200]
        form = format or ("jsonl" if FORMAT.encode() in head.split(b"\n")[0] else "v1")
        parsed = parse_v1(stream.read(MAX_BYTES + 1), what=what) if form == "v1" else None
        with open_store(store_path(context, store), write=True) as connection, transaction(connection):
            if parsed:
                taken = from_v1(connection, parsed)
            else:
                taken = from_lines(connection, bounded_lines(stream), what=what, skip_bad=skip_bad)
            total = records.count(connection)
    found = {
        "format": form,
        "added": taken.added,
        "updated": taken.updated,
        "unchanged": taken.unchanged,
        "skippedOlder": taken.skipped_older,
        "tombstones": taken.tombstones,
        "receipts": taken.receipts,
        "total": total,
        "problems": taken.problems[:100],
        "problemCount": len(taken.problems),
    }
    return Result("resource-import", found, exit_code=9 if taken.problems else 0)


@command("resource.vectors", schema="resource-vectors", help={"store": STORE_HELP})
def resource_vectors(context: Context, store: str = "") -> Result:
    """Make the vectors with which resource.search also compares by meaning (extra semantic).

    Only what is new or changed is encoded; what was made stays where the run is stopped. No network is used.
    """

    from kbtasks.model.result import Result
    from kbtasks.resources.semantic import build
    from kbtasks.resources.store import exists, open_store
    from kbtasks.tasks.resource_door import progress_bar

    path = store_path(context, store)
    if not exists(path):
        return Result("resource-vectors", {"made": 0, "total": 0})
    with open_store(path, write=True) as connection, progress_bar(context, "vectors") as show:
        return Result("resource-vectors", build(connection, progress=show))
