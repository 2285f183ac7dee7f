"""The vault's names as the index holds them, as link resolution asks for them, with a record of what was asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kbtasks.index.tables import bindable
from kbtasks.vault.fragments import Fragments
from kbtasks.vault.names import base_name, fold, without_note_suffix

if TYPE_CHECKING:
    from collections.abc import Sequence
    from sqlite3 import Connection

#: Notes whose headings are kept ready; links come in the order of their sources, so targets repeat.
_READY = 512


class IndexNames:
    """``kbtasks.vault.names.Names`` over ``index.db``.

    asked: the last segments of all keys asked for since ``asked`` was last cleared: what an answer depended on.
    """

    def __init__(self, connection: Connection, *, whole: bool = False) -> None:
        """Ask by SQL, or with ``whole`` read every name into memory first (for resolving many links)."""
        self._connection = connection
        self.asked: set[str] = set()
        self._fragments: dict[str, Fragments | None] = {}
        self._known: dict[str, dict[str, list[str]]] | None = self._load() if whole else None

    def _load(self) -> dict[str, dict[str, list[str]]]:
        known: dict[str, dict[str, list[str]]] = {
            kind: {} for kind in ("path", "basename", "alias", "title", "file", "filename")
        }
        for key, kind, path in self._connection.execute(
            "SELECT name.key, name.kind, note.path FROM name JOIN note ON note.rowid = name.note"
            " ORDER BY length(note.path), note.path"
        ):
            known[kind].setdefault(key, []).append(path)
            if kind == "path" and "/" in key:
                known["basename"].setdefault(_with_folder(key), []).append(path)
        for key, name, path in self._connection.execute(
            "SELECT key, basename, path FROM attachment ORDER BY length(path), path"
        ):
            known["file"].setdefault(key, []).append(path)
            known["filename"].setdefault(name, []).append(path)
            if "/" in key:
                known["filename"].setdefault(_with_folder(key), []).append(path)
        return known

    def _notes(self, kind: str, key: str) -> Sequence[str]:
        self.asked.add(base_name(key))
        if self._known is not None:
            return self._known[kind].get(key, ())
        return [
            path
            for (path,) in self._connection.execute(
                "SELECT note.path FROM name JOIN note ON note.rowid = name.note"
                " WHERE name.key = CAST(? AS TEXT) AND name.kind = ? ORDER BY length(note.path), note.path",
                (bindable(key), kind),
            )
        ]

    def _files(self, column: str, key: str) -> Sequence[str]:
        self.asked.add(base_name(key))
        if self._known is not None:
            return self._known["file" if column == "key" else "filename"].get(key, ())
        return [
            path
            for (path,) in self._connection.execute(
                f"SELECT path FROM attachment WHERE {column} = CAST(? AS TEXT) ORDER BY length(path), path",
                (bindable(key),),
            )
        ]

    def notes_at(self, key: str) -> Sequence[str]:
        """Notes whose folded ID is ``key``, shortest path first (so in all answers)."""
        return self._notes("path", key)

    def notes_named(self, key: str, folder: str = "") -> Sequence[str]:
        """Notes whose folded file name without ``.md`` is ``key``, in a folder of that name unless it is empty."""
        if not folder:
            return self._notes("basename", key)
        if self._known is not None:
            return self._notes("basename", f"{folder}/{key}")
        return [path for path in self._notes("basename", key) if _above(without_note_suffix(path)) == folder]

    def notes_aliased(self, key: str) -> Sequence[str]:
        """Notes with an alias that folds to ``key``."""
        return self._notes("alias", key)

    def notes_titled(self, key: str) -> Sequence[str]:
        """Notes with a title that folds to ``key``."""
        return self._notes("title", key)

    def files_at(self, key: str) -> Sequence[str]:
        """Attachments and guides whose folded path is ``key``."""
        return self._files("key", key)

    def files_named(self, key: str, folder: str = "") -> Sequence[str]:
        """Attachments and guides whose folded file name is ``key``, in a folder of that name unless it is empty."""
        if not folder:
            return self._files("basename", key)
        if self._known is not None:
            return self._files("basename", f"{folder}/{key}")
        return [path for path in self._files("basename", key) if _above(path) == folder]

    def fragments(self, path: str) -> Fragments | None:
        """The headings and blocks of the note at ``path``."""
        if path not in self._fragments:
            if len(self._fragments) >= _READY:
                self._fragments.clear()
            self._fragments[path] = self._read_fragments(path)
        return self._fragments[path]

    def _read_fragments(self, path: str) -> Fragments | None:
        found = self._connection.execute(
            "SELECT rowid FROM note WHERE path = CAST(? AS TEXT)", (bindable(path),)
        ).fetchone()
        if found is None:
            return None
        headings = self._connection.execute(
            "SELECT level, text FROM heading WHERE note = ? ORDER BY ordinal", found
        ).fetchall()
        blocks = [
            name
            for (name,) in self._connection.execute("SELECT name FROM block WHERE note = ? ORDER BY ordinal", found)
        ]
        return Fragments(headings, blocks)


def _with_folder(key: str) -> str:
    """The last two segments of a folded path: how a name and its folder are asked for together."""
    folder, _, name = key.rpartition("/")
    return f"{base_name(folder)}/{name}"


def _above(path: str) -> str:
    """The folded name of the folder that holds ``path``."""
    return base_name(fold(path).rpartition("/")[0])
