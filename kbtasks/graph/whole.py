"""The whole graph of a vault: how notes hang together, which stand alone, which hold it up."""

from __future__ import annotations

from kbtasks.graph.edges import pairs
from kbtasks.graph.nodes import all_nodes
from kbtasks.index.tables import bindable
from kbtasks.vault.names import fold

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from sqlite3 import Connection
    from typing import Any

    from kbtasks.graph.nodes import Node


class Whole:
    """Notes and the links between them, each pair of notes once.

    nodes: by row number. out, into: row number -> row numbers linked to and from. weights: (source, target) ->
    number of written links. The catalog page is a node only where someone links to it or it links by hand.
    """

    __slots__ = ("into", "nodes", "out", "weights")

    def __init__(self, nodes: dict[int, Node], weights: dict[tuple[int, int], int]) -> None:
        self.nodes = nodes
        self.weights = weights
        self.out: dict[int, list[int]] = {}
        self.into: dict[int, list[int]] = {}
        for source, target in weights:
            self.out.setdefault(source, []).append(target)
            self.into.setdefault(target, []).append(source)

    def degree(self, rowid: int) -> tuple[int, int]:
        """How many notes link to this one, and how many it links to."""
        return len(self.into.get(rowid, ())), len(self.out.get(rowid, ()))

    def notes(self) -> list[Node]:
        """The notes a person wrote (not the catalog page), by path."""
        return [node for node in self.nodes.values() if not node.generated]

    def orphans(self) -> list[Node]:
        """Notes without any link to or from another note, by path."""
        return [node for node in self.notes() if node.rowid not in self.out and node.rowid not in self.into]

    def dead_ends(self) -> list[Node]:
        """Notes that others link to and that link nowhere, by path."""
        return [node for node in self.notes() if node.rowid not in self.out and node.rowid in self.into]

    def hubs(self, limit: int) -> list[Node]:
        """The notes that most notes link to, the most first, then by path."""
        linked = [node for node in self.notes() if node.rowid in self.into]
        linked.sort(key=lambda node: (-len(self.into[node.rowid]), node.path))
        return linked[:limit]

    def components(self) -> list[list[int]]:
        """Groups of notes that hang together, directions ignored: the largest first, then by their first path;
        orphans are groups of one."""
        root = {rowid: rowid for rowid in self.nodes}

        def top(rowid: int) -> int:
            while root[rowid] != rowid:
                root[rowid] = root[root[rowid]]
                rowid = root[rowid]
            return rowid

        for source, target in self.weights:
            one, other = top(source), top(target)
            if one != other:
                root[max(one, other)] = min(one, other)
        groups: dict[int, list[int]] = {}
        for rowid in self.nodes:  # in path order
            groups.setdefault(top(rowid), []).append(rowid)
        return sorted(groups.values(), key=lambda group: (-len(group), self.nodes[group[0]].path))


def load_whole(connection: Connection, *, folder: str = "", tag: str = "") -> Whole:
    """The graph of the vault, or of the notes below ``folder`` or tagged ``tag`` (nested tags included) and the
    links among them."""
    nodes = {node.rowid: node for node in all_nodes(connection)}
    if folder:
        prefix = folder.strip("/") + "/"
        nodes = {rowid: node for rowid, node in nodes.items() if node.path.startswith(prefix)}
    if tag:
        key = fold(tag.lstrip("#"))
        tagged = {
            row[0]
            for row in connection.execute(
                "SELECT note FROM tag WHERE key = CAST(? AS TEXT) OR (key > CAST(? AS TEXT) AND key < CAST(? AS TEXT))",
                [bindable(bound) for bound in (key, key + "/", key + "0")],
            )
        }
        nodes = {rowid: node for rowid, node in nodes.items() if rowid in tagged}
    weights = {
        (source, target): count for source, target, count in pairs(connection) if source in nodes and target in nodes
    }
    linked = {end for pair in weights for end in pair}
    nodes = {rowid: node for rowid, node in nodes.items() if not node.generated or rowid in linked}
    return Whole(nodes, weights)


def summary(whole: Whole, *, top: int = 10) -> dict[str, Any]:
    """The figures of a graph: counts, hubs, orphans, dead ends and components, each list with at most ``top`` items
    and its total."""
    components = whole.components()
    orphans, dead_ends = whole.orphans(), whole.dead_ends()
    return {
        "counts": {
            "notes": len(whole.nodes),
            "linked_pairs": len(whole.weights),
            "links": sum(whole.weights.values()),
            "orphans": len(orphans),
            "dead_ends": len(dead_ends),
            "components": len(components),
            "largest_component": len(components[0]) if components else 0,
        },
        "hubs": [{**node.to_json(), "inbound": len(whole.into[node.rowid])} for node in whole.hubs(top)],
        "orphans": [node.to_json() for node in orphans[:top]],
        "dead_ends": [node.to_json() for node in dead_ends[:top]],
        "components": [
            {"size": len(group), "first": whole.nodes[group[0]].to_json()}
            for group in components[:top]
            if len(group) > 1
        ],
    }


def bounded(whole: Whole, limit: int) -> Whole:
    """At most ``limit`` notes of a graph, the best connected ones, by path, and the links among them."""
    if len(whole.nodes) <= limit:
        return whole
    order = sorted(whole.nodes.values(), key=lambda node: (-sum(whole.degree(node.rowid)), node.path))[:limit]
    kept = {node.rowid: node for node in sorted(order, key=lambda node: node.path)}
    return Whole(kept, {pair: count for pair, count in whole.weights.items() if pair[0] in kept and pair[1] in kept})


def sorted_pairs(whole: Whole) -> list[tuple[Node, Node, int]]:
    """Each linked pair with its number of links, by source path, then target path."""
    listed = [(whole.nodes[source], whole.nodes[target], count) for (source, target), count in whole.weights.items()]
    return sorted(listed, key=lambda item: (item[0].path, item[1].path))
