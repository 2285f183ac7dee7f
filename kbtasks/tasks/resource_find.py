"""Tasks that look for records: search and list."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kbtasks.command import command
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

_FILTER_HELP = {
    "domain": "Only resources whose design has this domain.",
    "feature": "Only resources whose design has a feature with this in its value or kind.",
    "style": "Only resources whose design has a style label with this in it.",
    "provider": "Only resources from this source provider (x, web, ...).",
    "author": "Only resources by this author (part of name or handle).",
    "tag": "Only resources with this tag.",
    "since": "Only resources saved, posted or updated on or after this day or time.",
    "pending": "Only resources that wait for review.",
    "store": STORE_HELP,
}


@compatible("resource.search")
@command(
    "resource.search",
    schema="resource-search",
    positional="query",
    optional=True,
    words=True,
    choices={"mode": ("ranked", "lexical")},
    help={
        "query": "Words of the task at hand, an id or a URL; may be empty where a filter is given.",
        "limit": "Most hits, 1 to 20.",
        "mode": "ranked (BM25, word stems) or lexical (the compatible rule).",
        "full": "Whole resources in the hits.",
        "provider_config": PROVIDER_HELP + " Its answers are added, labelled remote.",
        "exit_compat": COMPAT_HELP,
        **_FILTER_HELP,
    },
)
def resource_search(
    context: Context,
    query: str = "",
    limit: int = 5,
    mode: str = "ranked",
    full: bool = False,
    domain: str = "",
    feature: str = "",
    style: str = "",
    provider: str = "",
    author: str = "",
    tag: str = "",
    since: str = "",
    pending: bool = False,
    provider_config: str = "",
    store: str = "",
    exit_compat: bool = False,
) -> Result:
    """Resources that may help with the task at hand, best first.

    Hits are candidates with a snippet, the words that matched and what to cite; the agent judges whether they apply.
    """
    from kbtasks.errors import UsageError
    from kbtasks.resources.filters import Filters
    from kbtasks.resources.search import GUIDANCE, search
    from kbtasks.resources.store import open_store, snapshot

    filters = Filters(
        domain=domain,
        feature=feature,
        style=style,
        provider=provider,
        author=author,
        tag=tag,
        since=since,
        pending=pending,
    )
    if not query.strip() and not filters and not exit_compat:
        raise UsageError(message="resource.search needs words or a filter", next="kb resource.list")
    path = store_path(context, store)
    remote = load_provider(context, provider_config, path) if provider_config else None
    mode = "lexical" if exit_compat else mode
    try:
        with open_store(path) as connection, snapshot(connection):
            found = search(connection, query, filters, limit=limit, mode=mode, remote=remote.search if remote else None)
    finally:
        if remote is not None:
            remote.close()
    compat = None
    if exit_compat:
        results = [
            {"resource": hit.resource, "score": hit.score, "matched": hit.matched, "citation": hit.citation()}
            for hit in found.hits
        ]
        kind = remote.kind if remote else None
        compat = {"mode": "lexical_candidates", "provider": kind, "results": results, "guidance": GUIDANCE}
    data: dict[str, Any] = {
        "mode": "ranked" if mode == "ranked" else "lexical_candidates",
        "query": query,
        "provider": remote.kind if remote else None,
        "results": [hit.to_json(full=full) for hit in found.hits],
        "total": len(found.hits),
        "truncated": found.truncated,
        "partial": found.partial,
        "lanes": found.lanes,
        "guidance": GUIDANCE,
    }
    notes = [f"{lane['name']}: {lane['state']}: {lane['reason']}" for lane in found.lanes if lane["state"] != "ready"]
    # The compatible document has no place for a lane: a provider that failed is an exit code there, and a line on stderr.
    code = 1 if exit_compat and found.partial else 0
    return answer("resource-search", data, compat=compat, exit_code=code, text=_render, notes=notes, tail="results")


def _render(data: dict[str, Any]) -> str:
    if not data["results"]:
        return "no resource matches"
    lines = []
    for hit in data["results"]:
        remote = " [remote]" if hit["origin"] == "remote" else ""
        title = _line(hit["title"]) or "(no title)"
        lines.append(f"{title}{remote}  [{hit['match']}]")
        lines += [f"  {hit['citation']['url']}", f"  {hit['snippet']}", f"  {hit['id']}"]
    return "\n".join(lines)


@command(
    "resource.list",
    schema="resource-list",
    help={
        "limit": "Most records, 1 to 1000.",
        "offset": "How many records to pass over.",
        "deleted": "List deletions instead.",
        **_FILTER_HELP,
    },
)
def resource_list(
    context: Context,
    limit: int = 50,
    offset: int = 0,
    domain: str = "",
    feature: str = "",
    style: str = "",
    provider: str = "",
    author: str = "",
    tag: str = "",
    since: str = "",
    pending: bool = False,
    deleted: bool = False,
    store: str = "",
) -> Result:
    """Stored resources, last written first."""
    from kbtasks.errors import UsageError
    from kbtasks.resources.filters import Filters
    from kbtasks.resources.listing import list_deleted, list_records
    from kbtasks.resources.store import open_store, snapshot

    if not 1 <= limit <= 1000 or offset < 0:
        raise UsageError(message="--limit takes 1 to 1000 and --offset a number from 0")
    filters = Filters(
        domain=domain,
        feature=feature,
        style=style,
        provider=provider,
        author=author,
        tag=tag,
        since=since,
        pending=pending,
    )
    with open_store(store_path(context, store)) as connection, snapshot(connection):
        if deleted:
            items, total = list_deleted(connection, limit, offset)
        else:
            items, total = list_records(connection, filters, limit, offset)
    data = {"resources": items, "total": total, "truncated": offset + len(items) < total}
    notes = [f"{len(items)} of {total}"]
    return answer("resource-list", data, compat=None, tail="resources", text=_render_list, notes=notes)


def _line(text: str | None) -> str:
    """A title in one line."""
    return " ".join((text or "").split())


def _render_list(data: dict[str, Any]) -> str:
    lines = []
    for item in data["resources"]:
        if "deletedAt" in item:
            lines.append(f"{item['id']}  deleted {item['deletedAt']}  {_line(item.get('title'))}")
        else:
            waits = "  (waits for review)" if item["pending"] else ""
            lines.append(f"{item['id']}  {item['updatedAt'][:10]}  {_line(item['title']) or item['url']}{waits}")
    return "\n".join(lines)
