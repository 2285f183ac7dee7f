"""Backlinks: the links that lead to a note, each with the sentence around it."""

from __future__ import annotations

from kbtasks.graph.edges import INVERSES, count_to, edges_to
from kbtasks.graph.nodes import marks, nodes_by_rowid
from kbtasks.graph.sentence import read_window, sentence_at

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from sqlite3 import Connection
    from typing import Any

    from kbtasks.graph.edges import Edge
    from kbtasks.graph.nodes import Node

MAX_BACKLINKS = 10_000


def find_backlinks(
    connection: Connection, root: str, node: Node, *, limit: int = 100, sentences: bool = True
) -> tuple[list[dict[str, Any]], int, int]:
    """The links to ``node`` from other notes, by source path and place; how many there are in all; from how many notes.

    limit: 1 to 10,000. A relation carries its predicate and, as ``inverse``, how it reads from this note. sentence:
    None where the source changed in this very moment or ``sentences`` is off.
    """
    total, sources = count_to(connection, node.rowid)
    edges = edges_to(connection, [node.rowid], limit=limit)
    nodes = nodes_by_rowid(connection, {edge.source for edge in edges})
    encodings = _encodings(connection, list(nodes)) if sentences else {}
    found = []
    for edge in edges:
        source = nodes[edge.source]
        shown = _sentence(root, source.path, edge, encodings.get(edge.source, "utf-8")) if sentences else None
        entry = edge.to_json()
        entry["inverse"] = INVERSES.get(edge.predicate) if edge.kind == "relation" else None
        found.append({"source": source.to_json(), **entry, "sentence": shown})
    return found, total, sources


def _sentence(root: str, path: str, edge: Edge, encoding: str) -> str | None:
    window = read_window(root, path, edge.start, edge.end)
    if window is None:
        return None
    data, begin = window
    return sentence_at(data, edge.start - begin, edge.end - begin, encoding)


def _encodings(connection: Connection, rowids: list[int]) -> dict[int, str]:
    found: dict[int, str] = {}
    for start in range(0, len(rowids), 500):
        batch = rowids[start : start + 500]
        found.update(connection.execute(f"SELECT rowid, encoding FROM note WHERE rowid IN ({marks(batch)})", batch))
    return found
