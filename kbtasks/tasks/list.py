"""``list`` and ``tags``: notes and tags by what they are."""

from __future__ import annotations

from kbtasks.command import command
from kbtasks.model.result import Result

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from kbtasks.command import Context


@command(
    "list",
    schema="list",
    help={
        "where": "Condition on front matter: NAME OP VALUE with = != < <= > >= ~ or in. Repeatable: all of them.",
        "has": "Notes whose front matter has this key. Repeatable.",
        "tag": "Notes with this tag or one nested in it. Repeatable: all of them.",
        "type": "Notes of this type. Repeatable: any of them.",
        "path": "Notes in this folder, or fitting this glob (* and **). Repeatable: any of them.",
        "scope": "Notes whose repository_scopes name this path or something in it. Repeatable: any of them.",
        "since": "Changed at or after this date, time or age (7d).",
        "before": "Changed before this date, time or age.",
        "age": "What --since and --before go by: file (its time) or git (its last commit; file time where there is none).",
        "sort": "path, title, type, status, size, modified, inbound, outbound, or a front matter key.",
        "desc": "Sort downwards. A note without the key comes last either way.",
        "limit": "Notes to show, 1 to 10000.",
        "offset": "Notes to pass over first.",
        "fields": "What to show of each, separated by commas: names as for --sort, front matter keys, meta for all of it.",
    },
    choices={"age": ("file", "git")},
)
def list_notes(
    context: Context,
    where: list[str] = [],  # noqa: B006
    has: list[str] = [],  # noqa: B006
    tag: list[str] = [],  # noqa: B006
    type: list[str] = [],  # noqa: B006
    path: list[str] = [],  # noqa: B006
    scope: list[str] = [],  # noqa: B006
    since: str = "",
    before: str = "",
    age: str = "file",
    sort: str = "path",
    desc: bool = False,
    limit: int = 100,
    offset: int = 0,
    fields: str = "",
) -> Result:
    """Notes by front matter, tag, type, folder and age, sorted and paged.

    Conditions compare numbers as numbers and text without regard to letter case; quotes make a value text. A list meets a
    condition when one of its members does. --where 'status in accepted, proposed' takes several values.
    """
    from kbtasks.index.view import open_view
    from kbtasks.retrieval import listing
    from kbtasks.retrieval.filters import Filters

    times = None
    if age == "git":
        from kbtasks.graph.age import last_commits

        times = last_commits(context.vault, environ=context.environ)
    filters = Filters(
        where=where, has=has, tag=tag, type=type, path=path, scope=scope, since=since, before=before, times=times
    )
    wanted = [field.strip() for field in fields.split(",") if field.strip()] or list(listing.DEFAULT_FIELDS)
    with open_view(context.vault, context.cache) as view:
        notes, total = listing.list_notes(
            view.connection, filters, sort=sort, descending=desc, limit=limit, offset=offset, fields=wanted
        )
    data = {"notes": notes, "total": total, "offset": offset, "truncated": offset + len(notes) < total}
    said = [f"{len(notes)} of {total} notes"] if data["truncated"] else ["no notes"] if not total else []
    hidden = {"id", "path", "title", *(() if fields else ("summary", "modified")), "meta"}
    return Result("list", data, text=lambda found: _notes_text(found, hidden), notes=said, tail="notes")


def _notes_text(data: dict[str, Any], hidden: set[str]) -> str:
    lines = []
    for note in data["notes"]:
        parts = [note["path"], note["title"]]
        for key, value in note.items():
            if key in hidden or value in (None, "", []):
                continue
            parts.append(f"{key}: {', '.join(map(str, value)) if isinstance(value, list) else value}")
        lines.append("  ".join(parts))
    return "\n".join(lines)


@command(
    "tags",
    schema="tags",
    help={
        "under": "Only this tag and those nested in it.",
        "sort": "count (most used first) or name.",
        "limit": "Tags to show, 1 to 10000.",
    },
    choices={"sort": ("count", "name")},
)
def tags(context: Context, under: str = "", sort: str = "count", limit: int = 1000) -> Result:
    """Tags of the vault, from front matter and text, with how many notes use each.

    A nested tag counts for those above it too. Spellings that differ only in letter case are one tag.
    """
    from kbtasks.index.view import open_view
    from kbtasks.retrieval import listing

    with open_view(context.vault, context.cache) as view:
        found, total = listing.list_tags(view.connection, under=under, by=sort, limit=limit)
    data = {"tags": found, "total": total, "truncated": len(found) < total}
    said = [f"{len(found)} of {total} tags"] if data["truncated"] else ["no tags"] if not total else []
    return Result("tags", data, text=_tags_text, notes=said, tail="tags")


def _tags_text(data: dict[str, Any]) -> str:
    return "\n".join(f"{each['total']:>6}  #{each['name']}" for each in data["tags"])
