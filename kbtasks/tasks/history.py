"""``history`` and ``history.search``: where notes come from, as Git knows it."""

from __future__ import annotations

from kbtasks.command import command
from kbtasks.errors import UsageError
from kbtasks.model.result import Result

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from typing import Any

    from kbtasks.command import Context

_COMMON_HELP = {
    "cochanged": "At most this many other paths of each commit, 0 to 100.",
    "deadline": "Seconds for all of Git's answers together, at most 30.",
    "required": "Fail (exit 10) unless the history is there and complete.",
}


@command(
    "history",
    schema="history",
    positional="note",
    help={
        "note": "The note: its ID, path, file name, title or an alias.",
        "limit": "At most this many commits, 1 to 50.",
        **_COMMON_HELP,
    },
)
def history(
    context: Context, note: str, limit: int = 10, cochanged: int = 20, deadline: float = 10.0, required: bool = False
) -> Result:
    """Commits that changed NOTE, newest first, renames followed, with what changed beside it.

    A commit of more than 2,000 paths keeps its identity and is marked incomplete; later commits go on. What could
    not be read makes the lane degraded or unavailable and the result partial, or with --required an error.
    """
    from kbtasks.graph.history import notes_history, require
    from kbtasks.graph.lookup import find_note
    from kbtasks.index.view import open_view

    _check(("--limit", limit, 1, 50), ("--cochanged", cochanged, 0, 100), ("--deadline", deadline, 0.01, 30))
    with open_view(context.vault, context.cache) as view:
        node = find_note(view.connection, note, root=context.vault, cwd=context.cwd)
    found = notes_history(
        context.vault, [node.path], environ=context.environ, commits=limit, cochanged=cochanged, deadline=deadline
    )
    if required:
        require(found.lane)
    commits = found.notes.get(node.path, [])
    data = {
        "note": node.to_json(),
        "head": found.head,
        "commits": commits,
        "total": len(commits),
        "truncated": node.path in found.cut,
        "partial": found.lane.partial,
        "lanes": [found.lane.to_json()],
    }
    notes = [] if commits or found.lane.partial else ["no commit has this note yet"]
    return Result("history", data, text=_text, tail="commits", notes=notes + _lane_notes(data))


@command(
    "history.search",
    schema="history-search",
    positional="query",
    words=True,
    help={
        "query": "Words of commit messages or paths, or a path of the repository.",
        "limit": "At most this many notes, 1 to 100.",
        "commits": "At most this many commits per note, 1 to 50.",
        "scan": "How many commits are looked at, 1 to 1000.",
        **_COMMON_HELP,
    },
)
def history_search(
    context: Context,
    query: str,
    limit: int = 20,
    commits: int = 5,
    scan: int = 200,
    cochanged: int = 20,
    deadline: float = 10.0,
    required: bool = False,
) -> Result:
    """Notes whose commits speak of TEXT, or that changed together with a PATH of the repository, best first.

    A path that exists here or at the repository's top is taken as a path; anything else is words.
    """
    from kbtasks.graph.history import require, search_history
    from kbtasks.graph.nodes import all_nodes
    from kbtasks.index.view import open_view

    _check(("--limit", limit, 1, 100), ("--commits", commits, 1, 50), ("--scan", scan, 1, 1000))
    _check(("--cochanged", cochanged, 0, 100), ("--deadline", deadline, 0.01, 30))
    query = query.strip()
    if not query or len(query) > 500 or "\n" in query or "\0" in query:
        raise UsageError(message="a history query has 1 to 500 characters on one line")
    with open_view(context.vault, context.cache) as view:
        nodes = {node.path: node for node in all_nodes(view.connection) if not node.generated}
    found, hits, mode = search_history(
        context.vault, query, environ=context.environ, alive=set(nodes), target=_target(context, query), scan=scan,
        commits=commits, cochanged=cochanged, deadline=deadline,
    )  # fmt: skip
    if required:
        require(found.lane)
    data = {
        "query": query,
        "mode": mode,
        "head": found.head,
        "hits": [{**nodes[hit.pop("path")].to_json(), **hit} for hit in hits[:limit]],
        "total": len(hits),
        "truncated": len(hits) > limit,
        "scan_cut": found.scan_cut,
        "partial": found.lane.partial,
        "lanes": [found.lane.to_json()],
    }
    notes = [f"only the newest {scan} commits were looked at"] if found.scan_cut else []
    notes += [] if hits else ["nothing found"]
    return Result("history-search", data, text=_search_text, tail="hits", notes=notes + _lane_notes(data))


def _target(context: Context, query: str) -> str | None:
    """Absolute path that the query names, here or at the repository's top; None when it names none."""
    import os

    for base in (context.cwd, context.repository, context.vault):
        if base is not None:
            path = os.path.normpath(os.path.join(base, query))
            if os.path.lexists(path):
                return path
    repository = context.repository
    if "/" in query and " " not in query and repository is not None:
        return os.path.normpath(os.path.join(repository, query))  # gone now, but Git may know it
    return None


def _check(*bounds: tuple[str, float, float, float]) -> None:
    for flag, value, low, high in bounds:
        if not low <= value <= high:
            raise UsageError(message=f"{flag} takes {low} to {high}, not {value}")


def _lane_notes(data: dict[str, Any]) -> list[str]:
    return [f"history {lane['status']}: {lane['message']}" for lane in data["lanes"] if lane["status"] != "ready"]


def _text(data: dict[str, Any]) -> str:
    return "\n".join(_commit_lines(data["commits"], ""))


def _commit_lines(commits: list[dict[str, Any]], indent: str) -> list[str]:
    lines = []
    for commit in commits:
        renamed = f"  (renamed from {commit['renamed_from']})" if commit["renamed_from"] else ""
        lines.append(f"{indent}{commit['hash'][:12]} {commit['committed_at'][:10]} {commit['subject']}{renamed}")
        if commit["cochanged"]:
            more = (commit["cochanged_total"] or 0) - len(commit["cochanged"][:5])
            lines.append(
                f"{indent}    with {', '.join(commit['cochanged'][:5])}" + (f" and {more} more" if more > 0 else "")
            )
        if commit["incomplete"]:
            lines.append(f"{indent}    (too many paths to list)")
    return lines


def _search_text(data: dict[str, Any]) -> str:
    lines = []
    for hit in data["hits"]:
        lines.append(f"{hit['path']}  {hit['title']}")
        lines += _commit_lines(hit["commits"], "    ")
    return "\n".join(lines)
