"""``views/backlinks.json``: who links to each note, for tools that read files instead of running commands."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from kbtasks import fsio
from kbtasks.index import facets

if TYPE_CHECKING:
    from kbtasks.index.view import View

_HEAD = 400


def view_path(cache: str) -> str:
    """Where the file lies."""
    return os.path.join(cache, "views", "backlinks.json")


def recorded_input(cache: str) -> str | None:
    """The digest of what the file was made from, read from its beginning; None where it is absent or not ours."""
    try:
        with open(view_path(cache), "rb") as file:
            head = file.read(_HEAD).decode("ascii", "replace")
    except OSError:
        return None
    _, found, rest = head.partition('"schema":"kbtasks/backlinks-view/1","input":"')
    return rest.partition('"')[0] if found else None


def input_digest(view: View) -> str:
    """The digest of everything the file is made from."""
    return facets.digest(view.connection, "backlinks")


def write_backlinks(view: View) -> int:
    """Write the file anew from the index; how many notes have backlinks. OSError where it cannot be written."""
    from json import dumps

    notes: dict[str, dict[str, object]] = {}
    for note_id, path, source, source_path, kind, count in view.connection.execute(
        "SELECT t.id, t.path, s.id, s.path, l.kind, count(*) FROM link AS l JOIN note AS t ON t.rowid = l.target_note"
        " JOIN note AS s ON s.rowid = l.note WHERE l.generated = 0 AND l.target_note <> l.note"
        " GROUP BY t.rowid, s.rowid, l.kind ORDER BY t.path, s.path, l.kind"
    ):
        entry = notes.setdefault(path, {"id": note_id, "path": path, "backlinks": []})
        found = entry["backlinks"]
        assert isinstance(found, list)
        found.append({"id": source, "path": source_path, "kind": kind, "count": count})
    document = {
        "schema": "kbtasks/backlinks-view/1",
        "input": input_digest(view),
        "notes": list(notes.values()),
        "total": len(notes),
    }
    os.makedirs(os.path.dirname(view_path(view.cache)), exist_ok=True)
    text = dumps(document, ensure_ascii=False, separators=(",", ":"))
    try:
        data = text.encode("utf-8")
    except UnicodeEncodeError:
        data = dumps(document, separators=(",", ":")).encode("ascii")
    mode = os.stat(os.path.join(view.cache, "index.db")).st_mode & 0o777
    fsio.atomic_write(view_path(view.cache), data + b"\n", mode=mode)
    return len(notes)
