"""Tasks of the review queue: pending, distill, analyze."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kbtasks.command import command
from kbtasks.tasks.resource_door import COMPAT_HELP, STORE_HELP, answer, compatible, store_path

if TYPE_CHECKING:
    from typing import Any

    from kbtasks.command import Context
    from kbtasks.model.result import Result


@compatible("resource.pending")
@command(
    "resource.pending",
    schema="resource-pending",
    help={"limit": "Most records, 1 to 100.", "store": STORE_HELP, "exit_compat": COMPAT_HELP},
)
def resource_pending(context: Context, limit: int = 20, store: str = "", exit_compat: bool = False) -> Result:
    """Records that wait for review, first queued first, with the revisions that resource.distill asks for."""
    from kbtasks.errors import UsageError
    from kbtasks.resources.review import pending
    from kbtasks.resources.store import open_store, snapshot

    if not 1 <= limit <= 100:
        raise UsageError(message=f"--limit takes 1 to 100, not {limit}")
    with open_store(store_path(context, store)) as connection, snapshot(connection):
        total, items = pending(connection, limit)
    data = {"pending": total, "items": items}
    more = {**data, "total": total, "truncated": len(items) < total}
    notes = [f"{len(items)} of {total}" + (" (whole with --json)" if items and not context.json else "")]
    compat = data if exit_compat else None
    return answer("resource-pending", more, compat=compat, tail="items", text=_render, notes=notes)


def _render(data: dict[str, Any]) -> str:
    lines = [
        f"{item['id']}  {item['resource']['title'] or item['resource']['source']['url']}" for item in data["items"]
    ]
    return "\n".join(lines)


@compatible("resource.distill")
@command(
    "resource.distill",
    schema="resource-distill",
    positional="file",
    help={
        "file": "JSON: one review or an array of up to 100; - for stdin.",
        "store": STORE_HELP,
        "exit_compat": COMPAT_HELP,
    },
)
def resource_distill(context: Context, file: str, store: str = "", exit_compat: bool = False) -> Result:
    """Give reviewed records their summary, purpose, uses and limitations, and take them off the queue.

    A review is {id, sourceRevision, resourceRevision, summary, purpose, useWhen, limitations}. All or none: where a
    record or its source has changed since resource.pending, nothing is applied.
    """
    from kbtasks.resources.intake import MAX_BYTES
    from kbtasks.resources.review import distill, read_reviews
    from kbtasks.resources.store import open_store, transaction
    from kbtasks.resources.strictjson import items

    what = "stdin" if file == "-" else file
    reviews = read_reviews(items(context.read_input(file, limit=MAX_BYTES), what=what), what=what)
    with open_store(store_path(context, store), write=True) as connection, transaction(connection):
        done = distill(connection, reviews)
        left = connection.execute("SELECT count(*) FROM pending").fetchone()[0]
    data = {"distilled": done, "pending": left, "remoteSync": "not_attempted"}
    return answer("resource-distill", data, compat=data if exit_compat else None)


@compatible("resource.analyze")
@command(
    "resource.analyze",
    schema="resource-analyze",
    positional="file",
    help={"file": "JSON: one analysis; - for stdin.", "store": STORE_HELP, "exit_compat": COMPAT_HELP},
)
def resource_analyze(context: Context, file: str, store: str = "", exit_compat: bool = False) -> Result:
    """Set what was seen in a record's images: {id, resourceRevision, design}, guarded by the revision.

    Every label rests on a feature, every feature on an image that was looked at. No image is fetched.
    """
    from kbtasks.resources import records
    from kbtasks.resources.intake import MAX_BYTES
    from kbtasks.resources.review import analyze
    from kbtasks.resources.store import open_store, transaction
    from kbtasks.resources.strictjson import parse_bytes

    what = "stdin" if file == "-" else file
    item = parse_bytes(context.read_input(file, limit=MAX_BYTES), what=what)
    counts = records.Counts()
    with open_store(store_path(context, store), write=True) as connection, transaction(connection):
        status, changed = analyze(connection, item, what=what)
        counts.updated, counts.unchanged = int(changed), int(not changed)
        data = {**counts.to_json(connection), "analysis": status}
    return answer("resource-analyze", data, compat=data if exit_compat else None)
