"""``links``, ``backlinks`` and ``relation.list``: what a note is connected with."""

from __future__ import annotations

from kbtasks.command import command
from kbtasks.errors import UsageError
from kbtasks.model.result import Result

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from typing import Any

    from kbtasks.command import Context

_NOTE = "The note: its ID, path, file name, title or an alias."


@command(
    "links",
    schema="links",
    positional="note",
    help={
        "note": _NOTE,
        "direction": "Follow links out of notes, into them, or both.",
        "depth": "How many steps to go, 1 to 10.",
        "limit": "At most this many notes, the first one counted, 1 to 1000.",
    },
    choices={"direction": ("in", "out", "both")},
)
def links(context: Context, note: str, direction: str = "both", depth: int = 1, limit: int = 50) -> Result:
    """Notes around NOTE, nearest first, over links and relations alike.

    The links among them are listed as they are written, with what each means. Links of NOTE itself that lead to no
    note (broken, ambiguous, attachments, addresses) are listed apart. What a limit left out is said.
    """
    from kbtasks.graph.edges import other_links_of, unresolved_of
    from kbtasks.graph.links import check_bounds, link_json, walk
    from kbtasks.graph.lookup import find_note
    from kbtasks.index.view import open_view

    check_bounds(direction, depth, limit)
    with open_view(context.vault, context.cache) as view:
        node = find_note(view.connection, note, root=context.vault, cwd=context.cwd)
        found = walk(view.connection, node, direction=direction, depth=depth, limit=limit)
        unresolved = unresolved_of(view.connection, node.rowid, 1000) if direction != "in" else []
        others = other_links_of(view.connection, node.rowid, 1000) if direction != "in" else []
    data = {
        "note": node.to_json(),
        "direction": direction,
        "depth": depth,
        "limit": limit,
        "notes": [{**each.to_json(), "distance": distance} for each, distance in found.notes],
        "total": found.total,
        "truncated": found.truncated,
        "cut": found.why,
        "links": [link_json(edge, found.nodes) for edge in found.links],
        "unresolved": [
            {"state": edge.state, "candidates": edge.listed_candidates(), **edge.to_json()} for edge in unresolved
        ],
        "other": [{"state": _state(edge.state), "path": edge.target_path, **edge.to_json()} for edge in others],
    }
    return Result("links", data, text=_links_text, tail="links", notes=[f"cut: {why}" for why in found.why])


def _state(state: str) -> str:
    return "self" if state == "ok" else state


def _links_text(data: dict[str, Any]) -> str:
    lines = [f"{'  ' * each['distance']}{each['path']}  {each['title']}" for each in data["notes"]]
    for link in data["links"]:
        arrow = f"--{link['predicate']}-->" if link["kind"] == "relation" else "-->"
        lines.append(f"  {link['source']['path']}:{link['place']['line']} {arrow} {link['target']['path']}")
    for link in data["unresolved"]:
        near = f"  (perhaps {', '.join(link['candidates'][:3])})" if link["candidates"] else ""
        lines.append(f"  {data['note']['path']}:{link['place']['line']} {link['state']}: {link['written']}{near}")
    return "\n".join(lines)


@command(
    "backlinks",
    schema="backlinks",
    positional="note",
    help={
        "note": _NOTE,
        "limit": "At most this many links, 1 to 10000.",
        "sentences": "Leave out the sentence around each link.",
    },
)
def backlinks(context: Context, note: str, limit: int = 100, sentences: bool = True) -> Result:
    """Links to NOTE from other notes, each with its place, its kind and the sentence around it.

    Relations count too, with how they read from NOTE. Links that the catalog page lists by itself do not.
    """
    from kbtasks.graph.backlinks import MAX_BACKLINKS, find_backlinks
    from kbtasks.graph.lookup import find_note
    from kbtasks.index.view import open_view

    _check_limit(limit, MAX_BACKLINKS)
    with open_view(context.vault, context.cache) as view:
        node = find_note(view.connection, note, root=context.vault, cwd=context.cwd)
        found, total, sources = find_backlinks(view.connection, context.vault, node, limit=limit, sentences=sentences)
    data = {
        "note": node.to_json(),
        "backlinks": found,
        "total": total,
        "notes": sources,
        "truncated": total > len(found),
    }
    return Result(
        "backlinks", data, text=_backlinks_text, tail="backlinks", notes=[f"{total} links from {sources} notes"]
    )


def _backlinks_text(data: dict[str, Any]) -> str:
    lines = []
    for each in data["backlinks"]:
        kind = f"  [{each['inverse'] or each['predicate']}]" if each["kind"] == "relation" else ""
        lines.append(f"{each['source']['path']}:{each['place']['line']}  {each['source']['title']}{kind}")
        if each["sentence"] and each["kind"] != "relation":
            lines.append(f"    {each['sentence']}")
    return "\n".join(lines)


@command(
    "relation.list",
    schema="relation-list",
    positional="note",
    help={"note": _NOTE, "limit": "At most this many in each direction, 1 to 10000."},
)
def relation_list(context: Context, note: str, limit: int = 100) -> Result:
    """Typed relations of NOTE: those it owns, those others have to it, and what is wrong with its own.

    A malformed entry is reported and hides no good one. Inverses are computed, never written.
    """
    from kbtasks.graph.lookup import find_note
    from kbtasks.graph.relations import MAX_RELATIONS, relations_of
    from kbtasks.index.view import open_view

    _check_limit(limit, MAX_RELATIONS)
    with open_view(context.vault, context.cache) as view:
        node = find_note(view.connection, note, root=context.vault, cwd=context.cwd)
        found = relations_of(view.connection, node, limit=limit)
    return Result("relation-list", {"note": node.to_json(), **found}, text=_relations_text, tail="inbound")


def _relations_text(data: dict[str, Any]) -> str:
    lines = [
        f"--{each['predicate']}--> {each['target']['path']}  {each['target']['title']}" for each in data["outbound"]
    ]
    for each in data["inbound"]:
        words = each["inverse"] or f"({each['predicate']} of)"
        lines.append(f"{words}: {each['source']['path']}  {each['source']['title']}")
    lines += [f"line {issue['line']}: {issue['message']}" for issue in data["issues"]]
    return "\n".join(lines) or "No relations."


def _check_limit(limit: int, most: int) -> None:
    if not 1 <= limit <= most:
        raise UsageError(message=f"--limit takes 1 to {most}, not {limit}")
