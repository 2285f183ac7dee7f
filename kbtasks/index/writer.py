"""From a parsed note to rows of the structure tables, buffered over many notes."""

from __future__ import annotations

from json import JSONEncoder, dumps
from typing import TYPE_CHECKING

from kbtasks.index import facets
from kbtasks.index.tables import bindable
from kbtasks.vault.names import base_name, fold, without_note_suffix

if TYPE_CHECKING:
    from collections.abc import Sequence
    from sqlite3 import Connection
    from typing import Any

    from kbtasks.index.links import Meanings
    from kbtasks.model.note import ParsedNote

#: Notes whose rows are held before they are written together.
BATCH = 128

#: Tables whose rows belong to one note, by their column ``note``.
CHILDREN = ("heading", "section", "block", "tag", "link_text", "problem", "name", "scope")
_COLUMNS = {
    "note": 20,
    "name": 3,
    "heading": 7,
    "section": 7,
    "block": 4,
    "tag": 8,
    "scope": 2,
    "link_text": 13,
    "problem": 7,
    "attachment": 4,
}


class Writer:
    """Collects rows and writes them table by table; ``flush`` at the end is the caller's."""

    def __init__(self, connection: Connection, meanings: Meanings) -> None:
        self._connection = connection
        self._meanings = meanings
        self._rows: dict[str, list[tuple[Any, ...]]] = {table: [] for table in _COLUMNS}
        self._held = 0
        #: Whether text was met that is not valid Unicode, so that connections must read with surrogateescape.
        self.odd = False

    def add(self, rowid: int, note: ParsedNote, mtime_ns: int, derived: tuple[int, int] | None) -> bytes:
        """Collect the rows of ``note``; its facet parts (see facets.NOTE_FACETS).

        derived: byte range of the catalog's derived region when this is the catalog page, (0, 0) where it has none.
        """
        rows = self._rows
        path = note.path
        folder = path[: max(path.rfind("/"), 0)]
        stem = without_note_suffix(path)
        tags = list(dict.fromkeys(tag.name for tag in note.tags))
        meta = _json(note.meta) if note.meta else "{}"
        title = note.title if note.title_source != "name" else None
        names = {(fold(stem), "path"), (fold(base_name(stem)), "basename")}
        names.update((fold(alias), "alias") for alias in note.aliases)
        if title is not None:
            names.add((fold(title), "title"))
        rows["name"] += [(key, kind, rowid) for key, kind in names]
        rows["heading"] += [
            (rowid, number, heading.level, heading.text, heading.place.line, heading.place.start, heading.place.end)
            for number, heading in enumerate(note.headings)
        ]
        rows["section"] += [
            (rowid, number, "\n".join(piece.path), piece.line, piece.end_line, piece.start, piece.end)
            for number, piece in enumerate(note.sections)
        ]
        rows["block"] += [(rowid, number, name, line) for number, (name, line) in enumerate(note.blocks)]
        rows["tag"] += [
            (rowid, number, tag.name, fold(tag.name), tag.source, tag.place.line, tag.place.start, tag.place.end)
            for number, tag in enumerate(note.tags)
        ]
        rows["scope"] += [(scope, rowid) for scope in _scopes(note.meta)]
        rows["problem"] += [
            (None, path, problem.line, problem.code, problem.message, rowid, None) for problem in note.problems
        ]
        written = self._links(rowid, note, folder, derived)
        parts = b"".join(
            (
                facets.NOTHING
                if derived is not None
                else facets.part(
                    path, note.title, note.summary, note.aliases, tags, note.type, note.status, meta, note.id
                ),
                facets.NOTHING
                if derived is not None
                else facets.part(path, note.title, note.summary, note.type, note.status),
                facets.part(
                    path,
                    note.aliases,
                    title,
                    [(heading.level, heading.text) for heading in note.headings],
                    [name for name, _ in note.blocks],
                    [name for name, _ in note.footnotes],
                ),
                facets.part(path, written) if written else facets.NOTHING,
                facets.part(path, note.revision),
            )
        )
        rows["note"].append(
            (
                rowid, path, note.id, folder, note.title, note.title_source, note.type, note.status, note.summary,
                note.size, note.revision, mtime_ns, note.encoding, note.body_start, note.body_line, meta,
                _json(note.aliases), _json(tags), int(derived is not None), parts,
            )
        )  # fmt: skip
        self._held += 1
        if self._held >= BATCH:
            self.flush()
        return parts

    def _links(self, rowid: int, note: ParsedNote, folder: str, derived: tuple[int, int] | None) -> list[Any]:
        """Collect the note's links; those a person wrote, without their places."""
        written = []
        rows = self._rows["link_text"]
        meaning = self._meanings.number
        start, end = derived or (0, 0)
        for number, link in enumerate(note.links):
            place = link.place
            generated = start <= place.start < end
            rows.append(
                (
                    rowid, number, link.kind, link.raw, link.target, link.fragment, link.label, link.predicate,
                    place.line, place.start, place.end, int(generated), meaning(link, folder, note.path),
                )
            )  # fmt: skip
            if not generated:
                written.append((link.kind, link.target, link.fragment, link.predicate))
        return written

    def add_problem(self, path: str, line: int, code: str, message: str, folder: str) -> None:
        """Collect a problem that the sweep met in ``folder``."""
        self._rows["problem"].append((None, path, line, code, message, None, folder))

    def add_attachment(self, path: str, kind: str) -> None:
        """Collect an attachment or guide."""
        key = fold(path)
        self._rows["attachment"].append((path, kind, key, base_name(key)))

    def flush(self) -> None:
        """Write what was collected."""
        for table, rows in self._rows.items():
            if rows:
                self.odd |= insert(self._connection, table, rows)
                rows.clear()
        self._held = 0


def _scopes(meta: dict[str, Any]) -> list[str]:
    """The text entries of ``repository_scopes``, each once."""
    value = meta.get("repository_scopes")
    entries = value if isinstance(value, list) else [value]
    return list(dict.fromkeys(entry for entry in entries[:64] if isinstance(entry, str)))


def insert(connection: Connection, table: str, rows: Sequence[tuple[Any, ...]]) -> bool:
    """Insert ``rows``; True if some text was not valid Unicode and went in as its raw bytes."""
    marks = ", ".join("?" * len(rows[0]))
    connection.execute("SAVEPOINT rows")
    try:
        connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
    except UnicodeEncodeError:
        connection.execute("ROLLBACK TO rows")
        for row in rows:
            values = [bindable(value) if isinstance(value, str) else value for value in row]
            marks = ", ".join(
                "CAST(? AS TEXT)" if isinstance(value, bytes) and isinstance(given, str) else "?"
                for value, given in zip(values, row, strict=True)
            )
            connection.execute(f"INSERT INTO {table} VALUES ({marks})", values)
        return True
    finally:
        connection.execute("RELEASE rows")
    return False


_encode = JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def _json(value: Any) -> str:
    if not value:
        return "{}" if isinstance(value, dict) else "[]"
    text = _encode(value)
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return dumps(value, separators=(",", ":"))
    return text
