"""``graph`` and ``stats``: the vault as a whole."""

from __future__ import annotations

from kbtasks.command import command
from kbtasks.errors import UsageError
from kbtasks.model.result import Result

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from typing import Any

    from kbtasks.command import Context

MAX_NOTES = 200_000


@command(
    "graph",
    schema="graph",
    help={
        "format": "What to print: figures and lists (json), GraphML or DOT of the whole graph.",
        "folder": "Only notes below this folder of the vault.",
        "tag": "Only notes with this tag, or one below it.",
        "top": "At most this many hubs, orphans, dead ends and components.",
        "limit": "At most this many notes in the graph itself, the best connected ones, 0 to 200000.",
    },
    choices={"format": ("json", "graphml", "dot")},
)
def graph(
    context: Context, format: str = "json", folder: str = "", tag: str = "", top: int = 10, limit: int = 1000
) -> Result:
    """The graph of the vault: hubs, orphans, dead ends, components, and the notes and links themselves.

    --format graphml or dot prints a file for other programs; with --json the document is printed whatever the format.
    """
    from kbtasks.graph.formats import to_dot, to_graphml
    from kbtasks.graph.whole import bounded, load_whole, sorted_pairs, summary
    from kbtasks.index.view import open_view

    if not 0 <= limit <= MAX_NOTES:
        raise UsageError(message=f"--limit takes 0 to {MAX_NOTES}, not {limit}")
    if not 0 <= top <= MAX_NOTES:
        raise UsageError(message=f"--top takes 0 to {MAX_NOTES}, not {top}")
    with open_view(context.vault, context.cache) as view:
        whole = load_whole(view.connection, folder=folder, tag=tag)
    part = bounded(whole, limit)
    cut = len(part.nodes) < len(whole.nodes)
    data = {
        **summary(whole, top=top),
        "notes": [
            {
                **node.to_json(),
                "type": node.type,
                "inbound": whole.degree(node.rowid)[0],
                "outbound": whole.degree(node.rowid)[1],
            }
            for node in part.nodes.values()
        ],
        "total": len(whole.nodes),
        "truncated": cut,
        "links": [
            {"source": source.path, "target": target.path, "links": count}
            for source, target, count in sorted_pairs(part)
        ],
    }
    notes = [f"cut: the {limit} best connected of {len(whole.nodes)} notes"] if cut else []
    raw = {"graphml": to_graphml, "dot": to_dot}.get(format)
    return Result("graph", data, text=_text, raw=raw(part) if raw else None, tail="links", notes=notes if raw else [])


def _text(data: dict[str, Any]) -> str:
    counts = data["counts"]
    lines = [
        f"{counts['notes']} notes, {counts['links']} links between {counts['linked_pairs']} pairs of notes",
        f"{counts['components']} components, the largest with {counts['largest_component']} notes",
        f"{counts['orphans']} orphans, {counts['dead_ends']} dead ends",
    ]
    for title, key in (("Hubs", "hubs"), ("Orphans", "orphans"), ("Dead ends", "dead_ends")):
        if data[key]:
            lines.append(f"{title}:")
            lines += [
                f"  {each['path']}" + (f"  (notes that link here: {each['inbound']})" if "inbound" in each else "")
                for each in data[key]
            ]
    return "\n".join(lines)


@command("stats", schema="stats", help={"top": "At most this many types, statuses, folders and tags."})
def stats(context: Context, top: int = 20) -> Result:
    """Figures of the vault: notes, links by state, tags, types, statuses, folders, attachments."""
    from kbtasks.graph.stats import vault_stats
    from kbtasks.index.view import open_view

    if top < 0:
        raise UsageError(message=f"--top takes 0 or more, not {top}")
    with open_view(context.vault, context.cache) as view:
        data = vault_stats(view.connection, top=top)
    return Result("stats", {"root": context.vault, **data}, text=_stats_text)


def _stats_text(data: dict[str, Any]) -> str:
    lines = [f"{name.replace('_', ' ')}: {value}" for name, value in data["counts"].items()]
    lines.append("links: " + ", ".join(f"{count} {state}" for state, count in data["links"].items()))
    lines += [
        f"{key}: " + ", ".join(f"{each['name'] or '(none)'} {each['notes']}" for each in data[key])
        for key in ("types", "statuses", "folders", "tags")
        if data[key]
    ]
    return "\n".join(lines)
