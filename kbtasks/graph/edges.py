"""Written links and relations between notes, read from the index in either direction."""

from __future__ import annotations

import json

from kbtasks.graph.nodes import batches, marks

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from sqlite3 import Connection
    from typing import Any

    from kbtasks.graph.nodes import Node

#: How each known relation reads from its target. Others have no name of their own in that direction.
INVERSES = {
    "supersedes": "superseded-by",
    "superseded-by": "supersedes",
    "contradicts": "contradicts",
    "related-to": "related-to",
    "synthesizes": "synthesized-by",
    "synthesized-by": "synthesizes",
    "evidenced-by": "evidence-for",
    "evidence-for": "evidenced-by",
    "informed-by": "informs",
    "informs": "informed-by",
    "depends-on": "required-by",
    "required-by": "depends-on",
    "updates": "updated-by",
    "updated-by": "updates",
    "continues": "continued-by",
    "continued-by": "continues",
    "implements": "implemented-by",
    "implemented-by": "implements",
    "part-of": "has-part",
    "has-part": "part-of",
}

#: The condition of a link that a person wrote and that leads to another note.
BETWEEN = "link.state = 'ok' AND link.generated = 0 AND link.target_note != link.note"

_COLUMNS = (
    "link.note, link.target_note, link.kind, link.predicate, link.raw, link.target, link.fragment, link.label, link.line,"
    " link.start_byte, link.end_byte, link.how, link.fragment_ok, link.obsidian, link.ordinal, link.state, link.candidates,"
    " link.target_path"
)


class Edge:
    """One written link: ``source`` and ``target`` are row numbers of notes (target None where it leads to no note)."""

    __slots__ = (
        "candidates",
        "end",
        "fragment",
        "fragment_ok",
        "how",
        "kind",
        "label",
        "line",
        "obsidian",
        "ordinal",
        "predicate",
        "raw",
        "source",
        "start",
        "state",
        "target",
        "target_path",
        "written",
    )

    def __init__(self, row: Sequence[Any]) -> None:
        (
            self.source,
            self.target,
            self.kind,
            self.predicate,
            self.raw,
            self.written,
            self.fragment,
            self.label,
            self.line,
            self.start,
            self.end,
            self.how,
            self.fragment_ok,
            self.obsidian,
            self.ordinal,
            self.state,
            self.candidates,
            self.target_path,
        ) = row

    def to_json(self) -> dict[str, Any]:
        """The link as documents show it, without the notes at its ends."""
        return {
            "kind": self.kind,
            "predicate": self.predicate,
            "written": self.written,
            "fragment": self.fragment,
            "label": self.label,
            "how": self.how,
            "fragment_ok": None if self.fragment_ok is None else bool(self.fragment_ok),
            "obsidian": bool(self.obsidian),
            "place": {"line": self.line, "start_byte": self.start, "end_byte": self.end},
        }

    def listed_candidates(self) -> list[str]:
        """Paths the target may have meant."""
        return list(json.loads(self.candidates)) if self.candidates else []


def edges_from(connection: Connection, rowids: Iterable[int], *, limit: int) -> list[Edge]:
    """Links in the notes ``rowids`` that lead to another note, by source and place; at most ``limit`` per batch of notes."""
    return list(_edges(connection, "link.note", rowids, limit))


def edges_to(connection: Connection, rowids: Iterable[int], *, limit: int) -> list[Edge]:
    """Links in other notes that lead to the notes ``rowids``, by source path and place; at most ``limit`` per batch of notes."""
    return list(_edges(connection, "link.target_note", rowids, limit))


def _edges(connection: Connection, column: str, rowids: Iterable[int], limit: int) -> Iterator[Edge]:
    for batch in batches(rowids):
        rows = connection.execute(
            f"SELECT {_COLUMNS} FROM link JOIN note ON note.rowid = link.note"
            f" WHERE {column} IN ({marks(batch)}) AND {BETWEEN}"
            " ORDER BY note.path, link.ordinal LIMIT ?",
            [*batch, limit],
        )
        yield from map(Edge, rows)


def count_to(connection: Connection, rowid: int) -> tuple[int, int]:
    """How many links lead to a note from other notes, and from how many notes."""
    row = connection.execute(
        f"SELECT count(*), count(DISTINCT note) FROM link WHERE target_note = ? AND {BETWEEN}", (rowid,)
    ).fetchone()
    return int(row[0]), int(row[1])


def unresolved_of(connection: Connection, rowid: int, limit: int) -> list[Edge]:
    """Links of a note that lead nowhere: broken, ambiguous, or to an attachment that is missing."""
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM link WHERE link.note = ? AND link.state IN ('broken', 'ambiguous', 'missing-attachment')"
        " AND link.generated = 0 ORDER BY link.ordinal LIMIT ?",
        (rowid, limit),
    )
    return [Edge(row) for row in rows]


def other_links_of(connection: Connection, rowid: int, limit: int) -> list[Edge]:
    """Links of a note to itself, to attachments and to addresses outside."""
    rows = connection.execute(
        f"SELECT {_COLUMNS} FROM link WHERE link.note = ? AND link.generated = 0 AND"
        " (link.state IN ('self', 'attachment', 'external') OR link.target_note = link.note) ORDER BY link.ordinal LIMIT ?",
        (rowid, limit),
    )
    return [Edge(row) for row in rows]


def pairs(connection: Connection) -> list[tuple[int, int, int]]:
    """All (source, target, number of links) between different notes of the vault, in no order."""
    return connection.execute(
        f"SELECT note, target_note, count(*) FROM link WHERE {BETWEEN} GROUP BY note, target_note"
    ).fetchall()


def end_json(node: Node | None) -> dict[str, Any] | None:
    """The note at an end of a link, as documents name it."""
    return node.to_json() if node is not None else None
