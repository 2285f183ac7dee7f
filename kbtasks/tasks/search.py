"""``search``: the notes that answer a query, with the passage that does."""

from __future__ import annotations

from kbtasks.command import command
from kbtasks.errors import UsageError
from kbtasks.model.result import Result

TYPE_CHECKING = False  # importing typing would cost every search milliseconds; checkers know the name
if TYPE_CHECKING:
    from typing import Any

    from kbtasks.command import Context
    from kbtasks.index.view import View
    from kbtasks.retrieval.search import Answer

MAX_PACK = 64 << 10
_MAX_STDIN = 1 << 20


@command(
    "search",
    schema="search",
    positional="query",
    words=True,
    help={
        "query": 'Words and "quoted phrases"; - reads them from stdin. Nothing in it is an operator.',
        "mode": "exact, keyword, semantic or hybrid (default: hybrid where there are vectors, else keyword).",
        "limit": "Hits, 1 to 100.",
        "candidates": "Pieces a lane may propose, up to 500 (default: four times the limit, at least 100).",
        "not_": "Leave out notes that hold this word or phrase. Repeatable.",
        "where": "Condition on front matter: NAME OP VALUE with = != < <= > >= ~ or in. Repeatable.",
        "has": "Notes whose front matter has this key. Repeatable.",
        "tag": "Notes with this tag or one nested in it. Repeatable: all of them.",
        "type": "Notes of this type. Repeatable: any of them.",
        "path": "Notes in this folder, or fitting this glob (* and **). Repeatable: any of them.",
        "scope": "Notes whose repository_scopes name this path or something in it. Repeatable: any of them.",
        "since": "Changed at or after this date, time or age (7d).",
        "before": "Changed before this date, time or age.",
        "age": "What --since and --before go by: file (its time) or git (its last commit; file time where there is none).",
        "min_match": "Lowest grade to return: weak, strong or identity.",
        "passage_bytes": "Longest passage in bytes, 64 to 16384; 0 for none.",
        "current": "Only notes that are current: not superseded, ended, or about code that is gone.",
        "prefer_current": "Put notes that are not current after the others.",
        "fuzzy": "Also count words spelled almost alike.",
        "related": "Show the neighbours of this note too. Repeatable, at most 5.",
        "graph": "Leave out the notes linked with the first hits.",
        "history": "Add the last commits of the first hits, as far as Git can tell.",
        "require_history": "The same, but fail (exit 10) where Git cannot tell.",
        "no_history": "Never ask Git (the default).",
        "pack": "Print a Markdown block of at most this many bytes for a prompt, sources marked, instead of hits.",
        "rerank": "Let the reranker of kb.toml reorder the first hits.",
        "verify": "Read and hash every note instead of trusting size, times and inode.",
    },
    choices={
        "age": ("file", "git"),
        "mode": ("exact", "keyword", "semantic", "hybrid"),
        "min_match": ("weak", "strong", "identity"),
    },
)
def search(
    context: Context,
    query: str,
    mode: str = "",
    limit: int = 10,
    candidates: int = 0,
    not_: list[str] = [],  # noqa: B006
    where: list[str] = [],  # noqa: B006
    has: list[str] = [],  # noqa: B006
    tag: list[str] = [],  # noqa: B006
    type: list[str] = [],  # noqa: B006
    path: list[str] = [],  # noqa: B006
    scope: list[str] = [],  # noqa: B006
    since: str = "",
    before: str = "",
    age: str = "file",
    min_match: str = "",
    passage_bytes: int = 512,
    current: bool = False,
    prefer_current: bool = False,
    fuzzy: bool = False,
    related: list[str] = [],  # noqa: B006
    graph: bool = True,
    history: bool = False,
    require_history: bool = False,
    no_history: bool = False,
    pack: int = 0,
    rerank: bool = False,
    verify: bool = False,
) -> Result:
    """Notes that answer QUERY, best first, each with its best passage.

    A query is plain words and "quoted phrases"; a leading dash, AND, a colon are text (give text that begins with a dash
    by --query=TEXT or on stdin). Exact mode wants every word and phrase; keyword mode ranks by them; semantic mode by
    meaning; hybrid by both. A note whose title, alias, path or ID is the query comes first. Nothing found is exit 0.
    """
    from kbtasks.index.view import open_view
    from kbtasks.retrieval.filters import Filters
    from kbtasks.retrieval.request import Request
    from kbtasks.retrieval.search import search as answer_of

    if query == "-":
        query = context.read_input("-", limit=_MAX_STDIN).decode("utf-8", "replace")
    if pack and not 256 <= pack <= MAX_PACK:
        raise UsageError(message=f"--pack takes 256 to {MAX_PACK} bytes, not {pack}")
    if history + require_history + no_history > 1:
        raise UsageError(message="--history, --require-history and --no-history exclude each other")
    times = _commit_times(context, age)
    filters = Filters(
        where=where, has=has, tag=tag, type=type, path=path, scope=scope, since=since, before=before, times=times
    )
    with open_view(context.vault, context.cache, verify=verify) as view:
        request = Request(
            query,
            mode=mode,
            limit=limit,
            candidates=candidates,
            excluded=not_,
            filters=filters,
            min_match=min_match,
            passage_bytes=max(passage_bytes, 512) if pack else passage_bytes,
            current=current,
            prefer_current=prefer_current,
            repository=context.repository,
            fuzzy=fuzzy,
            related=_related(context, view, related),
            graph=graph,
            rerank=context.environ if rerank else None,
        )
        answer = answer_of(view, request)
        bare = not answer.hits and view.connection.execute("SELECT 1 FROM note LIMIT 1").fetchone() is None
    data = answer.to_json()
    if bare:
        data["notes"] = [f"there is no note in {context.vault} (notes are files that end in .md)"]
    data["history"] = None
    if history or require_history:
        _add_history(context, answer, data, required=require_history)
    if pack:
        from kbtasks.retrieval.pack import pack as pack_of

        block, packed = pack_of(answer, pack)
        data = {**data, "pack": block, "packed": packed}
        return Result("search", data, raw=block.encode("utf-8", "replace"), notes=data["notes"], tail="hits")
    return _shown(context, answer, data)


def _commit_times(context: Context, age: str) -> dict[str, int] | None:
    if age != "git":
        return None
    from kbtasks.graph.age import last_commits

    return last_commits(context.vault, environ=context.environ)


def _related(context: Context, view: View, names: list[str]) -> list[int]:
    if not names:
        return []
    from kbtasks.graph.lookup import find_note

    return [find_note(view.connection, name, root=context.vault, cwd=context.cwd).rowid for name in names]


def _add_history(context: Context, answer: Answer, data: dict[str, Any], *, required: bool) -> None:
    """The last commits of the first five hits; Unavailable where they are required and cannot be had."""
    from kbtasks.graph import history

    found = history.notes_history(context.vault, [hit.path for hit in answer.hits[:5]], environ=context.environ)
    if required:
        history.require(found.lane)
    data["history"] = {
        "head": found.head,
        "status": found.lane.status,
        "message": found.lane.message,
        "notes": [
            {"path": path, "commits": commits, "truncated": path in found.cut} for path, commits in found.notes.items()
        ],
    }
    if found.lane.partial:
        data["partial"] = True
        data["notes"].append(f"history is {found.lane.status}: {found.lane.message}")


def _shown(context: Context, answer: Answer, data: dict[str, Any]) -> Result:
    import sys

    from kbtasks.tasks.searched import colour, lines

    notes = [*data["notes"], *_counts(data)]
    if not context.json and not context.plain and sys.stdout.isatty() and "NO_COLOR" not in context.environ:
        return Result("search", data, raw=colour(answer, data), notes=notes, tail="hits")
    return Result("search", data, text=lines, notes=notes, tail="hits")


def _counts(data: dict[str, Any]) -> list[str]:
    near = ", ".join(each["text"] for each in data["suggestions"])
    meant = f"did you mean: {near}?" if near else ""
    if not data["hits"]:
        return ["nothing found" + (f"; {meant}" if meant else "")]
    counts = [f"{len(data['hits'])} of {data['total']} notes"] if data["truncated"] else []
    return [*counts, meant] if meant else counts
