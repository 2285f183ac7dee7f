"""The delta: what a sweep found, applied to the tables in one transaction, in steps that doit shows one by one."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from kbtasks.index import facets, search, tables
from kbtasks.index.links import Meanings, last_rowid
from kbtasks.index.reading import read_note
from kbtasks.index.sweep import UNTRUSTED, trusted
from kbtasks.index.writer import CHILDREN, Writer
from kbtasks.model.note import Problem
from kbtasks.vault.names import base_name, fold
from kbtasks.vault.parse import parse_note
from kbtasks.vault.walk import unreadable

if TYPE_CHECKING:
    from collections.abc import Callable
    from sqlite3 import Connection

    from kbtasks.index.reading import Bytes
    from kbtasks.index.sweep import Row, Sweep
    from kbtasks.model.note import ParsedNote

#: Suspects up to this many are read and compared before anything is locked.
FEW = 500
_HELD_BYTES = 8 << 20
_GONE = (UNTRUSTED, 0, 0, 0)


class Counts:
    """How many notes a delta added, changed, removed or could not read; how many links' meanings changed."""

    __slots__ = ("added", "changed", "meanings", "removed", "unreadable")

    def __init__(self) -> None:
        self.added = self.changed = self.removed = self.unreadable = self.meanings = 0

    @property
    def any(self) -> bool:
        """Whether any note was touched."""
        return bool(self.added or self.changed or self.removed)

    def to_json(self) -> dict[str, int]:
        """The counts as documents show them."""
        return {name: getattr(self, name) for name in ("added", "changed", "removed", "unreadable", "meanings")}


class Delta:
    """One sweep's differences, applied by ``structure``, ``links`` and ``finish``, in that order, in a transaction."""

    def __init__(self, root: str, found: Sweep, *, index_note: str) -> None:
        self.root = root
        self.found = found
        self.index_note = index_note
        self.counts = Counts()
        #: Permission bits that every note read grants: the database must not grant more.
        self.mode = 0o777
        #: Called with (notes done, notes in all) now and then.
        self.progress: Callable[[int, int], None] | None = None
        #: Values of ``meta`` to record with the delta; meta_differs: they change answers.
        self.meta: dict[str, str] = {}
        self.meta_differs = False
        self._held: dict[str, Bytes] = {}
        self._handle = -1

    def precheck(self, connection: Connection) -> bool:
        """Read the suspects when they are few; whether more than tuples differs from the tables. Needs no lock."""
        found = self.found
        if found.removed or found.files_added or found.files_removed or found.gone or len(found.suspects) > FEW:
            return True
        differs = self.meta_differs
        held = 0
        problems = {path: list(folder.problems) for path, folder in found.folders.items()}
        with self:
            for path in list(found.suspects):
                read = self._read(path)
                row = connection.execute(
                    "SELECT revision, mtime_ns FROM note WHERE path = CAST(? AS TEXT)", (tables.bindable(path),)
                ).fetchone()
                if isinstance(read, OSError):
                    differs |= row is not None
                    problems[path[: max(path.rfind("/"), 0)]].append(unreadable(path, read))
                    self._record(path, _GONE)
                    continue
                if row is not None and row == (read.revision, read.seen[1]):
                    del found.suspects[path]
                    self._record(path, trusted(read.seen, found.started_ns))
                    continue
                differs = True
                held += read.size
                if held < _HELD_BYTES:
                    self._held[path] = read
        for path, now in problems.items():
            known = set(connection.execute(_PROBLEMS, (tables.bindable(path),)))
            differs |= known != {(problem.path, problem.line, problem.code, problem.message) for problem in now}
        return differs

    def stale_rows(self, rows: dict[str, Row]) -> bool:
        """Whether the directory rows to record differ from ``rows``."""
        return bool(self.found.gone or self.meta) or any(
            folder.row() != rows.get(folder.path) for folder in self.found.folders.values()
        )

    def __enter__(self) -> Delta:
        self._handle = os.open(self.root, os.O_RDONLY | getattr(os, "O_DIRECTORY", 0))
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._handle)
        self._handle = -1

    def _read(self, path: str) -> Bytes | OSError:
        held = self._held.pop(path, None)
        if held is not None:
            return held
        try:
            return read_note(self._handle, path)
        except OSError as error:
            return error

    def _record(self, path: str, seen: tuple[int, int, int, int]) -> None:
        folder, _, name = path.rpartition("/")
        self.found.folders[folder].stats[name] = seen

    def structure(self, connection: Connection, *, fresh: bool) -> None:
        """Apply notes, files and problems, and the search tables with them: one pass over the text of what changed."""
        found = self.found
        self._sums = facets.Sums(connection)
        self._meanings = Meanings(connection, self._sums, fresh=fresh)
        self._writer = Writer(connection, self._meanings)
        self._loader = search.Loader(connection)
        self._names: set[str] = set()
        self._reread: set[int] = set()
        self._unlinked: set[int] = set()
        self._last = 0 if fresh else last_rowid(connection, "note")
        for path in found.removed:
            self._drop(connection, path)
        if not fresh:
            for path in [*found.gone, *found.folders]:
                connection.execute("DELETE FROM problem WHERE folder = CAST(? AS TEXT)", (tables.bindable(path),))
        with self:
            total = len(found.suspects)
            for done, path in enumerate(list(found.suspects)):
                if self.progress is not None and not done % 64:
                    self.progress(done, total)
                self._take(connection, path, fresh=fresh)
        self._apply_files(connection)
        for folder in found.folders.values():
            for problem in folder.problems:
                self._problem(problem, folder.path)
        self._writer.flush()
        self._loader.flush()
        self._write_rows(connection)
        if fresh:
            tables.run(connection, tables.NOTE_INDEXES)

    def _take(self, connection: Connection, path: str, *, fresh: bool) -> None:
        """Read one suspect and bring its rows up to date."""
        read = self._read(path)
        folder = path[: max(path.rfind("/"), 0)]
        if isinstance(read, OSError):
            if not fresh:
                self._drop(connection, path)
            self._record(path, _GONE)
            if not isinstance(read, FileNotFoundError):
                self.counts.unreadable += 1
                self._problem(unreadable(path, read), folder)
            return
        self._record(path, trusted(read.seen, self.found.started_ns))
        self.mode &= read.mode
        old = None
        if not fresh:
            old = connection.execute(
                "SELECT rowid, revision, facets FROM note WHERE path = CAST(? AS TEXT)", (tables.bindable(path),)
            ).fetchone()
        if old is not None and old[1] == read.revision:
            connection.execute("UPDATE note SET mtime_ns = ? WHERE rowid = ?", (read.seen[1], old[0]))
            return
        note = parse_note(path, read.data, size=read.size, revision=read.revision)
        before: bytes | None = None
        names_before: set[str] = set()
        if old is None:
            self._last += 1
            rowid = self._last
            self.counts.added += 1
        else:
            rowid, _, before = old
            self.counts.changed += 1
            names_before = _names_of(connection, rowid)
            self._erase(connection, rowid, before)
        derived = derived_part(path, read.data, self.index_note)
        parts = self._writer.add(rowid, note, read.seen[1], derived)
        self._sums.add_note(parts)
        add_to_search(self._loader, rowid, note, read.data, derived)
        if not fresh and (before is None or facets.of_note(before, "names") != facets.of_note(parts, "names")):
            self._writer.flush()
            self._names |= _names_of(connection, rowid) ^ names_before
            if before is not None:
                self._reread.add(rowid)

    def _drop(self, connection: Connection, path: str) -> None:
        old = connection.execute(
            "SELECT rowid, facets FROM note WHERE path = CAST(? AS TEXT)", (tables.bindable(path),)
        ).fetchone()
        if old is not None:
            self.counts.removed += 1
            self._names |= _names_of(connection, old[0])
            self._erase(connection, *old)

    def _erase(self, connection: Connection, rowid: int, parts: bytes) -> None:
        """Take a note out of all tables; its links' meanings go later, if nothing else has them."""
        search.remove(connection, rowid)
        self._sums.remove_note(parts)
        self._unlinked.update(
            number for (number,) in connection.execute("SELECT resolution FROM link_text WHERE note = ?", (rowid,))
        )
        for table in CHILDREN:
            connection.execute(f"DELETE FROM {table} WHERE note = ?", (rowid,))
        connection.execute("DELETE FROM note WHERE rowid = ?", (rowid,))

    def _apply_files(self, connection: Connection) -> None:
        for path in self.found.files_removed:
            self._names.add(base_name(fold(path)))
            connection.execute("DELETE FROM attachment WHERE path = CAST(? AS TEXT)", (tables.bindable(path),))
            self._sums.remove("names", facets.part(path))
        for path, kind in self.found.files_added.items():
            self._names.add(base_name(fold(path)))
            self._writer.add_attachment(path, kind)
            self._sums.add("names", facets.part(path))

    def _problem(self, problem: Problem, folder: str) -> None:
        self._writer.add_problem(problem.path, problem.line, problem.code, problem.message, folder)

    def _write_rows(self, connection: Connection) -> None:
        for path in self.found.gone:
            connection.execute("DELETE FROM directory WHERE path = CAST(? AS TEXT)", (tables.bindable(path),))
        for path, folder in self.found.folders.items():
            entries, stats = folder.row()
            connection.execute(
                "INSERT OR REPLACE INTO directory VALUES (CAST(? AS TEXT), ?, ?)",
                (tables.bindable(path), entries, stats),
            )

    def links(self, connection: Connection, *, fresh: bool) -> None:
        """Resolve the links of changed notes, and those elsewhere whose meaning changed names may have changed."""
        if self._writer.odd:
            connection.text_factory = tables.as_text
        touched: set[int] = set()
        if not fresh:
            touched = self._meanings.touched(self._names, self._reread)
        self.counts.meanings = self._meanings.resolve(touched)
        self._meanings.remove_unused(self._unlinked)
        if fresh:
            tables.run(connection, tables.LINK_INDEXES)

    def finish(self, connection: Connection) -> None:
        """Save the facets, and that all parts of the index are made from them; the commit is the caller's."""
        self._sums.save()
        self._write_meta(connection)
        facets.record(connection, ("structure", "links", "search"))
        if self._writer.odd:
            connection.execute("INSERT OR REPLACE INTO meta VALUES ('odd', 1)")
        connection.execute(
            "INSERT INTO meta VALUES ('generation', 1) ON CONFLICT (key) DO UPDATE SET value = value + 1"
        )

    def apply(self, connection: Connection, *, fresh: bool) -> None:
        """All steps inside the open transaction."""
        self.structure(connection, fresh=fresh)
        self.links(connection, fresh=fresh)
        self.finish(connection)

    def touch(self, connection: Connection) -> None:
        """Record the tuples of directories and kb.toml alone, where nothing that was read differs."""
        self._write_rows(connection)
        self._write_meta(connection)

    def _write_meta(self, connection: Connection) -> None:
        connection.executemany("INSERT OR REPLACE INTO meta VALUES (?, ?)", list(self.meta.items()))


_PROBLEMS = "SELECT path, line, code, message FROM problem WHERE folder = CAST(? AS TEXT)"


def _names_of(connection: Connection, rowid: int) -> set[str]:
    """The last segments of all names of a note: what resolutions that asked for it are found by."""
    return {base_name(key) for (key,) in connection.execute("SELECT key FROM name WHERE note = ?", (rowid,))}


def derived_part(path: str, data: bytes, index_note: str) -> tuple[int, int] | None:
    """Byte range of the derived region when ``path`` is the catalog page, (0, 0) where it has none; else None."""
    if path != index_note:
        return None
    from kbtasks.index.region import find_region

    return find_region(data) or (0, 0)


def add_to_search(
    loader: search.Loader, rowid: int, note: ParsedNote, data: bytes, derived: tuple[int, int] | None
) -> None:
    """Add what a person wrote in ``note`` to the search tables: a derived listing would be found before what it lists."""
    if derived is not None and derived[0] < derived[1]:
        from kbtasks.index.region import blanked

        note = parse_note(note.path, blanked(data, derived), size=note.size, revision=note.revision)
    loader.add(rowid, note, derived=derived)
