"""Notes as the graph floor reads them from the index: rows by number or path, and how documents show them."""

from __future__ import annotations

from kbtasks.index.tables import bindable

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence
    from sqlite3 import Connection
    from typing import Any

#: Numbers bound in one statement (SQLite allows 32,766 since 3.32; a smaller batch keeps the plan the same
#: everywhere).
BATCH = 500


class Node:
    """A note in the graph: its row number, path, ID, title, type and status. ``generated``: the catalog page."""

    __slots__ = ("generated", "id", "path", "rowid", "status", "title", "type")

    def __init__(
        self, rowid: int, path: str, id: str, title: str, type: str | None, status: str | None, generated: int
    ) -> None:
        self.rowid = rowid
        self.path = path
        self.id = id
        self.title = title
        self.type = type
        self.status = status
        self.generated = bool(generated)

    def to_json(self) -> dict[str, Any]:
        """The note as every document names it."""
        return {"id": self.id, "path": self.path, "title": self.title}


COLUMNS = "note.rowid, note.path, note.id, note.title, note.type, note.status, note.generated"


def batches(items: Iterable[int]) -> Iterator[list[int]]:
    """``items`` in lists of at most BATCH."""
    batch: list[int] = []
    for item in items:
        batch.append(item)
        if len(batch) == BATCH:
            yield batch
            batch = []
    if batch:
        yield batch


def marks(values: Sequence[object]) -> str:
    """A question mark per value, for ``IN (...)``."""
    return ",".join("?" * len(values))


def nodes_by_rowid(connection: Connection, rowids: Iterable[int]) -> dict[int, Node]:
    """The nodes of ``rowids``, by number; numbers without a note are left out."""
    found = {}
    for batch in batches(rowids):
        for row in connection.execute(f"SELECT {COLUMNS} FROM note WHERE rowid IN ({marks(batch)})", batch):
            found[row[0]] = Node(*row)
    return found


def node_at(connection: Connection, path: str) -> Node | None:
    """The node of the note at ``path`` exactly, or None."""
    row = connection.execute(f"SELECT {COLUMNS} FROM note WHERE path = CAST(? AS TEXT)", (bindable(path),)).fetchone()
    return Node(*row) if row else None


def all_nodes(connection: Connection) -> list[Node]:
    """Every note, by path."""
    return [Node(*row) for row in connection.execute(f"SELECT {COLUMNS} FROM note ORDER BY path")]


def listed_notes(connection: Connection, *, folder: str = "", limit: int = 0) -> tuple[list[dict[str, Any]], int]:
    """Notes as the inventory lists them, by path, and how many there are; below ``folder``, at most ``limit`` (0: all)."""
    where, values = "generated = 0", []
    if folder.strip("/"):
        where += " AND path >= CAST(? AS TEXT) AND path < CAST(? AS TEXT)"
        values = [bindable(folder.strip("/") + end) for end in "/0"]
    total = int(connection.execute(f"SELECT count(*) FROM note WHERE {where}", values).fetchone()[0])
    rows = connection.execute(
        f"SELECT id, path, title, type, status, summary FROM note WHERE {where} ORDER BY path LIMIT ?",
        [*values, limit or -1],
    )
    names = ("id", "path", "title", "type", "status", "summary")
    return [dict(zip(names, row, strict=True)) for row in rows], total
