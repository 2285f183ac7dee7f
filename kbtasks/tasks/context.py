"""``context``, ``agents.check`` and ``agents.identity``: what binds and explains a code path."""

from __future__ import annotations

from kbtasks.command import command
from kbtasks.errors import NotFound, UsageError
from kbtasks.model.result import Result

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from typing import Any

    from kbtasks.command import Context

_GROUP_TITLES = {
    "maintained_knowledge": "Maintained knowledge",
    "active_plans": "Active plans",
    "dated_research": "Dated research",
    "reports": "Reports",
    "historical_plans": "Historical plans",
}


@command(
    "context",
    schema="context",
    positional="path",
    help={
        "path": "A file or folder of the code repository, relative to here (or to the repository's top).",
        "kind": "How a path that does not exist is read.",
        "limit": "At most this many notes per group, 1 to 100.",
    },
    choices={"kind": ("auto", "file", "directory")},
)
def path_context(context: Context, path: str, kind: str = "auto", limit: int = 10) -> Result:
    """What binds and explains a code path: inherited guides, then the notes whose repository_scopes contain it.

    Guides (AGENTS.md) come from the top down and bind; notes come in five groups, nearest scope first, and explain.
    Where they disagree the guide wins and the note needs repair. Exit 3 when a note or guide needs repair to be used.
    """
    from kbtasks.graph.context import find_context, repository_path
    from kbtasks.index.view import open_view

    if not 1 <= limit <= 100:
        raise UsageError(message=f"--limit takes 1 to 100, not {limit}")
    repository = repository_of(context)
    target = repository_path(repository, path, context.cwd)
    with open_view(context.vault, context.cache) as view:
        data, repair = find_context(view.connection, repository, target, kind=kind, limit=limit)
    data = {"repository": data.pop("repository"), "vault": context.vault, **data}
    return Result("context", data, text=_text, exit_code=3 if repair else 0, tail="advisories")


def repository_of(context: Context) -> str:
    """The code repository, or NotFound where there is none."""
    repository = context.repository
    if repository is None:
        raise NotFound(what="code repository", name=context.cwd, next="name it with --repo DIR")
    return repository


def _text(data: dict[str, Any]) -> str:
    target = data["target"]
    state = target["state"] + (f" {target['kind']}" if target["kind"] else "")
    lines = [f"{target['path']} ({state})"]
    if target["missing"]:
        lines.append(f"  {target['missing']} is not there")
    lines.append("Guides, from the top down (these bind):")
    lines += [f"  {guide['path']}" for guide in data["guides"]] or ["  none"]
    if data["hubs"]:
        lines.append("Context hubs:")
        lines += [f"  {hub['path']}  {hub['title']}" for hub in data["hubs"]]
    for name, group in data["groups"].items():
        if not group["total"]:
            continue
        lines.append(f"{_GROUP_TITLES[name]} ({group['total']}):")
        for record in group["records"]:
            facts = [record["status"], record["date"], f"{record['match']} {record['matched_scope']}"]
            lines.append(f"  {record['path']}  {record['title']}  [{', '.join(fact for fact in facts if fact)}]")
            if record["summary"]:
                lines.append(f"      {record['summary']}")
    if data["total"]:
        lines.append(data["rule"])
    else:
        lines.append("No note declares a scope that contains this path.")
    for title, key, words in (
        ("Advice", "advisories", "message"),
        ("Cannot be placed", "invalid", "reason"),
        ("Repair", "issues", "message"),
    ):
        if data[key]:
            lines.append(f"{title}:")
            lines += [f"  {each['path']}: {each[words]}" for each in data[key]]
    return "\n".join(lines)


@command("agents.check", schema="agents-check", help={"limit": "At most this many guides and findings are listed."})
def agents_check(context: Context, limit: int = 200) -> Result:
    """Check the guides (AGENTS.md) of the repository and the context hubs they point to; exit 3 when the mapping is broken.

    Departures from the usual shape (two lists, Contents and Guidelines) and long guides are advice and fail nothing.
    """
    from kbtasks.graph.guidecheck import check_guides
    from kbtasks.index.view import open_view

    if limit < 1:
        raise UsageError(message=f"--limit takes 1 or more, not {limit}")
    repository = repository_of(context)
    with open_view(context.vault, context.cache) as view:
        data, found = check_guides(view.connection, repository, context.vault)
    errors = sum(not finding.advice for finding in found)
    found.sort(key=lambda finding: finding.advice)
    data = {
        **data,
        "guides": data["guides"][:limit],
        "guides_total": len(data["guides"]),
        "problems": [finding.to_json() for finding in found[:limit]],
        "total": len(found),
        "truncated": max(len(found), len(data["guides"])) > limit,
        "errors": errors,
        "advice": len(found) - errors,
    }
    return Result("agents-check", data, text=_check_text, exit_code=3 if errors else 0, tail="problems")


def _check_text(data: dict[str, Any]) -> str:
    lines = [f"{data['guides_total']} guides, {data['hubs']} hubs, {data['mapped']} mapped"]
    lines += [f"  {each['path']}: {each['severity']}: {each['message']}" for each in data["problems"]]
    return "\n".join(lines)


@command(
    "agents.identity",
    schema="agents-identity",
    positional="scope",
    help={"scope": "A folder of the repository; . for its top."},
)
def agents_identity(_: Context, scope: str) -> Result:
    """The context hub that belongs to a repository folder: its note, its guide, and the marker the guide carries.
    Writes nothing."""
    from kbtasks.graph.guidecheck import identity

    return Result("agents-identity", identity(scope.rstrip("/") or "."))
