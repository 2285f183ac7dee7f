"""Tasks on sources: pull and sources."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kbtasks.command import command
from kbtasks.tasks.resource_door import COMPAT_HELP, STORE_HELP, answer, compatible, progress_bar, store_path

if TYPE_CHECKING:
    from typing import Any

    from kbtasks.command import Context
    from kbtasks.model.result import Result

_SUMS = ("pages", "received", "added", "updated", "unchanged", "skippedDeleted", "skippedOlder")


@compatible("resource.pull")
@command(
    "resource.pull",
    schema="resource-pull",
    help={
        "source_config": "A source's configuration (JSON); may be given several times.",
        "max_pages": "Most pages of 100 items per source, 1 to 100.",
        "restart": "Begin anew instead of going on where the last run stopped.",
        "allow_empty": "Take an empty answer as true though the source had items before.",
        "store": STORE_HELP,
        "exit_compat": COMPAT_HELP,
    },
)
def resource_pull(
    context: Context,
    source_config: list[str] = [],  # noqa: B006
    max_pages: int = 10,
    restart: bool = False,
    allow_empty: bool = False,
    store: str = "",
    exit_compat: bool = False,
) -> Result:
    """Fetch saved items from a source of your choice, page by page; new and changed ones wait for review.

    Nothing is ever deleted because a source no longer shows it. Bad items are set aside with their reasons (exit 9),
    the rest is taken. The same command goes on where an earlier run stopped.
    """
    from kbtasks.errors import UsageError
    from kbtasks.resources.providers.config import MAX_CONFIG, read_config
    from kbtasks.resources.pull import pull
    from kbtasks.resources.sources import Source
    from kbtasks.resources.store import open_store

    if not source_config:
        raise UsageError(message="resource.pull needs --source-config FILE", next="kb resource.pull --help")
    if not 1 <= max_pages <= 100:
        raise UsageError(message=f"--max-pages takes 1 to 100, not {max_pages}")
    sources = []
    for name in source_config:
        raw = context.read_input(name, limit=MAX_CONFIG)
        sources.append((name, Source(read_config(raw, "source-config", what=name), context.environ)))
    results = []
    with open_store(store_path(context, store), write=True) as connection, progress_bar(context, "pull") as show:
        for name, source in sources:
            found = pull(
                connection, source, max_pages=max_pages, restart=restart, allow_empty=allow_empty, progress=show
            )
            results.append({"config": name, **found})
    failed = [found for found in results if found["state"] == "failed"]
    aside = sum(len(found["quarantined"]) for found in results)
    compat = {
        name: value
        for name, value in results[0].items()
        if name not in {"config", "quarantined", "errorCode", "warnings"}
    }
    if len(results) == 1:
        data: dict[str, Any] = {name: value for name, value in results[0].items() if name != "config"}
    else:
        data = {name: sum(int(found[name]) for found in results) for name in _SUMS}
        data |= {
            "state": "failed" if failed else results[-1]["state"],
            "remoteSync": "not_attempted",
            "sources": results,
        }
        data["ok"] = len(results) - len(failed)
        data["failed"] = len(failed)
        compat = data
    return answer(
        "resource-pull",
        data,
        compat=compat if exit_compat else None,
        exit_code=9 if failed or aside else 0,
        notes=_notes(results),
        text=_render,
    )


def _render(data: dict[str, Any]) -> str:
    counts = (
        "{added} added, {updated} updated, {unchanged} unchanged, {skippedDeleted} deleted before, {skippedOlder} older"
    )
    return f"{data['state']}: {data['received']} items in {data['pages']} pages: " + counts.format(**data)


def _notes(results: list[dict[str, Any]]) -> list[str]:
    notes = []
    for found in results:
        if found["state"] == "failed":
            notes.append(f"{found['config']}: {found['error']}")
        notes += [f"{found['config']}: warning: {line}" for line in found["warnings"]]
        for bad in found["quarantined"]:
            where = f"page {bad['page']} item {bad['item']}" if "item" in bad else f"page {bad['page']}"
            notes.append(f"{found['config']}: {where} set aside: {bad['reason']}")
    failed = sum(found["state"] == "failed" for found in results)
    if len(results) > 1:
        notes.append(f"{len(results) - failed} of {len(results)} sources ok")
    return notes


@command(
    "resource.sources",
    schema="resource-sources",
    help={
        "remove": "Forget the progress of the source with this key; its records stay.",
        "quarantine": "Show the items that were set aside, too.",
        "limit": "Most quarantined items shown.",
        "store": STORE_HELP,
    },
)
def resource_sources(
    context: Context, remove: str = "", quarantine: bool = False, limit: int = 100, store: str = ""
) -> Result:
    """Sources pulled from so far, with their progress; --remove KEY forgets one."""
    from kbtasks.errors import NotFound, UsageError
    from kbtasks.model.result import Result
    from kbtasks.resources.canonical import plain
    from kbtasks.resources.pull import list_quarantine, list_sources, remove_source
    from kbtasks.resources.store import open_store, snapshot, transaction

    if not 1 <= limit <= 10_000:
        raise UsageError(message=f"--limit takes 1 to 10000, not {limit}")
    path = store_path(context, store)
    if remove:
        with open_store(path, write=True) as connection, transaction(connection):
            if not remove_source(connection, plain(remove)):
                raise NotFound(what="source", name=remove, next="kb resource.sources")
    with open_store(path) as connection, snapshot(connection):
        found = list_sources(connection)
        aside = list_quarantine(connection, None, limit) if quarantine else []
    data = {"sources": found, "total": len(found), "truncated": False, "removed": remove or None, "quarantine": aside}
    return Result("resource-sources", data, tail="sources", text=_render_sources if not quarantine else None)


def _render_sources(data: dict[str, Any]) -> str:
    """The sources alone: items that were not asked for are not "none"."""
    from kbtasks.tasks.emit import generic

    return generic({name: value for name, value in data.items() if name != "quarantine"})
