"""The task that takes a file of bookmarks into the store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kbtasks.command import command
from kbtasks.tasks.resource_door import COMPAT_HELP, STORE_HELP, answer, compatible, progress_bar, store_path

if TYPE_CHECKING:
    from typing import Any

    from kbtasks.command import Context
    from kbtasks.model.result import Result


@compatible("resource.capture")
@command(
    "resource.capture",
    schema="resource-capture",
    help={
        "bookmarks": "The file: JSON, JSON Lines, CSV, browser bookmarks or an archive's .js; its shape is detected.",
        "provider": "Source provider of rows that name none (x).",
        "dry_run": "Only say what the file holds; store nothing.",
        "limit": "Most problems listed.",
        "store": STORE_HELP,
        "exit_compat": COMPAT_HELP,
    },
)
def resource_capture(
    context: Context,
    bookmarks: str = "",
    provider: str = "x",
    dry_run: bool = False,
    limit: int = 100,
    store: str = "",
    exit_compat: bool = False,
) -> Result:
    """Take bookmarks from a file into the store; new and changed ones wait for review.

    The file is never changed. Deleted records stay deleted, reviews stay as they are. Rows that cannot be taken are
    reported and block nothing (exit 9).
    """
    from kbtasks.errors import UsageError
    from kbtasks.resources import capture as work
    from kbtasks.resources import records
    from kbtasks.resources.importers.detect import detect
    from kbtasks.resources.model import is_provider
    from kbtasks.resources.store import open_store, transaction

    if not bookmarks:
        raise UsageError(message="resource.capture needs --bookmarks FILE", next="kb resource.capture --help")
    if not is_provider(provider):
        raise UsageError(message=f"--provider takes a name of a-z, 0-9, _ and -, not {provider[:80]!r}")
    if not 0 <= limit <= 100_000:
        raise UsageError(message=f"--limit takes 0 to 100000, not {limit}")
    data = context.read_input(bookmarks, limit=work.MAX_BYTES)
    found = detect(data, what="stdin" if bookmarks == "-" else bookmarks, provider=provider)
    del data
    if dry_run:
        report, _ = work.read_bookmarks(found)
        total = 0
    else:
        path = store_path(context, store)
        with (
            open_store(path, write=True) as connection,
            transaction(connection),
            progress_bar(context, "capture") as show,
        ):
            report = work.capture(connection, found, progress=show)
            total = records.count(connection)
    compat: dict[str, Any] = {
        "added": report.counts.added,
        "updated": report.counts.updated,
        "unchanged": report.counts.unchanged,
        "total": total,
        "remoteSync": "not_attempted",
        "skippedDeleted": report.skipped_deleted,
    }
    full = {
        **compat,
        "shape": report.shape,
        "rows": report.rows,
        "taken": report.taken,
        "repeated": report.repeated,
        "queued": report.queued,
        "problems": report.problems[:limit],
        "problemCount": len(report.problems),
        "warnings": report.warnings,
        "dryRun": dry_run,
        "truncated": len(report.problems) > limit,
    }
    notes = [f"warning: {line}" for line in report.warnings]
    notes += [f"row {problem['row']}: {problem['reason']}" for problem in report.problems[:20]]
    if len(report.problems) > 20:
        notes.append(f"and {len(report.problems) - 20} more rows (--json lists them)")
    return answer(
        "resource-capture",
        full,
        compat=compat if exit_compat else None,
        exit_code=9 if report.problems else 0,
        notes=notes,
        tail="problems",
        text=_render,
    )


def _render(data: dict[str, Any]) -> str:
    what = "{shape}: {rows} rows, {taken} bookmarks, {repeated} repeated, {problemCount} not taken".format(**data)
    if data["dryRun"]:
        return what + "; nothing was stored"
    done = "{added} added, {updated} updated, {unchanged} unchanged, {skippedDeleted} deleted before; {queued} wait for review"
    return what + "\n" + done.format(**data)
