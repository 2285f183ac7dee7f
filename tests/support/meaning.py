"""Whether the semantic extra is here, and a small index in memory for tests of vectors."""

from __future__ import annotations

import hashlib
import sqlite3
from importlib.util import find_spec

import pytest

from kbtasks.index import modelfile, search, tokens
from kbtasks.model.note import ParsedNote, Section

needs_model = pytest.mark.skipif(
    modelfile.find() is None or find_spec("numpy") is None, reason="the semantic extra is not installed"
)


class Shelf:
    """The search tables and the columns of ``note`` that vectors read, over notes given as text."""

    def __init__(self) -> None:
        self.connection = sqlite3.connect(":memory:", isolation_level=None)
        self.connection.create_function("kb_grams", 1, tokens.grams, deterministic=True)
        search.create(self.connection)
        self.connection.execute("CREATE TABLE meta (key TEXT PRIMARY KEY, value)")
        self.connection.execute("CREATE TABLE note (path TEXT, revision TEXT, generated INTEGER)")
        self.connection.execute("CREATE UNIQUE INDEX note_path ON note (path)")
        self._rowids: dict[str, int] = {}
        self._next = 1

    def put(self, path: str, text: str, sections: list[tuple[str, ...]] | None = None) -> int:
        """Add or replace a note; with ``sections``, a section for each heading path, cut at lines that begin with '#'."""
        self.drop(path)
        data = text.encode()
        note = ParsedNote(path, path.removesuffix(".md"), "sha256:" + hashlib.sha256(data).hexdigest(), len(data))
        note.text, note.title = text, path.removesuffix(".md")
        starts = [
            at for at in range(len(data)) if data[at : at + 1] == b"#" and (at == 0 or data[at - 1 : at] == b"\n")
        ]
        ends = [*starts[1:], len(data)]
        for heading, start, end in zip(sections or [], starts, ends, strict=False):
            note.sections.append(Section(heading, 1, 1, start, end))
        rowid, self._next = self._next, self._next + 1
        self.connection.execute(
            "INSERT INTO note (rowid, path, revision, generated) VALUES (?, ?, ?, 0)", (rowid, path, note.revision)
        )
        search.add(self.connection, rowid, note)
        self._rowids[path] = rowid
        self._mark()
        return rowid

    def drop(self, path: str) -> None:
        """Remove a note, where it is there."""
        rowid = self._rowids.pop(path, None)
        if rowid is not None:
            search.remove(self.connection, rowid)
            self.connection.execute("DELETE FROM note WHERE rowid = ?", (rowid,))
            self._mark()

    def _mark(self) -> None:
        rows = self.connection.execute("SELECT path, revision FROM note ORDER BY path").fetchall()
        digest = hashlib.sha256(repr(rows).encode()).hexdigest()
        self.connection.execute("INSERT OR REPLACE INTO meta VALUES ('facet.prose', ?)", (digest,))
