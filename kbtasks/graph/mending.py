"""Links that broke because their note was renamed outside kbtasks, written anew: mechanical, and undone as easily.

What a link meant is asked of the vault as it was, with the renamed notes under their old names. A link that names a
path where nothing is, while exactly one note has its file name, is taken to mean that one.
"""

from __future__ import annotations

import json

from kbtasks.graph.linkcheck import COMMON_NAMES
from kbtasks.graph.moved import MovedNames
from kbtasks.graph.moving import Meaning, edit_for, not_utf8
from kbtasks.index.names import IndexNames
from kbtasks.model.note import Link, Place
from kbtasks.vault.names import base_name, fold, without_note_suffix
from kbtasks.vault.resolve import MARKDOWN_KINDS, resolve

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from sqlite3 import Connection

    from kbtasks.graph.moving import Edit

_STALE = (
    "SELECT note.path, link.kind, link.target, link.fragment, link.label, link.predicate, link.raw, link.line,"
    " link.start_byte, link.end_byte, link.state, link.candidates FROM link JOIN note ON note.rowid = link.note"
    " WHERE NOT link.generated AND (link.state IN ('broken', 'missing-attachment')"
    " OR (link.state = 'ok' AND link.how IN ('title', 'alias') AND ?)) ORDER BY note.path, link.ordinal"
)


def present_paths(connection: Connection) -> set[str]:
    """The paths of all notes and files."""
    return {path for (path,) in connection.execute("SELECT path FROM note UNION ALL SELECT path FROM attachment")}


def plan_mending(
    connection: Connection, root: str, renames: Sequence[Mapping[str, str]], *, folder: str = ""
) -> list[tuple[Edit, str]]:
    """The edits that mend stale links, by path and place, each with the path that the link leads to again.

    connection: a fresh index of the vault at ``root``. renames: layers of path now -> path before (find_renames).
    folder: only notes below it.
    """
    files = {path for (path,) in connection.execute("SELECT path FROM attachment")}
    names = IndexNames(connection)
    before = [
        (
            layer,
            MovedNames(
                names,
                {now: old for now, old in layer.items() if now not in files},
                {now: old for now, old in layer.items() if now in files},
            ),
        )
        for layer in renames
    ]
    foreign = not_utf8(connection)
    prefix = folder.strip("/")
    found: dict[tuple[str, int], tuple[Edit, str]] = {}
    for path, link, state, candidates in _stale(connection, with_titles=bool(renames)):
        if prefix and path != prefix and not path.startswith(prefix + "/"):
            continue
        meaning = _meant(link, path, before) or (_only_one(link, candidates) if state == "broken" else None)
        if meaning is None:
            continue
        edit = edit_for(root, path, path, link, meaning, names, foreign)
        if edit is not None and edit.new != edit.old:
            found.setdefault((path, edit.start), (edit, meaning.target))
    return [found[key] for key in sorted(found)]


def _stale(connection: Connection, *, with_titles: bool) -> Iterator[tuple[str, Link, str, list[str]]]:
    for row in connection.execute(_STALE, (with_titles,)).fetchall():
        path, kind, target, fragment, label, predicate, raw, line, start, end, state, candidates = row
        link = Link(kind, target, Place(line, start, end), fragment=fragment, label=label, predicate=predicate, raw=raw)
        yield path, link, state, json.loads(candidates) if candidates else []


def _meant(link: Link, path: str, before: list[tuple[Mapping[str, str], MovedNames]]) -> Meaning | None:
    """What the link meant when the renamed notes had their old names, where it now leads elsewhere or nowhere."""
    for layer, names in before:
        old = resolve(link, layer.get(path, path), names)
        if old.state not in ("ok", "attachment") or old.target is None or old.how in ("title", "alias"):
            continue
        now = next((now for now, former in layer.items() if former == old.target), old.target)
        return Meaning(now, old.how, obsidian=old.obsidian)
    return None


def _only_one(link: Link, candidates: list[str]) -> Meaning | None:
    if len(candidates) != 1 or fold(base_name(without_note_suffix(candidates[0]))) in COMMON_NAMES:
        return None
    return Meaning(candidates[0], "relative" if link.kind in MARKDOWN_KINDS else "", obsidian=False)
