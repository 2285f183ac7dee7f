"""What is wrong with links and names: the part of ``check`` that is read from the index by SQL alone."""

from __future__ import annotations

import json

from kbtasks.graph.edges import BETWEEN
from kbtasks.graph.finding import Finding

TYPE_CHECKING = False  # importing typing would cost every call milliseconds; checkers know the name
if TYPE_CHECKING:
    from sqlite3 import Connection

#: Names that many notes of one vault bear by custom; sharing them is no fault.
COMMON_NAMES = ("index", "readme")
#: Problems of reading that lose nothing and need no repair before others can work.
HARMLESS = frozenset(("template-placeholder", "not-regular"))

_PLACED = "note.path, link.line, link.start_byte, link.end_byte, link.kind, link.target, link.fragment"


def reading_problems(connection: Connection) -> list[Finding]:
    """Faults found while files were read (front matter, encoding, size, names), as the index keeps them; relations apart."""
    rows = connection.execute(
        "SELECT path, line, code, message FROM problem WHERE code NOT LIKE 'relation%' ORDER BY path, line"
    )
    return [Finding(code, path, message, line=line, advice=code in HARMLESS) for path, line, code, message in rows]


def dead_links(connection: Connection) -> list[Finding]:
    """Links in prose and properties that lead nowhere, or to more than one note."""
    rows = connection.execute(
        f"SELECT {_PLACED}, link.state, link.candidates FROM link JOIN note ON note.rowid = link.note"
        " WHERE link.state IN ('broken', 'ambiguous', 'missing-attachment') AND link.generated = 0 AND link.kind != 'relation'"
        " ORDER BY note.path, link.ordinal"
    )
    found = []
    for path, line, start, end, kind, target, _, state, candidates in rows:
        near = json.loads(candidates) if candidates else []
        if state == "ambiguous":
            code, words = "ambiguous-link", f"{kind} to {target!r} names {len(near)} notes equally well"
        elif state == "missing-attachment":
            code, words = "missing-attachment", f"{kind} to the file {target!r}, which is not there"
        else:
            code, words = "broken-link", f"{kind} to {target!r}: there is no such note"
        found.append(Finding(code, path, words, line=line, start=start, end=end, target=target, candidates=near))
    return found


def bad_fragments(connection: Connection) -> list[Finding]:
    """Links whose note is there but not the heading or block they name."""
    rows = connection.execute(
        f"SELECT {_PLACED}, target.path FROM link JOIN note ON note.rowid = link.note"
        " JOIN note AS target ON target.rowid = link.target_note WHERE link.fragment_ok = 0 AND link.generated = 0"
        " ORDER BY note.path, link.ordinal"
    )
    found = []
    for path, line, start, end, kind, _, fragment, target in rows:
        what = f"block {fragment[1:]!r}" if fragment.startswith("^") else f"heading {fragment!r}"
        words = f"{kind} to {target}: it has no {what}"
        found.append(
            Finding(
                "bad-fragment", path, words, line=line, start=start, end=end, target=f"{target}#{fragment}", advice=True
            )
        )
    return found


def beyond_obsidian(connection: Connection) -> list[Finding]:
    """Links that we follow (by alias, title, another spelling) and Obsidian would not."""
    rows = connection.execute(
        f"SELECT {_PLACED}, link.how, target.path FROM link JOIN note ON note.rowid = link.note"
        " JOIN note AS target ON target.rowid = link.target_note"
        " WHERE link.obsidian = 0 AND link.state = 'ok' AND link.generated = 0"
        " AND link.kind != 'relation' ORDER BY note.path, link.ordinal"
    )
    return [
        Finding(
            "not-obsidian",
            path,
            f"{kind} to {target!r} leads to {reached} by {how}; Obsidian does not follow it",
            line=line,
            start=start,
            end=end,
            target=target,
            candidates=[reached],
        )
        for path, line, start, end, kind, target, _, how, reached in rows
    ]


def name_collisions(connection: Connection) -> list[Finding]:
    """Notes whose paths differ only by letter case or Unicode form (a fault), and names that several notes claim (advice)."""
    found = []
    for key, paths in _shared(connection, "name.kind = 'path'"):
        words = f"{len(paths)} notes differ only by letter case or Unicode form; other systems keep one of them"
        found.append(Finding("name-collision", paths[0], words, target=key, candidates=paths))
    for key, paths in _shared(connection, "name.kind IN ('alias', 'title')"):
        if key not in COMMON_NAMES:
            words = f"the title or alias {key!r} belongs to {len(paths)} notes, so no link can mean one of them by it"
            found.append(Finding("shared-name", paths[0], words, target=key, candidates=paths, advice=True))
    return found


def _shared(connection: Connection, condition: str) -> list[tuple[str, list[str]]]:
    rows = connection.execute(
        f"SELECT name.key, note.path FROM name JOIN note ON note.rowid = name.note WHERE {condition} AND name.key IN"
        f" (SELECT key FROM name WHERE {condition} GROUP BY key HAVING count(DISTINCT note) > 1) ORDER BY name.key, note.path"
    )
    groups: dict[str, list[str]] = {}
    for key, path in rows:
        paths = groups.setdefault(key, [])
        if path not in paths and len(paths) < 20:
            paths.append(path)
    return sorted(groups.items(), key=lambda group: group[1][0])


def open_contradictions(connection: Connection) -> list[Finding]:
    """Notes that contradict one another while neither is superseded, for a person to settle."""
    ended = "('superseded', 'cancelled', 'completed', 'archived', 'rejected', 'deprecated')"
    rows = connection.execute(
        "SELECT note.path, link.line, link.start_byte, link.end_byte, target.path FROM link JOIN note ON note.rowid = link.note"
        " JOIN note AS target ON target.rowid = link.target_note"
        f" WHERE link.kind = 'relation' AND link.predicate = 'contradicts' AND {BETWEEN}"
        f" AND coalesce(lower(note.status), '') NOT IN {ended} AND coalesce(lower(target.status), '') NOT IN {ended}"
        " ORDER BY note.path, link.ordinal"
    )
    return [
        Finding(
            "open-contradiction",
            path,
            f"it contradicts {target}, and both stand",
            line=line,
            start=start,
            end=end,
            target=target,
            advice=True,
            fix=f"kb note.set {_quoted(target)} --field status=superseded",
        )
        for path, line, start, end, target in rows
    ]


def _quoted(text: str) -> str:
    from shlex import quote

    return quote(text)
