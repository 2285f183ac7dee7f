"""Identity: the query is, as a whole, the title, an alias, the path, the ID, the file name or a tag of a note."""

from __future__ import annotations

from kbtasks.index.tables import bindable
from kbtasks.retrieval.query import squeeze

TYPE_CHECKING = False  # importing typing would cost every search milliseconds; checkers know the name
if TYPE_CHECKING:
    from collections.abc import Collection
    from sqlite3 import Connection

    from kbtasks.retrieval.query import Query

#: Best first. ``path`` is also the ID.
KINDS = ("title", "alias", "path", "basename", "tag")


def find(connection: Connection, query: Query, allowed: Collection[int] | None) -> dict[int, str]:
    """Row ids of the notes that the whole query names, each with the best kind of name it is."""
    key = query.whole
    if not key or len(key) > 1000:
        return {}
    keys = dict.fromkeys(
        (key, key.removesuffix(".md"), squeeze(key.strip("[]").split("|", 1)[0]), key.removeprefix("./"))
    )
    marks = ", ".join("CAST(? AS TEXT)" for _ in keys)
    found: dict[int, str] = {}
    sql = f"SELECT kind, note FROM name WHERE key IN ({marks})"
    rows = connection.execute(sql, [bindable(each) for each in keys]).fetchall()
    tag = key.removeprefix("#")
    rows += connection.execute(
        "SELECT DISTINCT 'tag', note FROM tag WHERE key = CAST(? AS TEXT)", (bindable(tag),)
    ).fetchall()
    for kind, note in sorted(rows, key=lambda row: KINDS.index(row[0])):
        if allowed is None or note in allowed:
            found.setdefault(note, kind)
    return found
