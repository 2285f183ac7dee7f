"""``views/backlinks.json``: who links to each note, for tools that read files instead of running commands."""

from __future__ import annotations

import os
from itertools import groupby
from json import JSONEncoder, dumps
from operator import itemgetter
from typing import TYPE_CHECKING

from kbtasks import fsio
from kbtasks.index import facets

if TYPE_CHECKING:
    from typing import Any

    from kbtasks.index.view import View

_HEAD = 400


def view_path(cache: str) -> str:
    """Where the file lies."""
    return os.path.join(cache, "views", "backlinks.json")


def recorded_input(cache: str) -> str | None:
    """The digest of what the file was made from, read from its beginning; None where it is absent or not ours."""
    try:
        head = fsio.read_regular(view_path(cache), _HEAD).decode("ascii", "replace")
    except OSError:
        return None
    _, found, rest = head.partition('"schema":"kbtasks/backlinks-view/1","input":"')
    return rest.partition('"')[0] if found else None


def input_digest(view: View) -> str:
    """The digest of everything the file is made from."""
    return facets.digest(view.connection, "backlinks")


def write_backlinks(view: View) -> int:
    """Write the file anew from the index; how many notes have backlinks. OSError where it cannot be written."""
    pieces: list[bytes] = []
    with_backlinks = 0
    rows = view.connection.execute(
        "SELECT t.id, t.path, s.id, s.path, l.kind, count(*) FROM link AS l JOIN note AS t ON t.rowid = l.target_note"
        " JOIN note AS s ON s.rowid = l.note WHERE l.generated = 0 AND l.target_note <> l.note"
        " GROUP BY t.path, s.path, l.kind ORDER BY t.path, s.path, l.kind"
    )
    for (note_id, path), group in groupby(rows, key=itemgetter(0, 1)):
        backlinks = [
            {"id": source, "path": source_path, "kind": kind, "count": count}
            for _, _, source, source_path, kind, count in group
        ]
        pieces.append(_encode({"id": note_id, "path": path, "backlinks": backlinks}))
        with_backlinks += 1
    head = f'{{"schema":"kbtasks/backlinks-view/1","input":"{input_digest(view)}","notes":['
    data = b'%b%b],"total":%d}\n' % (head.encode(), b",".join(pieces), with_backlinks)
    pieces.clear()
    os.makedirs(os.path.dirname(view_path(view.cache)), exist_ok=True)
    mode = os.stat(os.path.join(view.cache, "index.db")).st_mode & 0o777
    fsio.atomic_write(view_path(view.cache), data, mode=mode)
    return with_backlinks


_compact = JSONEncoder(ensure_ascii=False, separators=(",", ":")).encode


def _encode(value: dict[str, Any]) -> bytes:
    """Compact JSON; names that are not UTF-8 on disk as ``\\udcXX`` escapes."""
    try:
        return _compact(value).encode("utf-8")
    except UnicodeEncodeError:
        return dumps(value, separators=(",", ":")).encode("ascii")
