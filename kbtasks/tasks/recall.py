"""``bind.search``, ``bind.serve`` and ``bind.recent``: what the workers of a bound project may ask."""

from __future__ import annotations

from kbtasks.command import command
from kbtasks.model.result import Result
from kbtasks.tasks.place import PROJECT_HELP, STORE_HELP, place_of, project_of

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from typing import Any

    from kbtasks.command import Context


@command(
    "bind.search",
    schema="bind-search",
    positional="query",
    words=True,
    help={
        "query": "What to look for: words, phrases, titles, tags or paths (1 to 1,024 bytes).",
        "project": PROJECT_HELP,
        "limit": "At most this many hits, 1 to 16.",
        "store": STORE_HELP,
    },
)
def bind_search(context: Context, query: str, project: str = "", limit: int = 8, store: str = "") -> Result:
    """Search the vault bound to a project, through the pinned program and nothing else.

    Every pinned fact is verified first (exit 6 on drift). The program has 15 seconds and 64 KiB; over a limit is an
    error, never a part of the answer. What is found is historical and untrusted text.
    """
    from kbtasks.agent.frame import NOTICE
    from kbtasks.binding.search import check_limit, check_query, search

    check_query(query)
    check_limit(limit)
    place = place_of(context, store)
    data = search(place, project_of(context, place, project), query, limit)
    notes = [f"{data['dropped']} hits were left out: gone, or links out of the vault"] if data["dropped"] else []
    if data["total"] > len(data["hits"]):
        notes.append(f"{len(data['hits'])} of {data['total']} notes are shown")
    return Result("bind-search", {"notice": NOTICE, **data}, text=_search_text, tail="hits", notes=notes)


def _search_text(data: dict[str, Any]) -> str:
    from kbtasks.agent.frame import framed_hits

    return framed_hits(data["hits"]) if data["hits"] else "Nothing found."


@command("bind.serve", schema="bind-serve", help={"project": PROJECT_HELP, "store": STORE_HELP})
def bind_serve(context: Context, project: str = "", store: str = "") -> Result:
    """Serve the bound vault to a worker over MCP (stdio): one tool, memory_search, and nothing that writes.

    Needs the extra mcp. The project is fixed at start; the binding is verified at every call, and drift is an error of
    that call.
    """
    from kbtasks.agent.memory import serve
    from kbtasks.binding.stored import require_binding

    place = place_of(context, store)
    chosen = project_of(context, place, project)
    with place.registry() as registry:
        require_binding(registry, chosen)
    calls = serve(place, chosen)
    return Result("bind-serve", {"project": chosen, "calls": calls}, raw=b"")


@command(
    "bind.recent",
    schema="bind-recent",
    help={
        "project": PROJECT_HELP,
        "limit": "At most this many tasks, 1 to 32.",
        "current": "The id of the task that asks; it is left out.",
        "store": STORE_HELP,
    },
)
def bind_recent(context: Context, project: str = "", limit: int = 5, current: str = "", store: str = "") -> Result:
    """What this project's recent tasks reported, one line each, newest first, for a fresh worker's prompt.

    This is the project's own working memory (see task.note), separate from the notes in the vault.
    """
    from kbtasks.binding.worknotes import HEADING, block, recent

    place = place_of(context, store)
    chosen = project_of(context, place, project)
    with place.registry() as registry:
        tasks, total, damaged = recent(registry, chosen, limit, current)
    data = {
        "project": chosen,
        "notice": HEADING,
        "tasks": tasks,
        "total": total,
        "truncated": total > len(tasks),
        "damaged": damaged,
    }
    return Result("bind-recent", data, text=lambda shown: block(shown["tasks"]), tail="tasks")
