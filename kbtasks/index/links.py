"""What links mean: one row of ``resolution`` per distinct source folder, target and fragment, and when it must be
asked again.

Resolution looks at a link's source only through its folder (or, for a bare ``#fragment``, the source itself), so links
that are written alike in one folder share their meaning. Each resolution records the names it asked for; a note or
file that comes, goes or changes its names touches only the resolutions that asked for one of them, plus those that
checked its headings.
"""

from __future__ import annotations

from json import dumps
from typing import TYPE_CHECKING

from kbtasks.index import facets
from kbtasks.index.names import IndexNames
from kbtasks.index.tables import bindable
from kbtasks.model.note import Link, Place
from kbtasks.vault.resolve import is_external, resolve

if TYPE_CHECKING:
    from collections.abc import Iterable
    from sqlite3 import Connection
    from typing import Any

    Key = tuple[str, str, str, str | None]

#: From this many resolutions on, all names are read into memory instead of asked for one by one.
MANY = 400
_NOWHERE = Place(0, 0, 0)
_EXTERNAL: Key = ("", "", "", None)
_BATCH = 1000


class Meanings:
    """Numbers for the meanings of links as notes are read, and their resolution once all names are known."""

    def __init__(self, connection: Connection, sums: facets.Sums, *, fresh: bool) -> None:
        """fresh: the tables are empty, so nothing needs to be looked up."""
        self._connection = connection
        self._sums = sums
        self._numbers: dict[Key, int] = {}
        self._new: dict[int, Key] = {}
        self._fresh = fresh
        self._last = 0 if fresh else last_rowid(connection, "resolution")

    def number(self, link: Link, folder: str, path: str) -> int:
        """The row of the meaning of ``link`` in the note at ``path`` in ``folder``; a new number when it is new."""
        kind, target = link.kind, link.target
        if not target:
            key: Key = (kind, path, "", link.fragment)
        elif is_external(target, kind):
            key = _EXTERNAL
        else:
            key = (kind, folder, target, link.fragment)
        number = self._numbers.get(key)
        if number is None:
            number = None if self._fresh else self._look_up(key)
            if number is None:
                self._last += 1
                number = self._last
                self._new[number] = key
            self._numbers[key] = number
        return number

    def _look_up(self, key: Key) -> int | None:
        kind, scope, target, fragment = key
        row = self._connection.execute(
            "SELECT rowid FROM resolution WHERE target = CAST(? AS TEXT) AND scope = CAST(? AS TEXT)"
            " AND kind = ? AND fragment IS CAST(? AS TEXT)",
            (bindable(target), bindable(scope), kind, None if fragment is None else bindable(fragment)),
        ).fetchone()
        return None if row is None else int(row[0])

    def resolve(self, touched: Iterable[int]) -> int:
        """Resolve the new meanings, and again the ``touched`` ones; how many changed or are new."""
        again = [number for number in touched if number not in self._new]
        asked: list[tuple[int, Key]] = list(self._new.items())
        for number in again:
            row = self._connection.execute(
                "SELECT kind, scope, target, fragment FROM resolution WHERE rowid = ?", (number,)
            ).fetchone()
            if row is not None:
                asked.append((number, row))
        names = IndexNames(self._connection, whole=len(asked) >= MANY)
        notes: dict[str, int] | None = None
        if len(asked) >= MANY:
            notes = dict(self._connection.execute("SELECT path, rowid FROM note"))
        changed = 0
        rows: list[tuple[Any, ...]] = []
        extra: list[tuple[str | bytes, int]] = []
        for number, key in asked:
            row = self._meaning(number, key, names, notes)
            if number not in self._new:
                old = self._connection.execute("SELECT * FROM resolution WHERE rowid = ?", (number,)).fetchone()
                keys = [
                    key
                    for (key,) in self._connection.execute(
                        "SELECT key FROM resolution_key WHERE resolution = ? ORDER BY key", (number,)
                    )
                ]
                if old == row and keys == sorted(names.asked - {row[5]}):
                    continue
                self.remove((number,))
            changed += 1
            self._sums.add("resolved", row[-1])
            rows.append(row)
            extra += [(other, number) for other in sorted(names.asked) if other != row[5]]
            if len(rows) >= _BATCH:
                self._write(rows, extra)
        self._write(rows, extra)
        self._new.clear()
        return changed

    def _meaning(self, number: int, key: Key, names: IndexNames, notes: dict[str, int] | None) -> tuple[Any, ...]:
        kind, scope, target, fragment = key
        names.asked.clear()
        if key == _EXTERNAL:
            facet = facets.part(key)
            return number, scope, kind, target, fragment, "", "external", "url", None, None, None, 1, None, facet
        source = scope if not target else f"{scope}/." if scope else "."
        found = resolve(Link(kind, target, _NOWHERE, fragment=fragment), source, names)
        rowid = path = None
        if found.state == "attachment":
            path = found.target
        elif found.target is not None:
            rowid = notes.get(found.target) if notes is not None else note_rowid(self._connection, found.target)
        ok = None if found.fragment_ok is None else int(found.fragment_ok)
        candidates = dumps(found.candidates, ensure_ascii=False) if found.candidates else None
        meaning = (found.state, found.how or None, found.target, ok, found.obsidian, candidates)
        main = min(names.asked, key=lambda name: (len(name), name), default="")
        return (
            number, scope, kind, target, fragment, main, found.state, found.how or None, rowid, path, ok,
            int(found.obsidian), candidates, facets.part(key, meaning),
        )  # fmt: skip

    def _write(self, rows: list[tuple[Any, ...]], extra: list[tuple[str | bytes, int]]) -> None:
        from kbtasks.index.writer import insert

        if rows:
            insert(self._connection, "resolution", rows)
        if extra:
            insert(self._connection, "resolution_key", extra)
        rows.clear()
        extra.clear()

    def touched(self, keys: Iterable[str], reread: Iterable[int]) -> set[int]:
        """Meanings that may differ: those that asked for one of ``keys`` or checked a fragment of ``reread`` notes."""
        found: set[int] = set()
        for key in keys:
            bound = (bindable(key),)
            for table, column in (("resolution", "rowid"), ("resolution_key", "resolution")):
                found.update(
                    number
                    for (number,) in self._connection.execute(
                        f"SELECT {column} FROM {table} WHERE key = CAST(? AS TEXT)", bound
                    )
                )
        for note in reread:
            found.update(
                number
                for (number,) in self._connection.execute(
                    "SELECT rowid FROM resolution WHERE target_note = ? AND fragment IS NOT NULL", (note,)
                )
            )
        return found

    def remove(self, numbers: Iterable[int]) -> None:
        """Take meanings out of the tables and the facet."""
        for number in numbers:
            row = self._connection.execute("SELECT facet FROM resolution WHERE rowid = ?", (number,)).fetchone()
            if row is not None:
                self._sums.remove("resolved", row[0])
                self._connection.execute("DELETE FROM resolution WHERE rowid = ?", (number,))
                self._connection.execute("DELETE FROM resolution_key WHERE resolution = ?", (number,))

    def remove_unused(self, candidates: Iterable[int]) -> None:
        """Take out those ``candidates`` that no link has any more."""
        self.remove(
            number
            for number in candidates
            if self._connection.execute("SELECT 1 FROM link_text WHERE resolution = ?", (number,)).fetchone() is None
        )


def note_rowid(connection: Connection, path: str) -> int | None:
    """The row id of the note at ``path``, or None."""
    row = connection.execute("SELECT rowid FROM note WHERE path = CAST(? AS TEXT)", (bindable(path),)).fetchone()
    return None if row is None else int(row[0])


def last_rowid(connection: Connection, table: str) -> int:
    """The highest row id in ``table``, 0 where it is empty."""
    row = connection.execute(f"SELECT max(rowid) FROM {table}").fetchone()
    return int(row[0] or 0)
