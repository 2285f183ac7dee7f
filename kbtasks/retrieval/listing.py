"""Notes by what they are: filtered, sorted, paged. And the tags of a vault with how often they are used."""

from __future__ import annotations

import json

from kbtasks.errors import UsageError
from kbtasks.index.tables import bindable
from kbtasks.index.tokens import fold
from kbtasks.retrieval import filters as filtering
from kbtasks.retrieval.terms import json_list

TYPE_CHECKING = False  # importing typing would cost every search milliseconds; checkers know the name
if TYPE_CHECKING:
    from collections.abc import Iterable
    from sqlite3 import Connection
    from typing import Any

MAX_NOTES = 10_000
#: What a note is sorted or shown by, besides front matter keys: name -> SQL over ``note``.
COLUMNS = {
    "path": "path", "id": "id", "title": "title", "type": "type", "status": "status", "folder": "folder", "size": "size",
    "summary": "summary", "revision": "revision", "modified": "mtime_ns", "aliases": "aliases", "tags": "tags",
    "inbound": "(SELECT count(DISTINCT l.note) FROM link AS l WHERE l.target_note = note.rowid AND l.note != note.rowid)",
    "outbound": "(SELECT count(DISTINCT l.target_note) FROM link AS l WHERE l.note = note.rowid AND l.target_note != l.note)",
}  # fmt: skip
DEFAULT_FIELDS = ("type", "status", "tags", "summary", "modified")
#: Kinds of front matter value in the order they sort: null, boolean, number, text, list, object.
_ORDER = (type(None), bool, (int, float), str, list, dict)


def list_notes(
    connection: Connection, filters: filtering.Filters, *, sort: str = "path", descending: bool = False, limit: int = 100,
    offset: int = 0, fields: Iterable[str] = DEFAULT_FIELDS,
) -> tuple[list[dict[str, Any]], int]:  # fmt: skip
    """(notes of one page, how many there are in all). A note without the key it is sorted by comes last; ties go by path.

    limit: 1 to 10,000. fields: names of COLUMNS, or front matter keys, dotted. UsageError for a name that is neither well formed.
    """
    if not 1 <= limit <= MAX_NOTES or offset < 0:
        raise UsageError(message=f"--limit takes 1 to {MAX_NOTES}, --offset 0 or more")
    allowed = filtering.eligible(connection, filters)
    if sort == "path":
        return _by_path(connection, allowed, descending=descending, limit=limit, offset=offset, fields=list(fields))
    keys = _sort_keys(connection, sort)
    rows = connection.execute("SELECT rowid, path FROM note").fetchall()
    present: list[tuple[Any, str, int]] = []
    absent: list[tuple[str, int]] = []
    for rowid, path in rows:
        if allowed is not None and rowid not in allowed:
            continue
        key = keys.get(rowid)
        if key is None:
            absent.append((path, rowid))
        else:
            present.append((key, path, rowid))
    present.sort(key=lambda item: item[1])
    present.sort(key=lambda item: item[0], reverse=descending)
    absent.sort()
    order = [rowid for *_, rowid in present] + [rowid for _, rowid in absent]
    return _shown(connection, order[offset : offset + limit], list(fields)), len(order)


def _by_path(
    connection: Connection, allowed: set[int] | None, *, descending: bool, limit: int, offset: int, fields: list[str]
) -> tuple[list[dict[str, Any]], int]:
    """The page of a list in the order of paths (code points), which the index holds: the rest of the vault is not read."""
    where, values = "", []
    if allowed is not None:
        where, values = "WHERE rowid IN (SELECT value FROM json_each(?))", [json_list(sorted(allowed))]
    order = "DESC" if descending else "ASC"
    page = connection.execute(
        f"SELECT rowid FROM note {where} ORDER BY path {order} LIMIT ? OFFSET ?", [*values, limit, offset]
    ).fetchall()
    total = connection.execute(f"SELECT count(*) FROM note {where}", values).fetchone()[0]
    return _shown(connection, [rowid for (rowid,) in page], fields), int(total)


def _sort_keys(connection: Connection, sort: str) -> dict[int, Any]:
    name = sort.removeprefix("metadata.").removeprefix("meta.")
    if name == sort and sort in COLUMNS:
        rows = connection.execute(f"SELECT rowid, {COLUMNS[sort]} FROM note")
        return {rowid: _comparable(value) for rowid, value in rows if value is not None}
    values = filtering.values_of(connection, filtering.name_of(name, f"--sort {sort!r}"))
    return {rowid: _comparable(each[0]) for rowid, each in values.items() if each}


def _comparable(value: Any) -> tuple[int, Any]:
    for place, kind in enumerate(_ORDER):
        if isinstance(value, kind):  # type: ignore[arg-type]
            if isinstance(value, str):
                return place, fold(value)
            return place, value if isinstance(value, bool | int | float) else json.dumps(value, sort_keys=True)
    return len(_ORDER), str(value)


def _shown(connection: Connection, rowids: list[int], fields: list[str]) -> list[dict[str, Any]]:
    own = [field for field in fields if field in COLUMNS and field not in ("id", "path", "title")]
    deep = {
        field: filtering.name_of(field, f"--fields {field!r}")
        for field in fields
        if field not in COLUMNS and field != "meta"
    }
    columns = ", ".join(["rowid", "id", "path", "title", "meta", *(COLUMNS[field] for field in own)])
    sql = f"SELECT {columns} FROM note WHERE rowid IN (SELECT value FROM json_each(?))"
    found = {}
    for rowid, name, path, title, meta, *rest in connection.execute(sql, (json_list(rowids),)):
        note: dict[str, Any] = {"id": name, "path": path, "title": title}
        note.update((field, _value(field, value)) for field, value in zip(own, rest, strict=True))
        if deep or "meta" in fields:
            values = json.loads(meta)
            note.update((field, filtering.first_inside(values, names)) for field, names in deep.items())
            if "meta" in fields:
                note["meta"] = values
        found[rowid] = note
    return [found[rowid] for rowid in rowids]


def _value(field: str, value: Any) -> Any:
    if field in ("aliases", "tags"):
        return json.loads(value)
    if field == "modified":
        from datetime import UTC, datetime

        return datetime.fromtimestamp(value / 1e9, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    return value


def list_tags(
    connection: Connection, *, under: str = "", by: str = "count", limit: int = 1000
) -> tuple[list[dict[str, Any]], int]:
    """(tags, how many there are): ``name`` as most often written, ``notes`` with just it, ``total`` with those nested in it.

    under: only this tag and what is nested in it. by: ``count`` (most used first) or ``name``. A parent that no note uses
    itself is listed too, with 0 notes.
    """
    if not 1 <= limit <= MAX_NOTES:
        raise UsageError(message=f"--limit takes 1 to {MAX_NOTES}")
    prefix = fold(under.strip().removeprefix("#").strip("/"))
    own: dict[str, set[int]] = {}
    below: dict[str, set[int]] = {}
    spelled: dict[str, dict[str, int]] = {}
    sql, values = "SELECT key, name, note FROM tag", ()
    if prefix:
        sql += " WHERE key = CAST(?1 AS TEXT) OR (key > CAST(?2 AS TEXT) AND key < CAST(?3 AS TEXT))"
        values = (bindable(prefix), bindable(prefix + "/"), bindable(prefix + "0"))  # type: ignore[assignment]
    for key, name, note in connection.execute(sql, values):
        own.setdefault(key, set()).add(note)
        parts, names = key.split("/"), name.split("/")
        for length in range(1, len(parts) + 1):
            above = "/".join(parts[:length])
            if prefix and len(above) < len(prefix):
                continue
            below.setdefault(above, set()).add(note)
            spelling = "/".join(names[:length]) if len(names) == len(parts) else above
            counts = spelled.setdefault(above, {})
            counts[spelling] = counts.get(spelling, 0) + 1
    keys = sorted(below, key=lambda key: (-len(below[key]), key) if by == "count" else (0, key))
    found = []
    for key in keys[:limit]:
        counts = spelled[key]
        name = min(counts, key=lambda each, counts=counts: (-counts[each], each))  # type: ignore[misc]
        found.append({"name": name, "notes": len(own.get(key, ())), "total": len(below[key])})
    return found, len(below)
