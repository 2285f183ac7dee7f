"""Looking into an index: its whole content with row ids replaced by paths, so that two databases can be compared."""

from __future__ import annotations

import os
from pathlib import Path
from sqlite3 import Connection
from typing import Any

from kbtasks.index.health import faults
from kbtasks.index.view import View, open_view

CHILDREN = ("heading", "section", "block", "tag", "scope")


def write(root: Path, files: dict[str, str | bytes]) -> Path:
    """Write ``files`` below ``root``."""
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    return root


def opened(root: Path, **more: Any) -> View:
    """A view of ``root`` with its cache beside it."""
    return open_view(str(root), str(root.parent / (root.name + ".cache")), **more)


def words(view: View, word: str) -> list[str]:
    """Paths of the notes whose text holds ``word``, by the search tables."""
    rows = view.connection.execute(
        "SELECT DISTINCT note.path FROM search JOIN note ON note.rowid = search.rowid >> 12 WHERE search MATCH ? ORDER BY 1",
        (f'"{word}"',),
    )
    return [path for (path,) in rows]


def content(connection: Connection) -> dict[str, Any]:
    """All table contents but row ids, tuples of the sweep and FTS segments."""
    paths = dict(connection.execute("SELECT rowid, path FROM note"))
    columns = [row[1] for row in connection.execute("PRAGMA table_info(note)") if row[1] != "rowid"]
    said: dict[str, Any] = {
        "note": sorted(connection.execute(f"SELECT {', '.join(columns)} FROM note"), key=repr),
        "name": sorted((key, kind, paths[note]) for key, kind, note in connection.execute("SELECT * FROM name")),
        "attachment": sorted(connection.execute("SELECT * FROM attachment")),
        "problem": sorted(connection.execute("SELECT path, line, code, message, folder FROM problem"), key=repr),
        "meta": sorted(connection.execute("SELECT * FROM meta WHERE key LIKE 'facet.%' OR key LIKE 'made.%'")),
        "directory": sorted((path, sorted(entries.split(b"\0")[1:])) for path, entries in _rows(connection)),
    }
    for table in CHILDREN:
        names = [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
        at = names.index("note")
        said[table] = sorted(
            ((paths[row[at]], *row[:at], *row[at + 1 :]) for row in connection.execute(f"SELECT * FROM {table}")),
            key=repr,
        )
    said["link"] = sorted(
        (
            (paths[row[0]], *row[1:-1], None if row[-1] is None else paths[row[-1]])
            for row in connection.execute(
                "SELECT note, ordinal, kind, raw, target, fragment, label, predicate, line, start_byte, end_byte, generated,"
                " state, how, target_path, fragment_ok, obsidian, candidates, target_note FROM link"
            )
        ),
        key=repr,
    )
    said["resolution"] = sorted(
        (
            (*row[:-1], None if row[-1] is None else paths[row[-1]])
            for row in connection.execute(
                "SELECT kind, scope, target, fragment, key, state, how, target_path, facet, target_note FROM resolution"
            )
        ),
        key=repr,
    )
    said["resolution_key"] = sorted(
        connection.execute(
            "SELECT k.key, r.kind, r.scope, r.target, r.fragment FROM resolution_key AS k"
            " JOIN resolution AS r ON r.rowid = k.resolution"
        ),
        key=repr,
    )
    texts = [row[1] for row in connection.execute("PRAGMA table_info(search_text)") if row[1] != "id"]
    said["search_text"] = sorted(
        (paths[row[0] >> 12], row[0] & 4095, *row[1:])
        for row in connection.execute(f"SELECT id, {', '.join(texts)} FROM search_text")
    )
    return said


def _rows(connection: Connection) -> list[tuple[str, bytes]]:
    return connection.execute("SELECT path, entries FROM directory").fetchall()


def from_nothing(root: Path) -> View:
    """A view built in memory from nothing."""
    return open_view(str(root), str(root.parent / "no-such-cache"), read_only=True)


def assert_true(root: Path, view: View) -> None:
    """Assert that ``view`` holds what a rebuild from nothing holds, and that its search tables are sound."""
    from kbtasks.index.catalog import render_catalog

    with from_nothing(root) as rebuilt:
        mine, other = content(view.connection), content(rebuilt.connection)
        for table in other:
            assert mine[table] == other[table], table
        assert render_catalog(view) == render_catalog(rebuilt)
    assert os.path.isdir(root)


def assert_sound(view: View) -> None:
    """Assert that the database passes its own checks."""
    assert faults(view.connection) == []
