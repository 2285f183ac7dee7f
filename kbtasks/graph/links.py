"""Walking the graph from a note, breadth first over links and relations alike."""

from __future__ import annotations

from kbtasks.errors import UsageError
from kbtasks.graph.edges import Edge, edges_from, edges_to
from kbtasks.graph.nodes import nodes_by_rowid

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from sqlite3 import Connection
    from typing import Any

    from kbtasks.graph.nodes import Node

DIRECTIONS = ("in", "out", "both")
MAX_DEPTH = 10
MAX_NOTES = 1_000
MAX_LINKS = 10_000


class Walk:
    """What a walk found. notes: (node, distance) by distance and path, the start first. links: between found notes.

    total: notes found before the limit, as far as the walk went. truncated: a limit bit; ``why`` says which.
    """

    __slots__ = ("links", "nodes", "notes", "total", "truncated", "why")

    def __init__(self) -> None:
        self.notes: list[tuple[Node, int]] = []
        self.nodes: dict[int, Node] = {}
        self.links: list[Edge] = []
        self.total = 0
        self.truncated = False
        self.why: list[str] = []


def walk(connection: Connection, start: Node, *, direction: str = "both", depth: int = 1, limit: int = 50) -> Walk:
    """The notes within ``depth`` (1 to 10) steps of ``start``, nearest first, at most ``limit`` (1 to 1,000, the start counted).

    direction: ``out`` follows links as written, ``in`` against them, ``both`` either way. Cycles end the walk where
    they close. Notes of one distance are taken by path, so the same vault gives the same answer.
    """
    check_bounds(direction, depth, limit)
    found = Walk()
    distances = {start.rowid: 0}
    found.nodes[start.rowid] = start
    frontier = [start.rowid]
    most_links = min(MAX_LINKS, max(limit * limit, 100))
    kept: dict[tuple[int, int], Edge] = {}
    found.total = 1
    for distance in range(1, depth + 1):
        edges: list[Edge] = []
        if direction != "in":
            edges += edges_from(connection, frontier, limit=MAX_LINKS + 1)
        if direction != "out":
            edges += edges_to(connection, frontier, limit=MAX_LINKS + 1)
        if len(edges) > MAX_LINKS:
            _cut(found, f"only {MAX_LINKS} links were followed at distance {distance}")
        ends = {end for edge in edges for end in (edge.source, edge.target)} - found.nodes.keys()
        fresh = nodes_by_rowid(connection, ends)
        found.total += len(fresh)
        room = limit - len(found.nodes)
        chosen = sorted(fresh.values(), key=lambda node: node.path)[:room]
        if len(fresh) > room:
            _cut(found, f"only {limit} notes are shown")
        for node in chosen:
            found.nodes[node.rowid] = node
            distances[node.rowid] = distance
        for edge in edges:
            if edge.source in found.nodes and edge.target in found.nodes:
                kept[edge.source, edge.ordinal] = edge
        frontier = [node.rowid for node in chosen]
        if not frontier:
            break
    links = sorted(kept.values(), key=lambda edge: (found.nodes[edge.source].path, edge.ordinal))
    if len(links) > most_links:
        _cut(found, f"only {most_links} links are shown")
    found.links = links[:most_links]
    order = sorted(found.nodes.values(), key=lambda node: (distances[node.rowid], node.path))
    found.notes = [(node, distances[node.rowid]) for node in order]
    return found


def check_bounds(direction: str, depth: int, limit: int) -> None:
    """UsageError unless the bounds of a walk are what ``walk`` accepts."""
    if direction not in DIRECTIONS:
        raise UsageError(message=f"--direction takes one of {', '.join(DIRECTIONS)}, not {direction!r}")
    if not 1 <= depth <= MAX_DEPTH:
        raise UsageError(message=f"--depth takes 1 to {MAX_DEPTH}, not {depth}")
    if not 1 <= limit <= MAX_NOTES:
        raise UsageError(message=f"--limit takes 1 to {MAX_NOTES}, not {limit}")


def _cut(found: Walk, why: str) -> None:
    found.truncated = True
    if why not in found.why:
        found.why.append(why)


def link_json(edge: Edge, nodes: dict[int, Node]) -> dict[str, Any]:
    """A link with the notes at its ends."""
    target = nodes.get(edge.target) if edge.target is not None else None
    return {
        "source": nodes[edge.source].to_json(),
        "target": target.to_json() if target is not None else None,
        **edge.to_json(),
    }
